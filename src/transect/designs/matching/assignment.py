"""Minimum-cost assignment of rows to columns on a sparse graph, with the prices that prove it optimal.

Every row also has its dummy column, at a cost above all others: a row on its dummy has no partner, so that the
assignment has as many partners as can be, and among those the smallest total cost.

The pairs whose distances have the smallest sum: optimal 1:1 and 1:k matching (Rosenbaum 1989,
doi:10.1080/01621459.1989.10478868).

Solved on the nearest few candidates of each image; the solution's prices then say which candidates left out could
improve it, and these are added until none can. No n x n matrix, and the optimum of all pairs nonetheless.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.matching.sample import BOTH_GROUPS, TAKEN, Facts, Matching, Sample
from transect.designs.matching.search import Candidates, Search, explain, ineligible_treated
from transect.errors import BadInput


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

    dummy = float((min(m, n) + 1) * (weights.max(initial=0.0) + 1.0))  # no saving among all other rows outweighs it
    sources = np.concatenate([rows, np.arange(m)])
    ends = np.concatenate([columns, n + np.arange(m)])
    costs = np.concatenate([weights, np.full(m, dummy)])
    # A stored zero would count as no edge; one more on every edge changes no comparison, each row having one.
    graph = csr_array((costs + 1.0, (sources, ends)), shape=(m, n + m))
    matched, partner = min_weight_full_bipartite_matching(graph)
    partner = partner[np.argsort(matched)].astype(np.int64)
    keys = sources * (n + m) + ends
    order = np.argsort(keys)
    chosen = costs[order[np.searchsorted(keys[order], np.arange(m) * (n + m) + partner)]]  # of the edge of each row
    price = _prices(ends, costs - chosen[sources], partner[sources], dummy, n + m)
    return Assignment(np.where(partner < n, partner, -1), price[:n], chosen + price[partner])


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


METHOD: Final = "optimal assignment"

_LIST = 20
_MOST_ROUNDS = 50


def optimal(sample: Sample, *, caliper: float = np.inf, ratio: int = 1) -> Matching:
    """As many pairs as can be, and among those the smallest total distance; `ratio` controls for a treated image.

    An identity with images in both groups stays in the group where it has more (treated where equal): with a person on
    both sides the task would be no assignment.

    Returns Matching by ascending distance; facts: total distance, rounds, and `gap`, which bounds how far the total can
    lie above the optimum (0 but for rounding). Raises BadInput for a ratio below 1, or a dose.
    """
    if ratio < 1:
        raise BadInput(f"optimal matching: expected a ratio of at least 1 control per treated image, got {ratio}")
    if sample.dose_gap:
        raise BadInput("optimal matching pairs two groups: for a continuous treatment use --method greedy")
    sample = _one_sided(sample)
    if not len(sample.rows) or not len(sample.columns):
        nothing, reasons = np.empty(0, dtype=np.int64), dict.fromkeys(sample.rows.tolist(), TAKEN)
        return Matching(METHOD, nothing, nothing, np.empty(0), ineligible_treated(sample) | reasons)
    task = _Task(sample, caliper, ratio)
    a, b, distance = task.solve()
    refused, near, least = explain(task.sample, task.search, task.first, a, b)
    order = np.lexsort((b, a, distance))
    facts = Facts(total_distance=float(distance.sum()), rounds=task.rounds, gap=task.gap)
    return Matching(METHOD, a[order], b[order], distance[order], refused, near, least, facts)


def _one_sided(sample: Sample) -> Sample:
    """The sample without the images of an identity in the group where it has fewer."""
    a, b = sample.rows, sample.columns
    size = int(sample.identity.max()) + 1
    in_a, in_b = (np.bincount(sample.identity[rows], minlength=size) for rows in (a, b))
    lost = np.concatenate([a[(in_b > in_a)[sample.identity[a]]], b[((in_a >= in_b) & (in_a > 0))[sample.identity[b]]]])
    reasons = dict.fromkeys(lost.tolist(), BOTH_GROUPS)
    return replace(sample, ineligible={**sample.ineligible, **reasons}) if reasons else sample


@final
class _Task:
    """The growing graph of identities, numbered by group; edges [e, 4]: nodes a and b, and their nearest images."""

    def __init__(self, sample: Sample, caliper: float, ratio: int) -> None:
        self.sample, self.ratio = sample, ratio
        self.search = Search(sample, caliper=caliper)
        self.node = np.full(len(sample), -1)
        self.sizes = []
        for group in (sample.rows, sample.columns):
            people, self.node[group] = np.unique(sample.identity[group], return_inverse=True)
            self.sizes.append(len(people))
        self.edges, self.length = np.empty((0, 4), dtype=np.int64), np.empty(0)
        self.first = Candidates.none(0, 1)
        self.rounds, self.gap = 0, np.nan

    def solve(self) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Adds what could improve the solution until nothing can; returns images a and b and their distances."""
        price, cost = np.zeros(self.sizes[1]), np.full(self.sizes[0], np.inf)
        chosen = np.empty(0, dtype=np.int64)
        while self.rounds < _MOST_ROUNDS:
            prices = np.zeros(len(self.sample))
            prices[self.sample.columns] = price[self.node[self.sample.columns]]
            nearest = self.search.nearest(self.sample.rows, self.sample.columns, _LIST, prices if self.rounds else None)
            self.first = nearest if self.rounds == 0 else self.first
            reach = np.full(self.sizes[0], np.inf)
            np.minimum.at(reach, self.node[self.sample.rows], nearest.reach)
            self.gap = (
                self.ratio * float(np.maximum(cost - np.minimum(reach, cost), 0.0).sum()) if self.rounds else np.nan
            )
            if not self._add(nearest, price, cost):
                break
            self.rounds += 1
            chosen, price, cost = self._assign()
        return self.edges[chosen, 2], self.edges[chosen, 3], self.length[chosen]

    def _add(self, nearest: Candidates, price: Float[np.ndarray, " b"], cost: Float[np.ndarray, " a"]) -> bool:
        """Adds the candidates that cost less than their row pays now; whether there were any."""
        place, rank = np.nonzero(nearest.columns >= 0)
        image_a, image_b = self.sample.rows[place], nearest.columns[place, rank]
        new = np.column_stack([self.node[image_a], self.node[image_b], image_a, image_b])
        length = self.search.measure(image_a, image_b)
        rounding = 1e-11 * np.max(cost, where=np.isfinite(cost), initial=1.0)  # of sums of the largest cost
        better = (length < np.inf) & (length + price[new[:, 1]] < cost[new[:, 0]] - rounding)
        edges, lengths = np.vstack([self.edges, new[better]]), np.concatenate([self.length, length[better]])
        order = np.lexsort((edges[:, 3], edges[:, 2], lengths, edges[:, 1], edges[:, 0]))
        edges, lengths = edges[order], lengths[order]
        shortest = np.ones(len(edges), dtype=bool)
        shortest[1:] = (edges[1:, :2] != edges[:-1, :2]).any(axis=1)
        edges, lengths = edges[shortest], lengths[shortest]
        changed = not (np.array_equal(edges, self.edges) and np.array_equal(lengths, self.length))
        self.edges, self.length = edges, lengths
        return changed

    def _assign(self) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " b"], Float[np.ndarray, " a"]]:
        """Positions of the chosen edges, price of every node b, and the most that a node a pays."""
        copies = np.arange(self.ratio)
        rows = (self.edges[:, :1] * self.ratio + copies).ravel()
        columns, lengths = np.repeat(self.edges[:, 1], self.ratio), np.repeat(self.length, self.ratio)
        assignment = assign(rows, columns, lengths, self.sizes[0] * self.ratio, self.sizes[1])
        matched = np.flatnonzero(assignment.partner >= 0)
        keys = self.edges[:, 0] * self.sizes[1] + self.edges[:, 1]
        chosen = np.searchsorted(keys, matched // self.ratio * self.sizes[1] + assignment.partner[matched])
        return chosen, assignment.price, assignment.cost.reshape(-1, self.ratio).max(axis=1)
