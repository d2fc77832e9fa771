"""Leakages side by side: the rows of Tables 1 and 2 of Wang et al. 2019, and of several protected attributes.

A case is one set of items, one protected attribute and one attacker, with any number of models. Where a case cannot be
measured, as for a cell without items, its row has the reason.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, final

import numpy as np

from transect.attacks.analysis import Analysis, Level, Several
from transect.attacks.outputs import Model
from transect.attacks.records import Estimate, LabelledData

FEW: Final = 30
"""Scored items of a class below which a row has a warning."""

Part = Literal["model", "balanced", "attacker", "attribute"]
"""Why a row is there: for its model, its balanced subset, its attacker or its protected attribute."""


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends, in percent."""

    low: float
    high: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AtAccuracy(Estimate):
    """λ_D of labels with errors. f1: their macro F1 in percent; f1_measured: what the noise left in the first round."""

    f1: float
    f1_measured: float
    noise: str
    rate: float


@final
@dataclass(frozen=True)
class Case:
    """What a row is about. alpha: the ratio to which items are balanced; within: the level they are restricted to."""

    part: Part
    data: LabelledData
    models: tuple[Model, ...] = ()
    alpha: float | None = None
    within: str = ""
    note: str = ""


@final
@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the table: leakages in percent, Δ in percentage points.

    attribute: the protected one, with `classes` and so many training items of each, `n_train`; within: the level of
    another attribute that the items have. alpha: of the balanced subset, None for all items. model: "" for the labels
    alone. n: items scored, of the rarest class `smallest`. dataset_leakage: λ_D, with its null; model_leakage: λ_M;
    dataset_at_accuracy: λ_D(a), of the headline's comparison, and amplification: Δ; published_amplification: against
    flipped bits. f1, mean_average_precision: of the model, in percent. at_accuracy: λ_D by F1. reason: why nothing was
    measured. note: what to know of the row.
    """

    part: Part
    attribute: str
    within: str
    classes: tuple[str, ...]
    alpha: float | None
    attacker: str
    model: str
    n_train: tuple[int, ...]
    n: int
    smallest: int
    chance: float
    dataset_leakage: Estimate
    null: Interval
    model_leakage: Estimate | None
    dataset_at_accuracy: Estimate | None
    amplification: Estimate | None
    published_amplification: Estimate | None
    f1: float
    mean_average_precision: float
    at_accuracy: tuple[AtAccuracy, ...]
    reason: str = ""
    note: str = ""


def rows_of(case: Case, several: Several) -> list[TableRow]:
    """A row for each analysis of a case."""
    return [_row(case, analysis) for analysis in several.analyses]


def row_without_figures(case: Case, attacker: str, reason: str = "") -> TableRow:
    """The row of a case that cannot be measured, with the reason."""
    none, data = Estimate(math.nan, math.nan, math.nan, 0, reason=reason), case.data
    train = np.arange(len(data)) if data.split is None else data.rows_of("train")
    counts = np.bincount(data.protected[train], minlength=data.n_classes)
    return TableRow(
        part=case.part,
        attribute=data.attribute,
        within=case.within,
        classes=data.classes,
        alpha=case.alpha,
        attacker=attacker,
        model="",
        n_train=tuple(int(count) for count in counts),
        n=0,
        smallest=0,
        chance=data.chance,
        dataset_leakage=none,
        null=Interval(math.nan, math.nan),
        model_leakage=None,
        dataset_at_accuracy=None,
        amplification=None,
        published_amplification=None,
        f1=math.nan,
        mean_average_precision=math.nan,
        at_accuracy=(),
        reason=reason,
        note=case.note,
    )


def at_accuracy(level: Level) -> AtAccuracy:
    """The record of a level."""
    return AtAccuracy(
        **asdict(level.leakage), f1=level.f1, f1_measured=level.f1_measured, noise=level.noise, rate=level.rate
    )


def _row(case: Case, analysis: Analysis) -> TableRow:
    headline = analysis.headline
    published = next((item for item in analysis.comparisons if item.name == "published"), None)
    smallest = _smallest(case.data)
    few = f"{smallest} scored items of the rarest class: read the interval" if smallest < FEW else ""
    return replace(
        row_without_figures(case, analysis.attacker),
        model=analysis.model,
        n=analysis.dataset.n,
        smallest=smallest,
        dataset_leakage=analysis.dataset,
        null=Interval(*analysis.null),
        model_leakage=None if headline is None else headline.model_leakage,
        dataset_at_accuracy=None if headline is None else headline.dataset_leakage,
        amplification=None if headline is None else headline.amplification,
        published_amplification=None if published is None else published.amplification,
        f1=analysis.f1,
        mean_average_precision=analysis.mean_average_precision,
        at_accuracy=tuple(at_accuracy(level) for level in analysis.levels),
        note="; ".join(note for note in (case.note, few) if note),
    )


def _smallest(data: LabelledData) -> int:
    """Scored items of the rarest class; all items where there are no splits."""
    scored = np.arange(len(data)) if data.split is None else data.rows_of("test")
    return int(np.bincount(data.protected[scored], minlength=data.n_classes).min())
