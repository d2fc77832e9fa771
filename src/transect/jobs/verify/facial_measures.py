"""Further measures of one face, and of its picture: folds, under the eyes, lenses, above the brows; how sharp it is.

Defined as they were cut from photographs at 256 pixels. Points are dlib's 68, in pixels; io is the distance of the
eyes' centers; luminances are relative to the cheeks (see `photometry`).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8

from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.jobs.verify.photometry import STATISTICS, face_photometry

FURTHER = ("fold_left", "fold_right", "under_eye", "lens", "brow_top", "face_area")
"""What `face_measures` adds to the eighteen statistics of the photometry."""

MEASURES = (*STATISTICS, *FURTHER)

_LINEAR = decode_srgb(np.arange(256) / 255)
_GREY = np.array([0.299, 0.587, 0.114])
_FOLD_FROM, _FOLD_TO, _FOLD_POINTS = -0.02, 0.28, 40


def face_measures(pixels: UInt8[np.ndarray, "h w 3"], landmarks: Float[np.ndarray, "68 2"]) -> dict[str, float] | None:
    """All twenty-four measures of one face; None where its cheeks or eyes are too dark or too small to measure.

    fold_left, fold_right: the darkest point over the median of a level line across the fold beside the mouth, on the
    viewer's left and right. under_eye, lens, brow_top: luminances relative to the cheeks, .17 and .10 io below the
    eyes' centers and .12 io above the middle of the brows. face_area: the outline of points 0 to 26 as a share of the
    picture.
    """
    found = face_photometry(pixels, landmarks)
    if found is None:
        return None
    points = np.asarray(landmarks, dtype=np.float64)
    luminance, cheek = _LINEAR[pixels] @ LUMINANCE, found["cheek"]
    eyes = points[36:42].mean(0), points[42:48].mean(0)
    io = float(np.linalg.norm(eyes[0] - eyes[1]))
    down = np.array([0.0, io])

    def below_eyes(distance: float, radius: float) -> float:
        return float(np.mean([_square_median(luminance, eye + distance * down, radius * io) for eye in eyes])) / cheek

    return found | {
        "fold_left": _fold(luminance, (points[31] + points[48]) / 2, -io),
        "fold_right": _fold(luminance, (points[35] + points[54]) / 2, io),
        "under_eye": below_eyes(0.17, 0.04),
        "lens": below_eyes(0.10, 0.05),
        "brow_top": _square_median(luminance, (points[19] + points[24]) / 2 - 0.12 * down, 0.05 * io) / cheek,
        "face_area": _outline_area(points[:27]) / luminance.size,
    }


def _square_median(luminance: Float[np.ndarray, "h w"], center: Float[np.ndarray, " 2"], radius: float) -> float:
    """Median of the square of pixels within the radius of a point; NaN outside the picture."""
    (left, top), (right, bottom) = np.maximum((center - radius).astype(int), 0), (center + radius).astype(int) + 1
    part = luminance[top : max(bottom, 0), left : max(right, 0)]
    return float(np.median(part)) if part.size else float("nan")


def _fold(luminance: Float[np.ndarray, "h w"], start: Float[np.ndarray, " 2"], outwards: float) -> float:
    """Minimum over median of a level line from the point between a wing of the nose and the mouth's corner.

    outwards: io with the sign of the direction, in pixels. The line is smoothed over three of its forty points.
    """
    height, width = luminance.shape
    x = start[0] + np.linspace(_FOLD_FROM, _FOLD_TO, _FOLD_POINTS) * outwards
    columns = np.clip(x, 0, width - 1).astype(int)
    smooth = np.convolve(luminance[int(np.clip(start[1], 0, height - 1)), columns], np.full(3, 1 / 3), "valid")
    return float(smooth.min() / np.median(smooth))


def _outline_area(outline: Float[np.ndarray, "n 2"]) -> float:
    """Area that a closed line of points encloses, in the order of the points: parts that run backwards subtract.

    >>> _outline_area(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 3.0], [0.0, 3.0]]))
    6.0
    """
    x, y = outline.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def pose_proxies(points: Float[np.ndarray, "n 68 2"]) -> Float[np.ndarray, "n 2"]:
    """Yaw and pitch as landmarks show them, in interocular distances, with the eyes turned level.

    The nose's tip to the right of the middle of the jaw (points 2 and 14), and below the nose's root.
    """
    left, right = points[:, 36:42].mean(1), points[:, 42:48].mean(1)
    across = right - left
    square = (across**2).sum(1)
    down = np.stack([-across[:, 1], across[:, 0]], 1)
    yaw = ((points[:, 30] - points[:, [2, 14]].mean(1)) * across).sum(1) / square
    pitch = ((points[:, 30] - points[:, 27]) * down).sum(1) / square
    return np.stack([yaw, pitch], 1)


def sharpness(pixels: UInt8[np.ndarray, "h w 3"]) -> float:
    """Variance of the Laplacian over the variance of the luma, in the middle of a square picture.

    The middle is from 1/4 to 7/8 of the height and from 3/16 to 13/16 of the width. Noise and detail raise it, blur
    lowers it; it depends on the size of the picture in pixels.
    """
    size = len(pixels)
    luma = np.round(pixels @ _GREY) / 255
    return _sharpness(luma[size // 4 : size * 7 // 8, size * 3 // 16 : size * 13 // 16])


def sharpness_averaged(pixels: UInt8[np.ndarray, "h w 3"]) -> float:
    """The same of the picture at half its size: the luma averaged over squares of four pixels."""
    half = len(pixels) // 2
    luma = (np.round(pixels @ _GREY) / 255)[: 2 * half, : 2 * half].reshape(half, 2, half, 2).mean((1, 3))
    return _sharpness(luma[half // 4 : half * 7 // 8, half * 3 // 16 : half * 13 // 16])


def _sharpness(luma: Float[np.ndarray, "h w"]) -> float:
    around = np.pad(luma, 1, mode="reflect")
    neighbours = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    return float((neighbours - 4 * luma).var() / max(luma.var(), 1e-6))
