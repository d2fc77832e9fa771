"""Background and light of a picture of a face, by the box of the face alone.

Source of the segmentation: Rother et al. 2004, GrabCut, doi:10.1145/1015706.1015720.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.faceworld.reflectance import decode_srgb, luminance

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
    inside, right = _ellipse(pixels.shape[:2], face, 0.42, 0.45, 0.02), _columns(pixels) > (face[0] + face[2]) / 2
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


def _columns(pixels: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "1 w"]:
    return np.arange(pixels.shape[1])[None] + 0.5
