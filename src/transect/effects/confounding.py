"""How strong would something hidden have to be, to explain an association away? Measures for observational results.

None of them shows whether there is hidden confounding; each shows how much of it a finding withstands. An experiment
that sets the attribute needs none of them: there hidden causes are the same on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from transect.effects import regression
from transect.effects.samples import Columns, Labels, Sample, complete
from transect.errors import BadInput
from transect.records import Effect

E_VALUE: Final = "VanderWeele and Ding 2017, Sensitivity analysis in observational research, doi:10.7326/M16-2607"
ROSENBAUM: Final = "Rosenbaum 2002, Observational studies, second edition, chapter 4, doi:10.1007/978-1-4757-3692-2"
PARTIAL_R2: Final = "Cinelli and Hazlett 2020, Making sense of sensitivity, doi:10.1111/rssb.12348"
LARGEST_EXACT: Final = 300
"""Untied or tied pairs up to which the signed-rank bound is summed exactly; beyond, by the normal approximation."""


@final
@dataclass(frozen=True, slots=True)
class EValue:
    """point: of the estimate; limit: of the interval's end that is nearer to no effect, 1 where it holds no effect.

    The smallest risk ratio that something hidden must have with both the attribute and the outcome, beyond what is
    adjusted for, to explain the estimate (or move the interval to no effect).
    """

    point: float
    limit: float
    source: str = E_VALUE


def e_value(estimate: float, low: float = math.nan, high: float = math.nan, *, scale: str = "risk ratio") -> EValue:
    """E-value of an estimate and of its interval [low, high]. VanderWeele and Ding 2017.

    scale: "risk ratio"; "odds ratio" of a common outcome (its square root approximates the risk ratio; of a rare one,
    pass it as a risk ratio); "standardized difference" (mean difference over the standard deviation, exp(0.91 d)).

    Returns EValue; NaN where the estimate or its nearer end is NaN.

    Raises BadInput for ratios that are not positive, an interval that does not hold the estimate, another scale.

    >>> result = e_value(3.9, 1.8, 8.7)  # the paper's example
    >>> round(result.point, 2), round(result.limit, 2)
    (7.26, 3.0)
    """
    ratio, bottom, top = (_risk_ratio(number, scale) for number in (estimate, low, high))
    if bottom > ratio or top < ratio:
        raise BadInput(
            f"expected an interval that contains the estimate {estimate:g}, got {low:g} to {high:g}; are the "
            "ends swapped?"
        )
    if math.isnan(ratio):
        return EValue(math.nan, math.nan)
    nearer = bottom if ratio >= 1 else top
    crosses = nearer <= 1 if ratio >= 1 else nearer >= 1
    limit = math.nan if math.isnan(nearer) else 1.0 if crosses else _e(nearer)
    return EValue(_e(ratio), limit)


def e_value_of_slope(
    slope: float, low: float = math.nan, high: float = math.nan, *, change: float, spread: float
) -> EValue:
    """E-value of a slope of numbers on a scale, read as the difference that a change of the attribute makes.

    slope, low, high: per unit of the attribute, with its interval. change: number of units, by convention one
    standard deviation of the attribute; E-values grow with it. spread: the standard deviation of the numbers about the
    line. The standardized difference d = slope * change / spread stands for the risk ratio exp(0.91 d). VanderWeele and
    Ding 2017, who take it from Chinn 2000 and Hasselblad and Hedges 1995.

    Returns EValue; NaN where the slope or its nearer end is NaN.

    Raises BadInput for a change or a spread that is not positive, or an interval that does not hold the slope.

    >>> result = e_value_of_slope(0.02, 0.01, 0.03, change=10.0, spread=0.4)  # d = .5, and .25 at the nearer end
    >>> result == e_value(0.5, 0.25, 0.75, scale="standardized difference")
    True
    """
    if not (change > 0 and spread > 0):
        raise BadInput(f"expected a positive change and spread, got {change:g} and {spread:g}; nothing varies?")
    scaled = (number * change / spread for number in (slope, low, high))
    return e_value(*scaled, scale="standardized difference")


def _e(ratio: float) -> float:
    above = max(ratio, 1 / ratio)
    return above + math.sqrt(above * (above - 1))


def _risk_ratio(number: float, scale: str) -> float:
    if scale == "standardized difference":
        return math.exp(0.91 * number)
    if number <= 0:
        raise BadInput(f"{scale}: expected a positive number, got {number:g}; differences of rates are not ratios")
    if scale == "odds ratio":
        return math.sqrt(number)
    if scale != "risk ratio":
        raise BadInput(f"scale: expected risk ratio, odds ratio or standardized difference, got {scale!r}")
    return number


@final
@dataclass(frozen=True, slots=True)
class RosenbaumBounds:
    """For each gamma the largest two-sided p that hidden bias of at most that size allows.

    gamma: two people who look the same differ in their odds of having the attribute by at most this factor. largest_p
    float64 [gammas]. tolerated: the largest gamma (to two decimals) at which largest_p <= alpha; NaN where even gamma 1
    has none. n_pairs: pairs that differ; method: how p was computed.
    """

    gammas: Float[np.ndarray, " g"]
    largest_p: Float[np.ndarray, " g"]
    tolerated: float
    n_pairs: int
    method: str
    reason: str = ""
    source: str = ROSENBAUM


def rosenbaum_bounds(
    differences: ArrayLike, gammas: Sequence[float] = (1.0, 1.25, 1.5, 2.0, 3.0), *, alpha: float = 0.05
) -> RosenbaumBounds:
    """Rosenbaum's bounds of matched pairs: differences [n] of outcomes, attribute's bearer minus the other.

    Differences of one size (0/1 outcomes: -1, 0, 1): McNemar's statistic, binomial mid-p. Others: Wilcoxon's signed
    rank statistic, exact up to 300 pairs that differ, else normal. Pairs that do not differ carry nothing; a NaN is
    no pair. p is two-sided: twice the bound in the direction of the larger sum, at most 1.

    Returns RosenbaumBounds; largest_p is 1 with a reason where no pair differs.

    Raises BadInput for a gamma below 1 or differences that are not one list.

    >>> result = rosenbaum_bounds([1.0] * 25 + [-1.0] * 5, (1.0, 2.0))
    >>> result.largest_p.round(4), result.method  # P(Bin(30, g) >= 25) + P(Bin(30, g) > 25), g of 1/2 and 2/3
    (array([0.0002, 0.0477]), 'binomial mid-p')
    """
    from scipy.stats import rankdata

    d = np.asarray(differences, dtype=np.float64)
    grid = np.asarray(gammas, dtype=np.float64)
    if d.ndim != 1 or grid.ndim != 1 or not (grid >= 1).all():
        raise BadInput("expected one list of differences and gammas of at least 1; gamma 1 means no hidden bias")
    d = d[np.isfinite(d) & (d != 0)]
    if len(d) == 0:
        return RosenbaumBounds(grid, np.ones(len(grid)), math.nan, 0, "", "no pair differs")
    ranks = rankdata(np.abs(d))
    statistic = max(float(ranks[d > 0].sum()), float(ranks[d < 0].sum()))
    equal = bool((ranks == ranks[0]).all())
    method = "binomial mid-p" if equal else "exact signed rank" if len(d) <= LARGEST_EXACT else "normal signed rank"

    def largest_p(gamma: float) -> float:
        return min(1.0, 2 * _upper_tail(statistic, ranks, gamma / (1 + gamma), method))

    p = np.array([largest_p(gamma) for gamma in grid])
    return RosenbaumBounds(grid, p, _tolerated(largest_p, alpha), len(d), method)


def _upper_tail(statistic: float, ranks: Float[np.ndarray, " n"], chance: float, method: str) -> float:
    """P(sum of the ranks that are drawn >= statistic), each drawn with this chance."""
    from scipy.stats import binom

    if method == "binomial mid-p":
        observed = round(statistic / ranks[0])
        return float(binom.sf([observed - 1, observed], len(ranks), chance).mean())
    if method == "exact signed rank":
        return _exact_tail(round(2 * statistic), np.round(2 * ranks).astype(np.int64), chance)
    mean, variance = chance * ranks.sum(), chance * (1 - chance) * (ranks**2).sum()
    return float(ndtr((mean - statistic) / math.sqrt(variance)))


def _exact_tail(statistic: int, doubled: Int[np.ndarray, " n"], chance: float) -> float:
    """By convolution over the pairs; ranks are doubled, since ties have halves."""
    probability = np.zeros(int(doubled.sum()) + 1)
    probability[0] = 1.0
    for rank in doubled:
        moved = probability[:-rank] * chance
        probability *= 1 - chance
        probability[rank:] += moved
    return float(probability[statistic:].sum())


def _tolerated(largest_p: Callable[[float], float], alpha: float) -> float:
    """The largest gamma, to two decimals and at most 100, at which p stays at or below alpha; p grows with gamma."""
    if largest_p(1.0) > alpha:
        return math.nan
    low, high = 100, 10_001
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if largest_p(middle / 100) <= alpha else (low, middle)
    return low / 100


@final
@dataclass(frozen=True, slots=True)
class Robustness:
    """How much residual variance something hidden must explain, of both attribute and outcome.

    partial_r2: of the attribute with the outcome; even something that explains all the rest of the outcome must explain
    this much of the attribute to bring the estimate to 0. value: the robustness value; hidden causes that explain this
    share of both bring it to 0. significant: the same for bringing the interval to 0; 0 where it holds 0 already.
    """

    partial_r2: float
    value: float
    significant: float
    source: str = PARTIAL_R2


def robustness(
    estimate: float, standard_error: float, freedom: float, *, alpha: float = 0.05, inflation: float = 1.0
) -> Robustness:
    """Partial R² and robustness values of a regression coefficient with its degrees of freedom. Cinelli, Hazlett 2020.

    standard_error: the classical one, of independent images. inflation: by how much the interval is wider where images
    of a subject depend (clustered over classical); it changes `significant` alone.

    Returns Robustness; NaN where the estimate or its error is NaN.

    Raises BadInput for an error that is not positive, or fewer than two degrees of freedom.

    >>> result = robustness(0.09731582, 0.02325654, 783)  # their example: harm in Darfur
    >>> round(result.partial_r2, 3), round(result.value, 3), round(result.significant, 3)
    (0.022, 0.139, 0.076)
    """
    if standard_error <= 0 or freedom < 2:
        raise BadInput(
            f"expected a positive standard error and at least 2 degrees of freedom, got {standard_error:g} and "
            f"{freedom:g}; fit the regression to more images"
        )
    t = abs(estimate / standard_error)
    f = t / math.sqrt(freedom)
    critical = abs(float(stdtrit(freedom - 1, alpha / 2))) / math.sqrt(freedom - 1)
    return Robustness(t**2 / (t**2 + freedom), _robustness_value(f), _robustness_value(f - critical * inflation))


@final
@dataclass(frozen=True, slots=True)
class LinearRobustness:
    """A coefficient of least squares, and the hidden confounding that it can bear; robustness None with a reason."""

    effect: Effect
    robustness: Robustness | None
    reason: str = ""


def linear_robustness(
    y: ArrayLike, x: Columns, *, clusters: ArrayLike | None = None, labels: Labels | None = None, alpha: float = 0.05
) -> LinearRobustness:
    """Partial R² and robustness values of the first column of `x` in least squares of `y`, the others held equal.

    y: outcomes [n]; x: columns by name [n]; clusters: the subject of each row, by which the interval's error is
    estimated. Partial R² is a property of the fit, whatever the clusters; only `significant` rests on the interval.

    Returns LinearRobustness; its robustness is None with the reason where there is no coefficient or no interval.

    Raises BadInput where lengths differ or a column is text.

    >>> x, y = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 2.0, 3.0, 5.0])
    >>> result = linear_robustness(y, {"x": x}).robustness  # residuals of 1: of the 13 about the mean 9 are x's
    >>> round(result.partial_r2, 4), round(9 / 13, 4)
    (0.6923, 0.6923)
    """
    sample = complete(y, x, clusters=clusters)
    fit = regression.least_squares(sample)
    effect = regression.coefficient_effects(
        fit, sample, labels or Labels(), method="OLS", per=lambda name: f"per unit of {name}",
        sources=(regression.OLS_SOURCE, PARTIAL_R2), confidence=1 - alpha,
    )[0]  # fmt: skip
    if not np.isfinite(effect.low):
        return LinearRobustness(effect, None, effect.reason)
    classical, freedom = _classical_error(sample)
    if not classical > 0 or freedom < 2:
        return LinearRobustness(effect, None, "a perfect fit, or too few images: no residual variance to share out")
    inflation = (effect.high - effect.low) / 2 / (float(stdtrit(freedom, 1 - alpha / 2)) * classical)
    return LinearRobustness(effect, robustness(effect.estimate, classical, freedom, alpha=alpha, inflation=inflation))


def _classical_error(sample: Sample) -> tuple[float, int]:
    """Standard error of the first column's coefficient for independent rows of one variance; degrees of freedom."""
    first, others = sample.x[:, 0], regression.with_intercept(sample.x[:, 1:], sample.names[1:])[0]
    alone, residual = (_residual(others, column) for column in (first, sample.y))
    whole = residual - alone * float(alone @ residual) / float(alone @ alone)
    freedom = len(sample) - len(regression.independent(others)) - 1
    return math.sqrt(float(whole @ whole) / max(freedom, 1) / float(alone @ alone)), freedom


