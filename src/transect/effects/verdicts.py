"""Is there a difference, none larger than the margin, or can the study not tell? Verdicts, and requirements of a
model.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from transect.effects import clusters
from transect.effects.contrasts import by_level, known_mean, known_means, level_differences
from transect.effects.intervals import BERGER, FEW_AVERAGED, SCHUIRMANN, clopper_pearson_clustered
from transect.effects.planning import plan_from_pilot
from transect.effects.samples import Measure
from transect.errors import BadInput
from transect.records import Estimate

Verdict = Literal["found", "no difference", "cannot tell", "not judged", "not estimable"]
EQUIVALENCE: Final = 0.9
"""Level of the two-sided interval whose ends are two one-sided tests at 5 %."""
ALPHA: Final = 0.05
POWER: Final = 0.9
SOURCES: Final = (SCHUIRMANN, BERGER)


def is_shown(p_adjusted: float | None, low: float | None, high: float | None, alpha: float = 0.05) -> bool:
    """Whether an effect is called significant: p is at most alpha, and its interval, if it has one, does not hold 0.

    >>> is_shown(0.01, 0.02, 0.1), is_shown(0.01, -0.02, 0.1), is_shown(0.01, None, None)
    (True, False, True)
    """
    return p_adjusted is not None and p_adjusted <= alpha and not holds_zero(low, high)


def holds_zero(low: float | None, high: float | None) -> bool:
    """Whether there is an interval and 0 lies in it."""
    return low is not None and high is not None and low <= 0 <= high


def judge(significant: bool, low: float, high: float, margin: float) -> Verdict:
    """The verdict on an attribute. low, high: the outermost ends of the 90 % intervals of all pairs of levels."""
    if significant:
        return "found"
    return "no difference" if -margin < low and high < margin else "cannot tell"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Estimate):
    """The difference between two levels of an attribute, by their positions: the second minus the first."""

    first: int
    second: int
    n_subjects: int


def pairs_of_levels(
    values: Float[np.ndarray, "n ..."],
    axis: int,
    measure: Measure,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = EQUIVALENCE,
) -> tuple[Pair, ...]:
    """The difference of every pair of levels along an axis of a transect, with its interval."""
    grid = by_level(values, axis)
    chosen = list(itertools.combinations(range(grid.shape[1]), 2))
    differences = np.stack([level_differences(grid[:, first], grid[:, second]) for first, second in chosen], axis=1)
    who = clusters.clusters_of(people)
    bounds = clusters.mean_difference_interval(
        differences,
        who,
        binary=measure.is_share,
        pairs=np.full(len(chosen), float(grid.shape[2] * measure.answers)),
        confidence=confidence,
    )
    n = clusters.people_with(differences, who)
    unseen = np.zeros(len(chosen)) if measure.is_share else unseen_people(values, n)
    low, high = bounds.low - unseen, bounds.high + unseen
    return tuple(
        Pair(
            known_mean(differences[:, k]),
            float(low[k]),
            float(high[k]),
            first=first,
            second=second,
            n_subjects=int(n[k]),
        )
        for k, (first, second) in enumerate(chosen)
    )


def unseen_people(values: Float[np.ndarray, " ..."], people: Int[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """How far people whom nobody of n is like could move the mean difference of scores, with 95 % confidence."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.full(len(people), np.nan)
    low, high = float(known.min()), float(known.max())
    reach = 1.0 if low >= 0 and high <= 1 else high - low
    return np.asarray(reach * np.minimum(-math.log(0.05) / np.maximum(people, 1), 1.0))


def outermost(pairs: Sequence[Pair]) -> tuple[float, float]:
    """The lowest and the highest end of the intervals of some pairs of levels; NaN where one has none."""
    return float(np.min([pair.low for pair in pairs])), float(np.max([pair.high for pair in pairs]))


def subjects_to_tell(
    margin: float, deviation: float, *, family: int = 1, discordant: float | None = None, power: float = POWER
) -> int | None:
    """Subjects with which a difference of the margin is found, and none shown to be none, each at this power."""
    found = subjects_to_find(margin, deviation, family=family, discordant=discordant, power=power)
    if found is None:
        return None
    z = float(ndtri((1 + EQUIVALENCE) / 2) + ndtri((1 + power) / 2))
    return max(found, math.ceil((z * deviation / margin) ** 2))


def subjects_to_find(
    size: float, deviation: float, *, family: int = 1, discordant: float | None = None, power: float = POWER
) -> int | None:
    """Subjects with which a difference of this size is found at this power."""
    if not (size > 0 and math.isfinite(deviation) and deviation > 0):
        return None
    family = max(family, 1)
    try:
        plan = plan_from_pilot(
            size,
            deviation,
            images_per_subject=1,
            unpaired_deviation=deviation,
            power=power,
            alpha=ALPHA,
            family=family,
            discordant=discordant,
        )
    except BadInput:
        return None
    return max(plan.subjects, math.ceil(1 + math.log2(family / ALPHA)))


