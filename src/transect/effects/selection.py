"""What may be said of effects that were picked because they are large: wider intervals, and estimates drawn towards 0.

An interval that holds its level for each effect does not hold it for the largest of many: those are partly large by
chance. With R effects listed of m, intervals at level 1 - R q / m miss, on average, in at most a share q of those
listed (the false coverage rate; Benjamini and Yekutieli 2005, doi:10.1198/016214504000001907). Their estimates are too
large, which an empirical Bayes posterior mean corrects: effects come from a mixture of normal distributions around 0
that the m estimates themselves weigh (Stephens 2017, doi:10.1093/biostatistics/kxw041).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

FALSE_COVERAGE: Final = 0.05
"""The share of listed intervals that may miss, on average."""
SOURCES: Final = (
    "Benjamini and Yekutieli 2005, False discovery rate-adjusted multiple confidence intervals for selected "
    "parameters, doi:10.1198/016214504000001907",
    "Stephens 2017, False discovery rates: a new deal, doi:10.1093/biostatistics/kxw041",
)
_ROUNDS: Final = 500
_LEAST: Final = 0.1
_STEP: Final = math.sqrt(2)


def confidence_of(listed: int, of: int, rate: float = FALSE_COVERAGE) -> float:
    """The level of each interval of `listed` effects that were picked of `of`; 1 - rate where all are listed."""
    return 1 - rate * min(listed, of) / of if of else 1 - rate


def errors_of(
    estimates: Float[np.ndarray, " m"], low: Float[np.ndarray, " m"], high: Float[np.ndarray, " m"], confidence: float
) -> Float[np.ndarray, " m"]:
    """Standard errors from intervals: the distance to the end nearer 0, in normal quantiles."""
    near = np.where(estimates >= 0, estimates - low, high - estimates)
    errors = near / ndtri((1 + confidence) / 2)
    return np.where(errors > 0, errors, np.nan)


def shrunken(estimates: Float[np.ndarray, " m"], errors: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Posterior mean of each effect, given all m estimates and their standard errors; NaN where an error is NaN."""
    known = np.isfinite(estimates) & np.isfinite(errors)
    if known.sum() < 2:
        return np.where(known, estimates, np.nan)
    means = np.full(len(estimates), np.nan)
    means[known] = errors[known] * _posterior_means(estimates[known] / errors[known])
    return means


def _posterior_means(z: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Of effects in standard errors; normals of standard deviations from 0.1 to twice the largest effect, and 0."""
    most = max(2 * float(np.abs(z).max()), 1.0)
    spreads = np.concatenate([[0.0], _LEAST * _STEP ** np.arange(math.ceil(math.log(most / _LEAST, _STEP)) + 1)])
    variances = 1 + spreads**2
    log_likelihood = -0.5 * (z[:, None] ** 2 / variances + np.log(variances))
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    weights = np.full(len(spreads), 1 / len(spreads))
    for _ in range(_ROUNDS):
        weights = _shares(likelihood, weights).mean(axis=0)
    return np.asarray((_shares(likelihood, weights) * (spreads**2 / variances)).sum(axis=1) * z)


def _shares(likelihood: Float[np.ndarray, "m k"], weights: Float[np.ndarray, " k"]) -> Float[np.ndarray, "m k"]:
    share = likelihood * weights
    return np.asarray(share / share.sum(axis=1, keepdims=True))
