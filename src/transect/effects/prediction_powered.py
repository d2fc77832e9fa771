"""Few ratings by people, many predictions: PPI++ for scores, and score intervals for rates."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from transect.effects.intervals import NO_INTERVAL, STUDENT, skewed_interval, skewness
from transect.errors import BadInput
from transect.records import Estimate

SCORE: Final = "score with predictions"
_IMAGINED: Final = 1
"""Images of either answer that are added to the rated ones; with none, good machines look too good."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PoweredRate(Estimate):
    """A rate, the ends of its interval, and the weight of the predictions."""

    trust: float


def powered_rate(
    ratings: Float[np.ndarray, " n"],
    predicted: Float[np.ndarray, " n"],
    predicted_unrated: Float[np.ndarray, " m"],
    *,
    trust: float | None = None,
    confidence: float = 0.95,
) -> PoweredRate:
    """The share of yes over all images, of which n were rated 0 or 1 by people at random, and its score interval."""
    n, m = len(ratings), len(predicted_unrated)
    every = np.concatenate([predicted, predicted_unrated])
    average, spread = float(every.mean()), float(every.var()) * (1 + n / m)
    rate = float(ratings.mean())
    gap = _beyond(predicted[ratings == 1] - average) - _beyond(predicted[ratings == 0] - average)
    best = min(max(rate * (1 - rate) * gap / spread, 0.0), 1.0) if spread > 0 else 0.0
    weight = best if trust is None else trust
    estimate = rate + weight * float(predicted_unrated.mean() - predicted.mean())
    t = float(stdtrit(n - 1, (1 + confidence) / 2))
    return PoweredRate(estimate, *_ends(estimate, n, 1 - 2 * weight * gap, weight**2 * spread, t), trust=weight)


def _beyond(distances: Float[np.ndarray, " k"]) -> float:
    """The mean distance of an answer's predictions from the average, that of imagined images being 0."""
    return float(distances.sum()) / (len(distances) + _IMAGINED)


def _ends(estimate: float, n: int, share: float, noise: float, t: float) -> tuple[float, float]:
    """The solutions θ of n (estimate - θ)² = t² (share θ (1 - θ) + noise)."""
    # A large weight of wild predictions may leave no interval: a larger share makes one, and a wider one.
    share = max(share, -n / (2 * t**2))
    square, linear = n + t**2 * share, 2 * n * estimate + t**2 * share
    root = math.sqrt(max(linear**2 - 4 * square * (n * estimate**2 - t**2 * noise), 0.0))
    return (linear - root) / (2 * square), (linear + root) / (2 * square)


