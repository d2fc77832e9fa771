"""Where the face's features lie, and the canonical lattice on which maps of the face are held.

The lattice does not depend on the picture; the renderer reads it where each pixel looks at the face. What the maps hold
is computed in relief_maps.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.textures import sample

X_EXTENT = 0.72
Y_CENTER, Y_EXTENT = -0.08, 1.02
_COLUMNS, _ROWS = 144, 192

Scalar = TypeVar("Scalar", Tensor, Float[np.ndarray, " n"])
"""What a shape is computed from: a number per picture, as a tensor or an array."""


def eye_x(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of an eye's center from the midline."""
    return 0.27 * (1 + 0.04 * p["eye_spacing"] + 0.055 * p["face_width"])


def nose_half_width(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of a nostril's wing from the midline."""
    return 0.146 * (1 + 0.13 * p["nose_width"] + 0.05 * p["face_width"] + 0.10 * (p["face_shape"] - 0.5))


def nose_base(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the base of the nose."""
    return 0.305 + 0.038 * p["nose_length"]


def mouth_y(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the line between the lips."""
    return 0.522 + 0.018 * p["mouth_height"] + 0.016 * p["nose_length"]


def lattice_size(pixel: float) -> tuple[int, int]:
    """Rows and columns of the maps for pixels of that width in face units: finer than these, whole vectors."""
    rows, columns = (-(-int(2 * extent / (0.75 * pixel)) // 16) * 16 for extent in (Y_EXTENT, X_EXTENT))
    return min(rows, _ROWS), min(columns, _COLUMNS)


def read_maps(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The maps at face coordinates x, y [b, h, w]: [b, c, h, w]."""
    return sample(maps, x / X_EXTENT, (y - Y_CENTER) / Y_EXTENT)
