"""Searching without looking at the answers: points at random, and points that fill the cube evenly."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from scipy.stats import qmc

from transect.designs.search.history import History, Suggestions, stream

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
