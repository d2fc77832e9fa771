"""How well does a score separate two kinds, or follow the truth? AUC, R2, correlation and slope with intervals.

Statistics are functions of weights, so that a resample of the clusters is one row of whole-number weights.
Sources: Hanley and McNeil 1982, The meaning and use of the area under a ROC curve, doi:10.1148/radiology.143.1.7063747;
Efron 1979, Bootstrap methods, doi:10.1214/aos/1176344552.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.runs.json_records import plain

Weighted = Callable[[Float[np.ndarray, "b n"]], Float[np.ndarray, " b"]]
"""A statistic of n rows under each of b rows of weights."""

INTERVAL = "percentile bootstrap by subject"
_NUMBERS_AT_A_TIME = 8_000_000


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate and its 95 % interval; NaN with a reason where there is none. n: what it rests on."""

    value: float
    low: float
    high: float
    n: int
    reason: str = ""

    def as_dict(self) -> dict[str, object]:
        """Plain values, NaN as None, for JSON."""
        return dict(plain(self))


def not_estimable(reason: str, n: int = 0) -> Figure:
    """A figure without a value."""
    return Figure(float("nan"), float("nan"), float("nan"), n, reason)


def auc(
    score: Float[np.ndarray, " n"], positive: Bool[np.ndarray, " n"], weights: Float[np.ndarray, "b n"] | None = None
) -> Float[np.ndarray, " b"]:
    """Area under the ROC curve: the chance that a positive row scores above a negative one, ties counting half.

    weights: one row per resample (default: one row of ones). Returns one area per row of weights, in [0, 1]; NaN where
    a kind has no weight.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True])).tolist()
    [0.875]
    """
    w = np.ones((1, len(score))) if weights is None else weights
    if not len(score):
        return np.full(len(w), np.nan)
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(score[order]) > 0]))
    w, positive = w[:, order], positive[order]
    above = np.add.reduceat(w * positive, starts, axis=1)
    below = np.add.reduceat(w * ~positive, starts, axis=1)
    won = above * (np.cumsum(below, axis=1) - below / 2)
    pairs = above.sum(1) * below.sum(1)
    return np.asarray(np.divide(won.sum(1), pairs, out=np.full(len(w), np.nan), where=pairs > 0))


def macro_auc(
    scores: Float[np.ndarray, "n k"], level: Int[np.ndarray, " n"], weights: Float[np.ndarray, "b n"] | None = None
) -> Float[np.ndarray, " b"]:
    """Mean over the levels that occur of each one's area against the rest, by its own column of scores."""
    occurring = [k for k in range(scores.shape[1]) if (level == k).any()]
    return np.asarray(np.mean([auc(scores[:, k], level == k, weights) for k in occurring], axis=0))


def r_squared(
    reading: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"], weights: Float[np.ndarray, "b n"] | None = None
) -> Float[np.ndarray, " b"]:
    """1 - squared error over squared deviation from the mean; NaN where the truth does not vary.

    >>> r_squared(np.array([1.0, 2, 4]), np.array([1.0, 2, 3])).tolist()
    [0.5]
    """
    w = np.ones((1, len(truth))) if weights is None else weights
    total = w.sum(1)
    mean = np.divide(w @ truth, total, out=np.zeros(len(w)), where=total > 0)
    spread = w @ truth**2 - total * mean**2
    error = w @ (truth - reading) ** 2
    varies = spread > 1e-12 * np.maximum(w @ truth**2, 1e-300)
    return np.asarray(1 - np.divide(error, spread, out=np.full(len(w), np.nan), where=varies))


def with_interval(statistic: Weighted, n: int, *, resamples: int = 1000, seed: int = 0) -> Figure:
    """The statistic of n independent rows, with the percentile interval of resampled rows."""
    return _bootstrapped(statistic, n, n, "both kinds, or truth that varies, are needed", resamples, seed)


def _bootstrapped(statistic: Weighted, clusters: int, width: int, needed: str, resamples: int, seed: int) -> Figure:
    """The statistic with the percentile interval of resampled clusters. needed: why there is no value."""
    value = float(statistic(np.ones((1, clusters)))[0]) if clusters else float("nan")
    if value != value:
        return not_estimable(needed, clusters)
    replicates = np.concatenate([statistic(weights) for weights in _resamples(clusters, width, resamples, seed)])
    low, high = np.nanpercentile(replicates, (2.5, 97.5))
    return Figure(value, float(low), float(high), clusters)