SOURCES: Final = (
    "Angelopoulos et al. 2023, Prediction-powered inference, doi:10.1126/science.adi6000",
    "Angelopoulos, Duchi and Zrnic 2023, PPI++: efficient prediction-powered inference, arXiv:2311.01453",
    "Wilson 1927, Probable inference, doi:10.1080/01621459.1927.10502953",
    "MacKinnon and White 1985, Some heteroskedasticity-consistent covariance matrix estimators, "
    "doi:10.1016/0304-4076(85)90158-7",
    "Hall 1992, On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54, 221-228",
    "Zou and Donner 2008, Construction of confidence limits about effect measures, doi:10.1002/sim.3095",
)
FEW: Final = "fewer than two subjects with a rating and two without: no interval"
UNVARIED: Final = "people's answers do not vary: no interval"
METHOD: Final = STUDENT
LEAST: Final = 10
"""Rated subjects that a variance of their own needs; of outcomes of 0 or 1, as many that have and that lack it."""
_EQUAL: Final = 1e-9
_LEVER: Final = 0.9
"""The most that one subject's leverage counts."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionPowered(Estimate):
    """An estimate from few ratings and many predictions.

    method: of the interval, "" where there is none. standard_error, freedom: of Student's t interval, also where the
    interval is another. trust: the weight of the predictions, 0 (ratings alone) to 1.
    alone: half of the width of the ratings' own interval, to compare with (high - low) / 2. n_rated, n_predicted:
    subjects (or images) with and without a rating; a subject with images of both kinds counts in both. subjects,
    shares: by how much each subject moves the estimate, empty where no subjects were given for both kinds. rarer: rated
    subjects that have the rarer of two answers, where ratings are 0 or 1 and each subject has one. skewed: the
    estimate's skewness.
    """

    standard_error: float = math.nan
    freedom: float = math.nan
    trust: float = math.nan
    alone: float = math.nan
    n_rated: int
    n_predicted: int
    n_missing: int
    subjects: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    shares: Float[np.ndarray, " s"] = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    method: str = METHOD
    rarer: int = 0
    skewed: float = 0.0


def ppi_mean(
    ratings: ArrayLike,
    predicted: ArrayLike,
    predicted_unrated: ArrayLike,
    *,
    subjects: ArrayLike | None = None,
    subjects_unrated: ArrayLike | None = None,
    trust: float | None = None,
    rates: bool | None = None,
    confidence: float = 0.95,
) -> PredictionPowered:
    """The mean rating over all images, of which only some were rated by people, at random.

    ratings, predicted: [n], people's and the machine's answer on the rated images; predicted_unrated: [N], the
    machine's on the others. subjects: which images belong together (default: each is its own). trust: the weight of the
    predictions; default the one of the smallest variance (PPI++), within 0 and 1; 1 is plain PPI. rates: whether
    ratings are yes or no; default: where all are 0 or 1. Say False of numbers that may only happen to be: a subject's
    change is −1, 0 or 1, and few subjects may lack the −1. Rows with a NaN are left out and counted. A subject named on
    both sides is one: what it moves is added up before it is squared. Rates, with one image of each subject:
    `powered_rate`'s score interval. Others: Student's t with Satterthwaite's degrees of freedom, or the fewer subjects'
    where some are on both sides, widened to the side of the skew (`skewed_interval`). Where the weight is estimated,
    that costs a degree of freedom, and what a rated subject moves is divided by 1 minus its leverage on the weight
    (HC3: MacKinnon and White 1985), since each of a few subjects pulls the weight towards itself.

    Returns PredictionPowered; NaN with the reason where there are fewer than two subjects of either kind. Other than
    by the score interval, the estimate has no interval (NaN, with the reason) of fewer than 10 rated subjects, where
    ratings do not vary, where the machine is off by the same on every image (for numbers: unless trust is given), or,
    of rates, where fewer than 10 subjects have, or lack, the outcome.

    Raises BadInput where lengths differ, trust is not within [0, 1], or rates are said of other numbers than 0 and 1.

    >>> people, machine = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.2, 0.9, 0.8, 0.3])
    >>> result = ppi_mean(people, machine, np.array([0.1, 0.9, 0.4, 0.8, 0.7, 0.7]), trust=1.0)
    >>> round(result.estimate, 4)  # .5 + .6 - .55
    0.55
    """
    rated, other = _table(ratings, predicted, subjects), _table(predicted_unrated, predicted_unrated, subjects_unrated)
    if trust is not None and not 0 <= trust <= 1:
        raise BadInput(f"trust: expected a weight from 0 to 1, got {trust:g}; leave it out to have it estimated")
    binary = _binary(rated.values[:, 0], rates)
    means, influence = _means(rated)
    mean_other, influence_other = _means(other)
    n, m = len(influence), len(influence_other)
    counts: dict[str, Any] = {"n_rated": n, "n_predicted": m, "n_missing": rated.missing + other.missing}
    if n < 2 or m < 2:
        return PredictionPowered(reason=FEW, **counts, method=NO_INTERVAL)
    named = subjects is not None and subjects_unrated is not None
    names, moves = _aligned(rated, other, influence, influence_other[:, 1:], named)
    shared = len(names) < n + m
    scored = _rates(rated, other, trust, confidence) if binary and not shared else None
    weight = scored[0].trust if scored else trust
    if weight is None:
        weight = _shared_trust(moves) if shared else _trust(influence, influence_other[:, 1])
    estimate = float(means[0] + weight * (mean_other[1] - means[1]))
    untold = "" if scored else _untold(rated, trust, binary)
    if untold:
        return PredictionPowered(estimate, reason=untold, trust=weight, **counts, method=NO_INTERVAL)
    estimated = trust is None and not scored
    shares = moves @ [1.0, -weight, weight] * (_leverage(moves[:, 1], n) if estimated else 1.0)
    freedom = min(n, m) - 1.0 - estimated if shared else _freedom(shares, moves[:, 2] != 0, n - 1 - estimated, m - 1)
    error, skewed = math.sqrt(float(shares @ shares)), float(skewness(shares, n))
    low, high = (float(end) for end in skewed_interval(estimate, error, freedom, skewed, confidence))
    own = moves[:, 0]
    alone = skewed_interval(0.0, math.sqrt(float(own @ own)), n - 1.0, skewness(own, n), confidence)
    half = float(alone[1] - alone[0]) / 2
    powered = PredictionPowered(
        estimate, low, high, standard_error=error, freedom=freedom, trust=weight, alone=half, **counts, skewed=skewed
    )
    if named:
        powered = replace(powered, subjects=names, shares=shares)
    return _with_score(powered, *scored, rated) if scored else powered


def ppi_difference(
    first: PredictionPowered, second: PredictionPowered, *, confidence: float = 0.95
) -> PredictionPowered:
    """The second minus the first of two groups of images, each from `ppi_mean` with the same confidence.

    Subjects that were named for both kinds of images in both groups are matched; else the groups' are taken as
    different subjects. Where an interval of the two is a score interval, theirs are joined as they are (Newcombe 1998,
    Zou and Donner 2008), with the correlation of matched subjects; where fewer than 10 rated subjects of a group have
    the rarer answer it is not estimable and taken as 0, which is too wide where images of one person are similar.

    >>> result = ppi_mean([0.0, 1.0, 1.0], [0.0, 1.0, 0.9], [0.1, 0.8, 0.6])
    >>> ppi_difference(result, result).estimate
    0.0
    """
    both = _sum([(each.standard_error, each.freedom) for each in (first, second)])
    names, moves = _side_by_side((first.subjects, second.subjects), (first.shares[:, None], second.shares[:, None]))
    named = len(first.subjects) > 0 and len(second.subjects) > 0
    shares = moves @ [-1.0, 1.0] if named else np.empty(0)
    if named and len(names) < len(first.subjects) + len(second.subjects):
        both = math.sqrt(float(shares @ shares)), min(first.freedom, second.freedom)
        skewed = float(skewness(shares, min(first.n_rated, second.n_rated)))
    else:
        third = second.skewed * second.standard_error**3 - first.skewed * first.standard_error**3
        skewed = third / both[0] ** 3 if both[0] > 0 else 0.0
    estimate = second.estimate - first.estimate
    scored = SCORE in (first.method, second.method)
    method = SCORE if scored else METHOD
    reason = first.reason or second.reason
    likeness = _likeness(first, second, both[0]) if scored else 0.0
    ends = _joined(first, second, likeness) if scored else skewed_interval(estimate, *both, skewed, confidence)
    return PredictionPowered(
        estimate,
        float(ends[0]),
        float(ends[1]),
        reason,
        standard_error=both[0],
        freedom=both[1],
        trust=min(first.trust, second.trust),
        alone=math.hypot(first.alone, second.alone),
        n_rated=first.n_rated + second.n_rated,
        n_predicted=first.n_predicted + second.n_predicted,
        n_missing=first.n_missing + second.n_missing,
        subjects=names if named else np.empty(0),
        shares=shares,
        method=NO_INTERVAL if reason else method,
        rarer=min(first.rarer, second.rarer),
        skewed=skewed,
    )


def _rates(
    rated: _Table, other: _Table, trust: float | None, confidence: float
) -> tuple[PoweredRate, PoweredRate] | None:
    """The rate with the predictions and that of the ratings alone; None where subjects have several images."""
    people, machine = rated.values[:, 0], rated.values[:, 1]
    single = len(rated.names) == len(people) and len(other.names) == len(other.values)
    if not single:
        return None
    both, alone = (
        powered_rate(people, machine, other.values[:, 0], trust=weight, confidence=confidence)
        for weight in (trust, 0.0)
    )
    return both, alone


def _with_score(estimate: PredictionPowered, rate: PoweredRate, alone: PoweredRate, rated: _Table) -> PredictionPowered:
    """The same with the ends of score intervals."""
    yes = int(rated.values[:, 0].sum())
    rarer, half = min(yes, estimate.n_rated - yes), (alone.high - alone.low) / 2
    return replace(estimate, low=rate.low, high=rate.high, alone=half, method=SCORE, rarer=rarer)


def _likeness(first: PredictionPowered, second: PredictionPowered, error: float) -> float:
    """The correlation of two estimates whose difference has this standard error, where it is estimable."""
    product = 2 * first.standard_error * second.standard_error
    if not product > 0:
        return 0.0
    correlation = (first.standard_error**2 + second.standard_error**2 - error**2) / product
    return min(max(correlation, -1.0), 1.0 if min(first.rarer, second.rarer) >= LEAST else 0.0)


def _joined(first: PredictionPowered, second: PredictionPowered, likeness: float) -> tuple[float, float]:
    """The interval of a difference from the ends of both."""

    def reach(own_error: float, other_error: float) -> float:
        return math.sqrt(max(own_error**2 + other_error**2 - 2 * likeness * own_error * other_error, 0.0))

    below = reach(second.estimate - second.low, first.high - first.estimate)
    above = reach(second.high - second.estimate, first.estimate - first.low)
    estimate = second.estimate - first.estimate
    return estimate - below, estimate + above


@dataclass(frozen=True, slots=True)
class _Table:
    """Pairs of rating and prediction [n, 2], the number of their subject, and the names of the subjects."""

    values: Float[np.ndarray, "n 2"]
    subject: Int[np.ndarray, " n"]
    names: np.ndarray
    missing: int


def _table(ratings: ArrayLike, predicted: ArrayLike, subjects: ArrayLike | None) -> _Table:
    columns = [np.asarray(column, dtype=np.float64) for column in (ratings, predicted)]
    names = np.arange(len(columns[0])) if subjects is None else np.asarray(subjects)
    if any(column.ndim != 1 or len(column) != len(names) for column in columns):
        raise BadInput(
            f"expected one rating, one prediction and one subject per image, got {len(columns[0])}, "
            f"{len(columns[1])} and {len(names)}; give lists of equal length"
        )
    values = np.stack(columns, axis=1)
    known = np.isfinite(values).all(axis=1)
    unique, subject = np.unique(names[known], return_inverse=True)
    return _Table(values[known], subject, unique, int((~known).sum()))


def _means(table: _Table) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, "s 2"]]:
    """Means over images, and each subject's influence on them: the mean moves by influence / subjects."""
    if len(table.subject) == 0:
        return np.full(2, np.nan), np.empty((0, 2))
    n = int(table.subject.max()) + 1
    mean = table.values.mean(axis=0)
    residual = np.zeros((n, 2))
    np.add.at(residual, table.subject, table.values - mean)
    return mean, residual * n / len(table.values)


