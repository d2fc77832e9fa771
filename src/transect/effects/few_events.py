"""How do the rates of two groups differ where errors are few? MOVER of Wilson limits, and tests that need no normality.

Where a group has no error its residuals are all 0, and an error from residuals says that its rate is known exactly.
Wilson limits of each rate keep the doubt, and the variance-estimates-recovery rule (MOVER) turns them into an interval
of the difference (Newcombe 1998; Zou and Donner 2008).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import randomization
from transect.effects.intervals import wilson_clustered
from transect.effects.samples import Sample

LEAST: Final = 25
"""Subjects with an error, and subjects with a right answer, in each group from which normal theory holds."""
FEWEST: Final = 5
"""The same, from which an adjusted difference has an interval."""
MOVER: Final = "MOVER of Wilson score limits by subject"
FISHER: Final = "Fisher exact"
SUBJECTS: Final = "Monte Carlo permutation of subjects"
SCORE: Final = "inverted MOVER of Wilson score limits by subject"
SOURCES: Final = {
    MOVER: "Zou and Donner 2008, Construction of confidence limits about effect measures: a general approach, "
    "doi:10.1002/sim.3095",
    FISHER: "Fisher 1935, The logic of inductive inference, doi:10.2307/2342435",
    SUBJECTS: randomization.SOURCES[randomization.PERMUTATION],
    SCORE: "Newcombe 1998, Interval estimation for the difference between independent proportions, "
    "doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I",
}
_MOVED: Final = 50_000_000
_BISECTIONS: Final = 40


def comparable(sample: Sample, column: Float[np.ndarray, " n"]) -> bool:
    """Whether these are rates of two groups: outcomes and column of 0 and 1, both groups there, equal weights."""
    binary = np.isin(sample.y, (0.0, 1.0)).all() and np.isin(column, (0.0, 1.0)).all()
    return bool(binary and len(column) > 0 and np.ptp(column) > 0 and np.ptp(sample.weights) == 0)


def fewest(y: Float[np.ndarray, " n"], column: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]) -> int:
    """Subjects in the smallest of the four cells of an outcome and a column, both of 0 and 1."""
    cells = [(y == outcome) & (column == level) for outcome in (0.0, 1.0) for level in (0.0, 1.0)]
    return min(int(np.count_nonzero(np.bincount(groups[cell], minlength=1))) for cell in cells)


def difference_interval(sample: Sample, confidence: float) -> tuple[float, float]:
    """Interval of the rate where the first column is 1 minus the rate where it is 0, by subject, in [-1, 1]."""
    first, second = (_rate(sample, level, confidence) for level in (0.0, 1.0))
    return recovered(first, second)


def recovered(first: tuple[float, float, float], second: tuple[float, float, float]) -> tuple[float, float]:
    """Interval of a second rate minus a first, each with its own interval (estimate, low, high): MOVER."""
    (p0, low0, high0), (p1, low1, high1) = first, second
    d = p1 - p0
    return d - float(np.hypot(p1 - low1, high0 - p0)), d + float(np.hypot(high1 - p1, p0 - low0))


def difference_test(sample: Sample, *, resamples: int = randomization.FLIPS, seed: int = 0) -> tuple[float, str]:
    """Two-sided p of no association of a 0/1 outcome with the first column, of 0 and 1, and the test's name."""
    column = sample.x[:, 0]
    if sample.n_groups == len(sample):
        return _fisher(sample.y, column), FISHER
    p = permuted(sample.y, column, sample.groups, resamples=resamples, seed=seed)
    return (p, SUBJECTS) if np.isfinite(p) else (_inverted(sample), SCORE)


def permuted(
    y: Float[np.ndarray, " n"],
    x: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
    *,
    resamples: int = randomization.FLIPS,
    seed: int = 0,
) -> float:
    """Two-sided p of the score y'(x - mean) when values of x are permuted among subjects; x: one value a subject."""
    first = np.unique(groups, return_index=True)[1]
    own = x[first]
    if (own[groups] != x).any():
        return float("nan")
    residual = np.bincount(groups, weights=y - y.mean())
    draws = int(np.clip(_MOVED // len(own), 999, resamples)) if resamples > 999 else resamples
    return randomization.permutation(residual, own - own.mean(), resamples=draws, seed=seed)


def _rate(sample: Sample, level: float, confidence: float) -> tuple[float, float, float]:
    rows = sample.x[:, 0] == level
    person = np.unique(sample.groups[rows], return_inverse=True)[1]
    hits, counts = np.bincount(person, weights=sample.y[rows]), np.bincount(person).astype(np.float64)
    low, high = wilson_clustered(hits[:, None], counts[:, None], confidence)
    return float(hits.sum() / counts.sum()), float(low[0]), float(high[0])


def _fisher(y: Float[np.ndarray, " n"], column: Float[np.ndarray, " n"]) -> float:
    from scipy.stats import fisher_exact

    table = [[int(((column == level) & (y == outcome)).sum()) for outcome in (1.0, 0.0)] for level in (1.0, 0.0)]
    return min(float(fisher_exact(table).pvalue), 1.0)


def _inverted(sample: Sample) -> float:
    """1 less the confidence at which the interval ends at 0, by bisection."""
    inside, outside = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        low, high = difference_interval(sample, middle)
        inside, outside = (inside, middle) if low <= 0 <= high else (middle, outside)
    return 1 - inside
