"""What is read of a photograph: its face's pose, the background and the light."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.faceworld.reflectance import decode_srgb, luminance

HEAD: Final = Path(__file__).parent / "head.csv"
"""The mean head: x to the viewer's right, y down, z to the viewer, of dlib's 68 points; by tools/head_model.py."""
ANGLES: Final = {5: ("yaw", "roll"), 68: ("yaw", "pitch", "roll")}
"""Number of points -> the angles that can be read from them."""
AWAY: Final = 8.0
"""Assumed distance of the camera in heights of the face, from 1.5 m for a face of 19 cm; little depends on it."""
_FIVE: Final = [45, 42, 36, 39, 33]
"""Where dlib's five points lie among the 68: both corners of each eye, and the base of the nose."""


@functools.cache
def head_model() -> Float[np.ndarray, "68 3"]:
    """The mean head, in breadths of the head around its middle."""
    return np.loadtxt(HEAD, delimiter=",", skiprows=1)


def pose(points: Float[np.ndarray, "k 2"], face: Float[np.ndarray, " 4"]) -> dict[str, float]:
    """The angles of ANGLES in degrees, by name; empty where no head fits the points.

    points: dlib's 68 or 5, in pixels. face: x0, y0, x1, y1 of the face. Angles are measured against the line of sight
    to the middle of that box. Five points lie nearly in a plane, which leaves pitch open: it is taken as 0, and yaw
    follows from how far the base of the nose lies from the middle of the eyes, along the line through them.
    """
    angles = _of_68(points, face) if len(points) == len(head_model()) else _of_five(points)
    named = dict(zip(ANGLES[len(points)], angles, strict=True))
    return named if np.isfinite(list(named.values())).all() else {}


def _of_68(points: Float[np.ndarray, "68 2"], face: Float[np.ndarray, " 4"]) -> tuple[float, ...]:
    import cv2

    focal = AWAY * (face[3] - face[1])
    camera = np.array([[focal, 0, (face[0] + face[2]) / 2], [0, focal, (face[1] + face[3]) / 2], [0, 0, 1]])
    away = np.diag([1.0, 1.0, -1.0])  # OpenCV's third axis points away from the camera
    fits, turned, _ = cv2.solvePnP(
        head_model() @ away, np.ascontiguousarray(points), camera, None, flags=cv2.SOLVEPNP_SQPNP
    )
    if not fits:
        return (np.nan,) * 3
    r = away @ cv2.Rodrigues(turned)[0] @ away
    # r = roll · pitch · yaw: third row (-cos p sin y, sin p, cos p cos y), second column cos p (-sin r, cos r), …
    angles = np.arctan2(-r[2, 0], r[2, 2]), np.arcsin(np.clip(r[2, 1], -1, 1)), np.arctan2(-r[0, 1], r[1, 1])
    yaw, pitch, roll = np.degrees(angles).tolist()
    return yaw, pitch, roll


def _of_five(points: Float[np.ndarray, "5 2"]) -> tuple[float, ...]:
    head = head_model()[_FIVE]
    right, left = points[:2].mean(axis=0), points[2:4].mean(axis=0)
    along = right - left
    length = float(np.hypot(*along))
    if not length:
        return np.nan, np.nan
    aside = float((points[4] - (right + left) / 2) @ along) / length
    forward, apart = head[4, 2] - head[:4, 2].mean(), head[:2, 0].mean() - head[2:4, 0].mean()
    yaw, roll = np.degrees([np.arctan2(aside / forward, length / apart), np.arctan2(along[1], along[0])]).tolist()
    return yaw, roll


CHANNELS: Final = ("red", "green", "blue")
LONGER_SIDE: Final = 192
"""Longer side, in pixels, of the picture in which background and person are separated."""
ITERATIONS: Final = 2
_SEED: Final = 0
_MARGIN: Final = 0.03
_FEWEST: Final = 8
"""Pixels of half a face below which its light is not read."""


def background(pixels: UInt8[np.ndarray, "h w 3"], face: Float[np.ndarray, " 4"]) -> dict[str, float]:
    """Mean sRGB values of the background, 0..255, by channel and over them, and its share of the picture.

    Empty where no pixel is background. face: x0, y0, x1, y1 in pixels, from hairline to chin.
    """
    small, factor = sized(pixels)
    behind = background_mask(small, face * factor)
    if not behind.any():
        return {}
    means = small[behind].mean(axis=0, dtype=np.float64)
    by_channel = {f"background_{name}": float(mean) for name, mean in zip(CHANNELS, means, strict=True)}
    return {**by_channel, "background": float(means.mean()), "background_share": float(behind.mean())}


