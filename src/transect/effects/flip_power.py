"""How often does the sign-flip test reject? By simulated tables, where no formula is near enough.

Approximations miss by up to .37 where few subjects, or few of them, differ: a test has few possible p-values there. The
tables come from one seeded stream, whose first subjects are the same for every number of subjects, so that the power
rises with it and is the same each time. 2,000 tables have a standard error of at most .011.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri, stdtrit

TABLES: Final = 2000
LARGEST_SUM: Final = 1500
"""Largest sum of differences, in steps of one cell, up to which the flips' distribution is computed exactly."""
MOST_SUBJECTS: Final = 1000
"""Subjects up to which tables are simulated; beyond, the normal approximation of the sum is as good."""
MOST_FLIPPED: Final = 13
"""Subjects up to which all flips of many-valued differences are tried; beyond, Student's test has the same power."""
_AT_ONCE: Final = 250
_TIE: Final = 1e-9


def averaged_power(n: int, rates: tuple[float, float], correlation: float, cells: int, alpha: float) -> float:
    """The chance that n subjects' differences of two averages over `cells` answers have p <= alpha."""
    if 2.0 ** (1 - n) > alpha:
        return 0.0
    random, noise = np.random.default_rng(0), math.sqrt(1 - correlation)
    factor = random.standard_normal((MOST_SUBJECTS, TABLES))[:n] * math.sqrt(correlation)
    chance = ndtr((ndtri(np.array(rates))[:, None] - factor[:, None]) / noise)
    yes = np.random.default_rng(1).binomial(cells, chance)
    steps = (yes[:, 1] - yes[:, 0]).T
    exact = n * cells <= LARGEST_SUM
    p = [_exact(part, cells) if exact else _normal(part) for part in np.split(steps, TABLES // _AT_ONCE)]
    return float((np.concatenate(p) <= alpha + _TIE).mean())


def _exact(steps: Int[np.ndarray, "t n"], cells: int) -> Float[np.ndarray, " t"]:
    """Two-sided p by the characteristic function of the flipped sums, the product of cos(|step| θ)."""
    width = 2 * steps.shape[1] * cells + 1  # odd, so that no cosine is 0
    angles = 2 * np.pi * np.arange(width // 2 + 1) / width
    cosines = np.cos(np.arange(1, cells + 1)[:, None] * angles)
    times = np.stack([(np.abs(steps) == size).sum(axis=1) for size in range(1, cells + 1)], axis=1)
    size = np.exp(times @ np.log(np.abs(cosines)))
    sign = 1 - 2 * ((times @ (cosines < 0)) % 2)
    chances = np.fft.irfft(sign * size, width, axis=1)[:, : width // 2 + 1]  # of the sums 0, 1, …
    beyond = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
    observed = np.abs(steps.sum(axis=1))
    return np.where(observed == 0, 1.0, 2 * beyond[np.arange(len(steps)), observed])


def _normal(steps: Int[np.ndarray, "t n"]) -> Float[np.ndarray, " t"]:
    """Two-sided p by the normal distribution of the flipped sums, which are two steps apart (continuity correction)."""
    spread = np.sqrt((steps.astype(np.float64) ** 2).sum(axis=1))
    nearest = np.maximum(np.abs(steps.sum(axis=1)) - 1, 0)
    return np.asarray(2 * ndtr(-nearest / np.maximum(spread, _TIE)))


def mean_power(shift: float, n: int, alpha: float) -> float:
    """The chance that n normal differences have p <= alpha; shift: their mean in standard deviations."""
    from scipy.stats import nct

    if 2.0 ** (1 - n) > alpha:
        return 0.0
    if n <= MOST_FLIPPED:
        low, high = _critical_shifts(n, int((alpha + _TIE) * 2 ** (n - 1)))
        return float(((shift < low) | (shift > high)).mean())
    limit, center = float(stdtrit(n - 1, 1 - alpha / 2)), shift * math.sqrt(n)
    return float(nct.sf(limit, n - 1, center) + nct.cdf(-limit, n - 1, center))


@cache
def _critical_shifts(n: int, allowed: int) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """For each table of n normal differences, the shifts below and above which the test rejects."""
    signs = _signs(n)[:, 1:]  # without the observed one, which is always as large
    totals = signs.sum(axis=0)
    tables = np.random.default_rng(2).standard_normal((MOST_FLIPPED, TABLES))[:n].T
    low, high = np.empty(TABLES), np.empty(TABLES)
    for start in range(0, TABLES, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        flipped, observed = tables[rows] @ signs, tables[rows].sum(axis=1)[:, None]
        same, opposite = (flipped - observed) / (n - totals), (-flipped - observed) / (n + totals)
        low[rows] = np.partition(np.minimum(same, opposite), allowed - 1, axis=1)[:, allowed - 1]
        high[rows] = np.partition(np.maximum(same, opposite), -allowed, axis=1)[:, -allowed]
    return low, high


@cache
def _signs(n: int) -> Float[np.ndarray, "n s"]:
    """All signs of n differences of which the first is positive: the others have the opposite sums."""
    return np.array([(1.0, *others) for others in itertools.product((1.0, -1.0), repeat=n - 1)]).T
