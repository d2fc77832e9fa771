"""Answers along a transect, and the logistic curve through them (Balakrishnan et al. 2020, Fig. 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from scipy.special import expit

from transect.errors import BadInput

SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
FREE_ENDS: Final = 5
"""Places along the transect from which the curve's ends are fitted too; with fewer they are the scale's."""
_STEEPEST: Final = 100.0
_MOST_STEPS: Final = 60


@final
@dataclass(frozen=True, slots=True)
class LogisticCurve:
    """start + (end - start) / (1 + exp(-slope (x - middle))): from start on the left to end on the right.

    A level line has slope 0 and no middle. near: share of the answers within one level of the curve. answers, places:
    what it rests on. NaN with the reason where nothing can be fitted.
    """

    start: float
    end: float
    middle: float
    slope: float
    near: float
    answers: int
    places: int
    reason: str = ""

    def at(self, x: ArrayLike) -> Float[np.ndarray, "*n"]:
        """The curve's value at each place; NaN where there is no curve."""
        return _curve(np.asarray(x, dtype=np.float64), self.start, self.end, self.middle, self.slope)


def fit_logistic(x: ArrayLike, shares: ArrayLike, low: float, high: float, level: float) -> LogisticCurve:
    """The logistic curve through answers, by least squares, falling or rising.

    x [n]: the place of each answer's image along the transect. low, high: ends of the answers' scale, between which the
    curve stays; level: distance of neighbouring levels. With fewer than five places the ends are the scale's own, since
    a curve through every mean says nothing; below three there is none.
    """
    places, answers = np.asarray(x, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    if places.shape != answers.shape or places.ndim != 1:
        raise BadInput(f"expected one place for each of {answers.size} answers, got {places.size}")
    if not (low < high and level > 0):
        raise BadInput(f"scale: expected low < high and a level's width above 0, got {low:g}, {high:g} and {level:g}")
    known = np.isfinite(places) & np.isfinite(answers)
    places, answers = places[known], answers[known]
    distinct = np.unique(places)
    if len(distinct) < 3:
        reason = f"answers at {len(distinct)} places of the transect; a curve needs three"
        nan = float("nan")
        return LogisticCurve(nan, nan, nan, nan, nan, len(answers), len(distinct), reason)
    start, end, middle, slope = _fit(places, answers, distinct, low, high)
    if abs(end - start) < 1e-6 * (high - low):  # a level line has no place where it bends
        start = end = float(answers.mean())
        middle, slope = float("nan"), 0.0
    near = float((np.abs(answers - _curve(places, start, end, middle, slope)) <= level * (1 + 1e-9)).mean())
    return LogisticCurve(start, end, middle, slope, near, len(answers), len(distinct))


def _curve(x: np.ndarray, start: float, end: float, middle: float, slope: float) -> Float[np.ndarray, "*n"]:
    if slope == 0 and start == end:
        return np.full_like(x, start)
    return np.asarray(start + (end - start) * expit(slope * (x - middle)))


def _fit(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], places: Float[np.ndarray, " p"], low: float, high: float
) -> tuple[float, float, float, float]:
    """The best of fits that begin rising and falling, and steep and flat; x is scaled to 0..1 meanwhile."""
    first, span = float(places[0]), float(places[-1] - places[0])
    # Least squares through all answers is weighted least squares through the mean answer of each place.
    place = np.searchsorted(places, x)
    counts = np.bincount(place).astype(np.float64)
    means, scaled, free = np.bincount(place, weights=y) / counts, (places - first) / span, len(places) >= FREE_ENDS
    best, least = (low, high, 0.5, 0.0), np.inf
    for ends in ((low, high), (high, low)):
        for slope in (4.0, 20.0):
            curve = _local(scaled, means, np.sqrt(counts), ends, slope, (low, high) if free else None)
            cost = float((counts * (means - _curve(scaled, *curve)) ** 2).sum())
            if cost < least - 1e-12:
                best, least = curve, cost
    start, end, middle, slope = best
    return start, end, first + span * middle, slope / span


def _local(
    x: Float[np.ndarray, " p"],
    y: Float[np.ndarray, " p"],
    weight: Float[np.ndarray, " p"],
    ends: tuple[float, float],
    slope: float,
    bounds: tuple[float, float] | None,
) -> tuple[float, float, float, float]:
    """Least squares from one beginning. bounds: of the ends; None: they stay. The middle may lie a little outside."""
    if bounds is None:
        solution = least_squares(
            lambda p: weight * (_curve(x, *ends, p[0], p[1]) - y),
            (0.5, slope),
            bounds=((-2, 0), (3, _STEEPEST)),
            max_nfev=_MOST_STEPS,
        ).x
        return (*ends, float(solution[0]), float(solution[1]))
    low, high = bounds
    begun = np.clip(ends, low + 1e-6 * (high - low), high - 1e-6 * (high - low))
    solution = least_squares(
        lambda p: weight * (_curve(x, *p) - y),
        (*begun, 0.5, slope),
        bounds=((low, low, -0.5, 0), (high, high, 1.5, _STEEPEST)),
        x_scale=(high - low, high - low, 1.0, 10.0),
        max_nfev=_MOST_STEPS,
    ).x
    start, end = (
        float(np.clip(round(end_value, 9), low, high)) for end_value in solution[:2]
    )  # a bound is met but for rounding
    return start, end, float(solution[2]), float(solution[3])
