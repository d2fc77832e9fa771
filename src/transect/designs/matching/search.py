"""Blocks of distances as matrix products, with bounds on what rounding can have done to them.

The nearest allowed controls of many images, without ever holding an n x n matrix.

Blocks of squared distances are matrix products; what they name is measured again in float64, pair by pair, so that
the answer does not depend on blocks, threads or the products' precision. Constraints are applied inside the blocks.

Why has a treated image no partner? One reason each, so that pairs and refusals add up to the treated images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.designs.matching import sample as sampling
from transect.designs.matching.sample import Columns, Rows, Sample, in_blocks

_SAFETY: Final = 16.0
"""Standard errors of a rounded sum allowed for: roundings add up like a random walk (Higham and Mary 2019)."""


@final
class Space:
    """Features centred at their mean and scaled so that no norm exceeds 1, read block by block."""

    def __init__(self, features: Float[np.ndarray, "n d"], rows: Rows, double: bool) -> None:
        """rows: the images that will be asked for. double: multiply in float64 instead of float32."""
        self.features, self.double = features, double
        size = max(1, (1 << 23) // features.shape[1])
        parts = [rows[part] for part in in_blocks(len(rows), size)]
        self.center = sum(np.asarray(features[part], dtype=np.float64).sum(axis=0) for part in parts) / len(rows)
        norms = [np.linalg.norm(np.asarray(features[part], dtype=np.float64) - self.center, axis=1) for part in parts]
        self.scale = float(max(part.max() for part in norms)) or 1.0
        self.unit = float(np.finfo(np.float64 if double else np.float32).eps)
        self.margin = self.unit * (2 * _SAFETY * np.sqrt(features.shape[1]) + 8)

    def block(self, rows: Rows) -> Float[np.ndarray, "m d"]:
        """Centred and scaled features of some images."""
        kind = np.float64 if self.double else np.float32
        values: np.ndarray = np.array(self.features[rows], dtype=kind)
        values -= self.center.astype(kind)
        values *= values.dtype.type(1 / self.scale)
        return values

    def lower_bounds(
        self, rows: Float[np.ndarray, "m d"], columns: Float[np.ndarray, "b d"]
    ) -> Float[np.ndarray, "m b"]:
        """At most the distance of every row of `rows` to every row of `columns`, in the features' unit.

        The squared distance |x|² + |y|² - 2 x·y of vectors of norm 1 at most has lost at most `margin`; rounding on
        entry moved each vector by at most rows unit.
        """
        bounds: np.ndarray = rows @ columns.T
        bounds *= -2
        bounds += (columns * columns).sum(axis=1)[None, :]
        bounds += ((rows * rows).sum(axis=1) - bounds.dtype.type(self.margin))[:, None]
        np.sqrt(np.maximum(bounds, 0, out=bounds), out=bounds)
        bounds -= 4 * self.unit
        np.maximum(bounds, 0, out=bounds)
        bounds *= bounds.dtype.type(self.scale * (1 - 4 * self.unit))
        return bounds


CONSTRAINTS: Final = (
    sampling.NO_STRATUM,
    sampling.SAME_IDENTITY,
    sampling.DOSE,
    sampling.SECOND,
    sampling.CALIPER,
)
"""The order in which constraints are asked; a refusal names the first that leaves no control."""

Prices: TypeAlias = Float[np.ndarray, " n"] | None
"""What a column costs beside its distance."""
LIST_LENGTH: Final = 64
"""Candidates that a search keeps for each row."""

_DOUBLE_OPERATIONS = 2e11  # up to this many, blocks are multiplied in float64
_BLOCK_ELEMENTS = 1 << 25  # of features at a time: 128 MB in float32
_BLOCK_ROWS, _BLOCK_COLUMNS = 2048, 2048


@final
@dataclass(frozen=True, slots=True)
class Candidates:
    """The nearest columns of each of m rows by a lower bound of the distance (plus the column's price, if any), lowest
    first; -1 and inf where there are fewer. Every allowed column is listed or its bound is at least `reach` (inf: all
    are listed); what is listed may still break a constraint by a hair, which `measure` finds. remaining: columns left
    after each of CONSTRAINTS. near: the nearest column of the stratum (of a dose: of those lower by the gap) whatever
    the other constraints.
    """

    columns: Int[np.ndarray, "m k"]
    bounds: Float[np.ndarray, "m k"]
    reach: Float[np.ndarray, " m"]
    remaining: Int[np.ndarray, "m c"]
    near: Int[np.ndarray, " m"]

    @classmethod
    def none(cls, m: int, k: int) -> Candidates:
        """No candidate for any of m rows."""
        return cls(
            np.full((m, k), -1),
            np.full((m, k), np.inf),
            np.full(m, np.inf),
            np.zeros((m, len(CONSTRAINTS)), dtype=np.int64),
            np.full(m, -1),
        )


def distances(features: Float[np.ndarray, "n d"], rows: Rows, columns: Rows) -> Float[np.ndarray, " m"]:
    """Euclidean distance of each pair (rows[i], columns[i]), in float64, the same whatever else is asked.

    >>> distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0]), np.array([1]))
    array([5.])
    """
    lengths = np.empty(len(rows))
    for part in in_blocks(len(rows), max(1, (1 << 22) // features.shape[1])):
        difference = np.asarray(features[rows[part]], dtype=np.float64)
        difference -= features[columns[part]]
        difference *= difference
        lengths[part] = np.sqrt(difference.sum(axis=1))
    return lengths


def allowed(sample: Sample, rows: Rows, columns: Rows) -> Bool[np.ndarray, " m"]:
    """Which pairs (rows[i], columns[i]) keep every constraint but the caliper, decided in float64.

    >>> two = sampling.make_sample(np.array([[0.0], [1.0], [2.0]]), [1.0, 0.0, 0.0], exact=[["x", "y", "x"]])
    >>> allowed(two, np.array([0, 0]), np.array([1, 2]))
    array([False,  True])
    """
    permitted = (sample.exact[rows] == sample.exact[columns]) & (sample.identity[rows] != sample.identity[columns])
    if sample.dose_gap:
        permitted &= sample.treatment[rows] - sample.treatment[columns] >= sample.dose_gap
    if sample.second is not None:
        permitted[permitted] = distances(sample.second, rows[permitted], columns[permitted]) < sample.second_threshold
    return np.asarray(permitted)


class Search:
    """Finds nearest allowed columns of a sample."""

    def __init__(self, sample: Sample, *, caliper: float = np.inf, double: bool | None = None) -> None:
        """caliper: the largest allowed distance. double: multiply in float64; by default where that takes seconds."""
        self.sample, self.caliper, self.list_length = sample, caliper, LIST_LENGTH
        usable = np.flatnonzero(sample.eligible)
        width = sample.features.shape[1]
        operations = float(len(sample.rows)) * len(sample.columns) * width
        self.space = Space(sample.features, usable, operations <= _DOUBLE_OPERATIONS if double is None else double)
        self.second = None if sample.second is None else Space(sample.second, usable, True)
        people = sample.identity[usable]
        self.people_recur = len(np.unique(people)) < len(people)
        self.block_rows = max(1, min(_BLOCK_ROWS, _BLOCK_ELEMENTS // width))
        self.block_columns = max(1, min(_BLOCK_COLUMNS, _BLOCK_ELEMENTS // width))

    def measure(self, rows: Rows, columns: Rows) -> Float[np.ndarray, " m"]:
        """Distance of each pair (rows[i], columns[i]), inf where it breaks a constraint or the caliper."""
        lengths = np.full(len(rows), np.inf)
        permitted = np.flatnonzero(allowed(self.sample, rows, columns))
        lengths[permitted] = distances(self.sample.features, rows[permitted], columns[permitted])
        lengths[lengths > self.caliper] = np.inf
        return lengths

    def every(self, row: int, columns: Columns) -> tuple[Int[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Every allowed column of one row in the order of distance, ties by position; and the distances."""
        lengths = self.measure(np.full(len(columns), row), columns)
        order = np.lexsort((columns, lengths))[: int(np.isfinite(lengths).sum())]
        return columns[order], lengths[order]

    def nearest(self, rows: Rows, columns: Columns, k: int, prices: Prices = None) -> Candidates:
        """The k nearest allowed columns of eligible rows; prices: what a column costs beside its distance."""
        candidates = Candidates.none(len(rows), k)
        strata = self.sample.exact[columns]
        order = np.argsort(strata, kind="stable")
        for stratum in np.unique(self.sample.exact[rows]):
            first, last = np.searchsorted(strata[order], [stratum, stratum + 1])
            inside = columns[np.sort(order[first:last])]
            if len(inside):
                members = np.flatnonzero(self.sample.exact[rows] == stratum)
                self._search_stratum(candidates, members, rows[members], inside, prices)
        return candidates

    def _search_stratum(
        self, candidates: Candidates, places: Rows, rows: Rows, inside: Columns, prices: Prices
    ) -> None:
        """Candidates of the rows of one stratum among its columns, written to their places."""
        k = candidates.columns.shape[1]
        for part in in_blocks(len(rows), self.block_rows):
            some = places[part]
            bounds, positions, candidates.remaining[some], near = self._lowest(rows[part], inside, k + 1, prices)
            candidates.near[some] = np.where(near >= 0, inside[near], -1)
            candidates.reach[some] = bounds[:, k]
            candidates.bounds[some] = bounds[:, :k]
            candidates.columns[some] = np.where(np.isfinite(bounds[:, :k]), inside[positions[:, :k]], -1)

    def _lowest(
        self, rows: Rows, inside: Columns, k: int, prices: Prices
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The k lowest bounds of each row with their positions, the counts by constraint, and the nearest of all."""
        best, position = np.full((len(rows), k), np.inf), np.zeros((len(rows), k), dtype=np.int64)
        near, nearest = np.full(len(rows), -1), np.full(len(rows), np.inf)
        remaining = np.zeros((len(rows), len(CONSTRAINTS)), dtype=np.int64)
        block = self.space.block(rows)
        for part in in_blocks(len(inside), self.block_columns):
            bounds = self.space.lower_bounds(block, self.space.block(inside[part]))
            others = bounds  # with a dose those that are lower by the gap
            if self.sample.dose_gap:
                others = np.where(self._too_close_in_dose(rows, inside[part]), np.inf, bounds)
            where = others.argmin(axis=1)
            lowest = others[np.arange(len(rows)), where]
            near = np.where(lowest < nearest, where + part.start, near)
            nearest = np.minimum(lowest, nearest)
            remaining += self._forbid(bounds, rows, inside[part])
            if prices is not None:
                bounds = bounds + prices[inside[part]]
            few = _lowest_in(bounds, k)
            values = np.concatenate([best, np.take_along_axis(bounds, few, axis=1)], axis=1)
            places = np.concatenate([position, few + part.start], axis=1)
            chosen = np.argsort(values, axis=1, kind="stable")[:, :k]
            best, position = np.take_along_axis(values, chosen, axis=1), np.take_along_axis(places, chosen, axis=1)
        return best, position, remaining, near

    def _too_close_in_dose(self, rows: Rows, columns: Columns) -> Bool[np.ndarray, "m b"]:
        dose = self.sample.treatment
        return np.asarray(dose[rows][:, None] - dose[columns] < self.sample.dose_gap)

    def _forbid(self, bounds: Float[np.ndarray, "m b"], rows: Rows, columns: Columns) -> Int[np.ndarray, "m c"]:
        """Sets what breaks a constraint to inf; counts what is left after each of CONSTRAINTS."""
        sample, left = self.sample, np.full((len(rows), len(CONSTRAINTS)), len(columns))
        masks: dict[str, np.ndarray] = {}
        if self.people_recur or np.isin(rows, columns).any():
            masks[sampling.SAME_IDENTITY] = sample.identity[rows][:, None] == sample.identity[columns]
        if sample.dose_gap:
            masks[sampling.DOSE] = self._too_close_in_dose(rows, columns)
        if self.second is not None:
            far = self.second.lower_bounds(self.second.block(rows), self.second.block(columns))
            masks[sampling.SECOND] = far >= sample.second_threshold
        if self.caliper < np.inf:
            masks[sampling.CALIPER] = bounds > self.caliper
        for index, name in enumerate(CONSTRAINTS):
            if name in masks:
                bounds[masks[name]] = np.inf
                left[:, index:] = np.isfinite(bounds).sum(axis=1)[:, None]
        return left


def _lowest_in(bounds: Float[np.ndarray, "m b"], k: int) -> Int[np.ndarray, "m j"]:
    """Positions of the k lowest of each row in any order, or of all where there are no more."""
    if bounds.shape[1] <= k:
        return np.broadcast_to(np.arange(bounds.shape[1]), bounds.shape)
    return np.argpartition(bounds, k - 1, axis=1)[:, :k]


def explain(
    sample: Sample, search: Search, first: Candidates, a: Rows, b: Rows
) -> tuple[dict[int, str], dict[int, tuple[int, float]], float]:
    """Reasons by treated image, its nearest control of the stratum, and the least caliper that would not refuse all.
    first: the candidates of `sample.rows` among all columns. The reason is the first of CONSTRAINTS that leaves no
    control; where some are left, the identity is in another pair, or every such control is.
    """
    refused = ineligible_treated(sample)
    used = set(sample.identity[np.concatenate([a, b])].tolist())
    without = np.flatnonzero(~np.isin(sample.rows, np.concatenate([a, b])))
    rows, near = sample.rows[without], first.near[without]
    for row, remaining in zip(rows.tolist(), first.remaining[without], strict=True):
        refused[row] = _reason(remaining, sample.identity[row] in used)
    some = near >= 0
    apart = distances(sample.features, rows[some], near[some])
    nearest = zip(rows[some].tolist(), near[some].tolist(), apart.tolist(), strict=True)
    least = _least(sample, search, first) if not len(a) else float("nan")
    return refused, {row: (column, distance) for row, column, distance in nearest}, least


def _reason(remaining: Int[np.ndarray, " c"], used: bool) -> str:
    empty = np.flatnonzero(remaining == 0)
    if len(empty):
        return CONSTRAINTS[empty[0]]
    return sampling.IDENTITY_USED if used else sampling.TAKEN


def ineligible_treated(sample: Sample) -> dict[int, str]:
    """Reasons of treated images that cannot enter any pair; with a dose, of all such images."""
    either = sample.dose_gap > 0
    return {row: why for row, why in sample.ineligible.items() if either or sample.treatment[row] == 1}


def _least(sample: Sample, search: Search, first: Candidates) -> float:
    """The smallest distance of an allowed pair, caliper aside; inf without one."""
    wide = Search(sample)
    if search.caliper < np.inf:
        first = wide.nearest(sample.rows, sample.columns, 1)
    listed = np.flatnonzero(first.columns[:, 0] >= 0)
    lowest = listed[np.argsort(first.bounds[listed, 0])][:1000]
    return float(wide.measure(sample.rows[lowest], first.columns[lowest, 0]).min(initial=np.inf))
