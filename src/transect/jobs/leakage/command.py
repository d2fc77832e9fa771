"""`transect leakage`: can the protected attribute be inferred from labels, and from a model's predictions?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.options import Json
from transect.console.results import Block, Rerun, keep, show
from transect.texts import say

if TYPE_CHECKING:
    from transect.jobs.leakage.run import LeakageResult

RERUN = Rerun(
    values="label protected split id subject where prediction attacker noise f1 rounds permutations train-per-class "
    "test-per-class as-published curve device alpha balance-sizes seed",
    data="labels predictions representation captions lexicon",
)


def leakage(
    context: typer.Context,
    labels: Annotated[
        str,
        typer.Option(
            help="The labels: .csv, .parquet, .npz, .arrow, a data set's folder, or coco:PATH or imsitu:PATH, which "
            "know their label, protected attribute and split."
        ),
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(help="Column of the label; several, or a pattern such as 'obj_*', for multi-label."),
    ] = None,
    protected: Annotated[
        str,
        typer.Option(
            help="Column of the protected attribute, with any number of classes; several between commas: each, "
            "together, and one within the levels of another."
        ),
    ] = "",
    split: Annotated[
        str | None, typer.Option(help="Column with train, val and test; without it attackers are cross-fitted.")
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", help="Column of identifiers; default id, image_id or image_name.")
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(help="Column of person ids, if people repeat: folds, null and intervals by person."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="Column of true and false: the rows that count; with --as-published: the training rows that count."
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            help="A model's predictions on the same items: hard labels, logits or probabilities. Of several models "
            "repeat NAME=PATH; NAME@3=PATH was trained on the subset of α = 3."
        ),
    ] = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of the predictions, by the labels' names or in their order; default: those of --label."
        ),
    ] = None,
    representation: Annotated[
        list[str] | None,
        typer.Option(
            help="Real numbers of the items, PATH or NAME=PATH (.npy, .npz, .parquet, an inversion): each layer by "
            "itself, by a linear and a non-linear attacker. May be repeated."
        ),
    ] = None,
    captions: Annotated[
        list[str] | None,
        typer.Option(
            help="Captions of the items, PATH or NAME=PATH, with the column caption: the objects that they name, and "
            "the words that are left without objects and gender. May be repeated."
        ),
    ] = None,
    lexicon: Annotated[
        str, typer.Option(help="Words of gender and objects in captions: english, or a TOML file.")
    ] = "english",
    attacker: Annotated[
        str,
        typer.Option(
            help="bayes, logistic, trees, mlp, mlp-4, … or auto: the best of several, cross-fitted. "
            "Several between commas, or all: side by side; the first gives the headline."
        ),
    ] = "auto",
    noise: Annotated[
        str,
        typer.Option(help="Label noise in λ_D(a): flips, replacement or frequency (keeps label frequencies)."),
    ] = "",
    f1: Annotated[
        list[str] | None, typer.Option(help="Measure λ_D at this macro F1, in percent, as 80,60; default: the model's.")
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
        list[str] | None,
        typer.Option(
            help="Also measure leakage where no label is more than α times as frequent with one class as with another, "
            "as 3,2,1: in the table's column in_alpha3 or, without one, the largest such subset, "
            "which --out marks in balanced.parquet."
        ),
    ] = None,
    balance_sizes: Annotated[
        bool,
        typer.Option(
            "--balance-sizes/--labels-only",
            help="With --alpha: balance the sizes of the classes as well, or the labels only.",
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
    from transect.jobs.leakage.request import LeakageOptions, parse_columns, parse_models, parse_sources
    from transect.runs.table_inputs import parse_numbers

    options = LeakageOptions(
        noise=noise,
        f1=parse_numbers(f1, "--f1", "80,60"),
        rounds=rounds,
        permutations=permutations,
        train_per_class=train_per_class,
        test_per_class=test_per_class,
        as_published=as_published,
        curve=curve,
        device=device,
        alphas=parse_numbers(alpha, "--alpha"),
        balance_sizes=balance_sizes,
        subject=subject,
        representations=parse_sources(representation or ()),
        captions=parse_sources(captions or ()),
        lexicon=lexicon,
    )
    result = run.leakage(
        labels,
        parse_columns(protected),
        label or (),
        split=split,
        ids=identifier,
        where=where,
        predictions=parse_models(predictions or ()) or None,
        prediction=prediction or (),
        attacker=attacker,
        seed=seed,
        quiet=json,
        options=options,
    )
    page = None if out is None else result.report(out)
    if out is not None:
        keep(context, out, RERUN)
    for line in result.warnings if out is not None else ():
        say(line, error=True)
    show(result, json, *_blocks(result, bool(alpha)), page=page)


def _blocks(result: LeakageResult, with_costs: bool) -> list[Block]:
    from transect.attacks.numbers import curve_table, model_answers
    from transect.jobs.leakage.page import for_terminal

    numbers = result.numbers
    curve = [curve_table(numbers)] if numbers.learning_curve else []
    more = for_terminal(numbers, costs=with_costs)
    return [*model_answers(numbers.differences), result.rows(), *curve, *more, *numbers.notes, numbers.caveat]
