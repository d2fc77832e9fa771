"""Leakages side by side: of models, balanced subsets, attackers and attributes (Tables 1 and 2 of Wang et al. 2019),
of layers.

A case is one set of items, one protected attribute and one attacker, with any number of models. Where a case cannot
be measured, as for a cell without items, its row has the reason. A layer's numbers are attacked by a linear and a
non-linear attacker, and compared with the same rows dealt out among items with the same label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Bool, Float

from transect.attacks.analysis import Analysis, Level
from transect.attacks.attackers import load
from transect.attacks.estimation import Plan, Request, Settings, attack, dealt, difference, estimate, null, unmeasured
from transect.attacks.outputs import Model
from transect.attacks.records import Evidence, LabelledData, LeakageEstimate
from transect.errors import BadInput

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
    dataset_at_accuracy: λ_D(a), of the headline's comparison, and amplification: Δ. f1, mean_average_precision: of the
    model, in percent. at_accuracy: λ_D by F1. reason: why nothing was measured. note: what to know of the row.
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
    dataset_leakage: LeakageEstimate
    null: Interval
    model_leakage: LeakageEstimate | None = None
    dataset_at_accuracy: LeakageEstimate | None = None
    amplification: LeakageEstimate | None = None
    f1: float = math.nan
    mean_average_precision: float = math.nan
    at_accuracy: tuple[Level, ...] = ()
    reason: str = ""
    note: str = ""


def row_without_figures(case: Case, attacker: str, reason: str = "") -> TableRow:
    """The row of a case that cannot be measured, with the reason."""
    none, data = LeakageEstimate(reason=reason), case.data
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
        reason=reason,
        note=case.note,
    )


def row_of(case: Case, analysis: Analysis) -> TableRow:
    """The row of an analysis of a case."""
    headline = analysis.headline
    data = case.data
    scored = np.arange(len(data)) if data.split is None else data.rows_of("test")
    smallest = int(np.bincount(data.protected[scored], minlength=data.n_classes).min())
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
        f1=analysis.f1,
        mean_average_precision=analysis.mean_average_precision,
        at_accuracy=analysis.levels,
        note="; ".join(note for note in (case.note, few) if note),
    )


LINEAR: Final = "logistic"
NON_LINEAR: Final = "trees"
_SEVERAL: Final = "the items have several labels: too few have the same ones"


@final
@dataclass(frozen=True)
class Layer:
    """Numbers [n, d] of the items of a data set, in its order, with a name; NaN in rows that have none."""

    name: str
    values: Float[np.ndarray, "n d"]

    @property
    def known(self) -> Bool[np.ndarray, " n"]:
        """Rows whose numbers are all there."""
        return np.asarray(np.isfinite(self.values).all(axis=1))


@final
@dataclass(frozen=True, slots=True)
class RepresentationRow:
    """Leakage of a representation, in percent, by one attacker; beyond_label in percentage points.

    columns: its numbers per item. left_out: items without numbers. beyond_label: leakage minus that of the same rows
    dealt out among items with the same label; NaN with a reason where items have several labels.
    """

    name: str
    attacker: str
    columns: int
    n: int
    left_out: int
    leakage: LeakageEstimate
    null: Interval
    beyond_label: LeakageEstimate


def representation_rows(
    data: LabelledData, layers: Sequence[Layer], attackers: Sequence[str], settings: Settings, device: str, stage: str
) -> list[RepresentationRow]:
    """A row for each layer and attacker."""
    each, total = [(layer, name) for layer in layers for name in attackers], len(layers) * len(attackers)
    return [
        _measured(data, layer, name, settings, device, stage and f"{stage}, {layer.name} ({place} of {total})")
        for place, (layer, name) in enumerate(each, 1)
    ]


def _measured(
    data: LabelledData, layer: Layer, name: str, settings: Settings, device: str, stage: str
) -> RepresentationRow:
    known = np.flatnonzero(layer.known)
    if not len(known):
        raise BadInput(f"representation {layer.name}: no item of the labels has numbers; compare ids")
    order = known[data.take(known).own_order()]
    taken = data.take(order)
    if taken.split is not None and "train" not in taken.split:  # nothing to learn from: attackers are cross-fitted
        taken = replace(taken, split=None)
    plan = Plan.of(taken, load(name, device), settings)
    values = layer.values[order].astype(np.float32)
    seen = Evidence(tuple(f"{i}" for i in range(values.shape[1])), values=values)
    requests: dict[str, Request] = {"model": plan.evidence(seen), "null": plan.shuffled(seen)}
    if plan.data.labels.category is not None:
        requests["dealt"] = dealt(plan, seen)
    attacks = dict(zip(requests, attack(plan.attacker, list(requests.values()), stage), strict=True))
    leak, beyond = estimate(plan, attacks["model"]), unmeasured(_SEVERAL)
    if "dealt" in attacks:
        leak, _, beyond = difference(plan, attacks["model"], plan, attacks["dealt"])
    unknown = not math.isfinite(leak.estimate)
    chance = Interval(*((math.nan, math.nan) if unknown else null(plan, requests["null"], attacks["null"])))
    return RepresentationRow(
        name=layer.name,
        attacker=name,
        columns=values.shape[1],
        n=leak.n,
        left_out=len(data) - len(known),
        leakage=leak,
        null=chance,
        beyond_label=beyond,
    )
