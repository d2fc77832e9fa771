"""The bootstrap over subjects (BCa, Efron 1987) and tests by permutation and by flipped signs."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, betainc, betaincinv, ndtr, ndtri, stdtrit

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

    Without counts: the mean of the column's finite values. With counts: the ratio of sums, where subject i contributes
    `counts[i]` images whose values add up to `totals[i]`. expand: widen for few subjects, as a t interval does; without
    it the interval is Efron's. NaN where fewer than two subjects contribute or nothing varies between them, since a
    bootstrap of equal values has a single point.
    """
    if counts is None:
        counts = np.isfinite(totals).astype(np.float64)
        totals = np.where(np.isfinite(totals), totals, 0.0)
    estimate, influence = ratio(totals, counts)
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
_WORTH_MOVING = 2
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

    >>> mcnemar(5, 0), mcnemar(3, 3)
    (0.03125, 1.0)
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

    >>> [round(end, 3) for end in mcnemar_interval(5, 0, 160)]
    [0.002, 0.067]
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

    >>> permutation(np.ones(4), np.array([0.5, 0.5, -0.5, -0.5]))
    1.0
    """
    return permutations([(values, weights)], resamples=resamples, seed=seed)[0]


def permutations(
    tests: Sequence[tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]], *, resamples: int = FLIPS, seed: int = 0
) -> list[float]:
    """`permutation` of several pairs of values and weights; those of as many units share their shuffles."""
    p = [float("nan")] * len(tests)
    for n in dict.fromkeys(len(values) for values, _ in tests if len(values)):
        places = [place for place, (values, _) in enumerate(tests) if len(values) == n]
        for place, extreme in zip(places, _extremes([tests[place] for place in places], resamples, seed), strict=True):
            p[place] = float((1 + extreme) / (1 + resamples))
    return p


def _extremes(
    tests: Sequence[tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]], resamples: int, seed: int
) -> Int[np.ndarray, " k"]:
    """How many shuffles of n units are at least as extreme as what was seen, for each test."""
    n = len(tests[0][0])
    centered = [values - values.mean() for values, _ in tests]
    least = np.array([_least(values, c, weights) for (values, weights), c in zip(tests, centered, strict=True)])
    by_values, by_weights = _batches([c.tobytes() for c in centered], [weights.tobytes() for _, weights in tests])
    rng, extreme = np.random.Generator(np.random.Philox(seed)), np.zeros(len(tests), dtype=np.int64)
    block = min(resamples, max(1, _SHUFFLED_AT_ONCE // n))
    alone = len(by_values) == 1 and not by_weights  # then the values themselves are shuffled
    unshuffled = centered[by_values[0][0]] if alone else np.arange(n)
    # All blocks use the same memory: to get and return it block by block took longer than moving values in it.
    drawn, room = np.empty((block, n), dtype=unshuffled.dtype), np.empty((block, n))
    of_values = [(group, np.stack([tests[place][1] for place in group], axis=1)) for group in by_values]
    of_weights = [(group, np.stack([centered[place] for place in group], axis=1)) for group in by_weights]
    for start in range(0, resamples, block):
        rows = slice(min(block, resamples - start))
        shuffles, moved = drawn[rows], room[rows]
        shuffles[:] = unshuffled
        rng.permuted(shuffles, axis=1, out=shuffles)
        for group, weights in of_values:
            sums = (shuffles if alone else centered[group[0]].take(shuffles, out=moved, mode="clip")) @ weights
            extreme[group] += (np.abs(sums) >= least[group]).sum(axis=0)
        for group, values in of_weights:
            np.put_along_axis(moved, shuffles, tests[group[0]][1][None, :], axis=1)
            extreme[group] += (np.abs(moved @ values) >= least[group]).sum(axis=0)
    return extreme


def _least(
    values: Float[np.ndarray, " n"], centered: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]
) -> float:
    """The sum from which a shuffle counts as extreme: sums of the same numbers in another order differ in last bits."""
    tie = float(_TIE * np.abs(weights) @ np.abs(centered) + 1e-14 * np.abs(weights).sum() * np.abs(values).max())
    return abs(float(weights @ centered)) - tie


def _batches(values: Sequence[bytes], weights: Sequence[bytes]) -> tuple[list[list[int]], list[list[int]]]:
    """Places of tests by their values; and by their weights where values differ and three or more share weights."""
    places = range(len(values))
    alone = [place for place in places if values.count(values[place]) == 1]
    moved = [group for group in _alike(alone, weights) if len(group) > _WORTH_MOVING]
    other = [place for place in places if not any(place in group for group in moved)]
    return _alike(other, values), moved


def _alike(places: Sequence[int], keys: Sequence[bytes]) -> list[list[int]]:
    return [[place for place in places if keys[place] == key] for key in dict.fromkeys(keys[p] for p in places)]


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
