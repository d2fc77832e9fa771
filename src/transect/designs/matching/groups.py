"""More than two groups: matched sets of one image of each, around the smallest group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.designs.matching.sample import IDENTITY_USED, MISSING, OTHER_GROUP, Matching, Sample
from transect.errors import BadInput


class NoSet(BadInput):
    """No image of the base group has a counterpart in each other group."""


@final
@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of an image of each group, the base first, and its distance to the others; refused, near: of base images."""

    groups: tuple[str, ...]
    rows: Int[np.ndarray, "sets groups"]
    distance: Float[np.ndarray, "sets others"]
    refused: Mapping[int, str] = field(default_factory=dict)
    near: Mapping[int, tuple[int, float]] = field(default_factory=dict)


def match_groups(
    sample: Sample, labels: ArrayLike, method: Callable[[Sample], Matching], *, base: str | None = None
) -> Sets:
    """Matches the base group (by default the smallest) to each other one, the scarcest first; a set has one of each.
    Each is refused for what `method` says of the first group without a match, among images of identities in no set.
    """
    group = np.array([str(label) for label in np.asarray(labels).tolist()])
    names, counts = np.unique(group[sample.eligible], return_counts=True)
    ordered = names[np.argsort(counts, kind="stable")].tolist()
    if len(ordered) < 2 or (base is not None and base not in ordered):
        wanted = "at least two groups" if len(ordered) < 2 else f"one of {', '.join(ordered)} as the base"
        raise BadInput(f"groups: expected {wanted}, got {base or ', '.join(ordered) or 'none'}")
    first = base or ordered[0]
    others = [name for name in ordered if name != first]
    members = [np.flatnonzero((group == first) & sample.eligible)]
    distances: list[Float[np.ndarray, " m"]] = []
    barred: set[int] = set()
    refused = {row: why for row, why in sample.ineligible.items() if group[row] == first}
    near: dict[int, tuple[int, float]] = {}
    for name in others:
        if not len(members[0]):
            raise NoSet(f"no image of {first} has a match in every group before {name}; relax a constraint")
        between = _two_groups(sample, group == name, members[0], barred)
        pairs = method(between)
        place = dict(zip(pairs.a.tolist(), range(len(pairs)), strict=True))
        matched = np.array([row in place for row in members[0].tolist()], dtype=bool)
        without = members[0][~matched].tolist()
        reasons = pairs.refused if len(between.columns) else dict.fromkeys(without, IDENTITY_USED)
        refused |= {row: f"{reasons.get(row, OTHER_GROUP)} (with {name})" for row in without}
        near |= {row: pairs.near[row] for row in without if row in pairs.near}
        members, distances = [rows[matched] for rows in members], [part[matched] for part in distances]
        position = np.array([place[row] for row in members[0].tolist()], dtype=np.int64)
        members.append(pairs.b[position])
        distances.append(pairs.distance[position])
        barred |= set(sample.identity[pairs.b[position]].tolist())
    table = np.column_stack(members)
    apart = np.column_stack(distances)
    order = np.lexsort((table[:, 0], apart.sum(axis=1)))
    return Sets((first, *others), table[order], apart[order], refused, near)


def _two_groups(
    sample: Sample, other: Float[np.ndarray, " n"] | np.ndarray, base: Int[np.ndarray, " m"], barred: set[int]
) -> Sample:
    """Base images against one other group; everything else, and identities already in a set, is ineligible."""
    treatment = np.full(len(sample), np.nan)
    treatment[base], treatment[other] = 1.0, 0.0
    out = np.isnan(treatment) | (np.isin(sample.identity, list(barred)) & other)
    reasons = dict.fromkeys(np.flatnonzero(out).tolist(), MISSING)
    return replace(sample, treatment=treatment, ineligible={**reasons, **sample.ineligible})
