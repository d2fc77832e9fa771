"""How sure are we of a proportion, a mean, or a difference? Score intervals, and Student's t corrected for skewness.

The unit is the subject. Score intervals keep their coverage near 0 and 1; subjects that contribute several images enter
through an effective number of images, or as clusters with bias-reduced errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtr, stdtrit

from transect.effects import resampling
from transect.records import Estimate

CONFIDENCE: Final = 0.95
_LEVEL: Final = 1e-6
_UNSEEN_SKEWNESS: Final = math.sqrt(6) / 2
"""Half a standard error of the skewness of a mean of n subjects, times n."""


def skewness(shares: Float[np.ndarray, "n ..."], n: ArrayLike) -> Float[np.ndarray, " ..."]:
    """The skewness of an estimate from by how much each of n subjects moves it; 0 where nothing moves or n <= 2."""
    variance, count = (shares**2).sum(axis=0), np.asarray(n, dtype=np.float64)
    known = (variance > 0) & (count > 2)
    cubes = np.divide((shares**3).sum(axis=0), variance**1.5, out=np.zeros(np.shape(known)), where=known)
    return np.asarray(cubes * np.sqrt(np.maximum(count * (count - 1), 0.0)) / np.where(known, count - 2, 1.0))


def skewed_interval(
    estimate: ArrayLike,
    error: ArrayLike,
    freedom: ArrayLike,
    skewed: ArrayLike,
    confidence: float = 0.95,
    unseen: ArrayLike = 0.0,
) -> tuple[Float[np.ndarray, " ..."], Float[np.ndarray, " ..."]]:
    """The ends of Student's interval, each moved outwards where Hall's transformation of t puts it further out."""
    quantile, skewed, error = stdtrit(freedom, (1 + confidence) / 2), np.asarray(skewed), np.asarray(error)
    below, above = hall(quantile, skewed - unseen), hall(-quantile, skewed + unseen)
    low, high = estimate - error * np.maximum(quantile, below), estimate + error * np.maximum(quantile, -above)
    return np.asarray(low), np.asarray(high)


def skewed_p(t: float, freedom: float, skewed: float, unseen: float = 0.0) -> float:
    """Two-sided p of Student's statistic: 1 less the confidence at which `skewed_interval` ends at 0."""
    size, g = abs(t), math.copysign(1.0, t) * skewed - unseen
    transformed = size + g * size**2 / 3 + g**2 * size**3 / 27 + g / 6
    return min(1.0, 2 * float(stdtr(freedom, -min(size, transformed))))


def hall(
    transformed: float | Float[np.ndarray, "*k"], skewed: float | Float[np.ndarray, "*k"]
) -> Float[np.ndarray, "*k"]:
    """Student's statistic whose transform, as in `skewed_interval`, is this."""
    g = np.where(np.abs(skewed) < _LEVEL, _LEVEL, skewed)
    return np.asarray(3 / g * (np.cbrt(1 + g * (transformed - g / 6)) - 1))


ZOU_DONNER: Final = (
    "Zou and Donner 2008, Construction of confidence limits about effect measures: a general approach, "
    "doi:10.1002/sim.3095"
)
NEWCOMBE_1998: Final = (
    "Newcombe 1998, Interval estimation for the difference between independent proportions, "
    "doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I"
)
SCHUIRMANN: Final = (
    "Schuirmann 1987, A comparison of the two one-sided tests procedure and the power approach for assessing the "
    "equivalence of average bioavailability, doi:10.1007/BF01068419"
)
BERGER: Final = "Berger 1982, Multiparameter hypothesis testing and acceptance sampling, doi:10.2307/1267823"
METHOD: Final = "Wilson score, combined by MOVER"
SOURCE: Final = (
    "Zou, Huang and Zhang 2009, A note on confidence interval estimation for a linear function of binomial "
    "proportions, doi:10.1016/j.csda.2008.09.033"
)


