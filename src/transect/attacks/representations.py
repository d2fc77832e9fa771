"""Leakage of real-valued representations: how well attackers infer the protected attribute from a layer's numbers.

Each layer is attacked by itself, by a linear and a non-linear attacker. Where the label is one category, the same rows
dealt out among items with the same label show what a representation would leak that holds the label alone; the
difference is what it holds beyond the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.attacks.attackers import load
from transect.attacks.comparisons import dealt, difference, unmeasured
from transect.attacks.estimation import Plan, Request, Settings, attack, estimate, null
from transect.attacks.records import Estimate, Evidence, LabelledData
from transect.attacks.side_by_side import Interval
from transect.errors import BadInput

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
    leakage: Estimate
    null: Interval
    beyond_label: Estimate


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
        raise BadInput(f"representation {layer.name}: expected numbers for the labels' items, got none; compare ids")
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
    chance = Interval(*null(plan, requests["null"], attacks["null"]))
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
