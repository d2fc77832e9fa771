"""The history of a search: points of the unit cube, and the answers yes (a failure) or no.

A strategy is a pure function of this history and of its seed. A search that was interrupted resumes from its
answers; nothing else is stored.

Searching without looking at the answers: points at random, and points that fill the cube evenly.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import qmc

from transect.errors import BadInput

APART: Final = 0.1
"""Failures nearer to each other than this share of the cube's diagonal count as one."""


@final
@dataclass(frozen=True, slots=True)
class History:
    """Queries: points [n, d] in [0, 1], failures [n] (NaN: no answer); explored: chosen regardless of answers."""

    points: Float[np.ndarray, "n d"]
    failures: Float[np.ndarray, " n"]
    explored: Bool[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def empty(cls, dimensions: int) -> History:
        """No query yet. Raises BadInput for a cube without dimensions."""
        if dimensions < 1:
            raise BadInput(f"a search needs at least one attribute that varies, got {dimensions}; add one")
        return cls(np.empty((0, dimensions)), np.empty(0), np.empty(0, dtype=np.bool_))

    @property
    def dimensions(self) -> int:
        """Dimensions of the cube."""
        return int(self.points.shape[1])

    @property
    def failed(self) -> Bool[np.ndarray, " n"]:
        """Which calls found a failure."""
        return np.asarray(self.failures == 1)

    @property
    def found(self) -> Float[np.ndarray, "f d"]:
        """The points of the failures, in the order of asking."""
        return np.asarray(self.points[self.failed])

    def with_answers(self, suggestions: Suggestions, failures: Float[np.ndarray, " m"]) -> History:
        """The history with the answers to the suggestions. Raises BadInput unless there is one answer each.

        >>> suggestions = Suggestions(np.array([[0.5]]), np.array([True]))
        >>> History.empty(1).with_answers(suggestions, np.array([1.0])).found
        array([[0.5]])
        """
        if len(failures) != len(suggestions):
            raise BadInput(f"expected one answer for each of {len(suggestions)} points, got {len(failures)}")
        return History(
            np.concatenate([self.points, suggestions.points]),
            np.concatenate([self.failures, np.asarray(failures, dtype=np.float64)]),
            np.concatenate([self.explored, suggestions.explored]),
        )


@final
@dataclass(frozen=True, slots=True)
class Suggestions:
    """What to ask next: points float64 [m, d] in [0, 1]; explored boolean [m], as in History."""

    points: Float[np.ndarray, "m d"]
    explored: Bool[np.ndarray, " m"]

    def __len__(self) -> int:
        return len(self.points)


@runtime_checkable
class Strategy(Protocol):
    """Chooses the next queries from the history; the same history gives the same suggestions."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next n points to ask about."""


@runtime_checkable
class Explorer(Strategy, Protocol):
    """A strategy whose exploration is a known share of its calls: it can search before rules are confirmed."""

    @property
    def most(self) -> float:
        """The largest share of the calls that depend on earlier answers."""


def diagonal(dimensions: int) -> float:
    """Length of the unit cube's diagonal."""
    return float(np.sqrt(dimensions))


def distances(points: Float[np.ndarray, "n d"], others: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Euclidean distances of all pairs."""
    squares = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * points @ others.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def apart(points: Float[np.ndarray, "n d"], share: float = APART) -> Int[np.ndarray, " k"]:
    """Rows in order that are at least `share` of the diagonal from every row chosen before them."""
    chosen: list[int] = []
    least = share * diagonal(points.shape[1]) - 1e-12
    for row in range(len(points)):
        if not chosen or float(np.linalg.norm(points[chosen] - points[row], axis=1).min()) >= least:
            chosen.append(row)
    return np.array(chosen, dtype=np.int64)


def stream(seed: int, *key: int) -> np.random.Generator:
    """Random numbers of one step of a search: of its seed and of the step, whatever came before."""
    return np.random.default_rng([seed, *key])


def as_points(rows: Sequence[Float[np.ndarray, " d"]], dimensions: int) -> Float[np.ndarray, "m d"]:
    """Rows as one array, also where there are none."""
    return np.array(rows, dtype=np.float64).reshape(len(rows), dimensions)


_BLOCK = 512


@final
@dataclass(frozen=True, slots=True)
class Random:
    """Points uniform in the cube, each drawn from its number. most: the share of calls that are follow-ups, none."""

    seed: int = 0
    name: str = "random points"
    most: float = 0.0

    def suggest(self, history: History, n: int) -> Suggestions:
        """Points number len(history) to len(history) + n - 1."""
        numbers = range(len(history), len(history) + n)
        rows = [stream(self.seed, 0, number).random(history.dimensions) for number in numbers]
        return Suggestions(np.array(rows).reshape(n, history.dimensions), np.ones(n, dtype=np.bool_))


@final
@dataclass(frozen=True, slots=True)
class Sobol:
    """Scrambled Sobol points: Sobol 1967; scrambling after Owen 1998, doi:10.1006/jcom.1998.0487. most: as of `Random`.

    >>> Sobol(seed=1).suggest(History.empty(2), 4).points.shape
    (4, 2)
    """

    seed: int = 0
    name: str = "Sobol points"
    most: float = 0.0

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next points of the sequence: it starts after those that the history has explored."""
        start = int(history.explored.sum())
        points = sobol_points(history.dimensions, self.seed, start, start + n)
        return Suggestions(points, np.ones(n, dtype=np.bool_))


def sobol_points(dimensions: int, seed: int, start: int, stop: int) -> Float[np.ndarray, "n d"]:
    """Points start to stop - 1 of the scrambled sequence of that seed, in [0, 1)."""
    length = _BLOCK
    while length < stop:
        length *= 2
    return _sequence(dimensions, seed, length)[start:stop].copy()


@functools.lru_cache(maxsize=8)
def _sequence(dimensions: int, seed: int, length: int) -> Float[np.ndarray, "n d"]:
    # A longer block begins with the shorter one: the scrambling depends on the seed alone.
    return np.asarray(qmc.Sobol(dimensions, scramble=True, rng=stream(seed, 1)).random(length))
