"""From sRGB to linear light and back, by tables: the values of IEC 61966-2-1, with tone curve and gain folded in."""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from jaxtyping import Float, UInt8, UInt16

from transect.generators.faceworld.reflectance import decode_srgb

STEPS: Final = 65_535
"""Steps of linear light in which values are turned into sRGB: at most a twentieth of one of its 255 levels."""
GREY: Final = 0.18
"""The linear light of middle grey, on which the tone curve turns."""
_CACHED: Final = 64
_KNEE, _SLOPE = 0.0031308, 12.92


def to_srgb(light: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The sRGB values of linear light, both from 0 to 1: the inverse of `decode_srgb`."""
    return np.where(light <= _KNEE, light * _SLOPE, 1.055 * np.maximum(light, _KNEE) ** (1 / 2.4) - 0.055)


@functools.lru_cache(maxsize=_CACHED)
def decoding(gain: float = 1.0) -> Float[np.ndarray, " 256"]:
    """Float32, read-only: the linear light of each of the 256 values of sRGB, times a gain."""
    table = (decode_srgb(np.arange(256) / 255.0) * gain).astype(np.float32)
    table.setflags(write=False)
    return table


@functools.lru_cache(maxsize=_CACHED)
def encoding(slope: float = 1.0) -> UInt8[np.ndarray, " 65536"]:
    """The sRGB value of each step of linear light under a tone curve of that slope.

    The curve is y = .18 (x / .18)^slope: a straight line in stops through middle grey.

    >>> values = np.arange(256, dtype=np.uint8)
    >>> bool((encoding()[steps_of(decoding().copy())] == values).all())  # there and back
    True
    """
    light = np.arange(STEPS + 1) / STEPS
    toned = light if slope == 1.0 else np.minimum(GREY * (light / GREY) ** slope, 1.0)
    table = np.asarray(np.rint(to_srgb(toned) * 255), dtype=np.uint8)
    table.setflags(write=False)
    return table


def steps_of(light: Float[np.ndarray, "*shape"]) -> UInt16[np.ndarray, "*shape"]:
    """The step of each float32 of linear light, black and white beyond them; `light` is overwritten."""
    light *= np.float32(STEPS)
    light += np.float32(0.5)
    np.clip(light, 0, np.float32(STEPS), out=light)
    return light.astype(np.uint16)


def encoded(light: Float[np.ndarray, "*shape"], slope: float = 1.0) -> UInt8[np.ndarray, "*shape"]:
    """The sRGB values of linear light under a tone curve of that slope; `light` is overwritten."""
    return np.asarray(encoding(slope).take(steps_of(light)))


@functools.lru_cache(maxsize=_CACHED)
def toning(gain: float, slope: float) -> UInt8[np.ndarray, " 256"]:
    """Gain and tone curve as one table from sRGB to sRGB: bitwise what `decoding` and `encoded` give one by one."""
    table = encoded(decoding(gain).copy(), slope)
    table.setflags(write=False)
    return table
