"""`transect leakage`: can the protected attribute be inferred from labels, and from a model's predictions?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.common_options import Json
from transect.console.results import Block, show
from transect.texts import say

if TYPE_CHECKING:
    from transect.jobs.leakage.run import LeakageResult


def leakage(
    labels: Annotated[Path, typer.Option(help="The labels: .csv, .parquet, .npz, .arrow, or a data set's folder.")],
    label: Annotated[
        list[str], typer.Option(help="Column of the label; several, or a pattern such as 'obj_*', for multi-label.")
    ],
    protected: Annotated[str, typer.Option(help="Column of the protected attribute, with any number of classes.")],
    split: Annotated[
        str | None, typer.Option(help="Column with train, val and test; without it attackers are cross-fitted.")
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", help="Column of identifiers; default id, image_id or image_name.")
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(help="Column of who is on each item, where people repeat: folds, null and intervals by person."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="Column of true and false: the rows that count; with --as-published: the training rows that count."
        ),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="A model's predictions on the same items: hard labels, logits or probabilities.")
    ] = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of the predictions, by the labels' names or in their order; default: those of --label."
        ),
    ] = None,
    attacker: Annotated[
        str,
        typer.Option(
            help="bayes, logistic, trees, mlp, mlp-4, …, converged, or auto: the best of several, cross-fitted."
        ),
    ] = "auto",
    noise: Annotated[
        str, typer.Option(help="How labels err in λ_D(a): flips, replacement or frequency (keeps label frequencies).")
    ] = "",
    f1: Annotated[
        list[float] | None, typer.Option(help="Measure λ_D at this macro F1, in percent; default: the model's.")
    ] = None,
    rounds: Annotated[
        int, typer.Option(help="Attackers to average; 0: five if the attacker or the noise is random, else one.")
    ] = 0,
    permutations: Annotated[
        int, typer.Option(help="Permutations for the null; -1: 200, or 5 if the attacker is slow.")
    ] = -1,
    train_per_class: Annotated[int, typer.Option(help="Training rows to draw per class; 0: all.")] = 0,
    test_per_class: Annotated[int, typer.Option(help="With --as-published: rows to score per class; 0: all.")] = 0,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Use the protocol of Wang et al. 2019, with its selection and folding."),
    ] = False,
    curve: Annotated[
        bool | None,
        typer.Option(
            "--curve/--no-curve",
            help="Also train on 25, 50 and 75 % of the rows; default: unless the attacker is a network.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="Where networks train: cpu, cuda or cuda:N.")] = "cpu",
    alpha: Annotated[
        list[float] | None,
        typer.Option(
            help="Report how many items remain if no label may be more than α times as frequent with one class as with "
            "another; with --out the rows are marked in balanced.parquet. Default for one category: 3, 2 and 1."
        ),
    ] = None,
    balance_sizes: Annotated[
        bool,
        typer.Option(
            "--balance-sizes/--labels-only",
            help="With --alpha: the sizes of the classes meet the ratio, too, or the labels only.",
        ),
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the report: leakage.html, leakage.json, balanced.parquet.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of draws, noise, attackers and permutations.")] = 0,
    json: Json = False,
) -> None:
    """Measure how well a protected attribute can be inferred from labels (λ_D) and from a model's predictions (λ_M).

    Leakages are in percent; amplification Δ = λ_M − λ_D(a), at the model's own accuracy, in percentage points.
    """
    from transect.jobs.leakage import run

    options = run.LeakageOptions(
        noise=noise,
        f1=tuple(f1 or ()),
        rounds=rounds,
        permutations=permutations,
        train_per_class=train_per_class,
        test_per_class=test_per_class,
        as_published=as_published,
        curve=curve,
        device=device,
        alphas=tuple(alpha or ()),
        balance_sizes=balance_sizes,
        subject=subject,
    )
    result = run.leakage(
        labels,
        protected,
        label,
        split=split,
        ids=identifier,
        where=where,
        predictions=predictions,
        prediction=prediction or (),
        attacker=attacker,
        seed=seed,
        options=options,
    )
    page = None if out is None else result.report(out)
    for line in result.warnings if out is not None else ():
        say(line, error=True)
    show(result, json, *_blocks(result, bool(alpha)), page=page)


def _blocks(result: LeakageResult, with_costs: bool) -> list[Block]:
    from transect.attacks.results import cost_rows, curve_rows

    numbers = result.numbers
    blocks: list[Block] = [result.rows()]
    if numbers.learning_curve:
        blocks.append((["training rows", "λ_D, %", "95 % interval"], curve_rows(numbers.learning_curve)))
    costs = numbers.overview.costs if with_costs else ()
    if costs:
        blocks.append((["largest ratio α", "items kept", "of", "at most", "the paper's heuristic"], cost_rows(costs)))
    return [*blocks, *(cost.note for cost in costs if cost.note), *numbers.notes, numbers.caveat]
