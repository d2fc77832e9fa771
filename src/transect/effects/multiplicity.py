"""Corrections for many tests (Holm; max-T of paraphrases), and for effects that are listed because they are large."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

HOLM: Final = (
    "Holm 1979, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2)"
)
MAX_T: Final = (
    "Westfall and Young 1993, Resampling-based multiple testing, ISBN 0-471-55761-7; Romano and Wolf 2005, "
    "Exact and approximate stepdown methods for multiple hypothesis testing, doi:10.1198/016214504000000539; Kline and "
    "Santos 2012, A score based approach to wild bootstrap inference, doi:10.1515/2156-6674.1006"
)
_TIE: Final = 1e-9  # sums of the same numbers in another order differ in the last bits
_DRAWS_AT_ONCE: Final = 1 << 22


def holm(p: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Holm's step-down p-values: reject those <= alpha and the chance of any false rejection is at most alpha.

    Valid under any dependence between the tests. Holm 1979.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03]))  # 3 * .01, then 2 * .03, and .04 may not come before it
    array([0.03, 0.06,  nan, 0.06])
    """
    adjusted = np.full(len(p), np.nan)
    order = np.flatnonzero(np.isfinite(p))
    order = order[np.argsort(p[order], kind="stable")]
    remaining = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(remaining * p[order]), 1.0)
    return adjusted


def max_t(differences: Float[np.ndarray, "n m"], *, resamples: int = 9999, seed: int = 0) -> Float[np.ndarray, " m"]:
    """Step-down max-T p-values of the means of m columns of subjects' differences (NaN: the subject has none).

    A wild bootstrap of subjects: each draw multiplies all differences of a subject by one random sign, and the largest
    |sum| / sqrt(sum of squares) of the columns that are not yet decided is kept. Correlated columns are thus not
    corrected twice, which Holm's method does. Rejecting those <= alpha makes any false rejection with a chance of at
    most alpha: exactly where the null is that nothing changes for any subject, for many subjects also where effects
    average 0. Westfall and Young 1993; Romano and Wolf 2005.
    """
    some = np.isfinite(differences).any(axis=0)
    d = np.nan_to_num(differences[:, some])
    squares = (d**2).sum(axis=0)
    scaled = np.divide(d, np.sqrt(squares), out=np.zeros_like(d), where=squares > 0)
    observed = np.abs(scaled.sum(axis=0))
    adjusted = np.full(differences.shape[1], np.nan)
    adjusted[some] = _step_down(scaled, observed, resamples, seed)
    return adjusted


def _step_down(
    scaled: Float[np.ndarray, "n m"], observed: Float[np.ndarray, " m"], resamples: int, seed: int
) -> Float[np.ndarray, " m"]:
    """Westfall and Young's algorithm 2.8: from the largest statistic down, each against the maximum of what is left."""
    rng = np.random.Generator(np.random.Philox(seed))
    order = np.argsort(-observed, kind="stable")
    ordered, limits = scaled[:, order], observed[order] * (1 - _TIE) - _TIE
    exceeding = np.zeros(len(order))
    block = max(1, _DRAWS_AT_ONCE // max(len(scaled), 1))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        signs = 2.0 * rng.integers(0, 2, size=(rows, len(scaled)), dtype=np.int8) - 1.0
        drawn = np.abs(signs @ ordered)
        largest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        exceeding += (largest >= limits).sum(axis=0)
    p = np.maximum.accumulate((1 + exceeding) / (1 + resamples))
    result = np.empty(len(order))
    result[order] = p
    return result


FALSE_COVERAGE: Final = 0.05
"""The share of listed intervals that may miss, on average."""
SELECTION_SOURCES: Final = (
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
