"""One effect estimated in several worlds: how far worlds differ, the mean world, and where the next one may lie.

Random effects: each world has an effect of its own, drawn around a mean with variance tau². tau² is Paule and Mandel's,
the interval of the mean is Hartung and Knapp's, which allows for tau² being estimated from few worlds, and is never
narrower than the worlds' own errors imply. The interval of one more world draws tau² from its confidence distribution.
With two worlds neither tau² nor the mean world can be told.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, ndtri, stdtrit

from transect.errors import BadInput
from transect.runs.wording import counted

SOURCES: Final = (
    "Paule and Mandel 1982, Consensus values and weighting factors, doi:10.6028/jres.087.022",
    "Hartung and Knapp 2001, A refined method for the meta-analysis of controlled clinical trials with binary outcome, "
    "doi:10.1002/sim.1009",
    "Rover, Knapp and Friede 2015, Hartung-Knapp-Sidik-Jonkman approach and its modification for random-effects "
    "meta-analysis with few studies, doi:10.1186/s12874-015-0091-1",
    "Nagashima, Noma and Furukawa 2019, Prediction intervals for random-effects meta-analysis: a confidence "
    "distribution approach, doi:10.1177/0962280218773520",
    "Viechtbauer 2007, Confidence intervals for the amount of heterogeneity in meta-analysis, doi:10.1002/sim.2514",
    "Cochran 1954, The combination of estimates from different experiments, doi:10.2307/3001666",
)
LEAST: Final = 3
"""Worlds that a summary needs."""
FEW: Final = "two worlds: their difference can be tested, a mean world and the next one cannot be told"
_ONE: Final = "one world: nothing to compare"
_TOLERANCE: Final = 1e-12
_DRAWS: Final = 2000
_GRID: Final = 400


@final
@dataclass(frozen=True, slots=True)
class RandomEffects:
    """Worlds summarized; NaN with a reason where they are too few.

    estimate, low, high: the mean world's effect. prediction_low, prediction_high: of the effect in one more world like
    these. tau2, tau2_low, tau2_high: variance between worlds, with its Q-profile interval. q, p: Cochran's test that
    all worlds have the same effect. share: of the estimates' variance that is between worlds (I²).
    """

    estimate: float
    low: float
    high: float
    prediction_low: float
    prediction_high: float
    tau2: float
    tau2_low: float
    tau2_high: float
    q: float
    p: float
    share: float
    n_worlds: int
    reason: str = ""

    @property
    def tau(self) -> float:
        """Standard deviation between worlds, in the unit of the effect."""
        return math.sqrt(self.tau2)


def random_effects(estimates: ArrayLike, errors: ArrayLike, confidence: float = 0.95) -> RandomEffects:
    """The mean world's effect, and how far worlds differ.

    estimates, errors: [k] float64, each world's effect and standard error, of different subjects. Worlds without an
    estimate (NaN) are left out.

    Returns RandomEffects: of two worlds only Q and its p, of one nothing, each with its reason.

    Raises BadInput where lengths differ or an error is not above 0.

    >>> worlds = random_effects([0.1, 0.2, 0.3], [0.05, 0.05, 0.05])
    >>> round(worlds.estimate, 3), round(worlds.q, 3), round(worlds.tau2, 4)  # (.01 + .01) / .0025; .01 - .0025
    (0.2, 8.0, 0.0075)
    """
    values, spreads = _checked(estimates, errors)
    k = len(values)
    if k < 2:
        return RandomEffects(*(math.nan,) * 11, k, _ONE)
    variances = spreads**2
    q = _spread(values, variances, 0.0)
    p = float(chdtrc(k - 1, q))
    share = max(0.0, 1 - (k - 1) / q) if q > 0 else 0.0
    if k < LEAST:
        return RandomEffects(*(math.nan,) * 8, q, p, share, k, FEW)
    tau2 = _solved(values, variances, k - 1.0)
    ends = [_solved(values, variances, float(chdtri(k - 1, tail))) for tail in _tails(confidence)]
    mean, error = _mean(values, variances + tau2)
    scale = max(1.0, _spread(values, variances, tau2) / (k - 1))
    half = float(stdtrit(k - 1, (1 + confidence) / 2)) * error * math.sqrt(scale)
    below, above = _next_world(values, variances, confidence)
    ahead = min(below, mean - half), max(above, mean + half)  # no world is known better than the mean
    return RandomEffects(mean, mean - half, mean + half, *ahead, tau2, ends[0], ends[1], q, p, share, k)


def _checked(estimates: ArrayLike, errors: ArrayLike) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    values, spreads = np.asarray(estimates, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if values.shape != spreads.shape or values.ndim != 1:
        raise BadInput(f"expected one error per estimate, got {spreads.shape} for {values.shape}; give lists alike")
    known = np.isfinite(values) & np.isfinite(spreads)
    if (spreads[known] <= 0).any():
        raise BadInput(f"expected standard errors above 0, got {spreads[known].min():g}; leave such a world out")
    return values[known], spreads[known]


def _tails(confidence: float) -> tuple[float, float]:
    """Upper tails of chi² at the low and at the high end of tau²: a larger tau² leaves a smaller Q."""
    return (1 - confidence) / 2, (1 + confidence) / 2


def _mean(values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"]) -> tuple[float, float]:
    """The mean weighted by the inverse variances, and its standard error."""
    weights = 1 / variances
    return float(weights @ values / weights.sum()), float(weights.sum() ** -0.5)


def _spread(values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], tau2: float) -> float:
    """Cochran's Q with tau² added to each variance; it falls as tau² grows."""
    mean, _ = _mean(values, variances + tau2)
    return float(((values - mean) ** 2 / (variances + tau2)).sum())


