"""The light before a camera's tone curve, from sRGB values and back: the curve of FaceWorld's camera stands for all.

A photograph has been through the tone curve of a camera that is not known. Ratios of reflectance hold before it: one
curve of that kind brings edited colors nearer to what a camera gives than none (docs: photographs as subjects).
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from jaxtyping import Float, UInt8

from transect.generators.photographs import light

WHITE, HEADROOM = 6.0, 0.84
"""As in FaceWorld's camera, whose module needs PyTorch: the scene light that becomes HEADROOM of white."""
_BRIGHTEST: Final = 12.0
"""Beyond the scene light that becomes white."""
_STEPS: Final = 16_384


def toned(scene: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Linear light of the picture, 0 to 1, of scene light from 0: Reinhard's curve, channel by channel.

    >>> toned(np.array([0.0, 0.2, 1.0])).round(3)
    array([0.   , 0.141, 0.432])
    """
    return np.asarray(np.minimum(scene * (scene * (HEADROOM / WHITE**2) + HEADROOM) / (scene + 1), 1.0))


@functools.cache
def untoning() -> Float[np.ndarray, " 256"]:
    """Float32, read-only: the scene light of each of the 256 values of sRGB."""
    scene = np.linspace(0, 1, _STEPS) ** 2 * _BRIGHTEST
    whole = scene * (scene * (HEADROOM / WHITE**2) + HEADROOM) / (scene + 1)
    table = np.interp(light.decoding().astype(np.float64), whole, scene).astype(np.float32)
    table.setflags(write=False)
    return table


def scene_of(pixels: UInt8[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Float32 scene light of sRGB values."""
    return np.asarray(untoning()[pixels])


def pixels_of(scene: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape"]:
    """The sRGB values of scene light.

    >>> values = np.arange(256, dtype=np.uint8)
    >>> bool((pixels_of(scene_of(values)) == values).all())  # there and back
    True
    """
    return light.encoded(toned(np.maximum(scene, 0)).astype(np.float32))
