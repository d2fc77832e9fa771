"""dlib's 68 points on the mean head, each as a triangle's vertices and weights: what tools/head_mesh.py stores of them.

Order: jaw 0-16, brows 17-26, nose 27-35, eyes 36-47, mouth 48-67, left to right as the viewer sees them. Source of the
scheme: Sagonas et al. 2013, 300 Faces in-the-Wild Challenge, doi:10.1109/ICCVW.2013.59.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float
from scipy.ndimage import binary_fill_holes, label, maximum_filter, minimum_filter, uniform_filter1d
from scipy.spatial import cKDTree

from tools.head_grooms import brow_line
from transect.generators.faceworld.mesh.kernels import find_normals, rasterize
from transect.generators.faceworld.mesh.shape import FAR
from transect.marks.records import MIRRORED

Held: TypeAlias = Mapping[str, Any]
SIZE, UNIT = 2048, 440.0
"""Pixels of the drawing in which the points are sought, and of a distance between the eyes."""
_TURNED, _DROP = 0.06, 0.1
"""The face ends where its normal's part towards the viewer is less, or where depth drops by more around a pixel."""
_WITHIN, _BESIDE = -0.5, -0.03
"""Heights: from where the contour is sought outwards, and where it begins beside the eyes."""


class View:
    """A frontal drawing without perspective of the mean head, with some displacement, and where its parts lie."""

    def __init__(self, held: Held, points: Float[np.ndarray, "v 3"]) -> None:
        self.faces, self.parts = held["faces"], held["parts"]
        screen = np.stack([SIZE / 2 + points[:, 0] * UNIT, SIZE / 2 - points[:, 1] * UNIT, points[:, 2]], 1)
        drawn = np.ascontiguousarray(self.faces[self.parts < 6])
        self.number = np.flatnonzero(self.parts < 6)
        depth, weights = np.full((SIZE, SIZE), -1e9, np.float32), np.zeros((SIZE, SIZE, 2), np.float32)
        nearest = np.full((SIZE, SIZE), -1, np.int32)
        rasterize(screen.astype(np.float32), drawn, depth, nearest, weights)
        self.depth, self.nearest, self.weights = depth, nearest, weights
        self.part = np.where(nearest >= 0, self.parts[self.number[nearest]], 255)

    def of(self, values: Float[np.ndarray, " v"]) -> Float[np.ndarray, "s s"]:
        """Values of vertices, where skin is seen; 0 elsewhere."""
        corners = values[self.faces[self.number[self.nearest]]]
        first, second = self.weights[..., 0], self.weights[..., 1]
        mixed = corners[..., 0] * first + corners[..., 1] * second + corners[..., 2] * (1 - first - second)
        return np.where(self.part == 0, mixed, 0.0)

    def anchor(self, column: float, row: float) -> tuple[np.ndarray, np.ndarray]:
        """The skin at that pixel, or at the nearest one that shows skin."""
        near = 60
        x, y = round(column), round(row)
        rows, columns = np.nonzero(self.part[y - near : y + near + 1, x - near : x + near + 1] == 0)
        best = np.argmin((rows - near) ** 2 + (columns - near) ** 2)
        y, x = y - near + rows[best], x - near + columns[best]
        first, second = self.weights[y, x]
        return self.faces[self.number[self.nearest[y, x]]], np.array([first, second, 1 - first - second])


def _pixel(x: float, y: float) -> tuple[float, float]:
    return SIZE / 2 + x * UNIT, SIZE / 2 - y * UNIT


def _edges(
    region: Bool[np.ndarray, "s s"], shares: tuple[float, ...], out: int, aside: int
) -> list[tuple[float, float]]:
    """The region's left end, its upper edge at some shares of its width, its right end, its lower edge on the way back;
    edges moved outwards by so many pixels, and ends by so many.
    """
    columns = np.flatnonzero(region.any(0))
    left, right = int(columns[0]), int(columns[-1])

    def ends(column: int) -> tuple[int, int]:
        rows = np.flatnonzero(region[:, column])
        return int(rows[0]), int(rows[-1])

    inner = [round(left + share * (right - left)) for share in shares]
    above = [(x, ends(x)[0] - out) for x in inner]
    below = [(x, ends(x)[1] + out) for x in inner[::-1]]
    middle = [sum(ends(x)) / 2 for x in (left, right)]
    return [(left - aside, middle[0]), *above, (right + aside, middle[1]), *below]


