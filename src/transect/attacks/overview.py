"""How often each label occurs with each protected class, and the cost of balancing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.attacks.balance import SECONDS, balanced_subset, label_counts, worst_ratio
from transect.attacks.records import LabelledData
from transect.effects.intervals import wilson

ALPHAS: Final = (3.0, 2.0, 1.0)
HEURISTIC_LEAST: Final = 1.08
"""Wang et al. ran their heuristic for α = 1 at this ratio, since almost nothing is left at 1 (section 3.2, note 3)."""
OUT_OF_TIME: Final = (
    "α = {alpha:g}: the search for the largest subset was stopped after {seconds:g} seconds: there may be a larger "
    "one, and another run may keep other items; a larger α is easier to meet"
)


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """What balancing to α keeps of the items: `kept` of `of`; no subset keeps more than `bound`.

    heuristic: what the paper's heuristic keeps, which bounds labels alone, at the ratio heuristic_alpha; None where the
    label is one category, whose answer is exact. note: for example that the search ran out of time; "" for none.
    """

    alpha: float
    kept: int
    of: int
    bound: int
    heuristic: int | None
    heuristic_alpha: float | None = None
    note: str = ""


@final
@dataclass(frozen=True)
class Overview:
    """Labels by rows, classes by columns.

    counts int64 [k, c]. share [k, c]: of a class among the items with a label, where classes weigh the same, in [0, 1];
    low, high: Wilson's interval of the plain share; NaN where the label does not occur. costs: one for each α. worst:
    the largest ratio between classes.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    counts: Int[np.ndarray, "k c"]
    share: Float[np.ndarray, "k c"]
    low: Float[np.ndarray, "k c"]
    high: Float[np.ndarray, "k c"]
    costs: tuple[Cost, ...]
    worst: float


def overview(data: LabelledData, alphas: tuple[float, ...] = ALPHAS) -> Overview:
    """Co-occurrences of the training items (all, where there are no splits), and what balancing them would keep."""
    training = _training_items(data)
    counts = label_counts(training)
    rates = counts / np.maximum(np.bincount(training.protected, minlength=data.n_classes), 1)
    total, n = rates.sum(axis=1, keepdims=True), counts.sum(axis=1, keepdims=True)
    share = np.divide(rates, total, out=np.full(rates.shape, np.nan), where=total > 0)
    low, high = wilson(counts, n)
    names = data.labels.names
    return Overview(names, data.classes, counts, share, low, high, costs(data, alphas), worst_ratio(counts))


def costs(data: LabelledData, alphas: tuple[float, ...], *, balance_sizes: bool = True) -> tuple[Cost, ...]:
    """What balancing the training items (all, where there are no splits) to each α keeps; see `balanced_subset`."""
    return tuple(_cost(_training_items(data), alpha, balance_sizes) for alpha in alphas)


def _cost(data: LabelledData, alpha: float, balance_sizes: bool) -> Cost:
    subset, other, at = balanced_subset(data, alpha, balance_sizes=balance_sizes), None, None
    if data.labels.category is None:
        at = max(alpha, HEURISTIC_LEAST)
        other = len(balanced_subset(data, at, heuristic=True, balance_sizes=False).rows)
    note = OUT_OF_TIME.format(seconds=SECONDS, alpha=alpha) if subset.stopped else ""
    return Cost(alpha, len(subset.rows), len(data), round(subset.bound), other, at, note)


def _training_items(data: LabelledData) -> LabelledData:
    return data.take(data.rows_of("train") if data.split is not None else np.arange(len(data)))
