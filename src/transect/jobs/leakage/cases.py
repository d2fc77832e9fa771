"""The rows of the table: every balanced subset, attacker and protected attribute that was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import final

import numpy as np
import pyarrow as pa

from transect.attacks import tables
from transect.attacks.analysis import Several, analyse_models
from transect.attacks.answers import predictions as matched_predictions
from transect.attacks.attackers import load
from transect.attacks.outputs import Model
from transect.attacks.records import LabelledData
from transect.attacks.representations import RepresentationRow, representation_rows
from transect.attacks.side_by_side import Case, TableRow, row_without_figures, rows_of
from transect.errors import BadInput
from transect.jobs.leakage.captions import Captions
from transect.jobs.leakage.layers import attackers_on_numbers, layers_of
from transect.jobs.leakage.request import LeakageOptions, ModelPredictions
from transect.runs.progress import stage

ACROSS = " × "
PERMUTATIONS = 20
"""Behind the null of a representation, whose numbers are many."""


@final
@dataclass(frozen=True)
class Inputs:
    """The tables of labels and predictions, and which of their columns count."""

    rows: pa.Table
    labels: tuple[str, ...]
    split: str | None
    ids: str | None
    where: str | None
    models: tuple[ModelPredictions, ...]
    columns: tuple[str, ...]
    options: LeakageOptions
    captions: tuple[Captions, ...] = ()

    def data(self, protected: str, rows: pa.Table | None = None) -> LabelledData:
        """The labels with one protected attribute, by default of all rows."""
        return tables.labelled_data(
            self.rows if rows is None else rows,
            self.labels,
            protected,
            split=self.split,
            ids=self.ids,
            subject=self.options.subject,
            where=self.where,
            where_train_only=self.options.as_published,
        )

    def predicted(self, data: LabelledData, alpha: float | None = None) -> tuple[Model, ...]:
        """The models of that α, with their predictions of these items, in their own order; captions are of no α."""
        models = tuple(self._matched(model, data) for model in self.models if model.alpha == alpha)
        if alpha is not None or data.labels.category is not None:  # captions name several objects
            return models
        return (*models, *(captions.model(data) for captions in self.captions))

    def _matched(self, model: ModelPredictions, data: LabelledData) -> Model:
        table = tables.read_labels(model.table, "predictions")
        covered, outputs = matched_predictions(table, data, self.columns or self.labels, self.ids)
        order = covered.own_order()
        return Model(outputs.take(order), covered.take(order), model.name)


@final
@dataclass(frozen=True)
class Attacks:
    """How cases are attacked: the first attacker is that of the headline."""

    attackers: tuple[str, ...]
    seed: int
    stage: str
    options: LeakageOptions

    def on(self, case: Case, attacker: str = "", *, curve: bool | None = False) -> Several:
        """The analyses of a case. Raises BadInput where it cannot be measured."""
        name = attacker or self.attackers[0]
        about = ", ".join(text for text in (_words(case), "" if not attacker else name) if text)
        return analyse_models(
            # Attackers and permutations go through the rows in turn: the order of the rows must not matter.
            case.data.take(case.data.own_order()),
            load(name, self.options.device),
            case.models,
            noise=self.options.noise,
            f1=self.options.f1 or None,
            curve=curve,
            settings=self.options.settings(self.seed),
            stage=self.stage and ", ".join(filter(None, (self.stage, about))),
        )

    def rows(self, case: Case, attacker: str = "") -> list[TableRow]:
        """The rows of a case; one with the reason where it cannot be measured."""
        try:
            return rows_of(case, self.on(case, attacker))
        except BadInput as error:
            return [row_without_figures(case, attacker or self.attackers[0], str(error))]


def main_case(inputs: Inputs, protected: str) -> Case:
    """All rows, the first protected attribute, and the models that were trained on all rows."""
    data = inputs.data(protected)
    return Case("model", data, inputs.predicted(data))


def representations(inputs: Inputs, main: Case, attacks: Attacks) -> tuple[RepresentationRow, ...]:
    """Rows of every layer, and of the words of captions, with fewer permutations than labels have."""
    data, options = main.data, attacks.options
    layers = [*layers_of(data, options.representations), *(captions.words(data) for captions in inputs.captions)]
    settings = options.settings(attacks.seed)
    if settings.permutations < 0:
        settings = replace(settings, permutations=PERMUTATIONS)
    names = attackers_on_numbers(attacks.attackers)
    return tuple(representation_rows(data, layers, names, settings, options.device, attacks.stage))


def further_rows(
    inputs: Inputs, protected: Sequence[str], main: Case, several: Several, attacks: Attacks, marked: pa.Table | None
) -> tuple[TableRow, ...]:
    """All rows of the table, the main case's first; none where it would have one row that says nothing new."""
    cases = [*_balanced(inputs, main, marked), *_attributes(inputs, protected, main)]
    if not cases and len(several.analyses) == 1 and len(attacks.attackers) == 1:
        return ()
    rows, total = rows_of(main, several), len(attacks.attackers) - 1 + len(cases)
    for place, name in enumerate(attacks.attackers[1:], 1):
        stage(f"further attacks, {place} of {total}: {name}")
        rows += attacks.rows(replace(main, part="attacker"), name)
    for place, case in enumerate(cases, len(attacks.attackers)):
        if isinstance(case, Case):
            stage(f"further attacks, {place} of {total}: {_words(case)}")
        rows += attacks.rows(case) if isinstance(case, Case) else [case]
    return tuple(rows)


