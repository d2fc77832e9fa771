"""The nearest pair first, then the next: the sequential order of Singh et al. 2021, section 3.2.

At each step the pair of smallest distance that keeps every constraint is taken, and all images of both identities
leave. The result equals that of sorting all n x n distances (ties by position of a, then of b), which is never done:
each treated image keeps its nearest few controls and a bound below all others, and is searched again when they are used
up.
"""

from __future__ import annotations

import heapq
from typing import Final, final

import numpy as np
from jaxtyping import Int

from transect.designs.matching.refusals import explain
from transect.designs.matching.sample import Matching, Sample
from transect.designs.matching.search import Candidates, Search

METHOD: Final = "greedy, nearest pair first"
SOURCE: Final = "Singh, Balakrishnan and Perona 2021, Matched sample selection with GANs, Eq. 2-5"

_TIED_LIST = 256
_SHARE = 0.25  # of the open rows are searched again at a time, those with the fewest candidates left


def greedy(sample: Sample, *, caliper: float = np.inf, search: Search | None = None) -> Matching:
    """Pairs in the paper's order; those farther apart than `caliper` are no match.

    search: finds candidates, by default exactly; a `Search` with the same caliper.

    Returns Matching, pairs by ascending distance.
    """
    search = search or Search(sample, caliper=caliper)
    queue = _Queue(sample, search)
    pairs = queue.drain()
    a, b = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    refused, near, least = explain(sample, search, queue.first, a, b)
    return Matching(METHOD, a, b, np.array([pair[2] for pair in pairs], dtype=np.float64), refused, near, least)


@final
class _Queue:
    """Every treated image at the smallest distance that it can still have; the smallest of all comes first.

    bounds, listed: [rows, k], each treated image's candidates by lower bound of the distance; those before `at` were
    looked at. known: measured ones, a heap per row. reach: all others are at least so far. exact: `known` holds the
    first of all by distance and position, so that those at the reach itself may be trusted too; tied: that is needed.
    """

    def __init__(self, sample: Sample, search: Search) -> None:
        self.sample, self.search = sample, search
        self.rows, self.columns = sample.rows, sample.columns
        self.place = np.full(len(sample), -1)
        self.place[self.rows] = np.arange(len(self.rows))
        self.free = np.ones(int(sample.identity.max()) + 1, dtype=bool)
        m = len(self.rows)
        self.bounds, self.listed = np.full((m, search.list_length), np.inf), np.full((m, search.list_length), -1)
        self.at, self.reach = np.zeros(m, dtype=np.int64), np.full(m, np.inf)
        self.known: dict[int, list[tuple[float, int]]] = {}
        self.tied, self.exact = np.zeros((2, m), dtype=bool)
        self.heap: list[tuple[float, int, int]] = []
        self.first = self._search_many(self.rows, self.columns)
        for row in self.rows.tolist():
            self._push(row)

    def drain(self) -> list[tuple[int, int, float]]:
        """All pairs in order: treated, control, distance."""
        pairs = []
        while self.heap:
            distance, row, column = heapq.heappop(self.heap)
            if row < 0:
                self._reached(column, distance)
            elif self._is_free(row):
                if self._is_free(column):
                    pairs.append((row, column, distance))
                    self.free[self.sample.identity[[row, column]]] = False
                else:
                    self._push(row)
        return pairs

    def _is_free(self, image: int) -> bool:
        return bool(self.free[self.sample.identity[image]])

    def _push(self, row: int) -> None:
        """The row's nearest free candidate, or the distance from which to search again (which comes before pairs)."""
        place = self.place[row]
        distance, column = self._best(row)
        reach = float(self.reach[place])
        if distance < reach or (self.exact[place] and distance == reach < np.inf):
            heapq.heappush(self.heap, (distance, row, column))
        elif reach < np.inf:
            heapq.heappush(self.heap, (reach, -1, row))

    def _best(self, row: int) -> tuple[float, int]:
        """Nearest free listed candidate, measured; (inf, -1) without one."""
        place = int(self.place[row])
        known, bounds, listed = self.known.setdefault(place, []), self.bounds[place], self.listed[place]
        while known and not self._is_free(known[0][1]):
            heapq.heappop(known)
        at = int(self.at[place])
        while at < len(listed) and listed[at] >= 0 and (not known or bounds[at] <= known[0][0]):
            column = int(listed[at])
            at += 1
            if self._is_free(column):
                distance = float(self.search.measure(np.array([row]), np.array([column]))[0])
                if distance < np.inf:
                    heapq.heappush(known, (distance, column))
        self.at[place] = at
        return known[0] if known else (np.inf, -1)

    def _reached(self, row: int, distance: float) -> None:
        """The row has no candidate below its reach: search it again among the free columns, unless that was done."""
        place = self.place[row]
        if not self._is_free(row):
            return
        if distance == self.reach[place]:
            columns = self.columns[self.free[self.sample.identity[self.columns]]]
            if not self.tied[place]:
                self._search_many(self._short_of(row), columns)
            if self.tied[place]:
                self._search_one(row, columns)
        self._push(row)

    def _short_of(self, row: int) -> Int[np.ndarray, " m"]:
        """The row, and the free rows that will soon need a search: one search of many costs little more than of one."""
        open_ = np.flatnonzero(self.free[self.sample.identity[self.rows]] & ~self.tied & (self.reach < np.inf))
        left = (self.listed[open_] >= 0).sum(axis=1) - self.at[open_]
        short = open_[left <= max(self.listed.shape[1] // 4, np.quantile(left, _SHARE))]
        return np.union1d(self.rows[short], [row])

    def _search_many(self, rows: Int[np.ndarray, " m"], columns: Int[np.ndarray, " b"]) -> Candidates:
        """New lists by lower bounds; a row whose first candidate is not below its reach is tied."""
        nearest = self.search.nearest(rows, columns, self.listed.shape[1])
        some = nearest.columns[:, 0] >= 0
        first = np.full(len(rows), np.inf)
        first[some] = self.search.measure(rows[some], nearest.columns[some, 0])
        places = self.place[rows]
        self.reach[places], self.tied[places] = nearest.reach, (first >= nearest.reach) & (nearest.reach < np.inf)
        self.bounds[places], self.listed[places], self.at[places] = nearest.bounds, nearest.columns, 0
        for place in places.tolist():
            self.known.pop(place, None)
        return nearest

    def _search_one(self, row: int, columns: Int[np.ndarray, " b"]) -> None:
        """The row's nearest free columns by exact distances to all, which orders ties."""
        place = int(self.place[row])
        near, distance = self.search.every(row, columns)
        listed = list(zip(distance[:_TIED_LIST].tolist(), near[:_TIED_LIST].tolist(), strict=True))
        self.known[place], self.listed[place], self.exact[place] = listed, -1, True
        self.reach[place] = listed[-1][0] if len(near) > _TIED_LIST else np.inf
