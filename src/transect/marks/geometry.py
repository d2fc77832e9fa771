"""Squares of pictures and back, boxes of faces, and the mesh as points and masks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, UInt8
from PIL import Image


@final
@dataclass(frozen=True, slots=True)
class Square:
    """An upright square of a picture, which may reach beyond it: left, top and side in pixels."""

    left: float
    top: float
    side: float

    @classmethod
    def whole(cls, width: int, height: int) -> Square:
        """The smallest about the whole picture."""
        side = float(max(width, height))
        return cls((width - side) / 2, (height - side) / 2, side)

    @classmethod
    def about(cls, points: Float[np.ndarray, "k 2"], times: float) -> Square:
        """About the box of the points, its longer side times a factor; at least a pixel wide."""
        low, high = points.min(axis=0), points.max(axis=0)
        side = max(1.0, times * float((high - low).max()))
        left, top = (low + high - side) / 2
        return cls(float(left), float(top), side)

    def placed(self, points: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "k 2"]:
        """Points in widths of the square as pixels of the picture."""
        return np.array([self.left, self.top]) + self.side * points


def seen(picture: UInt8[np.ndarray, "h w 3"], square: Square, size: int) -> UInt8[np.ndarray, "s s 3"]:
    """The square at that size: area-weighted where it shrinks, bilinear where it grows; edges repeat beyond."""
    height, width = picture.shape[:2]
    left, top = math.floor(square.left), math.floor(square.top)
    right, bottom = math.ceil(square.left + square.side), math.ceil(square.top + square.side)
    across = np.clip(np.arange(left, right), 0, width - 1)
    down = np.clip(np.arange(top, bottom), 0, height - 1)
    part = Image.fromarray(np.ascontiguousarray(picture[down[:, None], across[None, :]]))
    x, y = square.left - left, square.top - top
    box = (x, y, min(x + square.side, part.width), min(y + square.side, part.height))
    return np.asarray(part.resize((size, size), Image.Resampling.BILINEAR, box))


@final
@dataclass(frozen=True, slots=True)
class TurnedSquare:
    """A square of a picture in any direction: middle and side in pixels, angle in radians, clockwise as it is seen."""

    x: float
    y: float
    side: float
    angle: float = 0.0

    def placed(self, points: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "k 2"]:
        """Points in widths of the square, from its upper left corner, as pixels of the picture."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        turned = (points - 0.5) @ np.array([[cos, sin], [-sin, cos]])
        return np.asarray(np.array([self.x, self.y]) + self.side * turned)


def seen_turned(
    picture: UInt8[np.ndarray, "h w 3"], square: TurnedSquare, size: int, *, black: bool = False
) -> Float[np.ndarray, "s s 3"]:
    """The square at that size, 0 to 255, bilinear, of area means where it shrinks; beyond, edges repeat or black."""
    from scipy.ndimage import map_coordinates

    times = max(1, math.floor(square.side / size))
    smaller = np.asarray(Image.fromarray(np.ascontiguousarray(picture)).reduce(times), dtype=np.float64)
    middles = (np.arange(size) + 0.5) / size
    grid = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    x, y = (square.placed(grid) / times - 0.5).T
    mode = "grid-constant" if black else "nearest"
    channels = [map_coordinates(smaller[..., part], [y, x], order=1, mode=mode) for part in range(3)]
    return np.stack(channels, axis=-1).reshape(size, size, 3)


def brought_back(
    mask: Float[np.ndarray, "s s"], square: Square, width: int, height: int
) -> tuple[Float[np.ndarray, "h w"], Bool[np.ndarray, "h w"]]:
    """A mask of the square on the picture, bilinear, float32, 0 outside; and the pixels whose middles it holds."""
    scale = mask.shape[0] / square.side
    to_mask = (scale, 0.0, -square.left * scale, 0.0, scale, -square.top * scale)
    # Without repeated edges Pillow would leave out the outer half of the first and last cells.
    framed = Image.fromarray(np.pad(np.asarray(mask, dtype=np.float32), 1, mode="edge"))
    shifted = (*to_mask[:2], to_mask[2] + 1, *to_mask[3:5], to_mask[5] + 1)
    back = framed.transform((width, height), Image.Transform.AFFINE, shifted, Image.Resampling.BILINEAR)
    x, y = np.arange(width) + 0.5, np.arange(height) + 0.5
    across = (x >= square.left) & (x < square.left + square.side)
    down = (y >= square.top) & (y < square.top + square.side)
    inside = down[:, None] & across[None, :]
    return np.where(inside, np.asarray(back), np.float32(0)), inside


