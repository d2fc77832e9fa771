"""The light before a camera's tone curve, from sRGB values and back: the curve of FaceWorld's camera stands for all.

A photograph has been through the tone curve of a camera that is not known. Ratios of reflectance hold before it: one
curve of that kind brings edited colors nearer to what a camera gives than none (docs: photographs as subjects).
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from jaxtyping import Float, UInt8

from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs import light

WHITE, HEADROOM, COLOR_KEPT = 6.0, 0.84, 0.7
"""As in FaceWorld's camera, whose module needs PyTorch: the scene light that becomes HEADROOM of white, and the share
of the curve that follows luminance, so that colors keep their ratios."""
_BRIGHTEST: Final = 12.0
"""Beyond the scene light that becomes white."""
_STEPS: Final = 16_384
_ROUNDS: Final = 14


def scene_of(pixels: UInt8[np.ndarray, "*shape 3"]) -> Float[np.ndarray, "*shape 3"]:
    """Float32 scene light of sRGB values, by fixed-point iteration from the curve of each channel alone."""
    shown, scene = light.decoding()[pixels], _untoning()[pixels]
    for _ in range(_ROUNDS):
        scene = shown / _factor(scene)
    return np.asarray(scene, dtype=np.float32)


def pixels_of(scene: Float[np.ndarray, "*shape 3"]) -> UInt8[np.ndarray, "*shape 3"]:
    """The sRGB values of scene light."""
    scene = np.maximum(scene, 0)
    return light.encoded(np.minimum(scene * _factor(scene), 1).astype(np.float32))


def _factor(scene: Float[np.ndarray, "*shape 3"]) -> Float[np.ndarray, "*shape 3"]:
    """By how much the tone curve weakens light: Reinhard's curve, of luminance for the most part."""
    bright = scene @ LUMINANCE.astype(np.float32)
    return np.asarray(_curve(scene) * np.float32(1 - COLOR_KEPT) + (_curve(bright) * np.float32(COLOR_KEPT))[..., None])


def _curve(scene: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    return np.asarray((scene * np.float32(HEADROOM / WHITE**2) + np.float32(HEADROOM)) / (scene + np.float32(1)))


@functools.cache
def _untoning() -> Float[np.ndarray, " 256"]:
    """Float32, read-only: the scene light of each of the 256 values of sRGB where all channels have it."""
    scene = np.linspace(0, 1, _STEPS) ** 2 * _BRIGHTEST
    table = np.interp(light.decoding().astype(np.float64), scene * _curve(scene), scene).astype(np.float32)
    table.setflags(write=False)
    return table
