"""What does an audit conclude about an attribute: a difference, none that matters, or neither?

A difference is found where a test is significant after correction. No difference larger than a margin is shown by
equivalence: the 90 % interval of the difference of every pair of levels lies inside the margin, which errs in at most
5 % of cases however many pairs there are (two one-sided tests, joined by intersection-union). Otherwise the data cannot
tell, and the question is how many subjects could.
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

from transect.effects import repeated
from transect.effects.contrasts import by_level, known_mean, level_differences
from transect.effects.intervals import FEW_AVERAGED
from transect.effects.planning import plan_from_pilot
from transect.effects.samples import Measure
from transect.errors import BadInput

Verdict = Literal["found", "no difference", "cannot tell", "not judged", "not estimable"]
EQUIVALENCE: Final = 0.9
"""Level of the two-sided interval whose ends are two one-sided tests at 5 %."""
POWER: Final = 0.9
SOURCES: Final = (
    "Schuirmann 1987, A comparison of the two one-sided tests procedure and the power approach for assessing the "
    "equivalence of average bioavailability, doi:10.1007/BF01068419",
    "Berger 1982, Multiparameter hypothesis testing and acceptance sampling, doi:10.2307/1267823",
)


def judge(significant: bool, low: float, high: float, margin: float) -> Verdict:
    """The verdict on an attribute. low, high: the outermost ends of the 90 % intervals of all pairs of levels."""
    if significant:
        return "found"
    return "no difference" if -margin < low and high < margin else "cannot tell"


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """The difference between two levels of an attribute, by their positions: the second minus the first."""

    first: int
    second: int
    estimate: float
    low: float
    high: float
    n_subjects: int


def pairs_of_levels(
    values: Float[np.ndarray, "n ..."],
    axis: int,
    measure: Measure,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = EQUIVALENCE,
    seed: int = 0,
) -> tuple[Pair, ...]:
    """The difference of every pair of levels along an axis of a transect, with its interval."""
    grid = by_level(values, axis)
    chosen = list(itertools.combinations(range(grid.shape[1]), 2))
    differences = np.stack([level_differences(grid[:, first], grid[:, second]) for first, second in chosen], axis=1)
    rates = np.array([known_mean(grid[:, level]) for level in range(grid.shape[1])])
    rare = np.minimum(rates, 1 - rates)
    who = repeated.clusters_of(people)
    bounds = repeated.mean_difference_interval(
        differences,
        who,
        binary=measure.is_share,
        base=np.array([min(rare[first], rare[second]) for first, second in chosen]),
        pairs=np.full(len(chosen), float(grid.shape[2] * measure.answers)),
        confidence=confidence,
        seed=seed,
    )
    n = repeated.people_with(differences, who)
    unseen = np.zeros(len(chosen)) if measure.is_share else unseen_people(values, n)
    low, high = bounds.low - unseen, bounds.high + unseen
    return tuple(
        Pair(*pair, known_mean(differences[:, k]), float(low[k]), float(high[k]), int(n[k]))
        for k, pair in enumerate(chosen)
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
    margin: float, deviation: float, *, alpha: float = 0.05, family: int = 1, discordant: float | None = None
) -> int | None:
    """Subjects with which a difference of the margin is found, and none shown to be none, each at a power of 90 %."""
    found = subjects_to_find(margin, deviation, alpha=alpha, family=family, discordant=discordant)
    if found is None:
        return None
    z = float(ndtri((1 + EQUIVALENCE) / 2) + ndtri((1 + POWER) / 2))
    return max(found, math.ceil((z * deviation / margin) ** 2))


def subjects_to_find(
    size: float, deviation: float, *, alpha: float = 0.05, family: int = 1, discordant: float | None = None
) -> int | None:
    """Subjects with which a difference of this size is found with a power of 90 %."""
    if not (size > 0 and math.isfinite(deviation) and deviation > 0):
        return None
    family = max(family, 1)
    try:
        plan = plan_from_pilot(
            size,
            deviation,
            images_per_subject=1,
            unpaired_deviation=deviation,
            power=POWER,
            alpha=alpha,
            family=family,
            discordant=discordant,
        )
    except BadInput:
        return None
    return max(plan.subjects, math.ceil(1 + math.log2(family / alpha)))


def subjects_for(
    margin: float,
    n: int,
    low: float,
    high: float,
    *,
    spread: float,
    discordant: float | None = None,
    averaged: bool = False,
    alpha: float = 0.05,
    family: int = 1,
) -> int | None:
    """As `subjects_to_tell`, and never fewer than n, which could not tell."""
    if not math.isfinite(low):
        return None
    by_interval = subjects_by_interval(margin, n, low, high, alpha=alpha, family=family)
    if not spread > 0:
        return by_interval
    planned = subjects_to_tell(margin, spread, alpha=alpha, family=family, discordant=discordant)
    if planned is None:
        return None
    planned = max(planned, FEW_AVERAGED) if averaged else planned
    return planned if planned > n else by_interval


def subjects_by_interval(
    margin: float, n: int, low: float, high: float, *, confidence: float = 0.95, alpha: float = 0.05, family: int = 1
) -> int | None:
    """As `subjects_to_tell`, where only the interval of n subjects is known: its width shrinks with the root of n."""
    half = (high - low) / 2
    if not (margin > 0 and half > 0 and n > 1):
        return None
    error = half / float(ndtri((1 + confidence) / 2))
    tests = float(ndtri(1 - alpha / 2 / max(family, 1)) + ndtri(POWER))
    none = float(ndtri((1 + EQUIVALENCE) / 2) + ndtri((1 + POWER) / 2))
    needed = n * (max(tests, none) * error / margin) ** 2
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
