"""Diffuse reflectances in linear light: skin by tone, iris. Linear RGB with sRGB primaries, 0..1.

Skin of each tone of the Monk scale holds the melanin, blood and scattering that bring its color under daylight near the
published swatch (CIEDE2000 below 6) with values that occur in living skin; the swatches themselves go beyond it at both
ends. In between, absorbance (the negative logarithm of reflectance) is interpolated, since absorbances of pigment add
up (Beer-Lambert law).
"""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.skin_optics import Chromophores, linear_rgb, reflectance_spectrum

MONK_SWATCHES = (
    *("f6ede4", "f3e7db", "f7ead0", "eadaba", "d7bd96"),
    *("a07e56", "825c43", "604134", "3a312a", "292420"),
)
"""sRGB hex codes of the tones 1 to 10 (Monk 2022, https://skintone.google)."""

MONK_CHROMOPHORES = Chromophores(
    melanin=np.array([0.00281, 0.0076, 0.00918, 0.0215, 0.0288, 0.0536, 0.114, 0.229, 0.364, 0.467]),
    red_melanin=np.array([0.766, 0.765, 0.761, 0.736, 0.681, 0.317, 0.0655, 0.00993, 0.00244, 0.000527]),
    blood=np.array([0.000724, 0.00117, 0.00192, 0.0036, 0.00657, 0.00648, 0.00685, 0.00583, 0.0422, 0.0499]),
    scattering=np.array([2.81, 2.94, 2.97, 2.94, 2.11, 0.531, 0.325, 0.39, 0.405, 0.401]),
    surface=np.array([0.078, 0.0852, 0.0881, 0.0888, 0.0885, 0.0912, 0.102, 0.084, 0.0677, 0.0412]),
)
"""Optical parameters of skin of the tones 1 to 10, by least squares on the curvature of hue over
tones, within CIEDE2000 < 6. Tones 5 to 8 are less saturated than their swatches, nearer to skin in vivo: exposed as a
portrait is, the swatches themselves would be orange."""

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Relative luminance of linear RGB (ITU-R BT.709)."""

# Dark brown, brown, hazel, green, blue.
_IRIS = np.array(
    [[0.019, 0.011, 0.008], [0.044, 0.024, 0.013], [0.042, 0.028, 0.015], [0.031, 0.033, 0.022], [0.032, 0.043, 0.054]]
)


def decode_srgb(encoded: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Linear light of sRGB values in 0..1 (IEC 61966-2-1)."""
    return np.asarray(np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4))


def luminance(rgb: Float[np.ndarray, "*shape 3"]) -> Float[np.ndarray, "*shape"]:
    """Relative luminance of linear RGB."""
    # A sum, not a product of matrices, whose last bit would depend on the number of rows.
    return np.asarray((rgb * LUMINANCE).sum(axis=-1))


@functools.cache
def _skin_of_whole_tones() -> Float[np.ndarray, "10 3"]:
    return linear_rgb(reflectance_spectrum(MONK_CHROMOPHORES))


def _interpolate(table: Float[np.ndarray, "k 3"], position: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Rows of the table at fractional positions 0..k-1, absorbances interpolated."""
    rows = np.arange(len(table))
    return np.stack([np.exp(np.interp(position, rows, np.log(column))) for column in table.T], axis=1)


def skin_reflectance(skin_tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Linear RGB reflectance of skin of Monk tone 1..10."""
    return _interpolate(_skin_of_whole_tones(), np.asarray(skin_tone, dtype=np.float64) - 1)


def iris_reflectance(eye_color: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Linear RGB reflectance of the iris from dark brown (0) to blue (1)."""
    return _interpolate(_IRIS, np.asarray(eye_color, dtype=np.float64) * (len(_IRIS) - 1))
