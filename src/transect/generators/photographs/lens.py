"""What lies before the sensor: the camera's roll and distance, and blurs, on linear light float32 [h, w, 3].

Blurs mirror the borders, so that no edge of the picture becomes darker; their kernels sum to 1 and keep the mean of
light. Beyond the borders of a turned or smaller scene is a grey card: mirrored borders would show parts of a second
face.
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
from jaxtyping import Float

_FINE: Final = 16
"""Points to a side by which a pixel's share of a disc is counted."""
_CACHED: Final = 64


def framed(
    light: Float[np.ndarray, "h w 3"], rotation: float, scale: float, beyond: float
) -> Float[np.ndarray, "h w 3"]:
    """The scene turned clockwise by degrees and made larger, about the middle, in one resampling (bilinear).

    A smaller scene is averaged first over the area that each new pixel covers. beyond: the light outside its borders.
    """
    import cv2

    height, width = light.shape[:2]
    if scale < 1:
        box = line(1 / scale)
        light = cv2.sepFilter2D(light, -1, box, box, borderType=cv2.BORDER_REFLECT_101)
    turn = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), -rotation, scale)
    card = (beyond, beyond, beyond)
    return np.asarray(cv2.warpAffine(light, turn, (width, height), flags=cv2.INTER_LINEAR, borderValue=card))


def defocused(light: Float[np.ndarray, "h w 3"], share: float) -> Float[np.ndarray, "h w 3"]:
    """The light of each point spread over a disc whose diameter is that share of the width."""
    import cv2

    kernel = disc(share * light.shape[1])
    return np.asarray(cv2.filter2D(light, -1, kernel, borderType=cv2.BORDER_REFLECT_101))


def moved(light: Float[np.ndarray, "h w 3"], share: float) -> Float[np.ndarray, "h w 3"]:
    """The light of each point spread over a level line whose length is that share of the width."""
    import cv2

    kernel = line(share * light.shape[1])[None, :]
    return np.asarray(cv2.filter2D(light, -1, kernel, borderType=cv2.BORDER_REFLECT_101))


@functools.lru_cache(maxsize=_CACHED)
def disc(diameter: float) -> Float[np.ndarray, "k k"]:
    """Float32 weights of a disc of that diameter in pixels, by the area of it that each pixel holds; they sum to 1.

    >>> disc(0.5)
    array([[1.]], dtype=float32)
    """
    reach = max(0, math.ceil(diameter / 2 - 0.5))
    offsets = (np.arange((2 * reach + 1) * _FINE) + 0.5) / _FINE - (reach + 0.5)
    inside = (offsets[:, None] ** 2 + offsets[None, :] ** 2) <= (diameter / 2) ** 2
    if not inside.any():
        return _kept(np.ones((1, 1), dtype=np.float32))
    side = 2 * reach + 1
    area = inside.reshape(side, _FINE, side, _FINE).sum(axis=(1, 3)).astype(np.float64)
    return _kept(np.asarray(area / area.sum(), dtype=np.float32))


@functools.lru_cache(maxsize=_CACHED)
def line(length: float) -> Float[np.ndarray, " k"]:
    """Float32 weights of a line of that length in pixels about the middle one; they sum to 1. Up to 1 pixel: itself.

    >>> line(3.0), line(2.0)
    (array([0.33333334, 0.33333334, 0.33333334], dtype=float32), array([0.25, 0.5 , 0.25], dtype=float32))
    """
    reach = max(0, math.ceil(length / 2 - 0.5))
    edges = np.arange(-reach, reach + 2) - 0.5
    half = max(length, 1.0) / 2
    covered = np.clip(edges[1:], -half, half) - np.clip(edges[:-1], -half, half)
    return _kept(np.asarray(covered / covered.sum(), dtype=np.float32))


def _kept(weights: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The array, which nobody may write into any more."""
    weights.setflags(write=False)
    return weights
