"""Effects over several paraphrases of a question, and bounds where answers are missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import stdtrit

from transect.effects import clusters, interrogation
from transect.effects.contrasts import level_differences
from transect.effects.interrogation import Bounds
from transect.effects.intervals import no_interval
from transect.effects.multiplicity import MAX_T, max_t
from transect.effects.pair_perception import check_scale
from transect.effects.rater_uncertainty import SOURCES as CROSSED
from transect.effects.rater_uncertainty import crossed_variance
from transect.errors import BadInput
from transect.records import Estimate

BOUNDS_SOURCES: Final = interrogation.SOURCES[:1]


def incomplete_bounds(
    first: Float[np.ndarray, "n cells wordings *repeats"],
    second: Float[np.ndarray, "n cells wordings *repeats"],
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    binary: bool = True,
    sent: Bool[np.ndarray, "n cells"] | None = None,
    people: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Bounds:
    """Worst-case bounds of the mean over subjects of second - first, where answers are missing in a bounded range.

    first, second: answers at the two levels, NaN where one is missing; scale: the smallest and the largest answer that
    the question allows; binary: answers of 0 and 1 (also those that are coded as the ends of the scale), else numbers.
    sent: which pairs count, answered or not (default: all). An image's value is the mean of its answers, all equally.
    people: who is on each subject, where several show one person, who then is the unit.

    For the smallest effect a missing answer is the largest at the first level and the smallest at the second; for the
    largest effect the other way (Manski 1990). No assumption is made about why an answer is missing. Of
    yes or no, each bound has the interval of a paired difference, from 10 subjects on; of numbers, a band covers both
    at once (`bands.mean_band`), from 20 subjects on and where they vary.

    Returns bounds in the units of the scale, at most its width in size.

    Raises BadInput where the shapes differ, the scale is inverted, or an answer is beyond it.

    >>> asked = np.array([[[20.0, 40.0]], [[30.0, np.nan]]])  # ages from 0 to 100
    >>> bounds = incomplete_bounds(np.full((2, 1, 2), 30.0), asked, scale=(0.0, 100.0), binary=False)
    >>> round(bounds.smallest, 6), round(bounds.largest, 6)  # the second subject's effect is -15 to 35
    (-7.5, 17.5)
    """
    low, high = scale
    known = np.concatenate([values[np.isfinite(values)] for values in (first, second)])
    if first.shape != second.shape:
        raise BadInput(f"expected answers of the same shape at both levels, got {first.shape} and {second.shape}")
    check_scale(known, scale)
    counted = np.ones(first.shape[:2], dtype=np.bool_) if sent is None else sent
    flat = [(values.reshape(*values.shape[:2], -1) - low) / (high - low) for values in (first, second)]
    least, most = ([np.nan_to_num(values, nan=end).mean(axis=2) for values in flat] for end in (0.0, 1.0))
    found = interrogation.bounded_effect(
        least[1] - most[0], most[1] - least[0], counted, pairs=float(first[0].size) if len(first) else 1.0,
        binary=binary, people=people, seed=seed,
    )  # fmt: skip
    width = high - low
    ends = width * found.smallest, width * found.largest, width * found.low, width * found.high
    return Bounds(*ends, found.reason)


FEWEST_SAMPLED: Final = 8
"""Paraphrases from which they are counted as a sample of wordings."""
SAMPLED: Final = "subjects crossed with paraphrases, Banerjee's interval"
SOURCES: Final = (
    *CROSSED,
    "Banerjee 1960, Approximate confidence interval for linear functions of means of k populations when the population "
    "variances are not equal, Sankhya 22(3/4)",
    MAX_T,
)
ALONE: Final = "one paraphrase: nothing to compare"
TOO_FEW: Final = f"fewer than {FEWEST_SAMPLED} paraphrases: no sample of wordings"
NO_SUBJECTS: Final = "fewer than two subjects answered at both levels in every paraphrase"
NO_PAIRS: Final = "fewer than two subjects answered at both levels"
_ROUNDING: Final = 1e-12


@final
@dataclass(frozen=True, slots=True)
class WordingEffect:
    """The effect in one paraphrase, of all subjects that answered at both levels in it.

    deviation: from the mean of all paraphrases, among subjects that answered in every one; p: of no deviation,
    corrected for the number of paraphrases (max-T). Both NaN where there is nothing to compare.
    """

    effect: Estimate
    method: str
    subjects: int
    deviation: float
    p: float


@final
@dataclass(frozen=True, slots=True)
class WordingEffects:
    """Effects of the paraphrases of one question, for one contrast.

    mean: of the paraphrases that were asked. sampled: the same mean with an interval that counts them as a sample of
    wordings. spread: standard deviation of the true effects between paraphrases, corrected for the sampling of
    subjects, 0 where they differ no more than chance makes them. p: of no difference between paraphrases, the smallest
    of the corrected p of `each`. reason: why spread and p are NaN. subjects: with an answer in every paraphrase at both
    levels; incomplete: with an answer at both levels in some paraphrase, but not in all.
    """

    each: tuple[WordingEffect, ...]
    mean: Estimate
    method: str
    sampled: Estimate
    spread: float
    p: float
    subjects: int
    incomplete: int
    reason: str = ""


def wording_effects(
    first: Float[np.ndarray, "n cells wordings *repeats"],
    second: Float[np.ndarray, "n cells wordings *repeats"],
    *,
    binary: bool,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> WordingEffects:
    """Mean over subjects of second - first in each paraphrase, the mean of these, and how far they differ.

    first, second: outcomes at the two levels, NaN where there is no answer; binary: outcomes of 0 and 1, or shares of
    them. Repeats that were answered are averaged. An image counts in the mean where every paraphrase has an answer, a
    pair where both images count; a paraphrase alone has all pairs that are answered in it.

    people: who is on each subject, where several show one person: intervals, the spread and tests are then by person,
    as `repeated` has them, and people are counted.

    Each paraphrase and the mean have the interval of `mean_difference_interval`. The interval over a sample of wordings
    adds the variance between paraphrases over their number, V (`crossed_variance`): its ends are
    sqrt((mean - end)² + t² V) from the mean, with Student's t of one degree of freedom less than paraphrases. Of
    normal errors an interval that adds squared half widths like this covers at least what it claims, however unlike
    their variances (Banerjee 1960). Deviations are tested by random signs of subjects (`max_t`).

    Raises BadInput where the shapes differ or there is no paraphrase.

    >>> none, some = np.zeros((40, 1, 2)), np.zeros((40, 1, 2))
    >>> some[:10, 0, 0] = 1.0  # ten subjects of forty change in the first wording, nobody in the second
    >>> found = wording_effects(none, some, binary=True)
    >>> [each.effect.estimate for each in found.each], found.mean.estimate, found.sampled.reason
    ([0.25, 0.0], 0.125, 'fewer than 8 paraphrases: no sample of wordings')
    >>> round(found.spread, 3), bool(found.p < 0.01)  # .25² / 2, less .25 * .75 / 39 / 2 of chance
    (0.17, True)
    """
    pairs = float(np.prod(first.shape[1:2] + first.shape[3:]))
    first, second = (over_repeats(values) for values in (first, second))
    if first.shape != second.shape or not first.shape[2]:
        raise BadInput(
            "expected outcomes [subjects, cells, paraphrases] of the same shape at both levels, got "
            f"{first.shape} and {second.shape}"
        )
    alone = level_differences(first, second)
    complete = np.isfinite(first).all(axis=2) & np.isfinite(second).all(axis=2)
    kept = [np.where(complete[:, :, None], values, np.nan) for values in (first, second)]
    d, who = level_differences(*kept), clusters.clusters_of(people)
    interval = partial(clusters.mean_difference_interval, who=who, binary=binary, confidence=confidence)
    intervals = interval(alone, pairs=np.full(alone.shape[1], pairs))
    answered = clusters.people_with(alone, who).tolist()
    reasons = [NO_PAIRS if n < 2 else no_interval(n) for n in answered]
    effects = [intervals.estimate(place, alone[:, place], why) for place, why in enumerate(reasons)]
    whole = d.mean(axis=1, keepdims=True)
    of_mean = interval(whole, pairs=np.array([pairs * d.shape[1]]))
    subjects = int(clusters.people_with(whole, who)[0])
    mean = of_mean.estimate(0, whole[:, 0], NO_SUBJECTS if subjects < 2 else no_interval(subjects))
    between = _between(_by_unit(d, who))
    deviations, p = _deviations(d, who, seed)
    each = tuple(
        WordingEffect(effect, method, n, *told)
        for effect, method, n, *told in zip(
            effects, intervals.methods, answered, deviations.tolist(), p.tolist(), strict=True
        )
    )
    some = clusters.people_with(np.where(np.isfinite(alone).any(axis=1, keepdims=True), 0.0, np.nan), who)[0]
    return WordingEffects(
        each=each,
        mean=mean,
        method=of_mean.methods[0],
        sampled=_sampled(mean, between, d.shape[1], confidence, binary=binary),
        spread=float(np.sqrt(between)),
        p=float(p.min()),
        subjects=subjects,
        incomplete=int(some) - subjects,
        reason=_reason(d.shape[1], subjects),
    )


def over_repeats(values: Float[np.ndarray, "n cells wordings *repeats"]) -> Float[np.ndarray, "n cells wordings"]:
    """The mean of the repeats that were answered, NaN where none was."""
    flat = values.reshape(*values.shape[:3], -1)
    answered = np.isfinite(flat).sum(axis=3)
    total = np.where(np.isfinite(flat), flat, 0.0).sum(axis=3)
    return np.asarray(np.divide(total, answered, out=np.full(total.shape, np.nan), where=answered > 0))


def _reason(wordings: int, subjects: int) -> str:
    return ALONE if wordings < 2 else NO_SUBJECTS if subjects < 2 else ""


def _by_unit(d: Float[np.ndarray, "n wordings"], who: Int[np.ndarray, " n"] | None) -> Float[np.ndarray, "p wordings"]:
    """Complete rows whose mean is the effect and whose scatter is its error: subjects, or people who repeat."""
    rows = d if who is None else clusters.linearized(d, who)
    return np.asarray(rows[np.isfinite(rows).all(axis=1)])


def _between(d: Float[np.ndarray, "n wordings"]) -> float:
    """The variance of the true effects between paraphrases, not below 0; NaN where it is not estimable."""
    if _reason(d.shape[1], len(d)):
        return np.nan
    subject, wording = (each.ravel() for each in np.indices(d.shape))
    ones = np.ones(d.size)
    residual = d.ravel() - d.mean()
    found = crossed_variance(ones[:, None], residual, ones, ones, np.ones(1), subject, wording)
    return found.variance * found.rater_share * d.shape[1] if found.variance > 0 else 0.0


def _deviations(
    d: Float[np.ndarray, "n wordings"], who: Int[np.ndarray, " n"] | None, seed: int
) -> tuple[Float[np.ndarray, " wordings"], Float[np.ndarray, " wordings"]]:
    """Each paraphrase's mean less the mean of all, and its corrected p; NaN where there is nothing to compare."""
    apart = d - d.mean(axis=1, keepdims=True)
    sums = clusters.of_people(apart, who)
    sums = sums[np.isfinite(sums).all(axis=1)]
    if _reason(d.shape[1], len(sums)):
        nothing = np.full(d.shape[1], np.nan)
        return nothing, nothing
    sums[np.abs(sums) <= _ROUNDING * np.nanmax(np.abs(d))] = 0.0
    apart = apart[np.isfinite(apart).all(axis=1)]
    apart[np.abs(apart) <= _ROUNDING * np.nanmax(np.abs(d))] = 0.0
    return apart.mean(axis=0), max_t(sums, seed=seed)


def _sampled(mean: Estimate, between: float, wordings: int, confidence: float, *, binary: bool) -> Estimate:
    if wordings < FEWEST_SAMPLED or mean.reason:
        return Estimate(mean.estimate, reason=TOO_FEW if wordings < FEWEST_SAMPLED else mean.reason)
    further = float(stdtrit(wordings - 1, (1 + confidence) / 2)) * np.sqrt(between / wordings)
    low = mean.estimate - float(np.hypot(mean.estimate - mean.low, further))
    high = mean.estimate + float(np.hypot(mean.high - mean.estimate, further))
    return Estimate(mean.estimate, max(low, -1.0), min(high, 1.0)) if binary else Estimate(mean.estimate, low, high)
