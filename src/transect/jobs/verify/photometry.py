"""How is this face lit? Eighteen luminances of a face, relative to its cheeks, measured as on photographs.

sRGB is decoded to linear light; luminance Y = .2126 R + .7152 G + .0722 B (ITU-R BT.709). Points are dlib's 68, in
pixels; io is the distance of the eyes' centers. The facts in this folder hold the same statistics of 5,293
photographs, by fifth of cheek luminance.
"""

from __future__ import annotations

import csv
import functools
from importlib import resources
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.errors import BadInput
from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.jobs.verify.raster import disc, hull, line

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
    text = resources.files("transect.jobs.verify").joinpath("facts/face_photometry.csv").read_text(encoding="utf-8")
    return {
        (int(row["cheek_fifth"]), row["statistic"]): PhotographQuantiles(
            int(row["n"]), *(float(row[name]) for name in PhotographQuantiles._fields[1:])
        )
        for row in csv.DictReader(text.splitlines())
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
