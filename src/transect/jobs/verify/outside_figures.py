"""How closely do a model's answers follow an attribute? Areas, correlations and slopes with intervals by subject."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.jobs.verify.discrimination import Figure, auc, not_estimable, with_interval

FOLDS = 5
"""Parts of the subjects; each part's embeddings are read along a direction that the other parts give."""

NO_ANSWERS = "no subject was answered at every level"
_Statistic = Callable[[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, "b n"]], np.ndarray]


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


def mean_answer(y: Float[np.ndarray, " n"], subject: Int[np.ndarray, " n"], resamples: int) -> Figure:
    """Mean of the rows, with the interval of resampled subjects."""
    weighted = lambda w: np.divide(w @ y, w.sum(1), out=np.full(len(w), np.nan), where=w.sum(1) > 0)  # noqa: E731
    return by_subject(weighted, subject, resamples)


def area(
    y: Float[np.ndarray, " n"], high: Bool[np.ndarray, " n"], subject: Int[np.ndarray, " n"], resamples: int
) -> Figure:
    """The area under the ROC curve of the rows that are high against the others."""
    if not high.any() or high.all():
        return not_estimable("both kinds are needed", len(np.unique(subject)))
    return by_subject(lambda w: auc(y, high, w), subject, resamples)


def along(
    statistic: _Statistic,
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    subject: Int[np.ndarray, " n"],
    resamples: int,
) -> Figure:
    """`slope` or `correlation` of answers y over values x."""
    return by_subject(lambda w: statistic(x, y, w), subject, resamples)


def by_subject(
    statistic: Callable[[Float[np.ndarray, "b n"]], np.ndarray], subject: Int[np.ndarray, " n"], resamples: int
) -> Figure:
    """A statistic of weighted rows, with the percentile interval of resampled subjects. n of the figure: subjects."""
    if not len(subject):
        return not_estimable(NO_ANSWERS)
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
