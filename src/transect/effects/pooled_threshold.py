"""At which distance does a stated share of the comparisons of different people match, over all groups together?

A service sets one threshold for everyone, so that groups are compared at one: it is found among impostor comparisons
within groups, all groups pooled, as `recognition` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.designs.matching.sample import codes
from transect.effects.comparisons import TIE, Comparisons, Metric, compare, distances_between, placed
from transect.effects.dyadic import interval
from transect.effects.recognition import comparable, dyadic_variance
from transect.errors import BadInput

_BLOCK = 512
_SIDES = np.array([-1.0, 1.0])
_OFFSETS = np.array([0.02, 0.05, 0.1]), np.array([0.2, 0.4, 0.8])
_FINER = 3


def pooled_thresholds(
    embeddings: Float[np.ndarray, "n d"],
    identity: ArrayLike,
    group: ArrayLike,
    rates: Sequence[float],
    metric: Metric = "euclidean",
) -> tuple[list[float], list[float], int]:
    """For each rate R the largest distance below which at most a share R of all impostor comparisons lie."""
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


def threshold_ends(
    embeddings: Float[np.ndarray, "n d"],
    identity: ArrayLike,
    group: ArrayLike,
    threshold: float,
    rate: float,
    *,
    metric: Metric = "euclidean",
    confidence: float = 0.95,
) -> tuple[float, float]:
    """The interval of a threshold that `pooled_thresholds` set for a rate: distances whose FMR may be that rate."""
    usable = comparable(embeddings, identity, group, metric)
    people, groups = (codes([column], len(embeddings))[usable] for column in (identity, group))
    x = np.asarray(embeddings[usable], dtype=np.float64)
    parts = [(x[groups == name], people[groups == name]) for name in np.unique(groups)]

    def interval_at(distances: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t 2"]:
        return _pooled_interval([compare(*part, distances, 0, metric) for part in parts], confidence)

    def excluded(offsets: Float[np.ndarray, "2 o"]) -> Bool[np.ndarray, "2 o"]:
        ends = interval_at((threshold * (1 + _SIDES[:, None] * offsets)).ravel())
        return ((ends[:, 0] > rate) | (ends[:, 1] < rate)).reshape(offsets.shape)

    if np.isnan(interval_at(np.array([threshold]))).any():
        return np.nan, np.nan
    inside, outside = np.zeros(2), np.full(2, np.nan)
    for offsets in _OFFSETS:
        out = excluded(np.tile(offsets, (2, 1)))
        for k in np.flatnonzero(np.isnan(outside)):
            first = int(out[k].argmax()) if out[k].any() else len(offsets)
            inside[k] = offsets[first - 1] if first else inside[k]
            outside[k] = offsets[first] if first < len(offsets) else np.nan
        if np.isfinite(outside).all():
            break
    outside = np.nan_to_num(outside, nan=1.0)
    between = np.linspace(inside, outside, _FINER + 2, axis=1)[:, 1:]
    out = excluded(between[:, :-1])
    last = [row[gone.argmax()] if gone.any() else row[-1] for row, gone in zip(between, out, strict=True)]
    low, high = (threshold * (1 + _SIDES * last)).tolist()
    return low, high


def _pooled_interval(groups: Sequence[Comparisons], confidence: float) -> Float[np.ndarray, "t 2"]:
    """The interval of the FMR over all groups at each threshold: groups are fixed, their identities a sample."""
    compared = np.array([group.impostor.sum() / 2 for group in groups])
    share = compared / max(compared.sum(), 1.0)
    rates = [group.impostor_matches.sum(axis=0) / 2 / max(n, 1.0) for group, n in zip(groups, compared, strict=True)]
    spreads = [dyadic_variance(group, rate, n) for group, rate, n in zip(groups, rates, compared, strict=True)]
    parts = np.array([weight**2 * np.nan_to_num(spread) for weight, (spread, _) in zip(share, spreads, strict=True)])
    freedoms = np.array([np.nan_to_num(freedom, nan=1.0) for _, freedom in spreads])
    variance, fourth = parts.sum(axis=0), (parts**2 / freedoms).sum(axis=0)
    freedom = np.divide(variance**2, fourth, out=np.ones(len(variance)), where=fourth > 0)
    identities = sum(int((group.impostor > 0).sum()) for group in groups)
    return interval(share @ np.array(rates), variance, freedom, identities, float(compared.sum()), confidence)


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