def subjects_for(
    margin: float,
    n: int,
    low: float,
    high: float,
    *,
    spread: float,
    discordant: float | None = None,
    averaged: bool = False,
    family: int = 1,
    power: float = POWER,
) -> int | None:
    """As `subjects_to_tell`, and never fewer than n, which could not tell."""
    if not math.isfinite(low):
        return None
    by_interval = subjects_by_interval(margin, n, low, high, family=family, power=power)
    if not spread > 0:
        return by_interval
    planned = subjects_to_tell(margin, spread, family=family, discordant=discordant, power=power)
    if planned is None:
        return None
    planned = max(planned, FEW_AVERAGED) if averaged else planned
    return planned if planned > n else by_interval


def subjects_by_interval(
    margin: float, n: int, low: float, high: float, *, confidence: float = 0.95, family: int = 1, power: float = POWER
) -> int | None:
    """As `subjects_to_tell`, where only the interval of n subjects is known: its width shrinks with the root of n."""
    found = subjects_to_confirm(margin, n, low, high, confidence=confidence, family=family, power=power)
    none = float(ndtri((1 + EQUIVALENCE) / 2) + ndtri((1 + power) / 2))
    equal = _by_interval(none, margin, n, low, high, confidence)
    return None if found is None or equal is None else max(found, equal)


def subjects_to_confirm(
    size: float, n: int, low: float, high: float, *, confidence: float = 0.95, family: int = 1, power: float = POWER
) -> int | None:
    """Subjects with which a difference of this size is found at this power, by the interval of n subjects.

    >>> subjects_to_confirm(0.1, 100, 0.0, 0.2)  # (1.96 + 1.28)² (0.1 / 1.96)² / 0.1² of 100
    274
    """
    tests = float(ndtri(1 - ALPHA / 2 / max(family, 1)) + ndtri(power))
    return _by_interval(tests, size, n, low, high, confidence)


def _by_interval(errors: float, size: float, n: int, low: float, high: float, confidence: float) -> int | None:
    """Subjects whose standard error goes so many times into the size."""
    half = (high - low) / 2
    if not (size > 0 and half > 0 and n > 1):
        return None
    needed = n * (errors * half / float(ndtri((1 + confidence) / 2)) / size) ** 2
    return math.ceil(needed) if needed <= 1e7 else None


def largest(found: Sequence[int | None]) -> int | None:
    """The largest of some numbers of subjects, rounded up to two digits; None where one is not known."""
    known = [number for number in found if number is not None]
    if not known or len(known) < len(found):
        return None
    return rounded_up(max(known))


def rounded_up(number: int) -> int:
    """A number of subjects rounded up to two digits."""
    step = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // step) * step


