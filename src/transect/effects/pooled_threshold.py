"""At which distance does a stated share of the comparisons of different people match, over all groups together?

A service sets one threshold for everyone, so that groups are compared at one: it is found among impostor comparisons
within groups, all groups pooled, as `recognition` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.designs.matching.sample import codes
from transect.effects.comparisons import TIE, Metric, distances_between, placed
from transect.effects.recognition import comparable
from transect.errors import BadInput

_BLOCK = 512


def pooled_thresholds(
    embeddings: Float[np.ndarray, "n d"],
    identity: ArrayLike,
    group: ArrayLike,
    rates: Sequence[float],
    metric: Metric = "euclidean",
) -> tuple[list[float], list[float], int]:
    """For each rate R the largest distance below which at most a share R of all impostor comparisons lie.

    The share below it is R up to one comparison, and less where distances tie (0 where all do), as `compare` counts.
    Images without an embedding, identity or group are left out.

    Returns the distances, the shares that lie below them, and how many comparisons there are.

    Raises BadInput for a rate outside 0 to 1, or too low for the number of comparisons (fewer than 1 / R).

    >>> x = np.array([[0.0], [1.0], [3.0], [7.0]])  # distances 1 3 7 2 6 4, sorted 1 2 3 4 6 7
    >>> pooled_thresholds(x, list("abcd"), ["g"] * 4, [0.2, 0.5])  # one of six is below 2, three are below 4
    ([2.0, 4.0], [0.16666666666666666, 0.5], 6)
    """
    for rate in rates:
        if not 0 < rate < 1:
            raise BadInput(f"--false-match-rate: expected a share between 0 and 1, got {rate:g}")
    usable = comparable(embeddings, identity, group, metric)
    x = np.asarray(embeddings[usable], dtype=np.float64)
    x = placed(x, metric)
    people, groups = (codes([column], len(embeddings))[usable] for column in (identity, group))
    n = _impostors(people, groups)
    allowed = [int(np.floor(rate * n + 1e-9)) for rate in rates]
    if rates and min(allowed) < 1:
        least = min(rates)
        needed = int(np.ceil(round(1 / least, 9)))
        raise BadInput(
            f"--false-match-rate {least:g} needs at least {needed:,} comparisons of different people "
            f"within groups, got {n:,}: give a higher rate, or state a --threshold"
        )
    near = _smallest(x, people, groups, max(allowed, default=0) + 1, metric)
    thresholds = [float(near[min(k, n - 1)]) for k in allowed]
    return thresholds, [int(np.searchsorted(near, threshold * (1 - TIE))) / n for threshold in thresholds], n


def _impostors(people: Int[np.ndarray, " m"], groups: Int[np.ndarray, " m"]) -> int:
    """Comparisons of two images of a group that are of two people."""

    def pairs(*columns: Int[np.ndarray, " m"]) -> int:
        sizes = np.bincount(codes(columns, len(people)))
        return int((sizes * (sizes - 1) // 2).sum())

    return pairs(groups) - pairs(groups, people) if len(people) else 0


def _smallest(
    x: Float[np.ndarray, "m d"], people: Int[np.ndarray, " m"], groups: Int[np.ndarray, " m"], k: int, metric: Metric
) -> Float[np.ndarray, " _"]:
    """The k smallest impostor distances, sorted; block by block, so that k of them are held and no matrix."""
    smallest = np.zeros(0)
    for start in range(0, len(x), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(x)))
        later = np.arange(start, len(x))
        counted = (groups[rows][:, None] == groups[later][None, :]) & (people[rows][:, None] != people[later][None, :])
        counted &= rows[:, None] < later[None, :]
        smallest = np.concatenate([smallest, distances_between(x[rows], x[later], metric)[counted]])
        smallest = np.partition(smallest, k - 1)[:k] if len(smallest) > k else smallest
    return np.sort(smallest)
