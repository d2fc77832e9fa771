"""How far could the mean have fallen by the draw of subjects? BCa intervals by subject-cluster bootstrap.

A resample is a vector of counts, one per subject, so that all resampled sums of all columns are one matrix product.
Efron 1987, "Better bootstrap confidence intervals"; z0 and a are the paper's. Bootstrap intervals of few subjects are
too narrow; they are widened as in Hesterberg 2015, "What teachers should know about the bootstrap", section 4.3.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri, stdtrit

METHOD: Final = "BCa bootstrap by subject"
SOURCE: Final = (
    "Efron 1987, Better bootstrap confidence intervals, doi:10.1080/01621459.1987.10478410; "
    "widened for few subjects as in Hesterberg 2015, What teachers should know about the bootstrap, "
    "doi:10.1080/00031305.2015.1089789"
)

_ROUNDING: Final = 1e-12
_DRAWS_AT_ONCE = 1 << 22  # bounds the memory of one block of counts at 32 MiB; the stream of draws is the same
_DRAWS_IN_CACHE = 1 << 16
_EXACT_IN_FLOAT32: Final = 1 << 24
_KEPT: Final = 1 << 19
"""Counts of one sample size, 4 MiB, up to which they are kept for the next columns of as many subjects."""


def bca(
    totals: Float[np.ndarray, "n k"],
    counts: Float[np.ndarray, "n k"] | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    expand: bool = True,
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """BCa interval of each column's mean over n subjects, all columns on the same resamples.

    Without counts: the mean of the column's finite values. With counts: the ratio of sums, where subject i
    contributes `counts[i]` images whose values add up to `totals[i]`. expand: widen for few subjects, as a t interval
    does; without it the interval is Efron's.

    Returns low and high; NaN where fewer than two subjects contribute or nothing varies between them, since a
    bootstrap of equal values has a single point.

    >>> low, high = bca(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]), seed=1)
    >>> bool(0 < low[0] < 2 < high[0] < 4)
    True
    """
    if counts is None:
        counts = np.isfinite(totals).astype(np.float64)
        totals = np.where(np.isfinite(totals), totals, 0.0)
    estimate, influence = ratio(totals, counts)
    return bca_of_ratio(
        totals, counts, estimate, influence, confidence=confidence, resamples=resamples, seed=seed, expand=expand
    )


def bca_of_ratio(
    totals: Float[np.ndarray, "n k"],
    counts: Float[np.ndarray, "n k"],
    estimate: Float[np.ndarray, " k"],
    influence: Float[np.ndarray, "n k"],
    *,
    confidence: float,
    resamples: int,
    seed: int,
    expand: bool = True,
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """`bca` with counts, where the `ratio` is known."""
    replicates = _ratios(totals, counts, resamples, seed)
    n = (counts > 0).sum(axis=0)
    low, high = bca_interval(estimate, replicates, influence, confidence, n if expand else None)
    return np.where(n < 2, np.nan, low), np.where(n < 2, np.nan, high)


def ratio(
    totals: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "n k"]]:
    """Sum of totals over sum of counts, and each subject's residual, totals - ratio * counts."""
    whole = counts.sum(axis=0)
    estimate = np.divide(totals.sum(axis=0), whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    residual = totals - np.nan_to_num(estimate) * counts
    rounding = _ROUNDING * np.max(np.abs(totals), axis=0, initial=0.0)
    return estimate, np.where(np.abs(residual) <= rounding, 0.0, residual)


def bca_interval(
    estimate: Float[np.ndarray, " k"],
    replicates: Float[np.ndarray, "b k"],
    influence: Float[np.ndarray, "n k"],
    confidence: float = 0.95,
    units: Int[np.ndarray, " k"] | None = None,
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """BCa interval from an estimate, its bootstrap replicates and each unit's (jackknife) influence on it."""
    ordered = np.sort(replicates.T, axis=1)  # NaN last
    finite = np.isfinite(ordered).sum(axis=1)
    # Sums of a lattice's values differ in the last bits: replicates this near to the estimate are ties.
    tie = 1e-10 * np.maximum(np.abs(estimate), np.nanmax(np.abs(ordered), axis=1, initial=0.0))
    below = (ordered < (estimate - tie)[:, None]).sum(axis=1)
    up_to = (ordered <= (estimate + tie)[:, None]).sum(axis=1)
    known = np.maximum(finite, 1)
    z0 = ndtri(np.clip((below + up_to) / (2 * known), 1 / (known + 1), known / (known + 1)))
    squares = (influence**2).sum(axis=0)
    varies = (squares > 0) & (finite > 0)
    a = (influence**3).sum(axis=0) / (6 * np.where(varies, squares, 1.0) ** 1.5)
    tail = ndtri((1 - confidence) / 2)
    if units is not None:
        freedom = np.maximum(units - 1, 1)
        tail = np.sqrt((freedom + 1) / freedom) * stdtrit(freedom, (1 - confidence) / 2)
    ends = [_quantile(ordered, finite, ndtr(z0 + (z0 + z) / (1 - a * (z0 + z)))) for z in (tail, -tail)]
    return np.where(varies, ends[0], np.nan), np.where(varies, ends[1], np.nan)


def resample_counts(
    n: int, resamples: int, seed: int, cells: Int[np.ndarray, " n"] | None = None, n_cells: int = 0
) -> Iterator[Float[np.ndarray, "b k"]]:
    """How often each of n subjects enters each resample, in blocks of resamples; every row sums to n."""
    if cells is None and 0 < n * resamples <= min(_KEPT, _DRAWS_AT_ONCE):
        return iter((_kept_counts(n, resamples, seed),))
    return _drawn_counts(n, resamples, seed, cells, n_cells)


@functools.lru_cache(maxsize=4)
def _kept_counts(n: int, resamples: int, seed: int) -> Float[np.ndarray, "b k"]:
    (counts,) = _drawn_counts(n, resamples, seed, None, 0)  # one block
    counts.flags.writeable = False
    return counts


def _drawn_counts(
    n: int, resamples: int, seed: int, cells: Int[np.ndarray, " n"] | None, n_cells: int
) -> Iterator[Float[np.ndarray, "b k"]]:
    rng = np.random.Generator(np.random.Philox(seed))
    width = n if cells is None else n_cells
    block, piece = (max(1, draws // max(n, 1)) for draws in (_DRAWS_AT_ONCE, _DRAWS_IN_CACHE))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        counts = np.empty((rows, width))
        for first in range(0, rows, piece):
            some = min(piece, rows - first)
            draws = rng.integers(0, n, size=(some, n))
            if cells is not None:
                draws = cells[draws]
            draws += width * np.arange(some)[:, None]
            counted = np.bincount(draws.ravel(), minlength=some * width)
            counts[first : first + some] = counted.reshape(some, width)
        yield counts


def resampled_sums(
    columns: Sequence[Float[np.ndarray, "_ _"]], resamples: int, seed: int
) -> list[Float[np.ndarray, "b _"]]:
    """Sums [resamples, c] of each matrix [n, c] over the resamples of its n rows; equal n share their resamples."""
    sums: list[list[Float[np.ndarray, "_ _"]]] = [[] for _ in columns]
    for n in dict.fromkeys(len(matrix) for matrix in columns):
        places = [place for place, matrix in enumerate(columns) if len(matrix) == n]
        for counts in resample_counts(n, resamples, seed):
            for place in places:
                sums[place].append(counts @ columns[place])
    return [np.concatenate(blocks) for blocks in sums]


def _ratios(
    totals: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"], resamples: int, seed: int
) -> Float[np.ndarray, "b k"]:
    """Sum of totals over sum of counts in every resample; NaN where a resample has no image."""
    n, k = totals.shape
    if n == 0:
        return np.full((resamples, k), np.nan)
    complete = bool((counts == counts[:1]).all())  # equal counts cancel: every resample holds the same number of images
    # Sums of whole numbers below 2^24 are exact in float32, whose product takes half the time.
    whole = n * counts.max(initial=0.0) < _EXACT_IN_FLOAT32 and bool((counts == np.rint(counts)).all())
    images = counts.astype(np.float32 if whole else np.float64)
    ratios = []
    for weights in resample_counts(n, resamples, seed):
        above = weights @ totals
        below = n * np.broadcast_to(counts[:1], above.shape) if complete else weights.astype(images.dtype) @ images
        ratios.append(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))
    return np.concatenate(ratios)


def _quantile(
    ordered: Float[np.ndarray, "k b"], finite: np.ndarray, share: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """Linear interpolation between order statistics of the first `finite` values of each row."""
    position = share * np.maximum(finite - 1, 0)
    left = np.floor(position).astype(np.int64)
    right = np.minimum(left + 1, np.maximum(finite - 1, 0))
    rows = np.arange(len(ordered))
    return np.asarray(ordered[rows, left] + (position - left) * (ordered[rows, right] - ordered[rows, left]))