def _solved(values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], wanted: float) -> float:
    """The tau² at which Q is as large as wanted; 0 where it is smaller without any."""

    def excess(tau2: float) -> float:
        return _spread(values, variances, tau2) - wanted

    if excess(0.0) <= 0:
        return 0.0
    above = max(float(np.ptp(values)) ** 2, float(variances.max()))
    while excess(above) > 0:
        above *= 2
    return _root(excess, above)


def _next_world(
    values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], confidence: float
) -> tuple[float, float]:
    """The interval of one more world: tau² is drawn from its confidence distribution."""
    k = len(values)
    tail, normal, student = _draws(k)
    tau2 = _profiled(values, variances, chdtri(k - 1, tail))
    weights = 1 / (variances + tau2[:, None])
    total = weights.sum(axis=1)
    means = weights @ values / total
    spread = (weights * (values - means[:, None]) ** 2).sum(axis=1) / (k - 1)
    errors = np.sqrt(np.maximum(spread, 1.0) / total)
    moved = np.sqrt(tau2) * normal + errors * student
    low, high = np.quantile(np.concatenate([means + moved, means - moved]), _tails(confidence))
    return float(low), float(high)


@functools.cache
def _draws(k: int) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Tails of chi² at equal steps, and normal and Student's numbers in another order each."""
    rng = np.random.default_rng(k)
    steps = (np.arange(_DRAWS) + 0.5) / _DRAWS
    return steps, ndtri(rng.permutation(steps)), stdtrit(k - 1, rng.permutation(steps))


def _profiled(
    values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], wanted: Float[np.ndarray, " d"]
) -> Float[np.ndarray, " d"]:
    """The tau² at which Q is as large as each wanted value, on a fine grid; 0 where it is smaller without any."""
    most = _solved(values, variances, float(wanted.min()))
    if most <= 0:
        return np.zeros(len(wanted))
    grid = np.concatenate([[0.0], np.geomspace(1e-4 * float(variances.min()), most, _GRID)])
    weights = 1 / (variances + grid[:, None])
    means = weights @ values / weights.sum(axis=1)
    q = (weights * (values - means[:, None]) ** 2).sum(axis=1)
    return np.asarray(np.interp(-wanted, -q, grid))


def _root(function: Callable[[float], float], above: float) -> float:
    return float(brentq(function, 0.0, above, xtol=_TOLERANCE * above, rtol=1e-12))


def few(n_worlds: int) -> str:
    """What to know of a summary of few worlds; "" from ten on."""
    if not LEAST <= n_worlds < 10:
        return ""
    return (
        f"{counted(n_worlds, 'world')} are few: their spread is hardly known, so that the interval of the next world "
        "is wide"
    )
