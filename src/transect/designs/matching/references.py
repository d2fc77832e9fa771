"""A second photograph of each person in a pair: valid reference images (Singh et al. 2021, Eq. 5).

Benchmarks of face recognition compare a photograph with another of the same identity. A reference has the default
attributes that you name; of several, the two are chosen whose distances to their own photograph differ least, so
that near-duplicates of one person do not make the task easier for one group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.designs.matching.sample import MISSING, NO_REFERENCE, Matching, Sample
from transect.designs.matching.search import distances
from transect.runs.parts import Progress, announced

Measure: TypeAlias = Callable[[Int[np.ndarray, " m"], Int[np.ndarray, " m"]], Float[np.ndarray, " m"]]
"""From rows and columns of a sample, int64 [m] each, to the distance of each pair, float64 [m], 0 or more."""


@final
@dataclass(frozen=True, slots=True)
class Difficulty:
    """Mean distance from the reference image in each group, mean absolute difference within pairs, and KS distance."""

    mean_treated: float
    mean_control: float
    mean_difference_in_pairs: float
    ks: float


@final
@dataclass(frozen=True, slots=True)
class References:
    """The reference image of each a and each b, and their distances to it (difficulty)."""

    a: Int[np.ndarray, " m"]
    b: Int[np.ndarray, " m"]
    difficulty_a: Float[np.ndarray, " m"]
    difficulty_b: Float[np.ndarray, " m"]

    @property
    def difficulty(self) -> Difficulty:
        """Difficulty of both groups (Fig. C2 of Singh et al. 2021); raises ValueError without any pair."""
        one, other = np.sort(self.difficulty_a), np.sort(self.difficulty_b)
        below = (np.searchsorted(each, np.append(one, other), "right") / len(each) for each in (one, other))
        return Difficulty(
            mean_treated=float(self.difficulty_a.mean()),
            mean_control=float(self.difficulty_b.mean()),
            mean_difference_in_pairs=float(np.abs(self.difficulty_a - self.difficulty_b).mean()),
            ks=float(np.abs(np.subtract(*below)).max()),
        )


def usable_references(
    sample: Sample, defaults: Mapping[str, tuple[Float[np.ndarray, " n"], float]]
) -> Bool[np.ndarray, " n"]:
    """Which images may be a reference: complete, and each default attribute's column at its value."""
    usable = np.ones(len(sample), dtype=bool)
    usable[[row for row, why in sample.ineligible.items() if why == MISSING]] = False
    for column, value in defaults.values():
        usable &= column == value
    return usable


def without_reference(sample: Sample, usable: Bool[np.ndarray, " n"]) -> dict[int, str]:
    """Images of whose identity there is no other usable image -> reason, to be made ineligible."""
    count = np.bincount(sample.identity, weights=usable, minlength=int(sample.identity.max()) + 1)
    others = count[sample.identity] - usable
    return dict.fromkeys(np.flatnonzero(others < 1).tolist(), NO_REFERENCE)


def choose_references(
    sample: Sample, pairs: Matching, usable: Bool[np.ndarray, " n"], measure: Measure | None = None
) -> References:
    """For each pair the two references whose difficulties differ least; of equals the easiest, then the first."""
    measure = partial(distances, sample.features) if measure is None else measure
    members = _by_identity(sample, usable)
    chosen = []
    with Progress("pairs with references", len(pairs.a), quiet=not announced()) as progress:
        for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
            near_a, near_b = (_difficulties(measure, row, members[int(sample.identity[row])]) for row in (a, b))
            gap = np.abs(near_a[1][:, None] - near_b[1][None, :])
            ease = near_a[1][:, None] + near_b[1][None, :]
            i, j = np.unravel_index(np.lexsort((ease.ravel(), gap.ravel()))[0], gap.shape)
            chosen.append((near_a[0][i], near_b[0][j], near_a[1][i], near_b[1][j]))
            progress.advance(1)
    columns = [np.array([row[k] for row in chosen]) for k in range(4)]
    return References(
        columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2].astype(float), columns[3].astype(float)
    )


def _by_identity(sample: Sample, usable: Bool[np.ndarray, " n"]) -> dict[int, list[int]]:
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero(usable).tolist():
        members.setdefault(int(sample.identity[row]), []).append(row)
    return members


def _difficulties(
    measure: Measure, image: int, members: list[int]
) -> tuple[Int[np.ndarray, " r"], Float[np.ndarray, " r"]]:
    others = np.array([row for row in members if row != image], dtype=np.int64)
    return others, measure(np.full(len(others), image), others)