def background_mask(pixels: UInt8[np.ndarray, "h w 3"], face: Float[np.ndarray, " 4"]) -> Bool[np.ndarray, "h w"]:
    """Which pixels are background by OpenCV's grabCut, started from the face: boolean [h, w].

    Sure person is an ellipse in the face, probable person head and shoulders, sure background the picture's upper and
    side borders down to the face's middle; all else is probable background. Nothing is background where the person may
    fill the picture.
    """
    import cv2

    marks = _marks(pixels.shape[:2], face)
    starts = marks % 2  # 1 of sure (1) and probable (3) person
    if starts.all() or not starts.any():
        return np.zeros(marks.shape, dtype=np.bool_)
    cv2.setRNGSeed(_SEED)  # grabCut draws the first centers of its colors
    behind, person = np.zeros((1, 65)), np.zeros((1, 65))  # its models of the colors, which it fills in
    whole = (0, 0, 1, 1)  # of no use where marks are given
    cv2.grabCut(np.ascontiguousarray(pixels), marks, whole, behind, person, ITERATIONS, cv2.GC_INIT_WITH_MASK)
    return np.asarray(marks % 2 == 0)


def light(pixels: UInt8[np.ndarray, "h w 3"], face: Float[np.ndarray, " 4"]) -> dict[str, float]:
    """face_light and side_light in stops; empty where the face is black or smaller than a few pixels.

    face_light: log2 of the mean luminance in the face, in linear light, 0 for white. It contains the tone of the skin
    and the exposure. side_light: log2 of the right half's luminance over the left's, as the viewer sees them: + for
    light from the viewer's right, as FaceWorld's light_azimuth.
    """
    inside = _ellipse(pixels.shape[:2], face, 0.42, 0.45, 0.02)
    right = np.arange(pixels.shape[1])[None] + 0.5 > (face[0] + face[2]) / 2
    halves = [linear_luminance(pixels[inside & half]) for half in (~right, right)]
    if min(map(len, halves)) < _FEWEST or not all(half.any() for half in halves):
        return {}
    left_mean, right_mean = (float(half.mean()) for half in halves)
    whole = float(np.concatenate(halves).mean())
    return {"face_light": float(np.log2(whole)), "side_light": float(np.log2(right_mean / left_mean))}


def linear_luminance(pixels: UInt8[np.ndarray, "... 3"]) -> Float[np.ndarray, ...]:
    """Luminance 0..1 in linear light (IEC 61966-2-1).

    >>> linear_luminance(np.array([[0, 0, 0], [188, 188, 188], [255, 255, 255]], np.uint8)).round(2).tolist()
    [0.0, 0.5, 1.0]
    """
    return luminance(decode_srgb(np.arange(256) / 255)[pixels])


def sized(pixels: UInt8[np.ndarray, "h w 3"]) -> tuple[UInt8[np.ndarray, "a b 3"], float]:
    """The picture with its longer side at LONGER_SIDE, and the factor."""
    from PIL import Image

    factor = LONGER_SIDE / max(pixels.shape[:2])
    width, height = (max(1, round(side * factor)) for side in (pixels.shape[1], pixels.shape[0]))
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BICUBIC)), factor


def _marks(shape: tuple[int, ...], face: Float[np.ndarray, " 4"]) -> UInt8[np.ndarray, "h w"]:
    """Marks of grabCut: 0 and 1 sure background and person, 2 and 3 probable ones."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    x, y = columns + 0.5, rows + 0.5
    width, height = face[2] - face[0], face[3] - face[1]
    middle, centre, chin = (face[0] + face[2]) / 2, (face[1] + face[3]) / 2, face[3]
    reach = np.minimum(0.5 * width + 2.2 * np.clip(y - chin, 0, None), 1.6 * width)
    shoulders = (y > chin - 0.1 * height) & (np.abs(x - middle) < reach)
    margin = max(1, round(_MARGIN * min(shape)))
    border = (y < margin) | (((x < margin) | (x > shape[1] - margin)) & (y < centre))
    marks = np.where(_ellipse(shape, face, 0.72, 0.78, -0.08) | shoulders, 3, 2)
    marks[border & ~_ellipse(shape, face, 0.60, 0.66, -0.08)] = 0
    marks[_ellipse(shape, face, 0.42, 0.45, 0.02)] = 1
    return marks.astype(np.uint8)


def _ellipse(
    shape: tuple[int, ...], face: Float[np.ndarray, " 4"], half_width: float, half_height: float, lower: float
) -> Bool[np.ndarray, "h w"]:
    """Pixels in an ellipse around the face's middle; sizes, and how much lower it lies, in widths and heights of it."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    width, height = face[2] - face[0], face[3] - face[1]
    x = (columns + 0.5 - (face[0] + face[2]) / 2) / (half_width * width)
    y = (rows + 0.5 - (face[1] + face[3]) / 2 - lower * height) / (half_height * height)
    return np.asarray(x**2 + y**2 <= 1)