def _residual(x: Float[np.ndarray, "n k"], y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return np.where(np.abs(left) <= regression.ROUNDING * np.abs(y).max(initial=0.0), 0.0, left)


def _robustness_value(f: float) -> float:
    return 0.5 * (math.sqrt(f**4 + 4 * f**2) - f**2) if f > 0 else 0.0 if f <= 0 else math.nan


def adjusted_for_hidden(
    estimate: float, standard_error: float, freedom: float, *, r2_outcome: float, r2_attribute: float
) -> tuple[float, float]:
    """Estimate and standard error as they would be, adjusted also for something hidden of that strength, at worst.

    r2_outcome, r2_attribute: the share of what is left of outcome and attribute that the hidden thing explains. The
    estimate moves towards 0 and beyond it. Cinelli and Hazlett 2020, Eqs. 12 to 14.

    Raises BadInput for shares outside [0, 1), or an error that is not positive.

    >>> estimate, error = adjusted_for_hidden(0.09731582, 0.02325654, 783, r2_outcome=0.12, r2_attribute=0.01)
    >>> round(estimate, 4), round(error, 4)
    (0.0747, 0.0219)
    """
    if not (0 <= r2_outcome <= 1 and 0 <= r2_attribute < 1 and standard_error > 0 and freedom >= 2):
        raise BadInput(
            f"expected shares from 0 to below 1, a positive error and 2 degrees of freedom, got {r2_outcome:g}, "
            f"{r2_attribute:g}, {standard_error:g} and {freedom:g}; see robustness"
        )
    bias = standard_error * math.sqrt(r2_outcome * r2_attribute / (1 - r2_attribute) * freedom)
    error = standard_error * math.sqrt((1 - r2_outcome) / (1 - r2_attribute) * freedom / (freedom - 1))
    return estimate - math.copysign(bias, estimate), error
