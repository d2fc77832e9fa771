"""In what space is distance measured? Blocks with weights, standard units, Mahalanobis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput

Layers = Literal["flatten", "average"]
Metric = Literal["euclidean", "standardized", "mahalanobis"]

_MOST_COLUMNS: Final = 4096
_ROUNDING: Final = 1e-10


def layered(latents: Float[np.ndarray, "n ..."], layers: Layers) -> Float[np.ndarray, "n d"]:
    """Latents of one vector per layer (w+, [n, layers, d]) side by side, or their mean over layers."""
    if layers == "flatten" or latents.ndim < 3:
        return latents.reshape(len(latents), -1)
    return np.asarray(latents.mean(axis=tuple(range(1, latents.ndim - 1))))


def weighted(blocks: Sequence[Float[np.ndarray, "_ _"]], weights: Sequence[float]) -> Float[np.ndarray, "n d"]:
    """Blocks side by side so that the squared distance is the weighted sum of the blocks' squared distances.

    One block of weight 1 is returned as it is. Raises BadInput for weights that are not above 0 or other lengths.
    """
    if any(not 0 < weight < np.inf for weight in weights):
        raise BadInput(f"features: expected weights above 0, got {', '.join(f'{weight:g}' for weight in weights)}")
    rows = {len(block) for block in blocks}
    if len(rows) > 1:
        raise BadInput(f"features: expected as many rows in every block, got {', '.join(map(str, sorted(rows)))}")
    if len(blocks) == 1 and weights[0] == 1:
        return blocks[0]
    kind = np.result_type(*(block.dtype for block in blocks))
    scaled = [np.asarray(block, kind) * kind.type(weight**0.5) for block, weight in zip(blocks, weights, strict=True)]
    return np.concatenate(scaled, axis=1)


def in_metric(
    features: Float[np.ndarray, "n d"], treatment: Float[np.ndarray, " n"], metric: Metric
) -> tuple[Float[np.ndarray, "n _"], int]:
    """Features whose Euclidean distance is the wanted one, and how many dimensions were dropped (constant, redundant).

    standardized: by the standard deviation within groups, pooled. mahalanobis: by the inverse of the covariance within
    groups, pooled, so that a difference between groups does not count as spread. Rubin 1980.

    Raises BadInput when nothing varies within the groups, or for Mahalanobis above 4,096 columns.
    """
    if metric == "euclidean":
        return features, 0
    if metric == "mahalanobis" and features.shape[1] > _MOST_COLUMNS:
        raise BadInput(f"mahalanobis: expected at most {_MOST_COLUMNS} columns, got {features.shape[1]}; average w+")
    whole = np.isfinite(features).all(axis=1) & np.isfinite(treatment)
    known = np.asarray(features[whole], dtype=np.float64)
    within, freedom = _within(known, treatment[whole])
    spread = np.sqrt((within**2).sum(axis=0) / freedom)
    varying = np.flatnonzero(spread > _ROUNDING * np.abs(known).max(axis=0, initial=0.0))
    if not len(varying):
        raise BadInput("features: nothing varies within the groups; give features that vary, or --metric euclidean")
    standard = np.asarray(features[:, varying], dtype=np.float64) / spread[varying]
    standard[~whole] = np.nan  # infinity would be lost in products, with a warning
    if metric == "standardized":
        return standard, features.shape[1] - len(varying)
    values, vectors = np.linalg.eigh(
        (within[:, varying] / spread[varying]).T @ (within[:, varying] / spread[varying]) / freedom
    )
    telling = values > _ROUNDING * values.max()
    return standard @ (vectors[:, telling] / np.sqrt(values[telling])), features.shape[1] - int(telling.sum())


def _within(x: Float[np.ndarray, "n d"], treatment: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, "n d"], int]:
    """Each row less the mean of its group, and the degrees of freedom left."""
    values, group = np.unique(treatment, return_inverse=True)
    if len(values) > len(x) // 2:  # a dose: every image is of one group
        values, group = values[:1], np.zeros(len(x), dtype=np.int64)
    means = np.stack([x[group == g].mean(axis=0) for g in range(len(values))])
    return x - means[group], max(len(x) - len(values), 1)