def landmark_anchors(held: Held, jaw_open: Float[np.ndarray, "v 3"]) -> dict[str, np.ndarray]:
    """The file's arrays. jaw_open: displacement that parts the lips."""
    view, apart = View(held, held["mean"]), View(held, held["mean"] + 0.5 * jaw_open)
    found = _jaw(held)
    sides = [(-1, x) for x in (0.92, 0.80, 0.62, 0.45, 0.28)] + [(1, x) for x in (0.28, 0.45, 0.62, 0.80, 0.92)]
    found += [view.anchor(*_pixel(side * x, float(brow_line(np.array(x))))) for side, x in sides]
    found += [view.anchor(*pixel) for pixel in _nose(view)]
    for half in (slice(None, SIZE // 2), slice(SIZE // 2, None)):
        region = np.zeros(view.part.shape, dtype=bool)
        region[:, half] = np.isin(view.part[:, half], (1, 2))
        found += [view.anchor(*pixel) for pixel in _edges(_largest(region), (0.33, 0.67), 5, 5)]
    lips = _largest(view.of(held["region_lips"]) > 0.4)
    found += [view.anchor(*pixel) for pixel in _edges(lips, (0.19, 0.38, 0.5, 0.62, 0.81), 0, 0)]
    inside = (apart.of(held["region_inside_mouth"]) > 0.5) | np.isin(apart.part, (3, 4, 5))
    hole = _largest(inside & _around_mouth())
    found += [apart.anchor(*pixel) for pixel in _edges(hole, (0.3, 0.5, 0.7), 6, -14)]
    corners, weights = (np.array(part) for part in zip(*found, strict=True))
    mirrored = cKDTree(held["mean"]).query(held["mean"] * np.array([-1.0, 1, 1]))[1]
    for right, left in enumerate(MIRRORED):
        if right > left:
            corners[left], weights[left] = mirrored[corners[right]], weights[right]
    return {"landmark_corners": corners.astype(np.int32), "landmark_weights": weights.astype(np.float32)}


def _around_mouth() -> Bool[np.ndarray, "s s"]:
    rows, columns = np.mgrid[:SIZE, :SIZE]
    x, y = (columns - SIZE / 2) / UNIT, (SIZE / 2 - rows) / UNIT
    return (np.abs(x) < 0.6) & (y < -0.8) & (y > -1.9)


def _largest(region: Bool[np.ndarray, "s s"]) -> Bool[np.ndarray, "s s"]:
    numbers, count = label(binary_fill_holes(region))
    sizes = np.bincount(numbers.ravel(), minlength=count + 1)
    return np.asarray(numbers == 1 + np.argmax(sizes[1:]))


def _jaw(held: Held) -> list[tuple[np.ndarray, np.ndarray]]:
    """The face's contour as a camera sees it, from beside the eyes to the chin and up again, in equal steps."""
    near = FAR / (FAR - held["mean"][:, 2:])
    points = (held["mean"] * np.concatenate([near, near, np.ones_like(near)], 1)).astype(np.float32)
    view, normals = View(held, points), np.empty_like(points)
    find_normals(points, np.ascontiguousarray(view.faces[view.parts == 0]), normals)
    drop = maximum_filter(view.depth, 3) - minimum_filter(view.depth, 3)
    face = (view.of(normals[:, 2]) > _TURNED) & (view.of(held["region_ears"]) < 0.3) & (drop < _DROP)
    face, steps = _largest(face), np.arange(0.0, 1.7, 1 / UNIT)
    edge = []
    for turn in np.linspace(0, np.pi / 2 + 0.6, 400):
        across, up = steps * np.sin(turn), _WITHIN - steps * np.cos(turn)
        columns, rows = (np.rint(k).astype(int) for k in _pixel(across, up))
        last = int(np.argmin(face[rows, columns])) - 1
        edge.append((across[last], up[last]))
    smooth = uniform_filter1d(np.array(edge), 15, axis=0, mode="nearest")
    smooth[0, 0], smooth = 0, smooth[: np.argmax(smooth[:, 1] > _BESIDE)]
    along = np.append(0, np.cumsum(np.linalg.norm(np.diff(smooth, axis=0), axis=1)))
    right = [[np.interp(share * along[-1], along, smooth[:, k]) for k in (0, 1)] for share in np.arange(9) / 8]
    return [view.anchor(*_pixel(sign * x, y)) for sign, side in ((-1, right[:0:-1]), (1, right)) for x, y in side]


def _nose(view: View) -> list[tuple[float, float]]:
    """The ridge from the eyes to the tip, and the nose's lower rim within its wings."""
    middle = SIZE // 2
    rows = np.arange(round(SIZE / 2 + 0.3 * UNIT), round(SIZE / 2 + 1.0 * UNIT))
    tip = int(rows[np.argmax(view.depth[rows, middle])])
    below = np.arange(tip, tip + round(0.32 * UNIT))
    base = int(below[np.argmin(view.depth[below, middle])])
    top = SIZE / 2 + 0.03 * UNIT
    ridge = [(float(middle), top + share * (tip - top)) for share in (0.0, 0.36, 0.70, 1.0)]
    lifts = (0.065, 0.025, 0.0, 0.025, 0.065)
    wings = [
        (middle + x * UNIT, base - lift * UNIT) for x, lift in zip((-0.21, -0.11, 0, 0.11, 0.21), lifts, strict=True)
    ]
    return ridge + wings
