"""What MakeHuman's mean head lacks, for tools/head_mesh.py: round lobes of ears, and what is under a neck's skin."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_LOWEST, _HINGE = -0.82, -0.55
"""Heights of the lobes' lowest points, and above which nothing of them moves."""


def rounded_ears(points: Float[np.ndarray, "v 3"], ears: Float[np.ndarray, " v"]) -> Float[np.ndarray, "v 3"]:
    """All points, those of ears moved up or down. ears: 0..1 by vertex."""
    aside, y, z = np.abs(points[:, 0]), points[:, 1], points[:, 2]
    along = 0.6 * (aside - 1.15) - 0.8 * (z + 1.03)  # from where the ear begins, backwards
    share = np.clip(ears / 0.6, 0, 1) * (aside > 1.0)
    edge = np.maximum(5 * (along - 0.17) ** 2, 14 * (aside - 1.235) ** 2)
    lower = (np.clip(edge, 0, 0.15) - 0.01) / (_HINGE - _LOWEST)
    moved = np.clip(_HINGE - y, 0, None) * lower
    top = 0.032 * np.exp(-(((along - 0.21) / 0.07) ** 2)) - 0.03 * np.exp(-(((along - 0.33) / 0.05) ** 2))
    moved += top * np.clip((y + 0.12) / 0.1, 0, 1)
    return np.asarray(points + (share * moved)[:, None] * np.array([0, 1.0, 0]), dtype=points.dtype)


def muscular_neck(points: Float[np.ndarray, "v 3"], skin: np.ndarray) -> Float[np.ndarray, "v 3"]:
    """All points, those of the neck moved out over the sternomastoids, and into the pit between and hollows behind."""
    aside, y = np.abs(points[:, 0]), points[:, 1]
    muscle = aside - np.interp(-y, [1.0, 2.0, 2.4, 2.7, 3.0], [0.98, 0.56, 0.40, 0.27, 0.14])
    between = np.clip((-1.55 - y) / 0.5, 0, 1) * np.clip((y + 3.2) / 0.2, 0, 1)
    out = between * (0.075 * np.exp(-((muscle / 0.10) ** 2)) - 0.035 * np.exp(-(((muscle - 0.24) / 0.11) ** 2)))
    out -= 0.03 * between * np.exp(-(((muscle + 0.17) / 0.09) ** 2)) * (aside > 0.02)
    out -= 0.10 * np.exp(-((aside / 0.10) ** 2) - ((y + 2.99) / 0.13) ** 2)
    return np.asarray(points + (out * skin * (points[:, 2] > -1.5))[:, None] * _outwards(points), dtype=points.dtype)


def larynx(points: Float[np.ndarray, "v 3"], skin: np.ndarray) -> Float[np.ndarray, "v 3"]:
    """How far the thyroid cartilage stands out on a man's neck."""
    x, y, _ = points.T
    out = 0.13 * np.exp(-((x / 0.13) ** 2)) * np.exp(-(((y + 2.34) / np.where(y > -2.34, 0.13, 0.22)) ** 2))
    return np.asarray((out * skin * (points[:, 2] > -1.5))[:, None] * _outwards(points))


def _outwards(points: Float[np.ndarray, "v 3"]) -> Float[np.ndarray, "v 3"]:
    away = (points - np.array([0, 0, -1.6])) * np.array([1.0, 0, 1.0])
    return np.asarray(away / (np.linalg.norm(away, axis=1, keepdims=True) + 1e-9))