def _binary(people: Float[np.ndarray, " n"], rates: bool | None) -> bool:
    """Whether ratings are rates, as said or as they look."""
    looks = bool(np.isin(people, (0.0, 1.0)).all())
    if rates and not looks:
        raise BadInput("rates: expected ratings of 0 or 1; leave rates out")
    return looks if rates is None else rates


def too_rare(ratings: ArrayLike, subjects: ArrayLike, *, rates: bool | None = None) -> str:
    """Why ratings of 0 or 1 are too few for an interval by Student's t; "" where they do not, and of other numbers."""
    values, of = np.asarray(ratings, dtype=np.float64), np.asarray(subjects)
    if not _binary(values, rates):
        return ""
    if len(np.unique(values)) < 2:
        return UNVARIED
    have, lack = (len(np.unique(of[values == value])) for value in (1.0, 0.0))
    rare = f"fewer than {LEAST} rated subjects have the outcome ({have}) or lack it ({lack}): no interval"
    return rare if min(have, lack) < LEAST else ""


def _untold(rated: _Table, trust: float | None, binary: bool) -> str:
    """Why there is no interval but for a score interval; "" where there is one."""
    people = rated.values[:, 0]
    if reason := too_rare(people, rated.subject, rates=binary):
        return reason
    if len(rated.names) < LEAST:
        return f"{len(rated.names)} rated subjects: an interval needs {LEAST}"
    if np.ptp(people) == 0:
        return UNVARIED
    doubtful = trust is None or (trust != 0 and binary)
    if doubtful and np.ptp(people - rated.values[:, 1]) <= _EQUAL * np.ptp(people):
        return "the machine is off by the same on every rated image: no interval"
    return ""


