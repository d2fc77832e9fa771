"""Where hairs lie on the skin of a face: brows, lashes, and below the nose, where a beard can be."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float

from transect.generators.photographs.appearance.faces import Face, blurred

_BROWS: Final = (slice(17, 22), slice(22, 27))
_EYES: Final = (slice(36, 42), slice(42, 48))
_FINE: Final = 4
_HALF, _SOFT = 0.075, 0.02
_LASHES: Final = 0.02
"""Half the height of a brow's band, its soft edge and half the width of lashes, in distances of the outer corners."""


def hairy_region(face: Face) -> Float[np.ndarray, "h w"]:
    """Where hairs lie on skin, 0 to 1 with soft edges: brows, lashes, and what can be a beard: below the nose."""
    brows = blurred(_along(face, _BROWS, 2 * _HALF, closed=False), _SOFT * face.width)
    lashes = blurred(_along(face, _EYES, 2 * _LASHES, closed=True), 0.5 * _SOFT * face.width)
    rows = np.arange(lashes.shape[0], dtype=np.float32)[:, None]
    below = np.clip((rows - face.points[33, 1]) / (0.1 * face.width) + 0.5, 0, 1).astype(np.float32)
    return np.asarray(np.maximum(np.maximum(brows, lashes), below))


def _along(face: Face, lines: tuple[slice, ...], thick: float, closed: bool) -> Float[np.ndarray, "h w"]:
    """The share of each pixel that lies on lines through landmarks, which are so thick over the eyes' distance."""
    import cv2

    height, width = face.masks["skin"].shape
    fine = np.zeros((height * _FINE, width * _FINE), dtype=np.uint8)
    corners = [np.rint(face.points[line] * _FINE - 0.5).astype(np.int32) for line in lines]
    cv2.polylines(fine, corners, closed, (1,), max(1, round(thick * face.width * _FINE)))
    return np.asarray(cv2.resize(fine.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA))