GRIDS: Final = {128: ((16, 2), (8, 6)), 192: ((48, 1),), 256: ((16, 2), (8, 6))}
"""Width of the network's input -> for each of its grids, cells per side and anchors per cell."""
NUMBERS: Final = 16
"""Numbers of an anchor: middle and size of the box, then x and y of six points, of which the first two are the eyes."""
LEAST: Final = 0.5
"""Score below which a box is no face."""
OVERLAP: Final = 0.3
"""Intersection over union above which boxes are of one face."""
AROUND: Final = 1.5
"""Side of the square about a face over the longer side of its box."""
APART: Final = 2.0
"""How many times as wide the largest face is as any other where it is the picture's face."""
_FARTHEST: Final = 4.0
"""Widths of the network's square beyond which no part of a face is sought."""


@final
@dataclass(frozen=True, slots=True)
class Boxes:
    """Faces by score, surest first, in widths of the square: scores [n], boxes [n, 4], points [n, 6, 2], eyes first."""

    scores: Float[np.ndarray, " n"]
    boxes: Float[np.ndarray, "n 4"]
    points: Float[np.ndarray, "n 6 2"]

    def __len__(self) -> int:
        return len(self.scores)

    def widths(self) -> Float[np.ndarray, " n"]:
        """The longer side of each box."""
        return np.asarray((self.boxes[:, 2:] - self.boxes[:, :2]).max(axis=1, initial=0.0))


def anchors(size: int) -> Float[np.ndarray, "a 2"]:
    """Middles of the cells of the network's grids, once for each of their anchors, in widths; row by row."""
    parts = []
    for cells, times in GRIDS[size]:
        middles = (np.arange(cells) + 0.5) / cells
        grid = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
        parts.append(np.repeat(grid, times, axis=0))
    return np.concatenate(parts)


def decoded(numbers: Float[np.ndarray, "a 16"], logits: Float[np.ndarray, " a"], size: int) -> Boxes:
    """Boxes of scores of at least LEAST, surest first, with an area and near. numbers: in pixels from the anchors."""
    near = (np.abs(numbers) <= _FARTHEST * size).all(axis=1) & (numbers[:, 2:4] > 0).all(axis=1)
    chosen = np.flatnonzero(near & (logits >= math.log(LEAST / (1 - LEAST))))
    chosen = chosen[np.argsort(-logits[chosen], kind="stable")]
    at, shares = anchors(size)[chosen], numbers[chosen] / size
    middles, halves = at + shares[:, :2], shares[:, 2:4] / 2
    points = at[:, None] + shares[:, 4:].reshape(-1, 6, 2)
    scores = 1 / (1 + np.exp(-np.clip(logits[chosen], -100, 100)))
    return Boxes(scores, np.concatenate([middles - halves, middles + halves], axis=1), points)


def merged(found: Boxes) -> Boxes:
    """One box per face: what overlaps the surest becomes its mean, weighted by score, which is the surest's."""
    left, faces = np.arange(len(found)), []
    while len(left):
        same = overlaps(found.boxes[left[0]], found.boxes[left]) > OVERLAP
        same[0] = True
        weights = found.scores[left[same]] / found.scores[left[same]].sum()
        both = [np.tensordot(weights, part[left[same]], axes=1) for part in (found.boxes, found.points)]
        faces.append((found.scores[left[0]], *both))
        left = left[~same]
    scores, boxes, points = ([face[place] for face in faces] for place in range(3))
    return Boxes(np.array(scores), np.array(boxes).reshape(-1, 4), np.array(points).reshape(-1, 6, 2))


def overlaps(box: Float[np.ndarray, " 4"], others: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, " n"]:
    """Intersection over union; 0 of boxes without an area."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = sides.clip(min=0).prod(axis=1)
    areas = [(each[..., 2:] - each[..., :2]).prod(axis=-1) for each in (box, others)]
    return np.asarray(common / np.maximum(areas[0] + areas[1] - common, np.finfo(float).tiny))


def largest(faces: Boxes) -> int | None:
    """The face that is at least APART times as wide as any other; None where there is none such."""
    if not len(faces):
        return None
    widths = faces.widths()
    first = int(widths.argmax())
    return first if (np.delete(widths, first) * APART <= widths[first]).all() else None


def about(faces: Boxes, place: int, whole: TurnedSquare) -> TurnedSquare:
    """The square about a face, turned so that its eyes are level. whole: the network's square on the picture."""
    corners = whole.placed(faces.boxes[place].reshape(2, 2))
    eyes = whole.placed(faces.points[place, :2])
    x, y = corners.mean(axis=0)
    across, down = eyes[1] - eyes[0]
    side = AROUND * float((corners[1] - corners[0]).max())
    return TurnedSquare(float(x), float(y), side, math.atan2(float(down), float(across)))


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
    """Dlib's order: jaw and bridge of the nose at equal steps of the mesh, brows between their edges."""
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
