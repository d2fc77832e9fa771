"""Balanced subsets of labelled data, how often labels occur with each protected class, and what balancing costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.attacks.records import LabelledData, uniforms
from transect.errors import BadInput

_DRAW: Final = 51
SECONDS: Final = 60.0
"""How long the search for the largest subset may take."""
_OUT_OF_TIME: Final = 1  # SciPy's status of a limit that was reached
_GAP: Final = 1e-4


@final
@dataclass(frozen=True)
class Balanced:
    """A balanced subset. bound: no subset keeps more items. worst: the largest ratio between two classes over labels
    that are left. stopped: the search ran out of time, so that a larger one may be there.
    """

    rows: Int[np.ndarray, " m"]
    bound: float
    worst: float
    stopped: bool = False


def balanced_subset(
    data: LabelledData, alpha: float, *, seed: int = 0, heuristic: bool = False, balance_sizes: bool = True
) -> Balanced:
    """The largest subset in which every label meets the bound; heuristic: the paper's, for several labels.

    balance_sizes: the sizes of the classes meet the bound, too: with α = 1 they are equal. For one category a subset
    whose labels meet the bound always does. A label that a class never has cannot meet any bound: its items go. Which
    items of an over-represented class stay is drawn at random.
    """
    if not 1 <= alpha < np.inf:
        raise BadInput(f"α: expected a finite ratio of at least 1, got {alpha:g}")
    alpha = min(alpha, float(max(len(data), 1)))  # no two counts are further apart
    draws, stopped = uniforms(data.keys, _DRAW, seed), False
    if data.labels.category is not None:
        counts = label_counts(data)
        keep = _drawn(data.labels.category * data.n_classes + data.protected, capped(counts, alpha).ravel(), draws)
        bound = float(capped(counts, alpha).sum())
    elif heuristic:
        keep, bound = _one_label_at_a_time(data, _bits(data, balance_sizes), alpha, draws), float(len(data))
    else:
        keep, bound, stopped = _largest(data, _bits(data, balance_sizes), alpha, draws)
    rows = np.flatnonzero(keep)
    return Balanced(rows, bound, worst_ratio(label_counts(data, rows)), stopped)


def balanced_splits(
    data: LabelledData, alpha: float, *, seed: int = 0, balance_sizes: bool = True
) -> tuple[Bool[np.ndarray, " n"], list[str]]:
    """Which items stay where every split by itself is balanced to α; all as one where there are no splits.

    Returns that and the names of the splits ("" for all as one) whose search ran out of time.

    >>> from transect.attacks.records import labelled
    >>> data = labelled(["cook"] * 5, [0, 0, 1, 0, 1], split=["train"] * 3 + ["test"] * 2)
    >>> keep, stopped = balanced_splits(data, 1.0)
    >>> int(keep.sum()), stopped  # one of each class in either split
    (4, [])
    """
    keep, stopped = np.zeros(len(data), dtype=np.bool_), []
    names = [None] if data.split is None else np.unique(data.split).tolist()
    for name in names:
        rows = np.arange(len(data)) if name is None else data.rows_of(name)
        subset = balanced_subset(data.take(rows), alpha, seed=seed, balance_sizes=balance_sizes)
        keep[rows[subset.rows]] = True
        stopped += [name or ""] if subset.stopped else []
    return keep, stopped


def label_counts(data: LabelledData, rows: Int[np.ndarray, " m"] | None = None) -> Int[np.ndarray, "k c"]:
    """How many items of each class, among all or some rows, have each label."""
    chosen = np.arange(len(data)) if rows is None else rows
    k, c, groups = len(data.labels.names), data.n_classes, data.protected[chosen]
    if data.labels.category is not None:
        cells = data.labels.category[chosen] * c + groups
        return np.asarray(np.bincount(cells, minlength=k * c).reshape(k, c))
    bits = data.labels.matrix[chosen]
    return np.asarray(np.stack([bits[groups == group].sum(axis=0) for group in range(c)], axis=1))


def capped(counts: Int[np.ndarray, "k c"], alpha: float) -> Int[np.ndarray, "k c"]:
    """How many items of each label and class can stay where each item has one label."""
    return np.asarray(np.minimum(counts, np.floor(alpha * counts.min(axis=1, keepdims=True) + 1e-9).astype(np.int64)))


def worst_ratio(counts: Int[np.ndarray, "k c"]) -> float:
    """Largest count over smallest of a label, over labels that occur; infinite where a class lacks one."""
    occurring = counts[counts.sum(axis=1) > 0]
    if not len(occurring):
        return float("nan")
    smallest = occurring.min(axis=1)
    return float("inf") if (smallest == 0).any() else float((occurring.max(axis=1) / smallest).max())


def _drawn(
    cell: Int[np.ndarray, " n"], sizes: Int[np.ndarray, " cells"], draws: Float[np.ndarray, " n"]
) -> Bool[np.ndarray, " n"]:
    """The items of each cell with the smallest draws, as many as its size."""
    order = np.lexsort((draws, cell))
    starts = np.searchsorted(cell[order], np.arange(len(sizes)))
    rank = np.empty(len(cell), dtype=np.int64)
    rank[order] = np.arange(len(cell)) - starts[cell[order]]
    return np.asarray(rank < sizes[cell])


def _bits(data: LabelledData, balance_sizes: bool) -> Bool[np.ndarray, "n k"]:
    """The labels that meet the bound; the sizes of the classes are those of a label that every item has."""
    labels = data.labels.matrix
    return np.concatenate([labels, np.ones((len(data), 1), dtype=np.bool_)], axis=1) if balance_sizes else labels


def _largest(
    data: LabelledData, labels: Bool[np.ndarray, "n k"], alpha: float, draws: Float[np.ndarray, " n"]
) -> tuple[Bool[np.ndarray, " n"], float, bool]:
    """Items with equal labels and class are one whole-number variable: how many of them stay."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, vstack

    typed = np.concatenate([labels, data.protected[:, None] == np.arange(data.n_classes)], axis=1)
    types, cell, sizes = np.unique(typed, axis=0, return_inverse=True, return_counts=True)
    k = labels.shape[1]
    has, group = types[:, :k].T.astype(np.float64), types[:, k:].T.astype(np.float64)
    over = [
        csr_array(has * (group[group_index] - alpha * group[other]))
        for group_index in range(data.n_classes)
        for other in range(data.n_classes)
        if group_index != other
    ]
    solution = milp(
        -np.ones(len(types)),
        integrality=np.ones(len(types)),
        bounds=Bounds(0, sizes.astype(np.float64)),
        constraints=LinearConstraint(vstack(over), -np.inf, 0.0),
        options={"time_limit": SECONDS, "mip_rel_gap": _GAP},
    )
    if solution.status not in (0, _OUT_OF_TIME):
        raise BadInput(f"no balanced subset was found: {solution.message}; choose another α")
    sizes_kept = np.zeros(len(types), dtype=np.int64) if solution.x is None else np.round(solution.x).astype(np.int64)
    bound = float(len(data)) if solution.mip_dual_bound is None else np.floor(-solution.mip_dual_bound + 1e-6)
    keep, stopped = _drawn(cell.ravel(), sizes_kept, draws), solution.status == _OUT_OF_TIME
    if stopped and (other := _one_label_at_a_time(data, labels, alpha, draws)).sum() > keep.sum():
        keep = other
    return keep, min(float(bound), float(len(data))), stopped


