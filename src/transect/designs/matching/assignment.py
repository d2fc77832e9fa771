"""Minimum-cost assignment of rows to columns on a sparse graph, with the prices that prove it optimal.

Every row also has its dummy column, at a cost above all others: a row on its dummy has no partner, so
that the assignment has as many partners as can be, and among those the smallest total cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int


@final
@dataclass(frozen=True, slots=True)
class Assignment:
    """partner: int64 [m], the column of each row or -1. price: float64 [n] per column; cost: float64 [m] per row.

    For every edge, cost[row] <= weight + price[column], with equality for partners: the dual solution of the
    assignment, so that an edge that was left out could improve it only where weight + price < cost.
    """

    partner: Int[np.ndarray, " m"]
    price: Float[np.ndarray, " n"]
    cost: Float[np.ndarray, " m"]


def assign(
    rows: Int[np.ndarray, " e"], columns: Int[np.ndarray, " e"], weights: Float[np.ndarray, " e"], m: int, n: int
) -> Assignment:
    """The assignment of m rows to n columns along edges (rows[i], columns[i]) of weights >= 0; each edge once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    dummy = _above_all(weights, min(m, n))
    sources = np.concatenate([rows, np.arange(m)])
    ends = np.concatenate([columns, n + np.arange(m)])
    costs = np.concatenate([weights, np.full(m, dummy)])
    # A stored zero would count as no edge; one more on every edge changes no comparison, each row having one.
    graph = csr_array((costs + 1.0, (sources, ends)), shape=(m, n + m))
    matched, partner = min_weight_full_bipartite_matching(graph)
    partner = partner[np.argsort(matched)].astype(np.int64)
    chosen = costs[_edge_of(sources, ends, partner, n + m)]
    price = _prices(ends, costs - chosen[sources], partner[sources], dummy, n + m)
    return Assignment(np.where(partner < n, partner, -1), price[:n], chosen + price[partner])


def _above_all(weights: Float[np.ndarray, " e"], pairs: int) -> float:
    """A cost that no saving among all other rows can outweigh."""
    return float((pairs + 1) * (weights.max(initial=0.0) + 1.0))


def _edge_of(
    sources: Int[np.ndarray, " e"], ends: Int[np.ndarray, " e"], partner: Int[np.ndarray, " m"], width: int
) -> Int[np.ndarray, " m"]:
    """Position of the edge that each row uses."""
    keys = sources * width + ends
    order = np.argsort(keys)
    return np.asarray(order[np.searchsorted(keys[order], np.arange(len(partner)) * width + partner)])


def _prices(
    ends: Int[np.ndarray, " e"],
    savings: Float[np.ndarray, " e"],
    chosen: Int[np.ndarray, " e"],
    most: float,
    width: int,
) -> Float[np.ndarray, " w"]:
    """Shortest paths to the columns that have a row: 0 at the others, `most` at the start, edges end -> chosen column.

    No cycle is negative since the assignment is optimal, so that the rounds of Bellman and Ford come to rest.
    """
    price = np.zeros(width)
    price[chosen] = most
    slack = 1e-12 * most
    for _ in range(width):
        lower = price.copy()
        np.minimum.at(lower, chosen, price[ends] + savings)
        if (price - lower).max() <= slack:
            break
        price = lower
    return np.maximum(price, 0.0)
