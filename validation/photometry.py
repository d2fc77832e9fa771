"""How are rendered faces lit, beside photographs? Eighteen luminances of a face, relative to its cheeks.

sRGB is decoded to linear light; luminance Y = .2126 R + .7152 G + .0722 B (ITU-R BT.709). Points are dlib's 68, in
pixels; io is the distance of the eyes' centers. facts/face_photometry.csv holds the same statistics of 5,293
photographs, by fifth of cheek luminance. Masks are those of OpenCV's circle, fillConvexPoly over convexHull, and
polylines, implemented here; where OpenCV rounds an edge another way, a pixel on the edge may differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from scipy.spatial import ConvexHull

from transect.errors import BadInput
from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.faceworld.validity import shortcomings
from transect.records import Latents
from transect.runs.json_records import plain
from validation.text import facts

if TYPE_CHECKING:
    from transect.generators.faceworld.world import FaceWorld


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


FIFTH_EDGES = (0.0201, 0.2311, 0.3390, 0.4350, 0.5480, 0.9641)
"""Cheek luminances that part the photographs into fifths, darkest first."""

STATISTICS = (
    *("cheek", "cheek_side_ratio", "eye_mean", "eye_p10", "eye_p90", "eye_brow_box", "brow", "lips", "mouth_inner"),
    *("nose_bridge", "nose_tip", "nostril_line", "forehead", "chin", "cheek_sd", "face_mean_over_image", "rg", "bg"),
)

DARKEST_CHEEK, SMALLEST_EYES = 0.002, 12
"""Below this luminance, or this many pixels of both eyes, a face is not measured."""

_LINEAR = decode_srgb(np.arange(256) / 255)


class PhotographQuantiles(NamedTuple):
    """One statistic of one fifth of the photographs: how many, and its quantiles."""

    n: int
    p05: float
    p25: float
    p50: float
    p75: float
    p95: float


@functools.cache
def photograph_quantiles() -> dict[tuple[int, str], PhotographQuantiles]:
    """The photographs' figures by (fifth 0..4, statistic): 90 entries.

    >>> photograph_quantiles()[0, "cheek"].p50
    0.162
    """
    return {
        (int(row["cheek_fifth"]), row["statistic"]): PhotographQuantiles(
            int(row["n"]), *(float(row[name]) for name in PhotographQuantiles._fields[1:])
        )
        for row in facts("face_photometry")
    }


def face_photometry(
    pixels: UInt8[np.ndarray, "h w 3"], landmarks: Float[np.ndarray, "points 2"]
) -> dict[str, float] | None:
    """The eighteen statistics of one face; None where its cheeks or eyes are too dark or too small to measure.

    pixels: sRGB. landmarks: x, y in pixels, dlib's order. A statistic without a region (a closed mouth, a forehead
    beyond the picture) is NaN. Raises BadInput unless there are 68 points.
    """
    points = np.asarray(landmarks, dtype=np.float64)
    if points.shape != (68, 2):
        raise BadInput(f"landmarks: expected 68 points x, y, got shape {list(points.shape)}; give dlib's 68 points")
    return _Cut(_LINEAR[pixels], points).statistics()


class _Cut:
    """The regions of one face."""

    def __init__(self, light: Float[np.ndarray, "h w 3"], points: Float[np.ndarray, "68 2"]) -> None:
        self.light, self.points = light, points
        self.luminance = light @ LUMINANCE
        self.shape = (light.shape[0], light.shape[1])
        self.io = float(np.linalg.norm(points[36:42].mean(0) - points[42:48].mean(0)))
        self.left, self.right = self._cheek(slice(36, 42), 41, 48), self._cheek(slice(42, 48), 46, 54)
        self.eyes = self._hull(slice(36, 42)) | self._hull(slice(42, 48))

    def _cheek(self, eye: slice, lid: int, corner: int) -> Bool[np.ndarray, "h w"]:
        p = self.points
        y = p[lid, 1] + 0.33 * (p[corner, 1] - p[lid, 1]) + 0.12 * self.io
        return disc(self.shape, np.array([p[eye, 0].mean(), y]), 0.13 * self.io)

    def _hull(self, *parts: slice) -> Bool[np.ndarray, "h w"]:
        return hull(self.shape, np.concatenate([self.points[part] for part in parts]))

    def _disc_median(self, center: Float[np.ndarray, " 2"], radius: float) -> float:
        return self._median(disc(self.shape, center, radius * self.io))

    def _median(self, mask: Bool[np.ndarray, "h w"]) -> float:
        return float(np.median(self.luminance[mask])) if mask.any() else np.nan

    def statistics(self) -> dict[str, float] | None:
        cheek = self._median(self.left | self.right)
        if not cheek > DARKEST_CHEEK or self.eyes.sum() < SMALLEST_EYES or not (self.left.any() and self.right.any()):
            return None
        measured = {name: value / cheek for name, value in (self._eye_region() | self._features()).items()}
        red, green, blue = np.median(self.light[self.left | self.right], axis=0)
        sides = self._median(self.left), self._median(self.right)
        measured |= {"cheek": cheek, "cheek_side_ratio": min(sides) / max(sides), "rg": red / green, "bg": blue / green}
        face = self.luminance[self._hull(slice(0, 27))].mean()
        measured["face_mean_over_image"] = float(face / self.luminance.mean())
        return {name: float(measured[name]) for name in STATISTICS}

    def _eye_region(self) -> dict[str, float]:
        eyes = self.luminance[self.eyes]
        box = self._hull(slice(36, 42), slice(17, 22)) | self._hull(slice(42, 48), slice(22, 27))
        thickness = 0.05 * self.io
        brows = line(self.shape, self.points[17:22], thickness) | line(self.shape, self.points[22:27], thickness)
        return {
            "eye_mean": float(eyes.mean()),
            "eye_p10": float(np.percentile(eyes, 10)),
            "eye_p90": float(np.percentile(eyes, 90)),
            "eye_brow_box": float(self.luminance[box].mean()),
            "brow": self._median(brows),
        }

    def _features(self) -> dict[str, float]:
        p, io, inner = self.points, self.io, self._hull(slice(60, 68))
        is_open = inner.sum() > SMALLEST_EYES and p[66, 1] - p[62, 1] > 0.10 * io
        brow_middle = (p[21] + p[22]) / 2 - np.array([0, 0.35 * io])
        return {
            "lips": self._median(self._hull(slice(48, 60)) & ~inner),
            "mouth_inner": float(np.percentile(self.luminance[inner], 90)) if is_open else np.nan,
            "nose_bridge": self._disc_median(p[28], 0.06),
            "nose_tip": self._disc_median(p[30], 0.08),
            "nostril_line": self._disc_median(p[33] + np.array([0, 0.03 * io]), 0.05),
            "forehead": self._disc_median(brow_middle, 0.12) if brow_middle[1] > 0.12 * io else np.nan,
            "chin": self._disc_median((p[57] + p[8]) / 2, 0.09),
            "cheek_sd": float(np.std(self.luminance[self.left])),
        }


DARKEST_TONES = 9.0
"""Subjects from this point of the Monk scale on are the darkest tones."""

_BATCH = 250
_QUANTILES = ("p05", "p25", "p50", "p75", "p95")


def measure(
    world: FaceWorld,
    seeds: Int[np.ndarray, " n"],
    landmarks: Callable[[Latents], Float[np.ndarray, "n 68 2"]] | None = None,
) -> dict[str, Float[np.ndarray, " k"]]:
    """The eighteen statistics, and skin_tone, of the subjects that can be measured, one float64 column each.

    landmarks: from latents to dlib's 68 points in pixels (default: the world's own).
    """
    rows: list[dict[str, float]] = []
    for start in range(0, len(seeds), _BATCH):
        latents = world.sample(seeds[start : start + _BATCH])
        pixels, points = world.render(latents).pixels, (landmarks or world.landmarks)(latents)
        tones = world.read(latents)["skin_tone"].to_pylist()
        for image, marks, tone in zip(pixels, points, tones, strict=True):
            row = face_photometry(image, marks)
            rows += [] if row is None else [{**row, "skin_tone": tone}]
    names = (*STATISTICS, "skin_tone")
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}


def compare(measured: Mapping[str, Float[np.ndarray, " k"]], subjects: int) -> dict[str, Any]:
    """Ninety rows, a statistic in a fifth of cheek luminance each, and what follows from them, in JSON's own types.

    subjects: how many were measured. unmeasured: faces too dark or too small to measure, or beyond the photographs'
    cheek luminances. medians_inside: medians between the photographs' p25 and p75; medians_outside: fifth and statistic
    of those beyond their p05 or p95, or without a face. share_inside: the smallest share, over statistics and fifths,
    of faces between these; None where a fifth has no face with the statistic. darkest_cheek: median cheek luminance of
    the darkest tones.
    """
    fifth = np.digitize(measured["cheek"], FIFTH_EDGES) - 1
    counts = [int((fifth == k).sum()) for k in range(5)]
    rows = [_row(k, name, measured[name][fifth == k]) for k in range(5) for name in STATISTICS]
    outside = [row for row in rows if not row["p05"] <= row["rendered_p50"] <= row["p95"]]
    darkest = measured["cheek"][measured["skin_tone"] >= DARKEST_TONES]
    figures = {
        "photometry": rows,
        "subjects": subjects,
        "faces_per_fifth": counts,
        "unmeasured": subjects - sum(counts),
        "medians_inside": sum(row["inside"] for row in rows),
        "medians_outside": [[r["fifth"], r["statistic"]] for r in outside],
        "share_inside": float(np.min([row["share_inside"] for row in rows])),
        "darkest_cheek": float(np.median(darkest)) if len(darkest) else np.nan,
    }
    finite: dict[str, Any] = plain(figures)
    return finite | {"photometry_passes": not shortcomings(finite)}


def _row(fifth: int, statistic: str, values: Float[np.ndarray, " k"]) -> dict[str, Any]:
    """inside: whether the rendered median lies between the photographs' p25 and p75. NaN and False without a face."""
    photographs = photograph_quantiles()[fifth, statistic]
    values = values[np.isfinite(values)]
    quantiles = np.percentile(values, (5, 25, 50, 75, 95)) if len(values) else np.full(5, np.nan)
    within = (values >= photographs.p05) & (values <= photographs.p95)
    return {
        "fifth": fifth,
        "statistic": statistic,
        "n": len(values),
        **{f"rendered_{name}": float(value) for name, value in zip(_QUANTILES, quantiles, strict=True)},
        **{name: getattr(photographs, name) for name in _QUANTILES},
        "inside": bool(photographs.p25 <= quantiles[2] <= photographs.p75),
        "share_inside": float(within.mean()) if len(values) else np.nan,
    }
