"""Krippendorff's alpha for levels in no order, in order, or equal steps apart, with a bootstrap interval by unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.annotation.agreement.coefficients import ratings_array

SOURCE: Final = (
    "Krippendorff 2011, Computing Krippendorff's alpha-reliability, https://repository.upenn.edu/asc_papers/43"
)
Metric = Literal["nominal", "ordinal", "interval"]
_BATCH: Final = 100


@final
@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha, its 95 % interval, and the units and answers that it rests on; NaN with the reason."""

    value: float
    low: float
    high: float
    units: int
    answers: int
    reason: str = ""


def krippendorff_alpha(
    ratings: ArrayLike, metric: Metric = "ordinal", *, resamples: int = 1000, seed: int = 0
) -> Alpha:
    """1 minus observed over expected disagreement: 1 where all agree, 0 where agreement is at chance level.

    ratings [units, raters]: values, NaN for no answer; units with fewer than two answers are ignored. The interval is
    the 2.5 and 97.5 percentile over resampled units; resamples = 0 gives none. NaN with the reason where no unit has
    two answers, or all answers are equal. Source: Krippendorff 2011.

    >>> round(krippendorff_alpha([[0, 0], [1, 1], [0, 1]], "nominal", resamples=0).value, 4)
    0.4444
    """
    table = ratings_array(ratings)
    known = np.isfinite(table)
    table = table[known.sum(axis=1) > 1]
    n = int(np.isfinite(table).sum())
    levels = np.unique(table[np.isfinite(table)])
    if not len(table):
        return Alpha(np.nan, np.nan, np.nan, 0, 0, "no unit has two answers")
    if len(levels) < 2:
        return Alpha(np.nan, np.nan, np.nan, len(table), n, "all answers are equal")
    pairs = _coincidences(table, levels)
    value = float(_alpha(pairs.sum(axis=0)[None], levels, metric)[0])
    low, high = _interval(pairs, levels, metric, resamples, seed)
    return Alpha(value, low, high, len(table), n)


def _coincidences(
    ratings: Float[np.ndarray, "units raters"], levels: Float[np.ndarray, " k"]
) -> Float[np.ndarray, "units k k"]:
    """Each unit's pairs of answers by their two values; a unit of m answers counts m in all."""
    counts = np.stack([(ratings == level).sum(axis=1) for level in levels], axis=1).astype(float)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, np.arange(len(levels)), np.arange(len(levels))] -= counts
    return np.asarray(pairs / (counts.sum(axis=1) - 1)[:, None, None])


def _alpha(
    pairs: Float[np.ndarray, "b k k"], levels: Float[np.ndarray, " k"], metric: Metric
) -> Float[np.ndarray, " b"]:
    """Alpha of each matrix of coincidences."""
    totals = pairs.sum(axis=2)
    apart = _distances(totals, levels, metric)
    n = totals.sum(axis=1)
    observed = (pairs * apart).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * apart).sum(axis=(1, 2)) / (n - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - observed / expected, np.nan)


def _distances(
    totals: Float[np.ndarray, "b k"], levels: Float[np.ndarray, " k"], metric: Metric
) -> Float[np.ndarray, "b k k"]:
    """Squared distances between values, of ranks by how many answers lie between."""
    if metric == "nominal":
        return np.broadcast_to(1.0 - np.eye(len(levels)), (len(totals), len(levels), len(levels)))
    # The published sum from c to k, less half of both ends, is the difference of the levels' middle ranks.
    places = np.broadcast_to(levels, totals.shape) if metric == "interval" else totals.cumsum(axis=1) - totals / 2
    return np.asarray((places[:, :, None] - places[:, None, :]) ** 2)


def _interval(
    pairs: Float[np.ndarray, "units k k"],
    levels: Float[np.ndarray, " k"],
    metric: Metric,
    resamples: int,
    seed: int,
) -> tuple[float, float]:
    if not resamples or len(pairs) < 2:
        return np.nan, np.nan
    random, k = np.random.default_rng(seed), len(levels)
    # The same answers have the same interval in whatever order they come: by the counts, which tell all of a unit.
    order = np.lexsort(np.rint(pairs.sum(axis=2)).T)
    flat = pairs.reshape(len(pairs), k * k)[order]
    batches = []
    for first in range(0, resamples, _BATCH):
        count = min(_BATCH, resamples - first)
        times = random.multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), size=count)
        batches.append(_alpha((times @ flat).reshape(count, k, k), levels, metric))
    alphas = np.concatenate(batches)
    alphas = alphas[np.isfinite(alphas)]
    return (float(np.quantile(alphas, 0.025)), float(np.quantile(alphas, 0.975))) if len(alphas) else (np.nan, np.nan)
