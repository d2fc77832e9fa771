"""Did the manipulation leave the task's own label alone? Shares that moved, and a test of equivalence.

A smile classifier's answer may change with a beard because the beard matters to it, or because the manipulation made
the face smile. What people see (or the world's true value) separates the two: the label must stay while the attribute
moves. That no difference is found is no proof; two one-sided tests show that a difference is small (Schuirmann 1987).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr, stdtrit

from transect.effects import intervals
from transect.errors import BadInput

SOURCE: Final = (
    "Schuirmann 1987, A comparison of the two one-sided tests procedure and the power approach for assessing the "
    "equivalence of average bioavailability, doi:10.1007/BF01068419"
)
MARGIN: Final = 0.05
UNVARIED: Final = "the differences do not vary"
_ROUNDING: Final = 1e-12
ALPHA: Final = 0.05
SCORE_TESTS: Final = "two one-sided paired score tests"
T_TESTS: Final = "two one-sided paired t tests"


@final
@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether mean differences lie within ∓margin. p: the larger of the two one-sided ones; NaN with the reason."""

    estimate: float
    low: float
    high: float
    margin: float
    p: float
    equivalent: bool
    n: int
    method: str
    reason: str = ""


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


def validity(
    labels: ArrayLike,
    steps: ArrayLike,
    *,
    threshold: float | None = None,
    margin: float = MARGIN,
    confidence: float = 0.95,
) -> Validity:
    """How often the task's label moved at each step λ while another attribute was manipulated."""
    values, levels = np.asarray(labels, dtype=np.float64), np.asarray(steps, dtype=np.float64).reshape(-1)
    if values.ndim != 2 or values.shape[1] != len(levels) or not (levels == 0).any():
        raise BadInput(
            f"expected labels [subjects, steps] with λ = 0 among the steps, got {values.shape} and {len(levels)} steps"
        )
    known = np.isfinite(values)
    if threshold is None and not np.isin(values[known], (0.0, 1.0)).all():
        raise BadInput("labels other than 0 and 1 need a threshold from which the label is yes; give one")
    at_zero = values[:, [int(np.flatnonzero(levels == 0)[0])]]
    comparable = known & np.isfinite(at_zero)
    label = values if threshold is None else np.where(known, values >= threshold, np.nan)
    base = at_zero if threshold is None else np.where(np.isfinite(at_zero), at_zero >= threshold, np.nan)
    moved = comparable & (label != base)
    n = comparable.sum(axis=0)
    low, high = intervals.wilson(moved.sum(axis=0), n, confidence)
    tests = tuple(equivalence(np.where(comparable, values - at_zero, np.nan)[:, k], margin) for k in range(len(levels)))
    share = np.divide(moved.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    return Validity(levels, share, low, high, n, len(values) - n, tests, moved, comparable & ~moved)


def equivalence(differences: ArrayLike, margin: float = MARGIN) -> Equivalence:
    """Are the subjects' mean differences within ∓margin? Two one-sided tests at 5 %.

    differences: one number per subject, NaN where there is none. Differences of labels (-1, 0, 1) have Tango's paired
    score test, others Student's t; low and high are the 90 % interval, which lies within the margin exactly where both
    tests reject. NaN with the reason where numbers do not vary, since their spread is then unknown.

    Raises BadInput where the margin is not above 0.

    >>> equivalence(np.zeros(100)).equivalent, equivalence(np.zeros(30)).equivalent  # 1.645² / (n + 1.645²)
    (True, False)
    """
    if not margin > 0:
        raise BadInput(
            f"margin: expected more than 0, got {margin:g}; state the largest difference that does not matter"
        )
    d = np.asarray(differences, dtype=np.float64).reshape(-1)
    d = d[np.isfinite(d)]
    n = len(d)
    if n < 2:
        return Equivalence(np.nan, np.nan, np.nan, margin, np.nan, False, n, "", f"{n} subjects with both labels")
    whole = bool(np.isin(d, (-1.0, 0.0, 1.0)).all())
    if not whole and np.ptp(d) <= _ROUNDING * np.abs(d).max():
        return Equivalence(float(d.mean()), np.nan, np.nan, margin, np.nan, False, n, "", UNVARIED)
    p, ends, method = _score_tests(d, margin) if whole else _t_tests(d, margin)
    return Equivalence(float(d.mean()), *ends, margin, p, p <= ALPHA, n, method)


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
