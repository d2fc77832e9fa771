"""Pixel masks of discs, convex hulls and lines, drawn as the photographs' statistics were cut.

Points are whole pixels. The masks are those of OpenCV's circle, fillConvexPoly over convexHull, and polylines,
implemented here; where OpenCV rounds an edge another way, a pixel on the edge may differ.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import ConvexHull


def disc(shape: tuple[int, int], center: Float[np.ndarray, " 2"], radius: float) -> Bool[np.ndarray, "h w"]:
    """Pixels no farther than the radius (cut to whole pixels, at least 1) from the pixel of the center.

    >>> int(disc((9, 9), np.array([4.7, 4.2]), 2.9).sum())
    13
    """
    (x, y), reach = _whole(center), max(1, int(radius))
    return _distance_squared(shape, int(x), int(y)) <= reach * reach


def hull(shape: tuple[int, int], points: Float[np.ndarray, "n 2"]) -> Bool[np.ndarray, "h w"]:
    """Pixels inside the convex hull of the points' pixels or on its edge.

    >>> int(hull((9, 9), np.array([[1.0, 1.0], [4.0, 1.0], [4.0, 4.0], [1.0, 4.0]])).sum())
    16
    """
    corners = convex_hull(_whole(points))
    mask = line(shape, np.vstack([corners, corners[:1]]).astype(float), 1)
    if len(corners) < 3:
        return mask
    (left, top), (right, bottom) = np.maximum(corners.min(0), 0), corners.max(0)
    right, bottom = min(right, shape[1] - 1), min(bottom, shape[0] - 1)
    y, x = np.mgrid[top : bottom + 1, left : right + 1]
    inside = np.ones(x.shape, dtype=bool)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        inside &= (bx - ax) * (y - ay) - (by - ay) * (x - ax) >= 0
    mask[top : bottom + 1, left : right + 1] |= inside
    return mask


def convex_hull(points: Int[np.ndarray, "n 2"]) -> Int[np.ndarray, "k 2"]:
    """Corners of the convex hull, counterclockwise in x right, y up; of points on one line the first and the last."""
    ordered = np.unique(points, axis=0)
    if np.linalg.matrix_rank(ordered - ordered[0]) < 2:
        return np.unique(ordered[[0, -1]], axis=0)
    return np.asarray(ordered[ConvexHull(ordered).vertices])


def line(shape: tuple[int, int], points: Float[np.ndarray, "n 2"], thickness: float) -> Bool[np.ndarray, "h w"]:
    """Pixels of the open line through the points, `thickness` (cut to whole pixels, at least 1) wide."""
    mask = np.zeros(shape, dtype=bool)
    wide = max(1, int(thickness))
    for start, end in zip(_whole(points)[:-1], _whole(points)[1:], strict=True):
        if wide == 1:
            _thin(mask, start, end)
        else:
            mask |= _near_segment(shape, start, end) <= (wide / 2) ** 2
    return mask


def _thin(mask: Bool[np.ndarray, "h w"], start: Int[np.ndarray, " 2"], end: Int[np.ndarray, " 2"]) -> None:
    """One pixel per step along the longer axis."""
    steps = max(int(np.abs(end - start).max()), 1)
    along = start + (end - start) * (np.arange(steps + 1) / steps)[:, None]
    x, y = np.floor(along + 0.5).astype(int).T
    within = (x >= 0) & (x < mask.shape[1]) & (y >= 0) & (y < mask.shape[0])
    mask[y[within], x[within]] = True


def _near_segment(
    shape: tuple[int, int], start: Int[np.ndarray, " 2"], end: Int[np.ndarray, " 2"]
) -> Float[np.ndarray, "h w"]:
    """Squared distance of each pixel to the segment."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    dx, dy = end - start
    share = ((x - start[0]) * dx + (y - start[1]) * dy) / max(int(dx * dx + dy * dy), 1)
    share = np.clip(share, 0, 1)
    return np.asarray((x - start[0] - share * dx) ** 2 + (y - start[1] - share * dy) ** 2)


def _distance_squared(shape: tuple[int, int], x: int, y: int) -> Int[np.ndarray, "h w"]:
    return np.asarray((np.arange(shape[1]) - x) ** 2 + ((np.arange(shape[0]) - y) ** 2)[:, None])


def _whole(points: Float[np.ndarray, "*n 2"]) -> Int[np.ndarray, "*n 2"]:
    return np.asarray(points, dtype=np.float64).astype(np.int64)