def _aligned(
    rated: _Table,
    other: _Table,
    influence: Float[np.ndarray, "n 2"],
    influence_other: Float[np.ndarray, "m 1"],
    named: bool,
) -> tuple[np.ndarray, Float[np.ndarray, "s 3"]]:
    """Every subject once, and by how much it moves the means of ratings, of predictions on them, and on the others."""
    scaled = [each / math.sqrt(len(each) * (len(each) - 1)) for each in (influence, influence_other)]
    apart = np.arange(len(influence)), len(influence) + np.arange(len(influence_other))
    return _side_by_side((rated.names, other.names) if named else apart, (scaled[0], scaled[1]))


def _leverage(predicted: Float[np.ndarray, " s"], n: int) -> Float[np.ndarray, " s"]:
    """The factor of what each subject moves, by how far its own prediction decides the weight; 1 of those not rated."""
    square = predicted**2
    share = square / square.sum() if square.any() else square
    factor = math.sqrt((n - 1) / n) / (1 - np.minimum(share + 1 / n, _LEVER))
    return np.where(square > 0, factor, math.sqrt(n / (n - 1)))


def _freedom(
    shares: Float[np.ndarray, " s"], others: Bool[np.ndarray, " s"], freedom: float, freedom_others: float
) -> float:
    """Satterthwaite's degrees of freedom of independent sums over rated subjects and over others."""
    sides = ((shares[~others], freedom), (shares[others], freedom_others))
    return _sum([(math.sqrt(float(each @ each)), of) for each, of in sides])[1]


