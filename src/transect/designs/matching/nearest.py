"""Pairs of nearest images: in order of their distance, and by an index for a million of them.

The nearest pair first, then the next: the sequential order of Singh et al. 2021, section 3.2 (Eq. 2-5).

At each step the pair of smallest distance that keeps every constraint is taken, and all images of both identities
leave. The result equals that of sorting all n x n distances (ties by position of a, then of b), which is never
done: each treated image keeps its nearest few controls and a bound below all others, and is searched again when
they are used up.

Nearest neighbours by an index, for a million images: approximate, with the recall stated. An inverted file of faiss
(optional, `transect[ann]`; Johnson, Douze and Jégou 2021, doi:10.1109/TBDATA.2019.2921572) looks only into the cells
near an image. A neighbour that it
misses is lost to that image, so that pairs can be farther apart than the exact order's; constraints hold all the
same.
"""

from __future__ import annotations

import heapq
import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.designs.matching.sample import SAME_IDENTITY, SECOND, Columns, Matching, Rows, Sample, in_blocks
from transect.designs.matching.search import CONSTRAINTS, Candidates, Prices, Search, allowed, distances, explain
from transect.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    import faiss

METHOD: Final = "greedy, nearest pair first"

_TIED_LIST = 256
_SHARE = 0.25  # of the open rows are searched again at a time, those with the fewest candidates left


def greedy(sample: Sample, *, caliper: float = np.inf, search: Search | None = None) -> Matching:
    """Pairs in the paper's order, none farther apart than `caliper`; search: exact, or one with the same caliper."""
    search = search or Search(sample, caliper=caliper)
    queue = _Queue(sample, search)
    pairs = queue.drain()
    a, b = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    refused, near, least = explain(sample, search, queue.first, a, b)
    return Matching(METHOD, a, b, np.array([pair[2] for pair in pairs], dtype=np.float64), refused, near, least)


@final
class _Queue:
    """Every treated image by the smallest distance that it can still have: candidates by lower bound, known distances.
    reach: all others are at least so far. exact: `known` holds the first of all; tied: that is needed.
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

    def _search_many(self, rows: Rows, columns: Columns) -> Candidates:
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

    def _search_one(self, row: int, columns: Columns) -> None:
        """The row's nearest free columns by exact distances to all, which orders ties."""
        place = int(self.place[row])
        near, distance = self.search.every(row, columns)
        listed = list(zip(distance[:_TIED_LIST].tolist(), near[:_TIED_LIST].tolist(), strict=True))
        self.known[place], self.listed[place], self.exact[place] = listed, -1, True
        self.reach[place] = listed[-1][0] if len(near) > _TIED_LIST else np.inf


_FEW = 20_000  # columns up to which each is compared
_OVERFETCH, _MOST_FETCHED = 2, 512
_WIDER = 4
_TRAINING_PER_CELL = 40
_TRAINING_ROUNDS = 8
_RECALL_ROWS = 200


@final
@dataclass(slots=True)
class _Index:
    """An inverted file; members: [n], the columns that it holds; columns: how many its cells were learned for."""

    index: faiss.IndexIVFFlat
    members: Bool[np.ndarray, " n"]
    columns: int