def weighted_sum(
    weights: ArrayLike, successes: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Σ weight x successes / n with its interval: estimate, low, high; float64."""
    w, k, trials = (np.asarray(value, dtype=np.float64) for value in (weights, successes, n))
    w, k, trials = w[w > 0], k[w > 0], trials[w > 0]
    low, high = wilson(k, trials, confidence)
    p = np.divide(k, trials, out=np.full(k.shape, np.nan), where=trials > 0)
    estimate = float(w @ p)
    below, above = np.sqrt(((w * (p - low)) ** 2).sum()), np.sqrt(((w * (high - p)) ** 2).sum())
    return estimate, float(estimate - below), float(estimate + above)


WILSON: Final = "Wilson score"
WILSON_CLUSTERED: Final = "Wilson score on effective images"
CLOPPER_PEARSON: Final = "Clopper-Pearson"
PAIRED_SCORE: Final = "paired score"
STUDENT: Final = "Student t with Hall's correction for skewness"
NO_INTERVAL: Final = ""
SOURCES: Final = {
    WILSON: "Wilson 1927, Probable inference, doi:10.1080/01621459.1927.10502953",
    WILSON_CLUSTERED: "Korn and Graubard 1998, Confidence intervals for proportions with small expected number of "
    "positive counts estimated from survey data, Survey Methodology 24(2)",
    CLOPPER_PEARSON: "Clopper and Pearson 1934, The use of confidence or fiducial limits illustrated in the case of "
    "the binomial, doi:10.1093/biomet/26.4.404",
    PAIRED_SCORE: "Tango 1998, Equivalence test and confidence interval for the difference in proportions for the "
    "paired-sample design, doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B",
    STUDENT: "Hall 1992, On the removal of skewness by transformation, Journal of the Royal Statistical Society B "
    "54(1); Bell and McCaffrey 2002, Bias reduction in standard errors for linear regression with multi-stage samples, "
    "Survey Methodology 28(2)",
    resampling.MID_P_INTERVAL: resampling.SOURCES[resampling.MID_P_INTERVAL],
}

NO_SUBJECT: Final = "no subject: no interval"
ONE_SUBJECT: Final = "one subject: no interval"
NO_SPREAD: Final = "all subjects agree, or all but one: no interval"
FEWEST: Final = 5
"""Subjects from which scores have an interval: of 3 and 4 it covered 90 and 92 % of lognormal scores (σ = 1)."""
FEW_AVERAGED: Final = 150
"""Subjects below which averages over several pairs of binary answers allow for a subject that was not drawn."""
UNSEEN: Final = 0.5
"""How much of a subject with the largest possible difference they allow for."""


@final
@dataclass(frozen=True, slots=True)
class Intervals:
    """One interval per column: low and high float64 [k] (NaN where there is none) and the name of each one's method."""

    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    methods: tuple[str, ...]

    def estimate(self, column: int, differences: Float[np.ndarray, " n"], without: str) -> Estimate:
        """The mean of a column's known differences with its interval. without: the reason where there is none."""
        known, low = differences[np.isfinite(differences)], float(self.low[column])
        mean = float(known.mean()) if len(known) else np.nan
        return Estimate(mean, low, float(self.high[column]), "" if np.isfinite(low) else without)


def wilson(
    successes: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[Float[np.ndarray, " ..."], Float[np.ndarray, " ..."]]:
    """Wilson's score interval of each proportion successes / n, in [0, 1]; neither need be whole.

    Returns low and high; NaN where n is 0. Wilson 1927.

    >>> low, high = wilson(0, 10)
    >>> float(low), round(float(high), 4)
    (0.0, 0.2775)
    """
    x, trials = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    z = ndtri((1 + confidence) / 2)
    n = np.where(trials > 0, trials, np.nan)
    p = x / n
    center = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.where(p <= 0, p, center - half), np.where(p >= 1, p, center + half)


def wilson_clustered(
    successes: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"], confidence: float = 0.95, worth: float = 1.0
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Wilson's interval of a pooled proportion; subject i has `counts[i]` images, `successes[i]` of them successes.

    The number of images is divided by the design effect (variance of the ratio between subjects, over the variance of
    as many independent images), with the t quantile's correction for few subjects, and held between what is left where
    all images of a subject agree, (sum of counts)² / sum of counts² (Kish 1965; the number of subjects where counts are
    equal), and the number of images; at 0 and 1, and of one subject alone, where no variance can be estimated, it is
    the former. With one image per subject this is Wilson's interval. worth: the most independent images that one can
    stand for, more than 1 where images of a subject are compared with each other. Korn and Graubard 1998.
    """
    p, effective = effective_images(successes, counts, confidence, worth)
    return wilson(p * effective, effective, confidence)


def share_by_subject(
    values: Float[np.ndarray, " n"], subjects: Int[np.ndarray, " n"], confidence: float = 0.95, answers: int = 1
) -> Estimate:
    """The mean of values in [0, 1], each a share of so many answers, by `wilson_clustered`; NaN where none is known."""
    known = np.isfinite(values)
    person = np.unique(subjects[known], return_inverse=True)[1].reshape(-1)
    hits, counts = (
        answers * np.bincount(person, weights=values[known]),
        answers * np.bincount(person).astype(np.float64),
    )
    if not len(counts):
        return Estimate()
    low, high = wilson_clustered(hits[:, None], counts[:, None], confidence)
    return Estimate(float(hits.sum() / counts.sum()), float(low[0]), float(high[0]))


def minus(a: Estimate, b: Estimate) -> Estimate:
    """A - b of independent estimates, each end from the distances of the parts' own ends: MOVER (Zou, Donner 2008)."""
    d = a.estimate - b.estimate
    below, above = np.hypot(a.estimate - a.low, b.high - b.estimate), np.hypot(a.high - a.estimate, b.estimate - b.low)
    return Estimate(d, d - float(below), d + float(above))


def clopper_pearson_clustered(
    successes: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"], confidence: float = 0.95
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Clopper and Pearson's interval of a pooled proportion on effective images, as `wilson_clustered` counts them."""
    p, n = effective_images(successes, counts, confidence)
    x, tail = p * n, (1 - confidence) / 2
    low = np.where(p <= 0, p, betaincinv(np.maximum(x, 1e-9), n - x + 1, tail))
    return low, np.where(p >= 1, p, betaincinv(x + 1, np.maximum(n - x, 1e-9), 1 - tail))


def effective_images(
    successes: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"], confidence: float = 0.95, worth: float = 1.0
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """The pooled proportion, NaN without an image, and how many independent images it is worth (`wilson_clustered`)."""
    images, subjects = counts.sum(axis=0), (counts > 0).sum(axis=0).astype(np.float64)
    p = np.divide(successes.sum(axis=0), images, out=np.full(images.shape, np.nan), where=images > 0)
    residual = successes - np.nan_to_num(p) * counts
    variance = (residual**2).sum(axis=0) * subjects / np.maximum(subjects - 1, 1) / np.maximum(images, 1) ** 2
    # Where the outcome is rare only the subjects that have it show how far subjects differ.
    scatter = counts * (1 + (counts - 1) * _likeness(residual, counts, np.nan_to_num(p)))
    telling = np.minimum(equally_large(scatter, successes > 0), equally_large(scatter, successes < counts))
    least = np.maximum(equally_large(counts), np.minimum(images, 1.0))
    z, t = ndtri((1 + confidence) / 2), stdtrit(np.maximum(telling - 1.0, 1.0), (1 + confidence) / 2)
    known = (p > 0) & (p < 1) & (variance > 0)
    effective = np.divide(p * (1 - p) * (z / t) ** 2, variance, out=least.copy(), where=known)
    # Equal sums of all subjects (no variance at a rate inside (0, 1)) say that images differ more than subjects do; one
    # subject alone shows nothing of the kind.
    effective = np.where((p > 0) & (p < 1) & (variance == 0) & (subjects > 1), images, effective)
    return p, np.clip(effective, least, worth * images)


_LEAST_LIKENESS: Final = 0.05


def _likeness(
    residual: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"], p: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """Correlation of a subject's images by moments: residuals squared are counts (1 + (counts - 1) rho) p (1 - p)."""
    single = np.maximum(p * (1 - p), 1e-9)
    beyond, pairs = (residual**2).sum(axis=0) / single - counts.sum(axis=0), (counts * (counts - 1)).sum(axis=0)
    return np.asarray(np.clip(beyond / np.maximum(pairs, 1), _LEAST_LIKENESS, 1.0))


def equally_large(
    weights: Float[np.ndarray, "n k"], chosen: Bool[np.ndarray, "n k"] | None = None
) -> Float[np.ndarray, " k"]:
    """How many equal weights scatter as these do, (sum w)² / sum w²; 0 without any."""
    used = weights if chosen is None else np.where(chosen, weights, 0.0)
    squares = (used**2).sum(axis=0)
    return np.asarray(np.divide(used.sum(axis=0) ** 2, squares, out=np.zeros(squares.shape), where=squares > 0))


def paired_score_interval(
    positive: ArrayLike, negative: ArrayLike, n: ArrayLike, *, design_effect: ArrayLike = 1.0, confidence: float = 0.95
) -> tuple[Float[np.ndarray, " ..."], Float[np.ndarray, " ..."]]:
    """Score interval of a paired difference of proportions, (positive - negative) / n, in [-1, 1]; never of zero width.

    positive, negative: numbers of pairs that differ in either direction (not only whole numbers); n: pairs. With
    clusters, all three are divided by `design_effect`, the variance of the difference over that of n independent
    pairs.

    Returns low and high; NaN where n is 0. Without any discordant pair the interval is ∓ z² / (n + z²). Tango 1998,
    Eq. 7.
    """
    b, c, pairs, effect = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (positive, negative, n, design_effect))
    )
    b, c = np.asarray(b / effect), np.asarray(c / effect)
    effective = np.asarray(np.where(pairs > 0, pairs, np.nan) / effect)
    z = float(ndtri((1 + confidence) / 2))
    return _tango_ends(b, c, effective, z)


def _tango_ends(
    b: Float[np.ndarray, " ..."], c: Float[np.ndarray, " ..."], n: Float[np.ndarray, " ..."], z: float
) -> tuple[Float[np.ndarray, " ..."], Float[np.ndarray, " ..."]]:
    """The last δ from the estimate toward -1, and toward 1, that the score test at z does not reject, by bisection."""
    # Both ends at once, and what does not change outside the loop: with few columns the calls are what takes time.
    apart, slope, root, divisor = b - c, 2 * n - b + c, 8 * n, 4 * n
    inside = np.stack([apart / n, apart / n])
    outside = np.stack([np.full_like(n, -1.0), np.full_like(n, 1.0)])
    for _ in range(60):
        delta = (inside + outside) / 2
        other = 1 - delta
        # Constrained maximum-likelihood estimate q of the probability of a negative pair, given the difference δ.
        B = slope * delta - b - c
        C = -c * delta * other
        q = (np.sqrt(np.maximum(B**2 - root * C, 0.0)) - B) / divisor
        variance = n * np.maximum(2 * q + delta * other, 0.0)
        accepted = (apart - n * delta) ** 2 <= z**2 * variance
        inside, outside = np.where(accepted, delta, inside), np.where(accepted, outside, delta)
    return np.asarray(inside[0]), np.asarray(inside[1])


def newcombe(
    successes: tuple[ArrayLike, ArrayLike], n: tuple[ArrayLike, ArrayLike], confidence: float = 0.95
) -> tuple[Float[np.ndarray, " ..."], Float[np.ndarray, " ..."]]:
    """Hybrid score interval of a difference of two independent proportions, first minus second, in [-1, 1].

    Returns low and high; NaN where a group is empty. Newcombe 1998, method 10.
    """
    (x1, x2), (n1, n2) = successes, n
    (low1, high1), (low2, high2) = wilson(x1, n1, confidence), wilson(x2, n2, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        p1, p2 = np.asarray(x1) / np.asarray(n1, dtype=np.float64), np.asarray(x2) / np.asarray(n2, dtype=np.float64)
    low = p1 - p2 - np.sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2)
    high = p1 - p2 + np.sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2)
    return np.asarray(low), np.asarray(high)


def mean_interval(
    totals: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"] | None = None, *, confidence: float = 0.95
) -> Intervals:
    """Interval of the mean of images, of which subject i contributes `counts[i]` (default: one, none where NaN).

    Student's t on bias-reduced errors by subject, whose ends reach as far as Hall's transformation puts them with a
    skewness half a standard error, sqrt(6 / n) / 2, further than seen, since few subjects show too little of it. NaN
    where fewer than five subjects contribute, or all agree, or all but one: `no_interval` says why.
    """
    if counts is None:
        counts = np.isfinite(totals).astype(np.float64)
        totals = np.where(np.isfinite(totals), totals, 0.0)
    mean, residual = resampling.ratio(totals, counts)
    n, known = (counts > 0).sum(axis=0), shows_spread(totals, counts)
    error = np.sqrt(scattered(residual, counts)) / np.maximum(counts.sum(axis=0), 1.0)
    unseen = _UNSEEN_SKEWNESS / np.maximum(n, 1)
    low, high = skewed_interval(mean, error, degrees_of_freedom(counts), skewness(residual, n), confidence, unseen)
    methods = tuple(np.where(known, STUDENT, NO_INTERVAL).tolist())
    return Intervals(np.where(known, low, np.nan), np.where(known, high, np.nan), methods)


def scattered(residual: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """The sum over subjects of r² / (1 - m/N): the bias-reduced (CR2) variance of a mean, times N²."""
    share = counts / np.maximum(counts.sum(axis=0), 1.0)
    return np.asarray((residual**2 / np.maximum(1 - share, 1e-9)).sum(axis=0))


def degrees_of_freedom(counts: Float[np.ndarray, "p k"]) -> Float[np.ndarray, " k"]:
    """Degrees of freedom of the CR2 variance of a mean where photographs of one person agree; at least 1."""
    n = np.maximum(counts.sum(axis=0), 1.0)
    d = 1 / np.maximum(1 - counts / n, 1e-9)
    v, c = d * counts / n, (counts**2 * d).sum(axis=0) / n**2
    w = counts**2
    own = d - 2 * v + c
    zero, one, two = w.sum(axis=0), (w * v).sum(axis=0), (w * v**2).sum(axis=0)
    crossed = c**2 * zero**2 + 2 * zero * two - 4 * c * zero * one + 2 * one**2
    squared = (w**2 * (own**2 - (c - 2 * v) ** 2)).sum(axis=0) + crossed
    trace = (w * own).sum(axis=0)
    found = np.divide(trace**2, squared, out=np.ones(n.shape), where=squared > 0)
    return np.asarray(np.maximum(found, 1.0))


def shows_spread(totals: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"]) -> Bool[np.ndarray, " k"]:
    """Whether subjects show how far they differ: five or more, of whom two differ from the one in the middle."""
    n = (counts > 0).sum(axis=0)
    if not len(totals):
        return np.zeros(n.shape, dtype=bool)
    values = np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)
    middle = np.sort(values, axis=0)[n // 2, np.arange(values.shape[1])]  # NaN last
    rounding = 1e-12 * np.max(np.abs(totals), axis=0, initial=0.0)
    return np.asarray((n >= FEWEST) & ((np.abs(values - middle) > rounding).sum(axis=0) >= 2))


def no_interval(n: int) -> str:
    """Why a mean over n subjects has no interval: of yes or no one subject alone, of scores also few or equal ones."""
    if n < 2:
        return ONE_SUBJECT if n else NO_SUBJECT
    return f"{n} subjects: an interval of scores needs {FEWEST}" if n < FEWEST else NO_SPREAD


def mean_difference_interval(
    differences: Float[np.ndarray, "n k"],
    *,
    binary: bool,
    reach: Float[np.ndarray, " k"] | None = None,
    pairs: Float[np.ndarray, " k"] | None = None,
    confidence: float = 0.95,
) -> Intervals:
    """Interval of the mean over subjects of each column of differences (NaN: the subject has none).

    Outcomes that are not binary: Student's t, its ends moved outwards by Hall's correction for skewness. Binary
    outcomes: the paired score interval, which works on differences / reach and takes a subject's average over several
    pairs as a fractional pair, so that (b, c) are the sums of positive and negative parts, with the design effect from
    the variance between subjects.

    reach: the largest difference that one subject can have, 1 for differences of proportions. pairs: how many pairs one
    subject averages over (default 1); the subject is never counted as more than that many independent pairs.

    Returns Intervals; NaN with an empty method where fewer than two subjects have a difference, of scores fewer than
    five, and where all scores are equal, or all but one: `no_interval` says why.

    >>> none_differ = np.zeros((20, 1))
    >>> interval = mean_difference_interval(none_differ, binary=True)
    >>> interval.high.round(4), interval.methods  # z² / (20 + z²) = 3.8415 / 23.8415
    (array([0.1611]), ('paired score',))
    """
    if not binary:
        return mean_interval(differences, confidence=confidence)
    valid = np.isfinite(differences)
    n = valid.sum(axis=0)
    scale = np.ones(n.shape) if reach is None else reach
    averaged = np.ones(n.shape) if pairs is None else pairs
    low, high = paired_score_clustered(np.where(valid, differences, 0.0) / scale, n, averaged, confidence)
    low, high = scale * low, scale * high
    single = single_pairs(differences, np.full(n.shape, np.inf) if pairs is None else pairs, scale)
    for column in np.flatnonzero(single & (n >= 2)):
        d = differences[valid[:, column], column]
        counts = int((d > 0).sum()), int((d < 0).sum()), len(d)
        low[column], high[column] = resampling.mcnemar_interval(*counts, confidence)
    names = np.where(n >= 2, np.where(single, resampling.MID_P_INTERVAL, PAIRED_SCORE), NO_INTERVAL)
    return Intervals(np.where(n >= 2, low, np.nan), np.where(n >= 2, high, np.nan), tuple(names.tolist()))


def single_pairs(
    differences: Float[np.ndarray, "n k"],
    pairs: Float[np.ndarray, " k"],
    reach: Float[np.ndarray, " k"],
    *,
    binary: bool = True,
) -> Bool[np.ndarray, " k"]:
    """The columns with one pair of yes or no of each subject: their test and interval are McNemar's mid-p."""
    whole = np.isin(differences, (-1.0, 0.0, 1.0)) | ~np.isfinite(differences)
    return np.asarray(binary & (pairs == 1) & (reach == 1) & whole.all(axis=0))


def paired_score_clustered(
    d: Float[np.ndarray, "n k"], n: Int[np.ndarray, " k"], pairs: Float[np.ndarray, " k"], confidence: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Paired score interval of mean differences d in [-1, 1] (0 where a subject has none) of n subjects."""
    positive, negative = np.maximum(d, 0).sum(axis=0), np.maximum(-d, 0).sum(axis=0)
    some = np.maximum(n, 1)
    mean = (positive - negative) / some
    multinomial = (positive + negative) / some - mean**2
    # Few subjects who average over several pairs agree so closely that a rare large effect would not show.
    few, freedom = (pairs > 1) & (n < FEW_AVERAGED), np.maximum(n - 1.0, 1.0)
    squares = np.maximum((d**2).sum(axis=0) - some * mean**2, 0.0) + np.where(few, UNSEEN, 0.0)
    between = squares / freedom
    tail = (1 + confidence) / 2
    between *= np.where(few, (stdtrit(freedom, tail) / ndtri(tail)) ** 2, 1.0)
    design_effect = np.ones(n.shape)
    np.divide(between, multinomial, out=design_effect, where=(multinomial > 1e-12) & (between > 1e-12))
    design_effect = np.clip(design_effect, 1 / pairs, 1.0)
    return paired_score_interval(positive, negative, n, design_effect=design_effect, confidence=confidence)