def pairs_auc(
    likeness: Float[np.ndarray, " p"],
    first: Int[np.ndarray, " p"],
    second: Int[np.ndarray, " p"],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Figure:
    """How well likeness separates pairs of pictures of one subject from pairs of two subjects.

    first, second: which subject (0 .. subjects - 1) each picture of the pair shows. Subjects are resampled; the weight
    of a pair is the product of its subjects' weights (once for a pair of one subject). n of the figure: subjects.
    """
    if not len(first):
        return not_estimable("no pairs")
    same, subjects = first == second, int(max(first.max(), second.max())) + 1

    def statistic(weights: Float[np.ndarray, "b s"]) -> Float[np.ndarray, " b"]:
        return auc(likeness, same, np.where(same, weights[:, first], weights[:, first] * weights[:, second]))

    needed = "pairs of one and of two subjects are needed"
    return _bootstrapped(statistic, subjects, len(first), needed, resamples, seed)


def _resamples(clusters: int, width: int, resamples: int, seed: int) -> Iterator[Float[np.ndarray, "b c"]]:
    """Weights of the clusters, in blocks whose statistics hold at most some millions of numbers."""
    generator = np.random.Generator(np.random.Philox(key=seed))
    block = max(1, _NUMBERS_AT_A_TIME // max(width, 1))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        yield generator.multinomial(clusters, np.full(clusters, 1 / clusters), size=size).astype(np.float64)


FOLDS = 5
"""Parts of the subjects; each part's embeddings are read along a direction that the other parts give."""


def slope(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], weights: Float[np.ndarray, "b n"] | None = None
) -> Float[np.ndarray, " b"]:
    """Least-squares slope of y per unit of x under each row of weights; NaN where x does not vary.

    >>> slope(np.array([0.0, 1, 2]), np.array([1.0, 3, 5])).tolist()
    [2.0]
    """
    xx, xy, _ = _moments(x, y, weights)
    return np.asarray(
        np.divide(xy, xx, out=np.full(len(xx), np.nan), where=xx > 1e-12 * np.maximum(1.0, np.abs(x).max()) ** 2)
    )


def correlation(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], weights: Float[np.ndarray, "b n"] | None = None
) -> Float[np.ndarray, " b"]:
    """Pearson's correlation under each row of weights, in [-1, 1]; NaN where x or y does not vary.

    >>> correlation(np.array([0.0, 1, 2]), np.array([5.0, 3, 1])).tolist()
    [-1.0]
    """
    xx, xy, yy = _moments(x, y, weights)
    spread = np.sqrt(xx * yy)
    least = 1e-12 * max(1.0, float(np.abs(x).max())) * max(1.0, float(np.abs(y).max()))
    return np.asarray(np.divide(xy, spread, out=np.full(len(xx), np.nan), where=spread > least))


def _moments(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], weights: Float[np.ndarray, "b n"] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted variance of x, covariance, and variance of y."""
    w = np.ones((1, len(x))) if weights is None else weights
    total = np.maximum(w.sum(1), 1e-300)
    a, b = x - x.mean(), y - y.mean()
    ma, mb = w @ a / total, w @ b / total
    return w @ a**2 / total - ma**2, w @ (a * b) / total - ma * mb, w @ b**2 / total - mb**2


def by_subject(
    statistic: Callable[[Float[np.ndarray, "b n"]], np.ndarray], subject: Int[np.ndarray, " n"], resamples: int
) -> Figure:
    """A statistic of weighted rows, with the percentile interval of resampled subjects. n of the figure: subjects."""
    if not len(subject):
        return not_estimable("no subject was answered at every level")
    people, of = np.unique(subject, return_inverse=True)
    return with_interval(lambda w: statistic(w[:, of]), len(people), resamples=resamples)


def read_off(
    embeddings: Float[np.ndarray, "n k"], high: Float[np.ndarray, " n"], subject: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Embeddings as one number each: their place along the mean difference of high (1) and low (0) rows of others.

    high: NaN for rows that give no direction. The direction that reads a subject comes from the other folds' subjects.
    NaN where these lack a kind, and for embeddings that are NaN.
    """
    fold = np.unique(subject, return_inverse=True)[1] % FOLDS
    known = np.isfinite(embeddings).all(1)
    read = np.full(len(embeddings), np.nan)
    for k in range(FOLDS):
        others = known & (fold != k)
        kinds = [embeddings[others & (high == kind)] for kind in (1, 0)]
        if all(len(rows) for rows in kinds):
            direction = kinds[0].mean(0) - kinds[1].mean(0)
            mine = known & (fold == k)
            read[mine] = embeddings[mine] @ direction / max(float(np.linalg.norm(direction)), 1e-12)
    return read
