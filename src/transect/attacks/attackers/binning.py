"""Scores as bins: the quantile bins of scikit-learn's boosting with weights, found in one pass per column.

scikit-learn 1.9 sorts a column once for each of its 254 weighted quantiles, which takes most of the time of a fit. Here
a column is sorted once. Trees that are fitted to bins are those that would be fitted to the scores: tests compare both.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float, UInt8

BINS: Final = 255
MOST_ROWS: Final = 200_000
"""With more training rows scikit-learn takes quantiles of a random sample of them: these columns are left to it."""


def binned(
    train: Float[np.ndarray, "a k"], test: Float[np.ndarray, "t k"], weights: Float[np.ndarray, " a"]
) -> tuple[UInt8[np.ndarray, "a k"], UInt8[np.ndarray, "t k"]]:
    """Training and tested values as numbers of bins that hold training rows, at most 255 of equal weight a column."""
    train_bins, test_bins = np.empty(train.shape, dtype=np.uint8), np.empty(test.shape, dtype=np.uint8)
    for place in range(train.shape[1]):
        column = train[:, place].astype(np.float64)
        ends = _ends(column, weights)
        occupied = np.unique(np.searchsorted(ends, column))
        ends = ends[occupied[:-1]]  # a split next to an empty bin lies below it
        train_bins[:, place] = np.searchsorted(ends, column)
        test_bins[:, place] = np.searchsorted(ends, test[:, place].astype(np.float64))
    return train_bins, test_bins


def _ends(column: Float[np.ndarray, " a"], weights: Float[np.ndarray, " a"]) -> Float[np.ndarray, " e"]:
    """The largest value of each bin but the last: midpoints of few values, otherwise weighted quantiles."""
    order = np.argsort(column)
    values, cumulated = column[order], np.cumsum(weights[order])
    distinct = np.unique(values)
    if len(distinct) <= BINS:
        return np.asarray((distinct[1:] + distinct[:-1]) / 2)
    ranks = np.linspace(0, 100, BINS + 1)[1:-1] / 100 * cumulated[-1]
    at = np.minimum(np.searchsorted(cumulated, ranks), len(values) - 1)
    after = np.minimum(at + 1, len(values) - 1)
    between = cumulated[at] - ranks <= np.finfo(np.float64).eps
    return np.unique(np.where(between, (values[at] + values[after]) / 2, values[at]))
