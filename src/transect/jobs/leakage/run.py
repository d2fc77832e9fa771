"""`transect.leakage`: how well a protected attribute can be inferred from labels and from a model's predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.attacks import numbers as results
from transect.attacks import tables
from transect.attacks.analysis import Analysis
from transect.attacks.attackers import load
from transect.attacks.balance import ALPHAS, Cost, costs, overview
from transect.attacks.numbers import LeakageNumbers, numbers_of
from transect.attacks.outputs import read_lexicon
from transect.attacks.side_by_side import Case
from transect.jobs.leakage.request import (
    Attacks,
    Captions,
    Inputs,
    LeakageOptions,
    ModelPredictions,
    Source,
    attackers_of,
    further_rows,
    main_case,
    models_of,
    opened,
    read_captions,
    representations,
    with_alphas_of,
)
from transect.runs.folder import write_table
from transect.runs.parts import announcing_stages, stage
from transect.runs.result import JobResult
from transect.runs.table_inputs import TableLike, as_names

MARKS = "balanced.parquet"


@final
@dataclass(frozen=True)
class LeakageResult(JobResult[LeakageNumbers]):
    """Leakages in percent, amplification in percentage points.

    marked: the rows with a column of true and false for each α (in_alpha2 …), None without `alphas`. warnings: searches
    for balanced rows that ran out of time.
    """

    JOB: ClassVar[str] = "leakage"

    marked: pa.Table | None = None
    warnings: tuple[str, ...] = ()

    @property
    def table(self) -> pa.Table:
        """Every figure: name, estimate, 95 % interval (as published: the spread between rounds), items, how."""
        return results.table_of(self.numbers)

    def report(self, path: str | Path) -> Path:
        """Write leakage.html, leakage.json and, with marked rows, balanced.parquet; returns the path of the page."""
        from transect.jobs.leakage.page import write

        if self.marked is not None:
            write_table(Path(path) / MARKS, self.marked)
        return write(self.numbers, Path(path))

    def headline(self) -> str:
        """How often the attacker guesses right, and how much more from a model's predictions."""
        return results.headline(self.numbers)

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The figures as texts."""
        return ["figure", "%", results.ends_heading(self.numbers.published_protocol), "how"], results.rows_of(
            self.numbers
        )


def leakage(
    table: TableLike,
    protected: str | Sequence[str] = (),
    labels: str | Sequence[str] = (),
    *,
    split: str | None = None,
    ids: str | None = None,
    where: str | None = None,
    predictions: TableLike | Sequence[ModelPredictions] | None = None,
    prediction: str | Sequence[str] = (),
    attacker: str | Sequence[str] = "auto",
    seed: int = 0,
    quiet: bool = False,
    options: LeakageOptions | None = None,
) -> LeakageResult:
    """How well an attacker infers the protected attribute from labels (λ_D) and from a model's predictions (λ_M).

    table: a path (.csv, .parquet, .npz, .arrow, a data set's folder), an Arrow table, a data frame, or arrays by column
    name; or READER:PATH, as coco:data/coco and imsitu:data/imsitu, which know their labels, gender and splits.
    protected: its column of the protected attribute, with any number of classes; of several, each alone, each two
    together, and each within the levels of another. labels: one column of categories, a column of lists of 0 and 1, or
    several columns of 0 and 1 (names or patterns such as 'obj_*').
    split: a column of train, val and test; without it attackers are cross-fitted. ids: a column of identifiers, by
    default id, image_id or image_name. where: a column of true and false that says which rows count.
    predictions: hard labels, logits or probabilities on the same items, in the columns `prediction` (as `labels` by
    default); of several models a list of `ModelPredictions`. attacker: bayes, logistic, trees, mlp, mlp-4, …
    or auto, the best of several; of several, the first gives the headline. quiet: no progress on standard
    error.

    Returns leakages in percent (chance is 100 / classes) and amplification in percentage points, with 95 % intervals;
    NaN with a reason where nothing can be estimated.

    Raises BadInput or UnknownName for tables, columns and settings that cannot be used. Source: Wang et al. 2019,
    arXiv:1811.08489.

    >>> verbs = ["cooking"] * 40 + ["driving"] * 40
    >>> people = (["woman"] * 30 + ["man"] * 10) + (["woman"] * 10 + ["man"] * 30)
    >>> result = leakage({"verb": verbs, "gender": people}, "gender", "verb", attacker="bayes", quiet=True)
    >>> result.numbers.dataset_leakage.estimate  # 30 of 40 of either verb
    75.0
    """
    models = models_of(predictions)
    options = with_alphas_of(options or LeakageOptions(), models)
    with announcing_stages(quiet=quiet):
        stage("reading labels and predictions")
        source = opened(table, protected, labels, split)
        inputs = Inputs(
            source.rows,
            source.labels,
            source.split,
            ids,
            where,
            models,
            as_names(prediction),
            options,
            _captions(options, ids),
        )
        main = main_case(inputs, source.protected[0])
        names = attackers_of(attacker, main.data.labels.category is not None)
        return _result(source, inputs, main, Attacks(names, seed, "" if quiet else "leakage", options))


def _result(source: Source, inputs: Inputs, main: Case, attacks: Attacks) -> LeakageResult:
    """All attacks, stage by stage."""
    options = inputs.options
    for name in attacks.attackers:
        load(name, options.device)  # an unknown one is refused before hours of work
    if options.alphas:
        stage("sizes of the balanced subsets")
    balancing = costs(main.data, options.alphas, balance_sizes=options.balance_sizes)  # before the attacks: may refuse
    stage(f"attacks by {attacks.attackers[0]}, {main.data.attribute}")
    several = attacks.on(main, curve=options.curve)
    marked, warnings = _marked(inputs, main, attacks.seed)
    table = further_rows(inputs, source.protected, main, several, attacks, marked)
    layers = representations(inputs, main, attacks)
    cautions = _caution(inputs, source.protected), _captions_left_out(inputs, main)
    stage("overview of the labels")
    numbers = _numbers(several.analyses[0], balancing, source, cautions)
    numbers = replace(numbers, table=table, differences=several.differences, representations=layers)
    return LeakageResult(numbers, marked, tuple(warnings))


def _marked(inputs: Inputs, main: Case, seed: int) -> tuple[pa.Table | None, list[str]]:
    """The table with a mark of each balanced subset, and searches that ran out of time; None without an α."""
    options = inputs.options
    if not options.alphas:
        return None, []
    stage("rows of the balanced subsets")
    return tables.balanced_table(
        inputs.rows,
        main.data,
        options.alphas,
        split=inputs.split,
        where=inputs.where,
        where_train_only=options.as_published,
        seed=seed,
        balance_sizes=options.balance_sizes,
    )


def _captions(options: LeakageOptions, ids: str | None) -> tuple[Captions, ...]:
    if not options.captions:
        return ()
    lexicon = read_lexicon(options.lexicon)
    return tuple(read_captions(name, table, lexicon, ids) for name, table in options.captions)


def _caution(inputs: Inputs, protected: Sequence[str]) -> str:
    """A line on people who seem to repeat, where no column of subjects was named."""
    if inputs.options.subject is not None:
        return ""
    used = [*tables.expand(inputs.rows, inputs.labels), *protected, tables.id_column(inputs.rows, inputs.ids) or ""]
    return tables.unnamed_subjects(inputs.rows, used)


def _captions_left_out(inputs: Inputs, main: Case) -> str:
    """A line on captions that are no model, since each item has one category."""
    if not inputs.captions or main.data.labels.category is None:
        return ""
    names = ", ".join(captions.name for captions in inputs.captions)
    return (
        f"{names}: captions name several objects, and the label is one category of each item, so that there is no "
        "model leakage of captions; give labels of 0 and 1 for it. Their other words are analysed"
    )


def _numbers(
    analysis: Analysis, balancing: tuple[Cost, ...], source: Source, cautions: Sequence[str]
) -> LeakageNumbers:
    # Several labels are a whole-number programme, which can take a minute for each ratio: on request only.
    alphas = ALPHAS if analysis.data.labels.category is not None and not balancing else ()
    shown = overview(analysis.data, alphas)
    notes = (*source.notes, *filter(None, cautions))
    return numbers_of(analysis, replace(shown, costs=balancing or shown.costs), source.name, notes)
