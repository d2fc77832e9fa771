"""What could an effect be if the missing answers were known? Worst-case and trimming bounds of binary outcomes.

Within subjects (`paired_bounds`) each missing outcome is set to 0 and to 1: the worst case (Manski 1990), without any
assumption. Between groups of different people (`group_bounds`) trimming bounds (Lee 2009) are of the images that would
be answered in either group; they assume that the groups are comparable and that the level moves answering one way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.bands import mean_band
from transect.effects.intervals import wilson_clustered
from transect.effects.repeated import by_person, clusters_of, mean_difference_interval, people_with

SOURCES: Final = (
    "Manski 1990, Nonparametric bounds on treatment effects, American Economic Review 80(2)",
    "Lee 2009, Training, wages, and sample selection: estimating sharp bounds on treatment effects, "
    "doi:10.1111/j.1467-937X.2009.00536.x",
    "Donner and Zou 2012, Closed-form confidence intervals for functions of the normal mean and standard deviation, "
    "doi:10.1177/0962280210383082",
)
FEW_SUBJECTS: Final = 10
TOO_FEW: Final = f"fewer than {FEW_SUBJECTS} subjects: no interval"
_NAN: Final = float("nan")


@final
@dataclass(frozen=True, slots=True)
class Bounds:
    """The smallest and the largest effect that the missing answers allow, in [-1, 1].

    low, high: a 95 % interval of the whole range; NaN with a reason. All NaN where nothing was sent.
    """

    smallest: float
    largest: float
    low: float
    high: float
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """A proportion and its interval."""

    p: float
    low: float
    high: float


def paired_bounds(
    first: Float[np.ndarray, "n cells"],
    second: Float[np.ndarray, "n cells"],
    sent: Bool[np.ndarray, "n cells"] | None = None,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Bounds:
    """Worst-case bounds of the mean over subjects of second - first, outcomes of 0 and 1, NaN where missing."""
    counted = np.ones(first.shape, dtype=np.bool_) if sent is None else sent
    least = np.nan_to_num(second, nan=0.0) - np.nan_to_num(first, nan=1.0)
    most = np.nan_to_num(second, nan=1.0) - np.nan_to_num(first, nan=0.0)
    return bounded_effect(least, most, counted, pairs=float(first.shape[1]), people=people, seed=seed)


def bounded_effect(
    least: Float[np.ndarray, "n cells"],
    most: Float[np.ndarray, "n cells"],
    counted: Bool[np.ndarray, "n cells"],
    *,
    pairs: float,
    binary: bool = True,
    people: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Bounds:
    """Bounds of the mean over subjects from the smallest and largest difference that each pair can have, in [-1, 1]."""
    used = counted.any(axis=1)
    who = clusters_of(None if people is None else people[used])
    least, most, counted = (table[used] for table in (least, most, counted))
    if not least.size:
        return Bounds(_NAN, _NAN, _NAN, _NAN)
    ends = np.stack([np.where(counted, end, 0.0).sum(axis=1) / counted.sum(axis=1) for end in (least, most)], axis=1)
    smallest, largest = ends.mean(axis=0).tolist()
    if people_with(ends, who)[0] < FEW_SUBJECTS:
        return Bounds(smallest, largest, _NAN, _NAN, TOO_FEW)
    if not binary:
        sums = (ends, None) if who is None else by_person(ends, who)
        band = mean_band(*sums, seed=seed)
        return Bounds(smallest, largest, float(band.low[0]), float(band.high[1]), band.reason)
    interval = mean_difference_interval(ends, who, binary=True, pairs=np.full(2, pairs), seed=seed)
    return Bounds(smallest, largest, float(interval.low[0]), float(interval.high[1]))


def group_bounds(
    values: Float[np.ndarray, " n"], second: Bool[np.ndarray, " n"], subjects: Int[np.ndarray, " n"]
) -> tuple[Bounds, Bounds]:
    """Worst-case and trimming bounds of the difference of rates, second group minus first, of different people."""
    groups = [np.flatnonzero(~second), np.flatnonzero(second)]
    if not all(len(rows) for rows in groups):
        nothing = Bounds(_NAN, _NAN, _NAN, _NAN)
        return nothing, nothing
    few = min(len(np.unique(subjects[rows])) for rows in groups) < FEW_SUBJECTS
    return _worst(values, groups, subjects, few), _trimmed(values, groups, subjects, few)


def _worst(
    values: Float[np.ndarray, " n"], groups: list[np.ndarray], subjects: Int[np.ndarray, " n"], few: bool
) -> Bounds:
    least = [_part(values == 1, rows, subjects) for rows in groups]
    most = [_part(~(values == 0), rows, subjects) for rows in groups]
    smallest, largest = _minus(least[1], most[0]), _minus(most[1], least[0])
    return _bounds(smallest, largest, few)


def _trimmed(
    values: Float[np.ndarray, " n"], groups: list[np.ndarray], subjects: Int[np.ndarray, " n"], few: bool
) -> Bounds:
    answered = [_part(np.isfinite(values), rows, subjects) for rows in groups]
    if min(part.p for part in answered) == 0:
        return Bounds(_NAN, _NAN, _NAN, _NAN, "a group has no answer")
    if max(part.high / part.p for part in answered) >= 2:
        return Bounds(_NAN, _NAN, _NAN, _NAN, "too few answers")
    more = int(answered[1].p >= answered[0].p)  # the group that answers at least as often is trimmed
    share = answered[1 - more]
    rate = _part(values == 1, groups[1 - more][np.isfinite(values[groups[1 - more]])], subjects)
    yes = _inside(_over(_part(values == 1, groups[more], subjects), share))
    no = _inside(_over(_part(values == 0, groups[more], subjects), share))
    kept = _Part(1 - no.p, 1 - no.high, 1 - no.low)
    smallest, largest = _minus(kept, rate), _minus(yes, rate)
    if not more:
        smallest, largest = _minus(rate, yes), _minus(rate, kept)
    return _bounds(smallest, largest, few)


def _bounds(smallest: _Part, largest: _Part, few: bool) -> Bounds:
    if few:
        return Bounds(smallest.p, largest.p, _NAN, _NAN, TOO_FEW)
    return Bounds(smallest.p, largest.p, smallest.low, largest.high)


def _part(hit: np.ndarray, rows: np.ndarray, subjects: Int[np.ndarray, " n"]) -> _Part:
    """The share of the rows that hit, with Wilson's interval by subject."""
    _, people = np.unique(subjects[rows], return_inverse=True)
    counts = np.bincount(people).astype(np.float64)
    hits = np.bincount(people, weights=hit[rows].astype(np.float64))
    low, high = wilson_clustered(hits[:, None], counts[:, None])
    return _Part(float(hits.sum() / counts.sum()), float(low[0]), float(high[0]))


def _minus(a: _Part, b: _Part) -> _Part:
    """A - b of independent estimates: each end from the distances of the parts' own ends."""
    p = a.p - b.p
    return _Part(p, p - float(np.hypot(a.p - a.low, b.high - b.p)), p + float(np.hypot(a.high - a.p, b.p - b.low)))


def _over(a: _Part, b: _Part) -> _Part:
    """A / b of independent estimates, b above 0."""
    product = a.p * b.p

    def end(x: float, y: float, sign: float) -> float:
        inside = max(product**2 - x * y * (2 * a.p - x) * (2 * b.p - y), 0.0)
        return (product + sign * math.sqrt(inside)) / (y * (2 * b.p - y))

    return _Part(a.p / b.p, end(a.low, b.high, -1.0), end(a.high, b.low, 1.0))


def _inside(part: _Part) -> _Part:
    return _Part(*(min(max(value, 0.0), 1.0) for value in (part.p, part.low, part.high)))
