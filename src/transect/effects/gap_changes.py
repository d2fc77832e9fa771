"""Does matching change the gap between two groups? Errors before and after, clustered by identity.

The matched images are some of all, so that both gaps rest on the same people and their difference is far more certain
than either. Each identity's part in both is known; leaving out one identity at a time gives the error of the change
(Efron and Stein 1981: for comparisons of two identities, at least the right one on average).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects.dyadic import FEWEST_IDENTITIES
from transect.effects.multiplicity import holm
from transect.effects.recognition import GroupErrors
from transect.effects.regression import interval

Measure = Literal["mean distance", "fnmr", "fmr"]
MEASURES: Final[tuple[Measure, ...]] = ("mean distance", "fnmr", "fmr")


@final
@dataclass(frozen=True, slots=True)
class GapChange:
    """One gap, `group` minus `reference`, among all images (before) and among matched ones (after).

    change: after minus before, with its interval and p; p_adjusted: Holm's over all changes of one call. threshold: NaN
    for the mean distance. reason: why there is no change, or no interval.
    """

    group: str
    reference: str
    measure: Measure
    threshold: float
    before: float
    after: float
    change: float
    low: float
    high: float
    p: float
    p_adjusted: float
    reason: str


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """A group's number in one sample, and what each identity adds to its error: influence [g] by people [g]."""

    value: float
    influence: Float[np.ndarray, " g"]
    people: Int[np.ndarray, " g"]


def gap_changes(
    before: Sequence[GroupErrors], after: Sequence[GroupErrors], thresholds: Sequence[float], confidence: float = 0.95
) -> list[GapChange]:
    """The change of every group's gap to the first group: of mean distances, then of both rates at each threshold."""
    names = [group.group for group in before if group.group in {other.group for other in after}]
    samples = [{group.group: group for group in sample} for sample in (before, after)]
    rows = [
        _change(samples, (name, names[0]), measure, place, at, confidence)
        for name in names[1:]
        for measure in MEASURES
        for place, at in enumerate(thresholds if measure != "mean distance" else [np.nan])
    ]
    adjusted = holm(np.array([row.p for row in rows], dtype=np.float64))
    return [replace(row, p_adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)]


def _change(
    samples: Sequence[Mapping[str, GroupErrors]],
    names: tuple[str, str],
    measure: Measure,
    place: int,
    threshold: float,
    confidence: float,
) -> GapChange:
    parts = [[_part(sample[name], measure, place) for name in names] for sample in samples]
    before, after = (group.value - reference.value for group, reference in parts)
    change = after - before
    reason = (
        _few(samples, names, measure) if np.isfinite(change) else "a gap is unknown: no such comparisons in a group"
    )
    low = high = p = np.nan
    if not reason:
        error, freedom = _error([(1.0, parts[1]), (-1.0, parts[0])])
        low, high, p = interval(change, error, freedom, confidence)
        reason = "" if np.isfinite(low) else "no interval: matching changes no identity's part in the gap"
    return GapChange(*names, measure, threshold, before, after, change, low, high, p, np.nan, reason)


def _part(errors: GroupErrors, measure: Measure, place: int) -> _Part:
    """A mean of an identity's comparisons, or of comparisons with others, left out one identity at a time."""
    each = errors.comparisons
    if measure == "fmr":
        counts, totals, halves = each.impostor, each.impostor_matches[:, place], 2
    else:
        missed = each.genuine - each.genuine_matches[:, place] if measure == "fnmr" else each.genuine_sum
        counts, totals, halves = each.genuine, missed, 1
    whole = float(counts.sum()) / halves
    if not whole:
        return _Part(np.nan, np.zeros(len(counts)), errors.people)
    value = float(totals.sum()) / halves / whole
    # Without an identity its comparisons are gone, those with others among them.
    left = np.maximum(whole - counts, 1.0)
    return _Part(value, (totals - value * counts) / left, errors.people)


def _error(sides: Sequence[tuple[float, Sequence[_Part]]]) -> tuple[float, float]:
    """Standard error and degrees of freedom of a change, from each identity's part in all four numbers."""
    terms = [
        (sign * side * part.influence, part.people)
        for sign, both in sides
        for side, part in zip((1.0, -1.0), both, strict=True)
    ]
    person, place = np.unique(np.concatenate([people for _, people in terms]), return_inverse=True)
    moved = np.bincount(place, np.concatenate([values for values, _ in terms]), len(person)).astype(np.float64)
    squares, fourth = float((moved**2).sum()), float((moved**4).sum())
    if not squares > 0:
        return np.nan, np.nan
    n = len(person)
    return float(np.sqrt(squares * (n - 1) / n)), max(squares**2 / fourth - 1, 1.0)


def _few(samples: Sequence[Mapping[str, GroupErrors]], names: tuple[str, str], measure: Measure) -> str:
    """Why there is no interval: too few identities with comparisons in one of the four."""
    for sample in samples:
        for name in names:
            each = sample[name].comparisons
            n = int(((each.impostor if measure == "fmr" else each.genuine) > 0).sum())
            if n < FEWEST_IDENTITIES:
                people = "identity" if n == 1 else "identities"
                return f"no interval: {n} {people} of {name}, at least {FEWEST_IDENTITIES}"
    return ""