def _side_by_side(
    names: tuple[np.ndarray, np.ndarray], blocks: tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "m q"]]
) -> tuple[np.ndarray, Float[np.ndarray, "s r"]]:
    """Blocks of rows by name in one table, 0 where a block lacks a name."""
    every, place = np.unique(np.concatenate(names), return_inverse=True)
    left, right = (np.zeros((len(every), block.shape[1])) for block in blocks)
    left[place[: len(names[0])]], right[place[len(names[0]) :]] = blocks
    return every, np.hstack([left, right])


def _shared_trust(moves: Float[np.ndarray, "s 3"]) -> float:
    """The weight of the smallest variance where some subjects are on both sides."""
    gap = moves[:, 1] - moves[:, 2]
    variance = float(gap @ gap)
    return min(max(float(moves[:, 0] @ gap) / variance, 0.0), 1.0) if variance > 0 else 0.0


def _trust(influence: Float[np.ndarray, "n 2"], other: Float[np.ndarray, " m"]) -> float:
    """The weight of the smallest variance: Cov(rating, prediction) / ((1 + n / m) Var(prediction))."""
    n, m = len(influence), len(other)
    covariance = float(influence[:, 0] @ influence[:, 1]) / (n - 1)
    variance = float((np.concatenate([influence[:, 1], other]) ** 2).sum()) / (n + m - 1)
    return min(max(covariance / ((1 + n / m) * variance), 0.0), 1.0) if variance > 0 else 0.0


def _sum(errors: list[tuple[float, float]]) -> tuple[float, float]:
    """Standard error of a sum of independent estimates, and Satterthwaite's degrees of freedom."""
    whole = math.hypot(*(error for error, _ in errors))
    below = sum(error**4 / freedom for error, freedom in errors)
    return whole, whole**4 / below if below > 0 else min(freedom for _, freedom in errors)
