"""The 68 points and the masks of a face of MediaPipe's mesh, which has 468 points, or 478 with those of the irises.

Source: Kartynnik et al. 2019, Real-time facial surface geometry from monocular video on mobile GPUs, arXiv:1907.06724.
Numbers of points are those of MediaPipe's mesh; its outlines of eyes, lips and face are closed here.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float

MESHES: Final = (468, 478)
"""How many points a mesh may have; the first 468 are the same."""
OVAL: Final = (
    *(10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377),
    *(152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109),
)
LEFT_EYE: Final = (33, 246, 161, 160, 159, 158, 157, 173, 133, 155, 154, 153, 145, 144, 163, 7)
RIGHT_EYE: Final = (362, 398, 384, 385, 386, 387, 388, 466, 263, 249, 390, 373, 374, 380, 381, 382)
"""Left and right in the picture, clockwise as they are seen."""
LIPS: Final = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146)
OUTLINES: Final = {"face": (OVAL,), "eyes": (LEFT_EYE, RIGHT_EYE), "mouth": (LIPS,)}
"""The masks, and what they consist of."""
_JAW: Final = (
    (127, 234, 93, 132, 58, 172, 136, 150, 149, 176, 148, 152),
    (152, 377, 400, 378, 379, 365, 397, 288, 361, 323, 454, 356),
)
"""From the height of the eyes to the chin, and up again."""
_RIDGE: Final = (168, 6, 197, 195, 5, 4)
_BROWS: Final = (
    ((70, 63, 105, 66, 107), (46, 53, 52, 65, 55)),
    ((336, 296, 334, 293, 300), (285, 295, 282, 283, 276)),
)
"""Upper and lower edge, from the left."""
_BASE: Final = (98, 97, 2, 326, 327)
_LIDS: Final = (33, 160, 158, 133, 153, 144, 362, 385, 387, 263, 373, 380)
_MOUTH: Final = (61, 40, 37, 0, 267, 270, 291, 321, 314, 17, 84, 91, 78, 81, 13, 311, 308, 402, 14, 178)
_FINE: Final = 4
"""Cells per side of a pixel in which masks are drawn."""


def as_68(mesh: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "68 2"]:
    """The points in dlib's order: jaw and bridge of the nose at equal steps of the mesh, brows between their edges.

    mesh: k of MESHES.
    """
    left, right = (_steps(mesh[list(side)], 9) for side in _JAW)
    brows = [(mesh[list(upper)] + mesh[list(lower)]) / 2 for upper, lower in _BROWS]
    ridge = _steps(mesh[list(_RIDGE)], 4)
    others = [mesh[list(part)] for part in (_BASE, _LIDS, _MOUTH)]
    return np.concatenate([left, right[1:], *brows, ridge, *others])


def _steps(line: Float[np.ndarray, "m 2"], count: int) -> Float[np.ndarray, "n 2"]:
    """Points at equal steps along a line of straight parts, both ends among them."""
    along = np.concatenate([[0.0], np.linalg.norm(np.diff(line, axis=0), axis=1).cumsum()])
    at = np.linspace(0, along[-1], count)
    return np.stack([np.interp(at, along, line[:, axis]) for axis in range(2)], axis=1)


def mesh_masks(mesh: Float[np.ndarray, "k 2"] | None, width: int, height: int) -> dict[str, Float[np.ndarray, "h w"]]:
    """Shares of each pixel in the outlines of face, eyes and mouth, float32; 0 where there is no mesh."""
    masks = {}
    for name, outlines in OUTLINES.items():
        areas = [np.zeros((height, width), np.float32)]
        if mesh is not None:
            areas += [_area(mesh[list(outline)], width, height) for outline in outlines]
        masks[name] = np.max(areas, axis=0)
    return masks


def _area(outline: Float[np.ndarray, "m 2"], width: int, height: int) -> Float[np.ndarray, "h w"]:
    """Share of each pixel whose fine cells have their middles inside, by the even-odd rule."""
    start = outline * _FINE
    end = np.roll(start, -1, axis=0)
    down = np.arange(height * _FINE) + 0.5
    side, row = np.nonzero((start[:, 1, None] <= down) != (end[:, 1, None] <= down))
    share = (down[row] - start[side, 1]) / (end[side, 1] - start[side, 1])
    across = start[side, 0] + share * (end[side, 0] - start[side, 0])
    first = np.ceil(across - 0.5).clip(0, width * _FINE).astype(np.int64)
    crossed = np.zeros((height * _FINE, width * _FINE + 1), np.uint8)
    np.add.at(crossed, (row, first), 1)
    inside = crossed[:, :-1].cumsum(axis=1, dtype=np.uint8) % 2
    return np.asarray(inside.reshape(height, _FINE, width, _FINE).mean(axis=(1, 3), dtype=np.float32))
