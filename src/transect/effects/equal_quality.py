"""Are images of all levels equally good, and did the manipulation leave the task's own label alone? Tests of
equivalence.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit

from transect.effects import intervals
from transect.effects.clusters import bias_reduced
from transect.effects.intervals import BERGER, SCHUIRMANN, skewed_interval
from transect.errors import BadInput
from transect.records import Estimate
from transect.runs.json_records import named

SOURCES: Final = (
    SCHUIRMANN,
    BERGER,
    "Hall 1992, On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54(1)",
)
SCALE: Final = (0.0, 5.0)
"""The ends of the scale of McDuff et al. 2019."""
MARGIN: Final = 0.5
FEWEST: Final = 5
"""Least subjects that differ from the most common value, from which their spread is taken as known."""
SETTLED: Final = 10
"""The same where less than a third of the subjects differ from it, as where a flaw is rare and large."""
_ALPHA: Final = 0.05
_POWER: Final = 0.8
_MOST: Final = 100_000
_ROUNDING: Final = 1e-9

Verdict = Literal["passed", "failed", "not shown"]
Limits = tuple[float, float]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QualityDifference(Estimate):
    """Mean quality at one level less that at another, with its 90 % interval, and whether it lies within the margin.

    subjects, other_subjects: rated at either level; paired: at both. verdict: "passed": the interval lies within the
    margin; "failed": it lies outside, or a larger difference has no spread; "not shown": neither. enough: subjects a
    level that would probably be enough where the levels do not differ (power 80 %), 0 where no number is known.
    estimate: in JSON "difference"; reason: why it is NaN, or how an interval came about where spread is not known.
    """

    estimate: float = named("difference")
    attribute: str
    level: float
    other: float
    subjects: int
    other_subjects: int
    paired: int
    verdict: Verdict
    enough: int = 0


def quality_differences(
    quality: Float[np.ndarray, " n"],
    levels: Mapping[str, Float[np.ndarray, " n"]],
    subjects: Int[np.ndarray, " n"],
    *,
    margin: float = MARGIN,
    scale: Limits = SCALE,
) -> tuple[QualityDifference, ...]:
    """Every pair of levels of every attribute, tested for equivalence."""
    if not 0 < margin < np.inf:
        raise BadInput(f"margin: expected a finite number above 0, got {margin}; give the largest difference allowed")
    known = np.isfinite(quality)
    if ((quality[known] < scale[0]) | (quality[known] > scale[1])).any():
        raise BadInput(f"quality: expected ratings from {scale[0]:g} to {scale[1]:g}; give the scale")
    return tuple(
        _compared(name, pair, quality, column, subjects, margin=margin, scale=scale)
        for name, column in levels.items()
        for pair in combinations(np.unique(column[np.isfinite(column)]).tolist(), 2)
    )


def bounded_limits(values: Float[np.ndarray, " n"], ends: Limits, alpha: float) -> Limits:
    """One-sided limits, each at level alpha, of the mean of values between known ends whose spread is not known."""
    if not len(values):
        return ends
    return -_upper(-values, -ends[0], alpha), _upper(values, ends[1], alpha)


def _upper(values: Float[np.ndarray, " n"], end: float, alpha: float) -> float:
    n, usual, most = len(values), _usual(values), float(values.max())
    above = int((values > usual + _ROUNDING).sum())
    level = alpha / 2 if above else alpha
    share = float(betaincinv(above + 1, n - above, 1 - level)) if above < n else 1.0
    unseen = 1 - level ** (1 / n)
    return float(usual + share * (most - usual) + unseen * (end - most))


def _usual(values: Float[np.ndarray, " n"]) -> float:
    """The most common value, of several the lowest."""
    rounded, counts = np.unique(np.round(values / _ROUNDING), return_counts=True)
    return float(rounded[counts.argmax()] * _ROUNDING)


def _varied(values: Float[np.ndarray, " n"]) -> int:
    """Subjects that differ from the most common value."""
    return int((np.abs(values - _usual(values)) > 2 * _ROUNDING).sum())


@final
@dataclass(frozen=True, slots=True)
class _Cells:
    """Means of each subject at either level. means, subjects: of the first, then of the other level."""

    means: tuple[Float[np.ndarray, " a"], Float[np.ndarray, " b"]]
    subjects: tuple[Int[np.ndarray, " a"], Int[np.ndarray, " b"]]

    @property
    def paired(self) -> int:
        return len(np.intersect1d(*self.subjects))

    @property
    def parts(self) -> tuple[Float[np.ndarray, " n"], ...]:
        """What varies by subject: differences where all subjects are at both levels, else the means of either level."""
        if np.array_equal(*self.subjects):
            return (self.means[0] - self.means[1],)
        return self.means


def _compared(
    name: str,
    pair: Limits,
    quality: Float[np.ndarray, " n"],
    column: Float[np.ndarray, " n"],
    subjects: Int[np.ndarray, " n"],
    *,
    margin: float,
    scale: Limits,
) -> QualityDifference:
    cells = _cells(quality, column, subjects, pair)
    counts, width = [len(means) for means in cells.means], scale[1] - scale[0]
    made = partial(
        QualityDifference,
        attribute=name,
        level=pair[0],
        other=pair[1],
        subjects=counts[0],
        other_subjects=counts[1],
        paired=cells.paired,
    )
    if not min(counts):
        empty = " and ".join(f"{level:g}" for level, count in zip(pair, counts, strict=True) if not count)
        allowed: Verdict = "passed" if margin >= width else "not shown"
        return made(verdict=allowed, reason=f"nobody rated {empty}")
    difference = float(cells.means[0].mean() - cells.means[1].mean())
    if not all(_varied(part) >= min(SETTLED, max(FEWEST, len(part) / 3)) for part in cells.parts):
        low, high = _bounded(cells, scale)
        enough = _enough_unvaried(difference, margin, width, len(cells.parts))
        reason = "too few subjects differ from the most common value: limits by the ends of the scale"
    else:
        error, freedom = _error(cells)
        low, high = _skewed(cells, difference, error, freedom)
        reason = ""
        enough = _enough(error, freedom, min(counts), margin)
    low, high = max(low, -width), min(high, width)
    # Whether two or more subjects have the same value, at both levels or of their difference.
    verdict = _verdict(
        difference, (low, high), margin, fixed=all(len(part) > 1 and _varied(part) == 0 for part in cells.parts)
    )
    enough = enough if verdict == "not shown" and abs(difference) < margin else 0
    return made(estimate=difference, low=low, high=high, verdict=verdict, enough=enough, reason=reason)


def _cells(
    quality: Float[np.ndarray, " n"], column: Float[np.ndarray, " n"], subjects: Int[np.ndarray, " n"], pair: Limits
) -> _Cells:
    means, who = [], []
    for level in pair:
        rows = (column == level) & np.isfinite(quality)
        person, place = np.unique(subjects[rows], return_inverse=True)
        counts = np.bincount(place.reshape(-1), minlength=len(person))
        means.append(np.bincount(place.reshape(-1), weights=quality[rows], minlength=len(person)) / counts)
        who.append(person)
    return _Cells((means[0], means[1]), (who[0], who[1]))


def _bounded(cells: _Cells, scale: Limits) -> Limits:
    if len(cells.parts) == 1:
        width = scale[1] - scale[0]
        return bounded_limits(cells.parts[0], (-width, width), _ALPHA)
    # Half of the level each: the limits hold however the two levels depend on each other.
    (low, high), (other_low, other_high) = (bounded_limits(part, scale, _ALPHA / 2) for part in cells.means)
    return low - other_high, high - other_low


def _error(cells: _Cells) -> tuple[float, float]:
    """Standard error of the difference by subject (CR2), and its degrees of freedom."""
    first = np.repeat([1.0, 0.0], [len(part) for part in cells.means])
    x, y = np.column_stack([np.ones(len(first)), first]), np.concatenate(cells.means)
    residual = y - np.where(first == 1, cells.means[0].mean(), cells.means[1].mean())
    groups = np.unique(np.concatenate(cells.subjects), return_inverse=True)[1].reshape(-1)
    covariance, freedom = bias_reduced(x, residual, groups)
    return float(np.sqrt(covariance[1, 1])), float(freedom[1])


def _skewed(cells: _Cells, difference: float, error: float, freedom: float) -> Limits:
    """Student's limits, and Hall's of a skewed mean where they reach further."""
    if error <= 0:
        return difference, difference
    sizes = [len(part) for part in cells.parts]
    third = sum(sign * _third(part) / n**2 for sign, part, n in zip((1, -1), cells.parts, sizes, strict=False))
    variances = [float(part.var(ddof=1)) for part in cells.parts]
    unseen = np.sqrt(sum(6 * variance**3 / n**5 for n, variance in zip(sizes, variances, strict=True)))
    low, high = skewed_interval(
        difference, error, freedom, third / error**3, confidence=1 - 2 * _ALPHA, unseen=float(unseen / error**3)
    )
    return float(low), float(high)


def _third(values: Float[np.ndarray, " n"]) -> float:
    """The third central moment, without bias (n of 3 or more)."""
    n = len(values)
    return float(((values - values.mean()) ** 3).sum()) * n / ((n - 1) * (n - 2))


def _verdict(difference: float, limits: Limits, margin: float, *, fixed: bool) -> Verdict:
    low, high = limits
    if -margin <= low and high <= margin:
        return "passed"
    if low > margin or high < -margin or (fixed and abs(difference) > margin + _ROUNDING):
        return "failed"
    return "not shown"


def _enough(error: float, freedom: float, subjects: int, margin: float) -> int:
    """Subjects a level from which both tests reject with 80 % where levels do not differ, at the spread found."""
    tail = float(ndtri((1 + _POWER) / 2))

    def within(n: int) -> bool:
        half = (float(stdtrit(freedom * n / subjects, 1 - _ALPHA)) + tail) * error * np.sqrt(subjects / n)
        return bool(half <= margin)

    candidates = range(FEWEST + 1, _MOST)
    place = bisect_left(candidates, True, key=within)
    return candidates[place] if place < len(candidates) else 0


def _enough_unvaried(difference: float, margin: float, width: float, parts: int) -> int:
    """Subjects a level whose limits lie within the margin where none differs from the most common value."""
    room, reach = margin - abs(difference), width - abs(difference)
    if room <= 0 or room >= reach:
        return 0
    return int(np.ceil(np.log(_ALPHA / parts) / np.log1p(-room / reach)))


LABEL_MARGIN: Final = 0.05
UNVARIED: Final = "the differences do not vary"
_LABEL_ROUNDING: Final = 1e-12
ALPHA: Final = 0.05
SCORE_TESTS: Final = "two one-sided paired score tests"
T_TESTS: Final = "two one-sided paired t tests"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence(Estimate):
    """Whether mean differences lie within ∓margin. p: the larger of the two one-sided ones; NaN with the reason."""

    margin: float
    p: float = math.nan
    equivalent: bool = False
    n: int
    method: str = ""


@final
@dataclass(frozen=True, slots=True)
class Validity:
    """Of each step [k]: the share of subjects whose label moved, and the test that the label's mean stayed.

    moved: bool [n, k], False where a label is missing. unmoved: bool [n, k], where the label is known not to have
    moved, to be passed on as `keep` of a sensitivity. missing: subjects without a label at this step or at λ = 0.
    """

    steps: Float[np.ndarray, " k"]
    share: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    subjects: Int[np.ndarray, " k"]
    missing: Int[np.ndarray, " k"]
    equivalence: tuple[Equivalence, ...]
    moved: Bool[np.ndarray, "n k"]
    unmoved: Bool[np.ndarray, "n k"]


def validity(labels: ArrayLike, steps: ArrayLike) -> Validity:
    """How often the task's label moved at each step λ while another attribute was manipulated."""
    values, levels = np.asarray(labels, dtype=np.float64), np.asarray(steps, dtype=np.float64).reshape(-1)
    if values.ndim != 2 or values.shape[1] != len(levels) or not (levels == 0).any():
        raise BadInput(
            f"expected labels [subjects, steps] with λ = 0 among the steps, got {values.shape} and {len(levels)} steps"
        )
    known = np.isfinite(values)
    if not np.isin(values[known], (0.0, 1.0)).all():
        raise BadInput("expected labels of 0 and 1")
    at_zero = values[:, [int(np.flatnonzero(levels == 0)[0])]]
    comparable = known & np.isfinite(at_zero)
    moved = comparable & (values != at_zero)
    n = comparable.sum(axis=0)
    low, high = intervals.wilson(moved.sum(axis=0), n)
    tests = tuple(equivalence(np.where(comparable, values - at_zero, np.nan)[:, k]) for k in range(len(levels)))
    share = np.divide(moved.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    return Validity(levels, share, low, high, n, len(values) - n, tests, moved, comparable & ~moved)


def equivalence(differences: ArrayLike, margin: float = LABEL_MARGIN) -> Equivalence:
    """Are the subjects' mean differences within ∓margin? Two one-sided tests at 5 %.

    differences: one number per subject, NaN where there is none. Differences of labels (-1, 0, 1) have Tango's paired
    score test, others Student's t; low and high are the 90 % interval, which lies within the margin exactly where both
    tests reject. NaN with the reason where numbers do not vary, since their spread is then unknown.

    Raises BadInput where the margin is not above 0.
    """
    if not margin > 0:
        raise BadInput(
            f"margin: expected more than 0, got {margin:g}; give the largest difference that does not matter"
        )
    d = np.asarray(differences, dtype=np.float64).reshape(-1)
    d = d[np.isfinite(d)]
    n = len(d)
    if n < 2:
        return Equivalence(reason=f"{n} subjects with both labels", margin=margin, n=n)
    whole = bool(np.isin(d, (-1.0, 0.0, 1.0)).all())
    if not whole and np.ptp(d) <= _LABEL_ROUNDING * np.abs(d).max():
        return Equivalence(float(d.mean()), reason=UNVARIED, margin=margin, n=n)
    if not whole and n < intervals.FEWEST:
        return Equivalence(float(d.mean()), reason=intervals.no_interval(n), margin=margin, n=n)
    p, ends, method = _score_tests(d, margin) if whole else _t_tests(d, margin)
    return Equivalence(float(d.mean()), *ends, margin=margin, p=p, equivalent=p <= ALPHA, n=n, method=method)


def _score_tests(d: Float[np.ndarray, " n"], margin: float) -> tuple[float, tuple[float, float], str]:
    positive, negative, n = int((d > 0).sum()), int((d < 0).sum()), len(d)
    above = _tango_z(positive, negative, n, -margin)  # large where the difference is clearly above -margin
    below = _tango_z(positive, negative, n, margin)
    low, high = intervals.paired_score_interval(positive, negative, n, confidence=1 - 2 * ALPHA)
    return float(max(ndtr(-above), ndtr(below))), (float(low), float(high)), SCORE_TESTS


def _tango_z(positive: int, negative: int, n: int, difference: float) -> float:
    """Tango's score statistic of a given difference, with the constrained estimate in closed form (his Eq. 7)."""
    if abs(difference) >= 1:
        return float(np.sign(-difference) * np.inf)
    linear = (2 * n - positive + negative) * difference - positive - negative
    constant = -negative * difference * (1 - difference)
    q = (np.sqrt(max(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
    variance = n * (2 * q + difference * (1 - difference))
    return float((positive - negative - n * difference) / np.sqrt(variance))


def _t_tests(d: Float[np.ndarray, " n"], margin: float) -> tuple[float, tuple[float, float], str]:
    n, mean = len(d), float(d.mean())
    error = float(d.std(ddof=1) / np.sqrt(n))
    p = max(stdtr(n - 1, -(mean + margin) / error), stdtr(n - 1, (mean - margin) / error))
    half = float(stdtrit(n - 1, 1 - ALPHA)) * error
    return float(p), (mean - half, mean + half), T_TESTS