@final
class ApproximateSearch(Search):
    """A `Search` by an inverted file of each stratum's columns; probes: cells that are looked into for an image."""

    def __init__(self, sample: Sample, *, caliper: float = np.inf, probes: int = 16, list_length: int = 16) -> None:
        """Raises BadInput for a dose, MissingExtra without faiss."""
        if sample.dose_gap:
            raise BadInput("approximate search pairs two groups: leave out --approximate for a continuous treatment")
        super().__init__(sample, caliper=caliper, double=False)
        self.faiss, self.probes, self.list_length = _faiss(), probes, list_length
        self.indices: dict[int, _Index] = {}

    def recall(self, *, seed: int = 0) -> float:
        """Share of the true nearest allowed candidates listed, of 200 random images; call it before `greedy`."""
        rows = np.random.Generator(np.random.Philox(seed)).permutation(self.sample.rows)[:_RECALL_ROWS]
        listed = self.nearest(rows, self.sample.columns, self.list_length)
        exact = Search(self.sample, caliper=self.caliper, double=False)
        truth = exact.nearest(rows, self.sample.columns, self.list_length)
        hits = [np.isin(row[row >= 0], other) for row, other in zip(truth.columns, listed.columns, strict=True)]
        return float(np.concatenate(hits).mean()) if sum(map(len, hits)) else float("nan")

    def _search_stratum(
        self, candidates: Candidates, places: Rows, rows: Rows, inside: Columns, prices: Prices
    ) -> None:
        if len(inside) <= _FEW or prices is not None:
            super()._search_stratum(candidates, places, rows, inside, prices)
            return
        index = self._index_of(inside)
        for part in in_blocks(len(rows), self.block_rows):
            self._fill_from_index(candidates, places[part], rows[part], inside, index)

    def _index_of(self, inside: Columns) -> faiss.IndexIVFFlat:
        """The stratum's index less the columns that are used up; a new one where under half of its columns are left."""
        stratum = int(self.sample.exact[inside[0]])
        wanted = np.zeros(len(self.sample), dtype=bool)
        wanted[inside] = True
        held = self.indices.get(stratum)
        if held is None or len(inside) < held.columns / 2 or (wanted & ~held.members).any():
            self.indices.pop(stratum, None)  # its memory goes before the next one needs as much
            held = self.indices[stratum] = _Index(self._index(inside), wanted, len(inside))
        gone = np.flatnonzero(held.members & ~wanted)
        if len(gone):
            held.index.remove_ids(self.faiss.IDSelectorBatch(gone))
            held.members[gone] = False
        return held.index

    def _index(self, inside: Columns) -> faiss.IndexIVFFlat:
        """The inverted file of some columns; its cells are learned from evenly spaced ones: always the same."""
        width = self.sample.features.shape[1]
        cells = int(2 * np.sqrt(len(inside)))
        index = self.faiss.IndexIVFFlat(self.faiss.IndexFlatL2(width), width, cells)
        index.cp.niter, index.cp.seed = _TRAINING_ROUNDS, 1
        spaced = np.linspace(0, len(inside) - 1, min(len(inside), cells * _TRAINING_PER_CELL)).astype(np.int64)
        index.train(self.space.block(inside[spaced]))
        for part in in_blocks(len(inside), self.block_columns):
            index.add_with_ids(self.space.block(inside[part]), inside[part])
        return index

    def _fill_from_index(
        self, candidates: Candidates, places: Rows, rows: Rows, inside: Columns, index: faiss.IndexIVFFlat
    ) -> None:
        """Candidates of some rows; those that find too few look again into more cells, at last into all of them."""
        k = candidates.columns.shape[1]
        index.nprobe, fetch = min(self.probes, index.nlist), _OVERFETCH * k + 1
        open_ = np.arange(len(rows))
        while True:
            positions = index.search(self.space.block(rows[open_]), fetch)[1]
            permitted = self._take(candidates, places[open_], rows[open_], inside, positions)
            open_ = open_[permitted <= k]  # without a column beyond the list, its end would pass for the end of all
            if not len(open_) or (index.nprobe == index.nlist and fetch >= min(_MOST_FETCHED, len(inside))):
                return
            index.nprobe, fetch = min(_WIDER * index.nprobe, index.nlist), min(_WIDER * fetch, _MOST_FETCHED)

    def _take(
        self, candidates: Candidates, places: Rows, rows: Rows, inside: Columns, positions: Int[np.ndarray, "m f"]
    ) -> Int[np.ndarray, " m"]:
        """Candidates among the columns that the index names; returns how many keep all constraints but the caliper."""
        k = candidates.columns.shape[1]
        column = np.where(positions >= 0, positions, inside[0])
        pair = np.repeat(rows, positions.shape[1])
        exact = distances(self.sample.features, pair, column.ravel()).reshape(positions.shape)
        exact[positions < 0] = np.inf
        permitted = (positions >= 0) & allowed(self.sample, pair, column.ravel()).reshape(positions.shape)
        candidates.near[places] = column[np.arange(len(rows)), exact.argmin(axis=1)]
        candidates.remaining[places] = self._remaining(exact, positions >= 0, permitted, len(inside))
        exact[~permitted | (exact > self.caliper)] = np.inf
        order = np.argsort(exact, axis=1, kind="stable")[:, : k + 1]
        ordered = np.take_along_axis(exact, order, axis=1)
        candidates.bounds[places] = ordered[:, :k]
        candidates.columns[places] = np.where(
            np.isfinite(ordered[:, :k]), np.take_along_axis(column, order, axis=1)[:, :k], -1
        )
        candidates.reach[places] = ordered[:, k]
        return np.asarray(permitted.sum(axis=1))

    def _remaining(
        self,
        exact: Float[np.ndarray, "m k"],
        present: Bool[np.ndarray, "m k"],
        permitted: Bool[np.ndarray, "m k"],
        columns: int,
    ) -> Int[np.ndarray, "m c"]:
        """Columns left after each constraint, among those looked at; a second distance stands for identities too."""
        left = np.repeat(np.where(present.any(axis=1), columns, 0)[:, None], len(CONSTRAINTS), axis=1)
        first = CONSTRAINTS.index(SAME_IDENTITY if self.second is None else SECOND)
        left[:, first:] = permitted.sum(axis=1)[:, None]
        left[:, -1] = (permitted & (exact <= self.caliper)).sum(axis=1)
        return left


def _faiss() -> ModuleType:
    try:
        return importlib.import_module("faiss")
    except ImportError:
        raise MissingExtra("ann", "approximate search") from None
