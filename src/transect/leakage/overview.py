"""How does every label occur with the protected attribute, and what would it cost to balance them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects.intervals import wilson
from transect.leakage.balance import balanced_subset, label_counts, worst_ratio
from transect.leakage.records import LabelledData

ALPHAS: Final = (3.0, 2.0, 1.0)


@final
@dataclass(frozen=True)
class Overview:
    """Labels by rows, classes by columns.

    counts int64 [k, c]. share [k, c]: of a class among the items with a label, where classes weigh the same, in [0, 1];
    low, high: Wilson's interval of the plain share; NaN where the label does not occur. costs: α, items kept, items in
    all. worst: the largest ratio between classes.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    counts: Int[np.ndarray, "k c"]
    share: Float[np.ndarray, "k c"]
    low: Float[np.ndarray, "k c"]
    high: Float[np.ndarray, "k c"]
    costs: tuple[tuple[float, int, int], ...]
    worst: float


def overview(data: LabelledData, alphas: tuple[float, ...] = ALPHAS) -> Overview:
    """Co-occurrences of the training items (all, where there are no splits), and what balancing them would keep.

    >>> from transect.leakage.records import labelled
    >>> found = overview(labelled(["cook", "cook", "drive", "drive"], ["woman", "woman", "man", "woman"]))
    >>> found.counts.tolist(), found.costs[-1]
    ([[0, 2], [1, 1]], (1.0, 2, 4))
    """
    rows = data.rows_of("train") if data.split is not None else np.arange(len(data))
    taught = data.take(rows)
    counts = label_counts(taught)
    rates = counts / np.maximum(np.bincount(taught.protected, minlength=data.n_classes), 1)
    total, n = rates.sum(axis=1, keepdims=True), counts.sum(axis=1, keepdims=True)
    share = np.divide(rates, total, out=np.full(rates.shape, np.nan), where=total > 0)
    low, high = wilson(counts, n)
    costs = tuple((alpha, len(balanced_subset(taught, alpha).rows), len(taught)) for alpha in alphas)
    names = data.labels.names
    return Overview(names, data.classes, counts, share, low, high, costs, worst_ratio(counts))
