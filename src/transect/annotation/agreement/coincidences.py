"""Pairs of answers to the same unit, and how far the levels of a pair are apart: what Krippendorff's alpha counts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float

Metric = Literal["nominal", "ordinal", "interval"]


def answer_counts(
    ratings: Float[np.ndarray, "units raters"], levels: Float[np.ndarray, " k"]
) -> Float[np.ndarray, "units k"]:
    """How often each level was given to each unit."""
    return np.stack([(ratings == level).sum(axis=1) for level in levels], axis=1).astype(np.float64)


def coincidences(counts: Float[np.ndarray, "units k"]) -> Float[np.ndarray, "units k k"]:
    """Each unit's pairs of answers by their two levels; a unit of m answers counts m in all."""
    pairs = counts[:, :, None] * counts[:, None, :]
    level = np.arange(counts.shape[1])
    pairs[:, level, level] -= counts
    return np.asarray(pairs / (counts.sum(axis=1) - 1)[:, None, None])


def places(totals: Float[np.ndarray, " k"], levels: Float[np.ndarray, " k"], metric: Metric) -> Float[np.ndarray, " k"]:
    """Each level on the line along which disagreement is measured: its middle rank as a share, or its value."""
    return levels if metric == "interval" else (totals.cumsum() - totals / 2) / totals.sum()


def distances(
    totals: Float[np.ndarray, " k"], levels: Float[np.ndarray, " k"], metric: Metric
) -> Float[np.ndarray, "k k"]:
    """The disagreement of each pair of levels."""
    if metric == "nominal":
        return np.asarray(1.0 - np.eye(len(levels)))
    # The published sum from c to k, less half of both ends, is the difference of the levels' middle ranks.
    place = places(totals, levels, metric)
    return np.asarray((place[:, None] - place[None, :]) ** 2)