def _balanced(inputs: Inputs, main: Case, marked: pa.Table | None) -> Iterator[Case]:
    """A case for each α, its largest ratio first."""
    if marked is None:
        return
    for alpha in inputs.options.alphas:
        keep = np.asarray(marked[tables.mark_of(alpha)].to_numpy(zero_copy_only=False), dtype=np.bool_)
        if inputs.options.as_published and main.data.split is not None:
            keep = keep | (main.data.split != "train")
        data = main.data.take(np.flatnonzero(keep))
        own = tables.mark_of(alpha) in inputs.rows.column_names
        note = f"rows of the table's column {tables.mark_of(alpha)}" if own else ""
        yield Case("balanced", data, inputs.predicted(data, alpha), alpha, note=note)


def _attributes(inputs: Inputs, protected: Sequence[str], main: Case) -> Iterator[Case | TableRow]:
    """Each further attribute, each two together, and each within the levels of another."""
    for name in protected[1:]:
        data = inputs.data(name)
        yield Case("attribute", data, inputs.predicted(data))
    for first, second in combinations(protected, 2):
        crossed = [f"{a}, {b}" for a, b in zip(_texts(inputs.rows, first), _texts(inputs.rows, second), strict=True)]
        name = f"{first}{ACROSS}{second}"
        yield _restricted(inputs, main, name, inputs.rows.append_column(name, pa.array(crossed)))
        for about, given in ((first, second), (second, first)):
            levels = np.array(_texts(inputs.rows, given))
            for level in np.unique(levels).tolist():
                rows = inputs.rows.filter(pa.array(levels == level))
                yield _restricted(inputs, main, about, rows, f"{given} = {level}")


def _restricted(inputs: Inputs, main: Case, protected: str, rows: pa.Table, within: str = "") -> Case | TableRow:
    """The case of these rows; a row with the reason where they lack a class, or a prediction."""
    try:
        data = inputs.data(protected, rows)
        return Case("attribute", data, inputs.predicted(data), within=within)
    except BadInput as error:
        bare = row_without_figures(replace(main, part="attribute", within=within), "", str(error))
        return replace(bare, attribute=protected, classes=(), n_train=(), chance=math.nan)


def _texts(table: pa.Table, name: str) -> list[str]:
    return [str(value) for value in tables.matrix(table, [name]).tolist()]


def _words(case: Case) -> str:
    if case.alpha is not None:
        return f"α = {case.alpha:g}"
    return case.data.attribute + (f" where {case.within}" if case.within else "") if case.part == "attribute" else ""
