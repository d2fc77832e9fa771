"""Counts every comparison of a group's images in blocks: genuine ones by identity, impostors by both identities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput

Metric = Literal["euclidean", "cosine"]
_BLOCK = 512
TIE = 1e-9
"""Distances that differ by less, relative to a threshold, are equal to it: blocks of other sizes round otherwise."""


@final
@dataclass(frozen=True, slots=True)
class Comparisons:
    """Genuine: per identity (g of them) the sum of distances, the number and the matches at each of t thresholds.

    impostor, impostor_matches: comparisons with others, by identity, each counted for both sides. squares: over pairs
    of identities, Σ matches², Σ matches x comparisons and Σ comparisons², which dyadic variances need. genuine_curve,
    impostor_curve: numbers of comparisons below each of the curve's distances.
    """

    genuine_sum: Float[np.ndarray, " g"]
    genuine: Float[np.ndarray, " g"]
    genuine_matches: Float[np.ndarray, "g t"]
    impostor: Float[np.ndarray, " g"]
    impostor_matches: Float[np.ndarray, "g t"]
    squares: Float[np.ndarray, "3 t"]
    curve: Float[np.ndarray, " p"]
    genuine_curve: Float[np.ndarray, " p"]
    impostor_curve: Float[np.ndarray, " p"]


def compare(
    embeddings: Float[np.ndarray, "n d"],
    people: Int[np.ndarray, " n"],
    thresholds: Float[np.ndarray, " t"],
    points: int,
    metric: Metric = "euclidean",
) -> Comparisons:
    """All comparisons of n images, each once (for impostors: once for each side's identity)."""
    order = np.argsort(people, kind="stable")
    x = np.asarray(embeddings[order], dtype=np.float64)
    x = placed(x, metric)
    _, starts, person, size = np.unique(people[order], return_index=True, return_inverse=True, return_counts=True)
    g, t = len(size), len(thresholds)
    comparisons = Comparisons(
        genuine_sum=np.zeros(g),
        genuine=np.zeros(g),
        genuine_matches=np.zeros((g, t)),
        impostor=np.zeros(g),
        impostor_matches=np.zeros((g, t)),
        squares=np.zeros((3, t)),
        curve=np.linspace(0.0, _farthest(x, metric), points) if points else np.zeros(0),
        genuine_curve=np.zeros(points),
        impostor_curve=np.zeros(points),
    )
    for first, last in _whole_identities(size):
        rows = np.arange(starts[first], starts[last - 1] + size[last - 1])
        _count(comparisons, x, rows, person, starts, thresholds, metric)
    return comparisons


def placed(x: Float[np.ndarray, "n d"], metric: Metric) -> Float[np.ndarray, "n d"]:
    """Embeddings where they are measured: directions for cosine, else about their mean, whose size costs digits."""
    return directions_of(x) if metric == "cosine" else x - x.mean(axis=0) if len(x) else x


def directions_of(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Rows of length 1. Raises BadInput for a row of zeros, which has no direction."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    if (norms == 0).any():
        raise BadInput(f"cosine distance: expected embeddings of some length, got {(norms == 0).sum()} of zeros alone")
    return np.asarray(x / norms)


def distances_between(
    x: Float[np.ndarray, "m d"], y: Float[np.ndarray, "n d"], metric: Metric
) -> Float[np.ndarray, "m n"]:
    """Euclidean distances; of rows of length 1 also 1 - cosine, which is half the squared distance."""
    sizes = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)[None, :]
    squares = sizes - 2 * (x @ y.T)
    # The sum of three rounds by so much: without it a threshold of 0 would stand apart from equal embeddings.
    rounding = (16 + x.shape[1]) * np.finfo(np.float64).eps
    squares = np.where(squares <= rounding * sizes, 0.0, squares)
    return np.asarray(squares / 2 if metric == "cosine" else np.sqrt(squares))


def _count(
    comparisons: Comparisons,
    x: Float[np.ndarray, "n d"],
    rows: Int[np.ndarray, " m"],
    person: Int[np.ndarray, " n"],
    starts: Int[np.ndarray, " g"],
    thresholds: Float[np.ndarray, " t"],
    metric: Metric,
) -> None:
    """Adds the comparisons of some images, whole identities, with all."""
    distance = distances_between(x[rows], x, metric)
    same = person[rows][:, None] == person[None, :]
    later = rows[:, None] < np.arange(len(x))[None, :]
    genuine = same & later
    inside, first = person[rows], int(person[rows[0]])
    inner_starts = starts[first : int(inside[-1]) + 1] - rows[0]
    if len(comparisons.curve):
        comparisons.genuine_curve[:] += _below(distance[genuine], comparisons.curve)
        comparisons.impostor_curve[:] += _below(distance[~same & later], comparisons.curve)
    comparisons.genuine_sum[first : first + len(inner_starts)] += np.add.reduceat(
        (distance * genuine).sum(axis=1), inner_starts
    )
    comparisons.genuine[first : first + len(inner_starts)] += np.add.reduceat(genuine.sum(axis=1), inner_starts)
    size = np.diff(starts, append=len(x))
    block = slice(first, first + len(inner_starts))
    own = np.arange(len(inner_starts)), first + np.arange(len(inner_starts))
    compared = np.outer(size[block], size).astype(np.float64)
    compared[own] = 0.0
    comparisons.impostor[block] += compared.sum(axis=1)
    # Few are near: their places are counted, not all comparisons.
    near = np.flatnonzero(distance < thresholds.max(initial=0.0) * (1 - TIE))
    row, column = np.divmod(near, len(x))
    near_distance, places = distance.ravel()[near], (inside[row] - first) * len(size) + person[column]
    with_itself = rows[row] == column
    for index, threshold in enumerate(thresholds):
        is_near = near_distance < threshold * (1 - TIE)
        matches = np.bincount(places[is_near], minlength=compared.size).reshape(compared.shape).astype(np.float64)
        # Of one identity each comparison is met from both sides, and each image with itself.
        itself = np.bincount(inside[row[is_near & with_itself]] - first, minlength=len(inner_starts))
        comparisons.genuine_matches[block, index] += (matches[own] - itself) / 2
        matches[own] = 0.0
        comparisons.impostor_matches[block, index] += matches.sum(axis=1)
        # Every pair of identities is met from both sides.
        comparisons.squares[:, index] += [
            (matches**2).sum() / 2,
            (matches * compared).sum() / 2,
            (compared**2).sum() / 2,
        ]


def _below(distances: Float[np.ndarray, " c"], curve: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """How many distances lie below each point."""
    return np.searchsorted(np.sort(distances), curve, side="left").astype(np.float64)


def _farthest(x: Float[np.ndarray, "n d"], metric: Metric) -> float:
    """The largest distance of any two images, block by block."""
    blocks = (x[start : start + _BLOCK] for start in range(0, len(x), _BLOCK))
    return max((float(distances_between(block, x, metric).max()) for block in blocks), default=0.0)


def _whole_identities(size: Int[np.ndarray, " g"]) -> Iterator[tuple[int, int]]:
    """Runs of identities, first to last + 1, of about a block's images."""
    first, images = 0, 0
    for i, n in enumerate(size.tolist()):
        images += n
        if images >= _BLOCK or i == len(size) - 1:
            yield first, i + 1
            first, images = i + 1, 0
