"""Do the images between two of one class keep that class? The sanity check of Denton et al. 2019."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from transect.effects import intervals
from transect.errors import BadInput


def interpolation_consistency(
    ends: ArrayLike, between: ArrayLike, confidence: float = 0.95
) -> dict[str, dict[str, float]]:
    """Denton et al.'s sanity check: share of images between two latents of one class that keep that class.

    ends: the class [m] of both ends of each line; between: classes [m, k] of k images on it, NaN where there is no
    answer. The line is the cluster. Returns, for "all" and each class, share, low, high, lines, images and dropped:
    lines whose ends have no class (NaN), which are in no class and not in "all".

    Raises BadInput where shapes differ.

    >>> result = interpolation_consistency([1, 1, 0], [[1, 1], [1, 0], [0, 0]])
    >>> round(result["all"]["share"], 3), result["0"]["share"], result["all"]["images"]
    (0.833, 1.0, 6)
    """
    label, classes_between = np.asarray(ends, dtype=np.float64).reshape(-1), np.asarray(between, dtype=np.float64)
    if classes_between.ndim != 2 or len(classes_between) != len(label):
        raise BadInput(
            f"between: expected [lines, images], {len(label)} lines, got {classes_between.shape}; reshape it"
        )
    known = np.isfinite(label)
    classes: Sequence[float] = np.unique(label[known]).tolist()
    chosen = {"all": known, **{f"{label_value:g}": label == label_value for label_value in classes}}
    by_class = {}
    for name, rows in chosen.items():
        answered = np.isfinite(classes_between[rows])
        same = np.where(answered, classes_between[rows] == label[rows][:, None], False).sum(axis=1).astype(np.float64)
        counts = answered.sum(axis=1).astype(np.float64)
        low, high = intervals.wilson_clustered(same[:, None], counts[:, None], confidence)
        images = int(counts.sum())
        share = float(same.sum() / images) if images else np.nan
        by_class[name] = {
            "share": share,
            "low": float(low[0]),
            "high": float(high[0]),
            "lines": int(rows.sum()),
            "images": images,
            "dropped": int((~known).sum()) if name == "all" else 0,
        }
    return by_class
