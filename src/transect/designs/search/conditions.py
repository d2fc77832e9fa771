"""Searching over conditions: each a combination of levels, each call a fresh picture of one of them.

McDuff et al. 2019 search this way: θ is a one-hot vector of race and gender. `encoded` makes such vectors of points of
the cube; their method takes them (`Interrogation(steps=…)`). `Thompson` is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.search.history import History, Suggestions, stream
from transect.errors import BadInput

Steps: TypeAlias = Sequence[Sequence[float]]
"""For each coordinate of the cube the ranks between its levels; nothing for one without levels."""


def level_codes(points: Float[np.ndarray, "n d"], steps: Steps) -> Int[np.ndarray, "n k"]:
    """The level of each coordinate that has levels; a point on an edge has the lower one, as in `Rule.holds`."""
    columns = [np.searchsorted(edges, points[:, j], side="left") for j, edges in enumerate(steps) if len(edges)]
    return np.array(columns, dtype=np.int64).reshape(len(columns), len(points)).T


def sizes(steps: Steps) -> tuple[int, ...]:
    """How many levels each coordinate that has levels has."""
    return tuple(len(edges) + 1 for edges in steps if len(edges))


def condition_of(points: Float[np.ndarray, "n d"], steps: Steps) -> Int[np.ndarray, " n"]:
    """The number of each point's combination of levels, the last coordinate's running fastest; 0 without levels."""
    shape = sizes(steps)
    if not shape:
        return np.zeros(len(points), dtype=np.int64)
    return np.asarray(np.ravel_multi_index(tuple(level_codes(points, steps).T), shape), dtype=np.int64)


def encoded(points: Float[np.ndarray, "n d"], steps: Steps) -> Float[np.ndarray, "n e"]:
    """A one-hot vector of the combination of levels, then the other coordinates as they are.

    Two conditions are the square root of two apart, whichever they are. Without levels the points come back.
    """
    if not sizes(steps):
        return points
    hot = np.eye(int(np.prod(sizes(steps))))[condition_of(points, steps)]
    return np.column_stack([hot, points[:, [j for j, edges in enumerate(steps) if not len(edges)]]])


def cells(points: Float[np.ndarray, "n d"], steps: Steps) -> Float[np.ndarray, "n d"]:
    """The points with every coordinate that has levels in the middle of its level."""
    centered = points.copy()
    for j, edges in enumerate(steps):
        if len(edges):
            centered[:, j] = _middles(edges)[np.searchsorted(edges, points[:, j], side="left")]
    return centered


def _middles(edges: Sequence[float]) -> Float[np.ndarray, " k"]:
    ends = np.array([0.0, *edges, 1.0])
    return np.asarray((ends[1:] + ends[:-1]) / 2)


@final
@dataclass(frozen=True, slots=True)
class Thompson:
    """Asks for the condition whose rate, drawn from what is known, is highest (Thompson 1933, doi:10.2307/2332286).

    Each condition's rate of failure is Beta(½, ½) before anything is known. steps: the levels of each coordinate, all
    of which have some. most: the share of calls that are drawn so; the others go round all conditions, in a new
    random order each time, and estimate how often the target fails. Raises BadInput for a coordinate without levels or
    a share outside [0, 1].
    """

    steps: tuple[tuple[float, ...], ...]
    seed: int = 0
    most: float = 0.5
    name: str = "Thompson sampling of conditions"

    def __post_init__(self) -> None:
        if not self.steps or not all(self.steps):
            raise BadInput("expected levels of every attribute, to search over conditions; give --vary NAME=A,B")
        if not 0 <= self.most <= 1:
            raise BadInput(f"expected a share from 0 to 1, got {self.most:g}")

    @property
    def count(self) -> int:
        """How many conditions there are."""
        return int(np.prod(sizes(self.steps)))

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next n points, each the middle of a condition; a call depends on the answers to earlier batches."""
        start = len(history)
        turns = np.floor(np.arange(start, start + n + 1) * (1 - self.most))
        even = (turns[1:] > turns[:-1]).tolist()
        failed, passed = self._counts(history)
        done, chosen = int(history.explored.sum()), []
        for number, is_even in enumerate(even, start):
            if is_even:
                chosen.append(self._in_turn(done))
                done += 1
            else:
                drawn = stream(self.seed, 8, number).beta(failed + 0.5, passed + 0.5)
                chosen.append(int(drawn.argmax()))
        return Suggestions(self._middle(np.array(chosen, dtype=np.int64)), np.array(even, dtype=np.bool_))

    def _counts(self, history: History) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " k"]]:
        answered = np.isfinite(history.failures)
        which = condition_of(history.points, self.steps)
        failed = np.bincount(which[answered & history.failed], minlength=self.count)
        return failed, np.bincount(which[answered & ~history.failed], minlength=self.count)

    def _in_turn(self, number: int) -> int:
        turn, place = divmod(number, self.count)
        return int(stream(self.seed, 7, turn).permutation(self.count)[place])

    def _middle(self, chosen: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n d"]:
        codes = np.unravel_index(chosen, sizes(self.steps))
        return np.column_stack([_middles(edges)[code] for edges, code in zip(self.steps, codes, strict=True)])