def _one_label_at_a_time(
    data: LabelledData, bits: Bool[np.ndarray, "n k"], alpha: float, draws: Float[np.ndarray, " n"]
) -> Bool[np.ndarray, " n"]:
    """The paper's heuristic: make one label after the other meet the bound, dropping items with few labels first."""
    keep = np.ones(len(data), dtype=np.bool_)
    richness = bits.sum(axis=1)
    while True:
        before = int(keep.sum())
        for label in range(bits.shape[1]):
            having = [np.flatnonzero(keep & bits[:, label] & (data.protected == g)) for g in range(data.n_classes)]
            most = int(np.floor(alpha * min(len(rows) for rows in having) + 1e-9))
            for rows in having:
                order = rows[np.lexsort((draws[rows], richness[rows]))]
                keep[order[: max(0, len(rows) - most)]] = False
        if int(keep.sum()) == before:
            return keep


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
    NaN where the label does not occur. costs: one for each α. worst:
    the largest ratio between classes.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    counts: Int[np.ndarray, "k c"]
    share: Float[np.ndarray, "k c"]
    costs: tuple[Cost, ...]
    worst: float


def overview(data: LabelledData, alphas: tuple[float, ...] = ALPHAS) -> Overview:
    """Co-occurrences of the training items (all, where there are no splits), and what balancing them would keep."""
    training = _training_items(data)
    counts = label_counts(training)
    rates = counts / np.maximum(np.bincount(training.protected, minlength=data.n_classes), 1)
    total = rates.sum(axis=1, keepdims=True)
    share = np.divide(rates, total, out=np.full(rates.shape, np.nan), where=total > 0)
    return Overview(data.labels.names, data.classes, counts, share, costs(data, alphas), worst_ratio(counts))


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