Status = Literal["met", "violated", "not shown"]
ERROR: Final = 0.05
"""The largest chance of a wrong "met", and of a wrong "violated"."""
SAME_MODEL: Final = 20
"""People from which a model that answers as the baseline on every image counts as the same."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bound(Estimate):
    """What is known of one quantity that a requirement limits, from so many subjects; NaN where it is not known.

    It is below `high` with 95 % confidence, and above `low` with 95 % for all quantities of the requirement together.
    """

    n_subjects: int


def status(bounds: Sequence[Bound], limit: float) -> Status:
    """Whether all quantities are shown to be at most the limit, or one to be above it."""
    if any(bound.low > limit for bound in bounds):
        return "violated"
    return "met" if bounds and all(bound.high < limit for bound in bounds) else "not shown"


def subjects_needed(bounds: Sequence[Bound], limit: float) -> int | None:
    """Subjects with which the requirement would be met in nine of ten runs if every estimate were the truth."""
    needed = []
    for bound in bounds:
        room, width = limit - bound.estimate, bound.high - bound.estimate
        if not (room > 0 and math.isfinite(width)):
            return None
        needed.append(bound.n_subjects * (2 * width / room) ** 2)
    return rounded_up(math.ceil(round(max(needed), 6))) if needed else None


def sizes_of_differences(
    values: Float[np.ndarray, "n ..."], axis: int, measure: Measure, *, people: Int[np.ndarray, " n"] | None = None
) -> tuple[Bound, ...]:
    """The size |difference| of every pair of levels along an axis of a transect, with its bounds."""
    grid = by_level(values, axis)
    how = _How(measure, grid.shape[2], 1.0, grid, clusters.clusters_of(people))
    differences = _pairs(grid)
    pairs = differences.shape[1]
    low, high = how.ends(differences, ERROR, unseen=True)
    strict_low, strict_high = how.ends(differences, ERROR / 2 / pairs)
    sizes, n = np.abs(known_means(differences, axis=0)), how.people(differences)
    lower, upper = np.maximum(strict_low, -strict_high), np.maximum(high, -low)
    return _bounds((sizes, lower, upper), n)


def sizes_beyond_baseline(
    values: Float[np.ndarray, "n ..."],
    baseline: Float[np.ndarray, "n ..."],
    axis: int,
    measure: Measure,
    *,
    people: Int[np.ndarray, " n"] | None = None,
) -> tuple[Bound, ...]:
    """How much larger |difference| is than in a baseline on the same images, of every pair of levels, with bounds."""
    shared = np.isfinite(values) & np.isfinite(baseline)
    values, baseline = np.where(shared, values, np.nan), np.where(shared, baseline, np.nan)
    grids = by_level(values, axis), by_level(baseline, axis)
    both = np.concatenate(grids)
    who = clusters.clusters_of(people)
    how = _How(measure, grids[0].shape[2], 2.0, both, who)
    now, then = map(_pairs, grids)
    signed = [sign * now - against * then for sign in (1, -1) for against in (1, -1)]
    pairs = now.shape[1]
    stacked = np.concatenate(signed, axis=1)
    upper = how.ends(stacked, ERROR / 2, unseen=True)[1].reshape(2, 2, pairs)
    lower = how.ends(stacked, ERROR / 2 / pairs)[0].reshape(2, 2, pairs)
    size = np.abs(known_means(now, axis=0)) - np.abs(known_means(then, axis=0))
    n = how.people(now + then)
    # Of a sign: the smaller of both upper ends (either suffices) and of both lower ends (both are needed).
    tops, bottoms = upper.min(axis=1).max(axis=0), lower.min(axis=1).max(axis=0)
    none = np.zeros(pairs)
    return _bounds((none, none, none) if _identical(values, baseline, who) else (size, bottoms, tops), n)


def increase(
    values: Float[np.ndarray, "n ..."],
    baseline: Float[np.ndarray, "n ..."],
    measure: Measure,
    *,
    people: Int[np.ndarray, " n"] | None = None,
) -> tuple[Bound, ...]:
    """How much larger the mean outcome is than in a baseline on the same images, with its bounds."""
    flat, before = values.reshape(len(values), -1), baseline.reshape(len(baseline), -1)
    difference = level_differences(before, flat)[:, None]
    who = clusters.clusters_of(people)
    how = _How(measure, flat.shape[1], 1.0, flat, who)
    low, high = how.ends(difference, ERROR)[0], how.ends(difference, ERROR, unseen=True)[1]
    none = np.zeros(1)
    found = (none, none, none) if _identical(values, baseline, who) else (known_means(difference, axis=0), low, high)
    return _bounds(found, how.people(difference))


def group_rates(successes: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"]) -> tuple[Bound, ...]:
    """The rate of each of k groups, with exact one-sided bounds on effective images."""
    groups = counts.shape[1]
    images = counts.sum(axis=0)
    rates = np.divide(successes.sum(axis=0), images, out=np.full(groups, np.nan), where=images > 0)
    upper = clopper_pearson_clustered(successes, counts, 1 - 2 * ERROR)[1]
    lower = clopper_pearson_clustered(successes, counts, 1 - 2 * ERROR / groups)[0]
    people = (counts > 0).sum(axis=0)
    return _bounds((rates, lower, upper), people)


def _bounds(ends: tuple[Float[np.ndarray, " k"], ...], n: Int[np.ndarray, " k"]) -> tuple[Bound, ...]:
    """Of each quantity, from its estimate and ends."""
    rows = zip(np.stack(ends, axis=1).tolist(), n.tolist(), strict=True)
    return tuple(Bound(*row, n_subjects=people) for row, people in rows)


def _identical(
    values: Float[np.ndarray, "n ..."], baseline: Float[np.ndarray, "n ..."], who: Int[np.ndarray, " n"] | None
) -> bool:
    """Whether a model answers as the baseline does on every image of at least twenty people: it is the same model."""
    shared = np.isfinite(values) & np.isfinite(baseline)
    answered = shared.reshape(len(values), -1).any(axis=1)
    people = len(np.unique((np.arange(len(values)) if who is None else who)[answered]))
    return bool(people >= SAME_MODEL and (values[shared] == baseline[shared]).all())


@final
@dataclass(frozen=True, slots=True)
class _How:
    """How the differences were made: cells that one averages, the largest one, and the outcomes themselves.

    who: the person of each subject, None where nobody repeats.
    """

    measure: Measure
    cells: int
    reach: float
    values: Float[np.ndarray, " ..."]
    who: Int[np.ndarray, " n"] | None

    def people(self, differences: Float[np.ndarray, "n k"]) -> Int[np.ndarray, " k"]:
        """How many people have a difference."""
        return clusters.people_with(differences, self.who)

    def ends(
        self, differences: Float[np.ndarray, "n k"], error: float, *, unseen: bool = False
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """The ends of intervals, each of which is beyond the mean with a chance of `error`."""
        columns = differences.shape[1]
        bounds = clusters.mean_difference_interval(
            differences,
            self.who,
            binary=self.measure.is_share,
            reach=np.full(columns, self.reach),
            pairs=np.full(columns, float(self.cells * self.measure.answers)),
            confidence=1 - 2 * error,
        )
        if self.measure.is_share or not unseen:
            return bounds.low, bounds.high
        more = self.reach * unseen_people(self.values, self.people(differences))
        return bounds.low - more, bounds.high + more


def _pairs(grid: Float[np.ndarray, "n levels cells"]) -> Float[np.ndarray, "n k"]:
    """Each subject's difference of every pair of levels."""
    chosen = itertools.combinations(range(grid.shape[1]), 2)
    return np.stack([level_differences(grid[:, first], grid[:, second]) for first, second in chosen], axis=1)
