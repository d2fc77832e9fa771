"""`transect leakage`: does a data set, and a model beyond it, give the protected attribute away?"""

from __future__ import annotations

import json as json_format
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from transect.leakage.overview import Cost


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
    where: Annotated[
        str | None, typer.Option(help="Column of true and false: which rows count; --as-published: which teach.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="A model's answers on the same items: hard labels, logits or probabilities.")
    ] = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(help="The answers' columns, by the labels' names or in their order; default as --label."),
    ] = None,
    attacker: Annotated[
        str, typer.Option(help="bayes, logistic, trees, mlp, mlp-4, …, converged, or auto: the best, cross-fitted.")
    ] = "auto",
    noise: Annotated[
        str, typer.Option(help="How labels err in λ_D(a): flips, replacement or frequency (keeps label frequencies).")
    ] = "",
    f1: Annotated[
        list[float] | None, typer.Option(help="Measure λ_D at this macro F1, in percent; default the model's own.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Attackers to average; 0: five where chance enters, else one.")] = 0,
    permutations: Annotated[
        int, typer.Option(help="Shuffles behind the null; -1: 200, or 5 where the attacker is slow.")
    ] = -1,
    train_per_class: Annotated[int, typer.Option(help="Draw so many training rows a class; 0: all there are.")] = 0,
    test_per_class: Annotated[int, typer.Option(help="With --as-published: scored rows of each class.")] = 0,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="The protocol of Wang et al. 2019 with its selection and folding."),
    ] = False,
    curve: Annotated[
        bool | None,
        typer.Option(
            "--curve/--no-curve", help="Learn from 25, 50 and 75 % of the rows, too; default all but networks."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="Where networks train: cpu, cuda or cuda:N.")] = "cpu",
    alpha: Annotated[
        list[float] | None,
        typer.Option(
            help="Say what balancing keeps where no label is more than so many times as frequent with one class; with "
            "--out the rows are marked in balanced.parquet. The report has 3, 2, 1 of one category."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the report: leakage.html, leakage.json, balanced.parquet.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of draws, noise, attackers and permutations.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")] = False,
) -> None:
    """Measure how well a protected attribute can be inferred from labels (λ_D) and from a model's answers (λ_M).

    Leakages are in percent; amplification Δ = λ_M − λ_D(a), at the model's own accuracy, in percentage points.
    """
    from transect.leakage import analysis as stage
    from transect.leakage import answers as given_answers
    from transect.leakage import attackers, overview, results, tables
    from transect.leakage.estimation import Settings
    from transect.runs.folder import write_table

    fighter = attackers.load(attacker, device)
    table = tables.read_table(labels)
    chosen: dict[str, Any] = {"split": split, "where": where, "where_train_only": as_published}
    data = tables.labelled_data(table, label, protected, ids=identifier, **chosen)
    given: dict[str, Any] = {}
    if predictions is not None:
        answers = tables.read_table(predictions)
        covered, outputs = given_answers.predictions(answers, data, prediction or label, identifier)
        theirs = covered.own_order()
        given = {"answered": covered.take(theirs), "outputs": outputs.take(theirs)}
    settings = Settings(rounds, permutations, seed, as_published, train_per_class, test_per_class)
    costs = overview.costs(data, tuple(alpha or ()))  # before the attackers, which may take minutes: it may be refused
    # Attackers and permutations go through the rows in turn: the file's order must not matter.
    ordered = data.take(data.own_order())
    found = stage.analyse(ordered, fighter, noise=noise, f1=f1 or None, curve=curve, settings=settings, **given)
    page = None if out is None else _write(found, out, costs, labels.name)
    if out is not None and alpha:
        marked, stopped = tables.balanced_table(table, data, alpha, seed=seed, **chosen)
        write_table(out / "balanced.parquet", marked)
        for line in stopped:
            print(line, file=sys.stderr)
    if json:
        balancing = {"balancing": [asdict(cost) for cost in costs]} if alpha else {}
        print(json_format.dumps(results.as_json(found) | balancing, indent=1, allow_nan=False))
        return
    _show(found, costs)
    if page is not None:
        print(f"report: {page}")


def _write(found: Any, out: Path, costs: tuple[Cost, ...], source: str) -> Path:
    from transect.jobs.leakage.page import write
    from transect.leakage.overview import ALPHAS, overview
    from transect.leakage.summary import summary

    # Several labels are a whole-number programme, which can take a minute for each ratio: on request only.
    usual = ALPHAS if found.data.labels.category is not None and not costs else ()
    shown = overview(found.data, usual)
    return write(summary(found, replace(shown, costs=costs or shown.costs), source), out)


def _show(found: Any, costs: tuple[Cost, ...]) -> None:
    from transect.console.printing import table
    from transect.leakage import results

    table(["figure", "%", "95 % interval", "how"], results.rows(found), False)
    if found.curve:
        table(["training rows", "λ_D, %", "95 % interval"], results.curve_rows(found.curve), False)
    if costs:
        head = ["largest ratio α", "items kept", "of", "at most", "the paper's heuristic"]
        table(head, [[f"{cost.alpha:g}", *results.cost_texts(cost)] for cost in costs], False)
    stopped = [cost.note for cost in costs if cost.note]
    for line in (*stopped, *results.notes(found), results.caveat(found)):
        print(line)
