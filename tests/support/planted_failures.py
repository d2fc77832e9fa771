"""Targets that fail in planted regions of the unit cube, and a search of them: what does it find?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.designs.search import History, Strategy

SHAPES: Final = ("one box", "two boxes", "ridge", "interaction", "one box, 5 % label noise")
NOISE: Final = 0.05
RIDGE: Final = 0.1
"""Half-width of the ridge."""


@final
@dataclass(frozen=True, slots=True)
class Region:
    """Points x of the cube with low <= weights x <= high: boxes, corners and ridges."""

    weights: Float[np.ndarray, "k d"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]

    def holds(self, points: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
        """Which points lie in it."""
        along = points @ self.weights.T
        return np.asarray(((along >= self.low) & (along <= self.high)).all(axis=1))


@final
@dataclass(frozen=True, slots=True)
class FailingTarget:
    """Fails in `regions`, and answers a share `noise` of all points the wrong way round; a point's answer is its own.

    rate: volume of the regions together, which do not overlap.
    """

    shape: str
    dimensions: int
    rate: float
    regions: tuple[Region, ...]
    noise: float
    seed: int

    def fails(self, points: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
        """Which points fail, without noise."""
        return np.asarray(np.any([region.holds(points) for region in self.regions], axis=0))

    def __call__(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The labels of points: 1 for a failure, 0 for none; with noise."""
        truly = self.fails(points)
        if not self.noise:
            return truly.astype(np.float64)
        turned = np.array([self._chance(point) < self.noise for point in points], dtype=np.bool_)
        return np.asarray(truly != turned).astype(np.float64)

    def _chance(self, point: Float[np.ndarray, " d"]) -> float:
        digest = hashlib.sha256(self.seed.to_bytes(8, "big") + np.ascontiguousarray(point).tobytes()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64


def failing_target(shape: str, dimensions: int, rate: float, seed: int) -> FailingTarget:
    """A target of that shape; which attributes matter, and where, are drawn from the seed.

    One box: an interval of each of three attributes. Two boxes: of two attributes each, one shared, half the rate
    each. Ridge: two attributes within 0.1 of each other, and intervals of two more. Interaction: two attributes both
    high or both low, half the rate each. Of at least 4 dimensions and a rate of at most .15.

    >>> target = failing_target("one box", 4, 0.03, seed=1)
    >>> points = np.random.default_rng(0).random((20000, 4))
    >>> abs(float(target(points).mean()) - 0.03) < 0.005
    True
    """
    random = np.random.default_rng([seed, dimensions, SHAPES.index(shape)])
    axes = np.eye(dimensions)[random.permutation(dimensions)]
    make = {"two boxes": _two_boxes, "ridge": _ridge, "interaction": _interaction}.get(shape, _one_box)
    noise = NOISE if shape.endswith("noise") else 0.0
    return FailingTarget(shape, dimensions, rate, make(axes, rate, random), noise, seed)


def _interval(side: float, random: np.random.Generator, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    start = low + (high - low - side) * random.random()
    return start, start + side


def _region(axes: Float[np.ndarray, "k d"], *spans: tuple[float, float]) -> Region:
    ends = np.array(spans)
    return Region(axes, ends[:, 0], ends[:, 1])


def _one_box(axes: Float[np.ndarray, "d d"], rate: float, random: np.random.Generator) -> tuple[Region, ...]:
    side = rate ** (1 / 3)
    return (_region(axes[:3], *(_interval(side, random) for _ in range(3))),)


def _two_boxes(axes: Float[np.ndarray, "d d"], rate: float, random: np.random.Generator) -> tuple[Region, ...]:
    side = (rate / 2) ** 0.5
    first = _region(axes[[0, 1]], _interval(side, random, 0.0, 0.5), _interval(side, random))
    second = _region(axes[[0, 2]], _interval(side, random, 0.5, 1.0), _interval(side, random))
    return first, second


def _ridge(axes: Float[np.ndarray, "d d"], rate: float, random: np.random.Generator) -> tuple[Region, ...]:
    side = (rate / (2 * RIDGE - RIDGE**2)) ** 0.5  # |u - v| <= h has probability 2 h - h²
    between = np.stack([axes[0] - axes[1], axes[2], axes[3]])
    return (_region(between, (-RIDGE, RIDGE), _interval(side, random), _interval(side, random)),)


def _interaction(axes: Float[np.ndarray, "d d"], rate: float, random: np.random.Generator) -> tuple[Region, ...]:
    side = (rate / 2) ** 0.5
    return _region(axes[:2], (1 - side, 1.0), (1 - side, 1.0)), _region(axes[:2], (0.0, side), (0.0, side))


def conduct(
    strategy: Strategy,
    history: History,
    ask: Callable[[np.ndarray], np.ndarray],
    *,
    budget: int,
    batch: int = 1,
) -> History:
    """Search until `budget` points have been queried, in batches."""
    while len(history) < budget:
        suggestions = strategy.suggest(history, min(batch, budget - len(history)))
        history = history.with_answers(suggestions, ask(suggestions.points))
    return history
