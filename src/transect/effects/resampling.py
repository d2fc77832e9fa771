"""Means of clusters, resamples of subjects, and tests by permutation and by flipped signs."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, betainc, betaincinv

_ROUNDING: Final = 1e-12
_DRAWS_AT_ONCE = 1 << 22  # bounds the memory of one block of counts at 32 MiB; the stream of draws is the same
_DRAWS_IN_CACHE = 1 << 16
_KEPT: Final = 1 << 19
"""Counts of one sample size, 4 MiB, up to which they are kept for the next columns of as many subjects."""


def ratio(
    totals: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "n k"]]:
    """Sum of totals over sum of counts, and each subject's residual, totals - ratio * counts."""
    whole = counts.sum(axis=0)
    estimate = np.divide(totals.sum(axis=0), whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    residual = totals - np.nan_to_num(estimate) * counts
    rounding = _ROUNDING * np.max(np.abs(totals), axis=0, initial=0.0)
    return estimate, np.where(np.abs(residual) <= rounding, 0.0, residual)


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


EXACT: Final = "exact sign-flip"
MID_P: Final = "McNemar mid-p"
MID_P_INTERVAL: Final = "inverted McNemar mid-p"
MONTE_CARLO: Final = "Monte Carlo sign-flip"
PERMUTATION: Final = "Monte Carlo permutation"
SOURCES: Final = {
    EXACT: "Pagano and Tritchler 1983, On obtaining permutation distributions in polynomial time, "
    "doi:10.1080/01621459.1983.10477990",
    MONTE_CARLO: "Phipson and Smyth 2010, Permutation p-values should never be zero, doi:10.2202/1544-6115.1585",
    PERMUTATION: "Phipson and Smyth 2010, Permutation p-values should never be zero, doi:10.2202/1544-6115.1585",
    MID_P: "Fagerland, Lydersen and Laake 2013, The McNemar test for binary matched-pairs data: mid-p and asymptotic "
    "are better than exact conditional, doi:10.1186/1471-2288-13-91",
    MID_P_INTERVAL: "Fay and Lumbard 2021, Confidence intervals for difference in proportions for matched pairs "
    "compatible with exact McNemar's or sign tests, doi:10.1002/sim.8829",
}

LARGEST_DENOMINATOR: Final = 840  # lowest common multiple of 1 to 8
MOST_ADDITIONS: Final = 200_000_000  # of the exact distribution: under a second
FLIPS: Final = 9999
_SIGNS_AT_ONCE = 1 << 22
_SHUFFLED_AT_ONCE = 1 << 16  # a block of shuffles stays in a core's cache; the stream of draws is the same
_TIE = 1e-9
_FEW = 8
_FIRST = 24
_DOUBLINGS = 512  # far from the largest float
_NODES = (np.polynomial.legendre.leggauss(128)[0] + 1) / 2
_WEIGHTS = np.polynomial.legendre.leggauss(128)[1] / 2


def sign_flip(
    differences: Float[np.ndarray, "n k"],
    *,
    single: Bool[np.ndarray, " k"] | None = None,
    resamples: int = FLIPS,
    seed: int = 0,
) -> tuple[Float[np.ndarray, " k"], tuple[str, ...]]:
    """Two-sided p of each column's sum of subjects' differences (NaN: the subject has none) under random signs.

    What p tests is that the differences are symmetric about 0. For one pair of yes or no per subject this is marginal
    homogeneity: as many subjects change one way as the other, however many they are. It does not test that nobody
    changes, nor that differences average 0: where effects are unequal and lopsided, an average of 0 may be rejected
    more often than p says (docs/research/coverage.md shows how often).

    Exact by convolution where the absolute differences lie on a lattice (shares of cells, counts); exact McNemar is the
    case of -1, 0 and 1. Otherwise by Monte Carlo, (1 + extreme flips) / (1 + flips), all columns on the same flips.
    Differences of 0 carry nothing. single: columns of one pair of yes or no per subject, which have McNemar's mid-p.

    Returns p in (0, 1] and each column's method; p is 1 where all differences are 0, NaN where there is none.

    >>> p, methods = sign_flip(np.array([[1.0], [1.0], [1.0], [-1.0], [0.0]]))
    >>> p, methods  # 2 * (1 + 4) / 2^4
    (array([0.625]), ('exact sign-flip',))
    """
    n_columns = differences.shape[1]
    p, methods = np.full(n_columns, np.nan), [""] * n_columns
    sampled, known = [], dict[tuple[bytes, int], float]()
    for column in range(n_columns):
        d = differences[np.isfinite(differences[:, column]), column]
        steps = lattice(d) if len(d) else None
        if steps is not None and single is not None and single[column]:
            p[column], methods[column] = mcnemar(int((steps > 0).sum()), int((steps < 0).sum())), MID_P
        elif steps is not None:
            key = np.abs(steps[steps != 0]).tobytes(), abs(int(steps.sum()))
            if key not in known:
                known[key] = exact_sign_flip(steps)
            p[column], methods[column] = known[key], EXACT
        elif len(d):
            sampled.append(column)
            methods[column] = MONTE_CARLO
    if sampled:
        p[sampled] = _monte_carlo(np.nan_to_num(differences[:, sampled]), resamples, seed)
    return p, tuple(methods)


def lattice(d: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"] | None:
    """The differences as whole multiples of a common step, or None where there is none that is fine enough to count."""
    sizes = np.unique(np.abs(d))
    if len(sizes) == 0 or sizes[-1] == 0:
        return np.zeros(len(d), dtype=np.int64)
    sizes = sizes[sizes > _TIE * sizes[-1]]  # what is left of a cancelled sum is 0
    if len(sizes) > LARGEST_DENOMINATOR:
        return None
    for denominator in _denominators(sizes[:_FEW]):
        step = sizes[0] / denominator
        multiples = sizes / step
        if np.all(np.abs(multiples - np.round(multiples)) <= _TIE * np.maximum(multiples, 1)):
            steps = np.round(d / step)
            additions = float(np.abs(steps).sum()) * np.count_nonzero(steps)
            return steps.astype(np.int64) if additions <= MOST_ADDITIONS else None
    return None


def _denominators(sizes: Float[np.ndarray, " k"]) -> Iterator[int]:
    """Those for which these few sizes look like multiples: of scores in general none, before all sizes are tried."""
    for some in (np.arange(1, _FIRST), np.arange(_FIRST, LARGEST_DENOMINATOR + 1)):
        multiples = np.multiply.outer(some, sizes / sizes[0])
        off = np.abs(multiples - np.rint(multiples))
        yield from some[(off <= 2 * _TIE * np.maximum(multiples, 1)).all(axis=1)].tolist()


def exact_sign_flip(steps: Int[np.ndarray, " n"]) -> float:
    """P(|sum of ±steps| >= |sum of steps|) with fair signs, by convolving one subject after the other."""
    sizes = np.abs(steps[steps != 0])
    total, observed = int(sizes.sum()), abs(int(steps.sum()))
    if observed == 0:
        return 1.0
    # With s the sum of the sizes that get a minus, the flipped sum is total - 2 s; ways[s] is grown in place, only as
    # far as it is asked for. The other tail is the same. Halving at each subject would round alike: a power of 2.
    least = (total - observed) // 2
    ways = np.zeros(least + 1)
    ways[0] = 1.0
    reached, subjects = 0, 0
    for size in sizes.tolist():
        reached = min(reached + size, least)
        if size <= reached:
            ways[size : reached + 1] += ways[: reached + 1 - size]
        subjects += 1
        if subjects == _DOUBLINGS:
            ways *= 0.5**_DOUBLINGS
            subjects = 0
    tail = np.ascontiguousarray(ways[::-1]).sum() * 0.5**subjects
    # A probability too small for a float is still not zero.
    return float(min(1.0, max(2 * tail, np.finfo(np.float64).tiny)))


def mcnemar(positive: int, negative: int) -> float:
    """McNemar's two-sided mid-p: that of the exact test, less half of what the observed split adds to each tail.

    Fagerland, Lydersen and Laake 2013.
    """
    return 2 * min(_mid_p(positive, negative), _mid_p(negative, positive))


def _mid_p(positive: int, negative: int) -> float:
    """The chance of more heads than the positive changes among as many fair coins, and half that of as many."""
    m = positive + negative
    more = bdtr(negative - 1, m, 0.5) if negative else 0.0
    return float(more + bdtr(negative, m, 0.5)) / 2


def mcnemar_interval(positive: int, negative: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of a paired difference of proportions, (positive - negative) / n, that inverts `mcnemar`.

    It leaves out 0 exactly where that p is at most 1 - confidence. Fay and Lumbard 2021, with mid-p.
    """
    tail = (1 - confidence) / 2
    return _lower_end(positive, negative, n, tail), -_lower_end(negative, positive, n, tail)


@functools.lru_cache(maxsize=1 << 14)
def _lower_end(positive: int, negative: int, n: int, tail: float) -> float:
    """Where the confidence that the difference is smaller reaches `tail`.

    The difference is D (2 θ - 1), D the share that changes and θ the share of changes that are positive. Of D the end
    that is further from 0 counts where the difference is negative, else the nearer one.
    """
    m, below_zero = positive + negative, _mid_p(positive, negative) > tail
    a, b = (m + 1, n - m) if below_zero else (m, n - m + 1)
    shares = betaincinv(a, b, _NODES) if b else np.ones(len(_NODES))

    def at_least(k: int, x: float) -> float:
        """By Beta(k, m - k + 1), as θ is distributed where k changes or more were positive."""
        if k == 0:  # θ is 0
            return 1.0 if x >= 0 else 1 - float(betainc(a, b, -x)) if b else float(x >= -1)
        if k > m:  # θ is 1
            return float(betainc(a, b, x)) if x > 0 else 0.0
        return float(_WEIGHTS @ bdtrc(k - 1, m, np.clip((1 + x / shares) / 2, 0.0, 1.0)))

    def excess(x: float) -> float:
        return (at_least(positive, x) + at_least(positive + 1, x)) / 2 - tail

    ends = (-1.0, 0.0) if below_zero else (0.0, 1.0)
    return -1.0 if below_zero and excess(-1.0) >= 0 else float(brentq(excess, *ends, xtol=1e-12))


def permutation(
    values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], *, resamples: int = FLIPS, seed: int = 0
) -> float:
    """Two-sided p of the sum of weights * values when the values are shuffled among the units.

    weights: +1/n1 and -1/n0 for a difference of group means; x - mean(x) for a slope. They must sum to 0.

    Returns (1 + shuffles at least as extreme) / (1 + shuffles); NaN without units.
    """
    n, centered = len(values), values - values.mean() if len(values) else values
    if not n:
        return float("nan")
    # Sums of the same numbers in another order differ in the last bits.
    tie = _TIE * np.abs(weights) @ np.abs(centered) + 1e-14 * np.abs(weights).sum() * np.abs(values).max()
    least = abs(float(weights @ centered)) - float(tie)
    rng, extreme = np.random.Generator(np.random.Philox(seed)), 0
    block = np.empty((min(resamples, max(1, _SHUFFLED_AT_ONCE // n)), n))
    for start in range(0, resamples, len(block)):
        shuffled = block[: min(len(block), resamples - start)]
        shuffled[:] = centered
        rng.permuted(shuffled, axis=1, out=shuffled)
        extreme += int((np.abs(shuffled @ weights) >= least).sum())
    return (1 + extreme) / (1 + resamples)


def _monte_carlo(differences: Float[np.ndarray, "n k"], resamples: int, seed: int) -> Float[np.ndarray, " k"]:
    """Shared random signs for all columns."""
    rng = np.random.Generator(np.random.Philox(seed))
    observed = np.abs(differences.sum(axis=0)) - _TIE * np.abs(differences).sum(axis=0)
    extreme = np.zeros(differences.shape[1])
    block = max(1, _SIGNS_AT_ONCE // len(differences))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        signs = 2.0 * rng.integers(0, 2, size=(rows, len(differences)), dtype=np.int8) - 1.0
        extreme += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return np.asarray((1 + extreme) / (1 + resamples), dtype=np.float64)
