"""Which effects do the instruments not rule out? Anderson and Rubin's set, valid however weak the instruments are.

An effect is ruled out when, with its part taken from the outcome, the instruments still predict the rest. The set may
be an interval, or have no end where the instruments are too weak.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq, minimize
from scipy.special import fdtrc, fdtri

from transect.effects import regression
from transect.effects.samples import Sample

METHOD: Final = "Anderson-Rubin, errors clustered by subject"
SOURCE: Final = (
    "Anderson and Rubin 1949, Estimation of the parameters of a single equation in a complete system of stochastic "
    "equations, doi:10.1214/aoms/1177730090"
)
UNBOUNDED: Final = "the interval has no end: the instruments are too weak"
EMPTY: Final = "every effect is ruled out: the instruments disagree"
_FARTHEST: Final = 1e6


@final
@dataclass(frozen=True, slots=True)
class ConfidenceSet:
    """Ends of the set (NaN with a reason where it has none) and p of the hypothesis of no effect."""

    low: float
    high: float
    p: float
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Reduced:
    """Coefficients of the instruments for outcome and endogenous columns [q, 1 + p], and their joint covariance.

    covariance [1 + p, 1 + p, q, q]: between the coefficients of two of these regressions, by subject.
    """

    coefficients: Float[np.ndarray, "q m"]
    covariance: Float[np.ndarray, "m m q q"]
    freedom: int
    clusters: int

    @classmethod
    def of(
        cls,
        sample: Sample,
        endogenous: Float[np.ndarray, "n p"],
        instruments: Float[np.ndarray, "n q"],
        exogenous: Float[np.ndarray, "n r"],
    ) -> Reduced:
        """Regressions of outcome and endogenous columns on the instruments, given the exogenous columns."""
        columns = np.column_stack([exogenous, instruments])
        z = columns[:, [k for k in regression.independent(columns) if k >= exogenous.shape[1]]]
        reduced = np.column_stack([sample.y, endogenous])
        q, _ = np.linalg.qr(exogenous[:, regression.independent(exogenous)])
        z, reduced = z - q @ (q.T @ z), reduced - q @ (q.T @ reduced)
        bread = np.linalg.inv(z.T @ z)
        coefficients = bread @ (z.T @ reduced)
        residual = reduced - z @ coefficients
        m, k = reduced.shape[1], z.shape[1]
        scores = (z[:, None, :] * residual[:, :, None]).reshape(len(z), m * k)
        rank = k + exogenous.shape[1]
        meat = regression.clustered_covariance(scores, np.eye(m * k), sample, rank).reshape(m, k, m, k)
        covariance = np.einsum("ab,ibjc,cd->ijad", bread, meat, bread)
        return cls(coefficients, covariance, k, sample.n_groups)

    def statistic(self, effects: Float[np.ndarray, " p"]) -> float:
        """F statistic of the instruments in the outcome less these effects of the endogenous columns."""
        a = np.concatenate([[1.0], -effects])
        rest = self.coefficients @ a
        variance = np.einsum("i,j,ijab->ab", a, a, self.covariance)
        return float(rest @ np.linalg.pinv(variance, hermitian=True) @ rest) / self.freedom


def confidence_set(
    reduced: Reduced, place: int, estimates: Float[np.ndarray, " p"], confidence: float = 0.95
) -> ConfidenceSet:
    """The effects of one endogenous column that are not ruled out, the other columns' effects being free.

    estimates: those of two-stage least squares, from which the ends are searched outward.
    """
    limit = float(fdtri(reduced.freedom, reduced.clusters - 1, confidence))

    def least(effect: float) -> float:
        return _profiled(reduced, place, effect, estimates)

    p = float(fdtrc(reduced.freedom, reduced.clusters - 1, max(least(0.0), 0.0)))
    center = _inside(least, float(estimates[place]), reduced)
    if least(center) > limit:
        return ConfidenceSet(np.nan, np.nan, p, EMPTY)
    low, high = (_end(least, center, toward, limit) for toward in (-1.0, 1.0))
    if not (np.isfinite(low) and np.isfinite(high)):
        return ConfidenceSet(np.nan, np.nan, p, UNBOUNDED)
    return ConfidenceSet(low, high, p)


def _profiled(reduced: Reduced, place: int, effect: float, estimates: Float[np.ndarray, " p"]) -> float:
    """The smallest statistic over the other columns' effects."""
    others = [k for k in range(len(estimates)) if k != place]

    def statistic(free: np.ndarray) -> float:
        effects = estimates.copy()
        effects[place], effects[others] = effect, free
        return reduced.statistic(effects)

    if not others:
        return statistic(np.empty(0))
    return float(
        minimize(statistic, estimates[others], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-8}).fun
    )


def _inside(least: Callable[[float], float], estimate: float, reduced: Reduced) -> float:
    """The estimate, or where more instruments than columns pull apart, the least contradicted effect near it."""
    if reduced.freedom == reduced.coefficients.shape[1] - 1:
        return estimate
    scale = abs(estimate) + 1e-3
    options = {"initial_simplex": [[estimate], [estimate + 0.1 * scale]]}
    optimum = minimize(lambda b: least(float(b[0])), [estimate], method="Nelder-Mead", options=options)
    return float(optimum.x[0])


def _end(least: Callable[[float], float], center: float, toward: float, limit: float) -> float:
    """Where the statistic first passes the limit in one direction; infinite where it never does."""
    step = 1e-4 * (abs(center) + 1e-3)
    inside = center
    while step < _FARTHEST * (abs(center) + 1.0):
        outside = center + toward * step
        if least(outside) > limit:
            return float(brentq(lambda b: least(float(b)) - limit, *sorted((inside, outside)), xtol=1e-12))
        inside, step = outside, 1.5 * step
    return float(toward * np.inf)
