"""Faces as MediaPipe's detector finds them: the network's answers at its anchors decoded, and what overlaps merged.

Source: Bazarevsky et al. 2019, BlazeFace, arXiv:1907.05047.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.marks.views import TurnedSquare

GRIDS: Final = {128: ((16, 2), (8, 6)), 192: ((48, 1),)}
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
    """Faces in the order of their scores, in widths of the network's square.

    scores: 0..1, [n]. boxes: left, top, right, bottom, [n, 4]. points: [n, 6, 2], the eyes first, left in the picture
    before right.
    """

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
    """The boxes whose scores are at least LEAST, surest first; those without area or far beyond the picture are none.

    numbers: in pixels of the network's input from the anchors on. size: its width.
    """
    near = (np.abs(numbers) <= _FARTHEST * size).all(axis=1) & (numbers[:, 2:4] > 0).all(axis=1)
    chosen = np.flatnonzero(near & (logits >= math.log(LEAST / (1 - LEAST))))
    chosen = chosen[np.argsort(-logits[chosen], kind="stable")]
    at, shares = anchors(size)[chosen], numbers[chosen] / size
    middles, halves = at + shares[:, :2], shares[:, 2:4] / 2
    points = at[:, None] + shares[:, 4:].reshape(-1, 6, 2)
    scores = 1 / (1 + np.exp(-np.clip(logits[chosen], -100, 100)))
    return Boxes(scores, np.concatenate([middles - halves, middles + halves], axis=1), points)


def merged(found: Boxes) -> Boxes:
    """One box per face: what overlaps the surest box becomes its mean, weighted by score; then of the rest.

    The score is the surest's.
    """
    left, faces = np.arange(len(found)), []
    while len(left):
        same = _overlaps(found.boxes[left[0]], found.boxes[left]) > OVERLAP
        same[0] = True
        weights = found.scores[left[same]] / found.scores[left[same]].sum()
        both = [np.tensordot(weights, part[left[same]], axes=1) for part in (found.boxes, found.points)]
        faces.append((found.scores[left[0]], *both))
        left = left[~same]
    scores, boxes, points = ([face[place] for face in faces] for place in range(3))
    return Boxes(np.array(scores), np.array(boxes).reshape(-1, 4), np.array(points).reshape(-1, 6, 2))


def _overlaps(box: Float[np.ndarray, " 4"], others: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, " n"]:
    """Intersection over union."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = sides.clip(min=0).prod(axis=1)
    areas = [(each[..., 2:] - each[..., :2]).prod(axis=-1) for each in (box, others)]
    return np.asarray(common / (areas[0] + areas[1] - common))


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
