"""How well a multi-label model does: average precision and F1 by label, and their means, in percent as published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float


@final
@dataclass(frozen=True)
class Performance:
    """Average precision and F1 of each label in percent, NaN for a label without a positive item; and the means."""

    precision: Float[np.ndarray, " k"]
    f1: Float[np.ndarray, " k"]

    @property
    def mean_average_precision(self) -> float:
        """Over the labels that have positive items; NaN where none has."""
        return _mean(self.precision)

    @property
    def macro_f1(self) -> float:
        """The same of F1."""
        return _mean(self.f1)


def performance(
    scores: Float[np.ndarray, "n k"], truth: Bool[np.ndarray, "n k"], threshold: float = 0.0
) -> Performance:
    """Of scores (logits) against the labels; the answer is yes from `threshold` on.

    Average precision is the sum over the ranks of the gain in recall times the precision there, ties taken together, as
    scikit-learn has it. F1 is 2 TP / (2 TP + FP + FN).

    >>> found = performance(np.array([[3.0], [1.0], [-1.0]]), np.array([[True], [False], [True]]))
    >>> round(found.mean_average_precision, 2), found.macro_f1  # (1 + 2/3) / 2, and 2 · 1 / (2 + 1 + 1)
    (83.33, 50.0)
    """
    k = scores.shape[1]
    predicted = scores >= threshold
    hits = (predicted & truth).sum(axis=0)
    wrong = (predicted != truth).sum(axis=0)
    positive = truth.any(axis=0)
    f1 = np.where(positive, 200 * hits / np.maximum(2 * hits + wrong, 1), np.nan)
    return Performance(np.array([average_precision(scores[:, column], truth[:, column]) for column in range(k)]), f1)


def average_precision(scores: Float[np.ndarray, " n"], truth: Bool[np.ndarray, " n"]) -> float:
    """Average precision of one label in percent, as in `performance`; NaN without a positive item.

    >>> round(average_precision(np.array([3.0, 1.0, -1.0]), np.array([False, True, True])), 6)  # (1/2 + 2/3) / 2
    58.333333
    """
    if not truth.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits = np.cumsum(truth[order])[ends]
    gains = np.diff(hits, prepend=0) / truth.sum()
    return float(100 * (gains * hits / (ends + 1)).sum())


def _mean(values: Float[np.ndarray, " k"]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
