"""Diffuse reflectances in linear light: skin by tone, hair, iris. Linear RGB with sRGB primaries, 0..1.

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
    melanin=np.array([0.0020, 0.0020, 0.0115, 0.0197, 0.0344, 0.0475, 0.1177, 0.213, 0.450, 0.519]),
    red_melanin=np.array([0.60, 0.60, 0.60, 0.60, 0.60, 0.36, 0.0, 0.0, 0.0, 0.0]),
    blood=np.array([0.0013, 0.0036, 0.0011, 0.0017, 0.0031, 0.0045, 0.0100, 0.0134, 0.0238, 0.0500]),
    scattering=np.array([3.0, 2.76, 3.0, 2.0, 2.15, 1.01, 0.97, 0.97, 0.68, 0.50]),
    surface=np.array([0.080, 0.080, 0.080, 0.080, 0.060, 0.0, 0.080, 0.0762, 0.0766, 0.0450]),
)
"""What colors the skin of the tones 1 to 10: found by least squares on color within CIEDE2000 < 6."""

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Relative luminance of linear RGB (ITU-R BT.709)."""

# Black, dark brown, brown, light brown, blond: from spectra of hair, rounded.
_HAIR = np.array(
    [[0.012, 0.010, 0.009], [0.036, 0.021, 0.014], [0.090, 0.052, 0.030], [0.165, 0.100, 0.052], [0.300, 0.205, 0.105]]
)
_GREY_HAIR = np.array([0.21, 0.205, 0.20])
# Dark brown, brown, hazel, green, blue.
_IRIS = np.array(
    [[0.018, 0.010, 0.007], [0.044, 0.024, 0.013], [0.062, 0.043, 0.024], [0.055, 0.060, 0.042], [0.066, 0.086, 0.105]]
)


def decode_srgb(encoded: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Linear light of sRGB values in 0..1 (IEC 61966-2-1).

    >>> float(decode_srgb(np.array(0.5)).round(4))
    0.214
    """
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
    """Linear RGB reflectance of skin of Monk tone 1..10.

    >>> skin_reflectance(np.array([5.0])).round(3).tolist()
    [[0.611, 0.455, 0.279]]
    """
    return _interpolate(_skin_of_whole_tones(), np.asarray(skin_tone, dtype=np.float64) - 1)


def hair_reflectance(hair_color: Float[np.ndarray, " n"], grey: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Linear RGB reflectance of hair: pigment from black (0) to blond (1), a share `grey` 0..1 without pigment."""
    pigmented = _interpolate(_HAIR, np.asarray(hair_color, dtype=np.float64) * (len(_HAIR) - 1))
    return np.asarray(pigmented + grey[:, None] * (_GREY_HAIR - pigmented))


def iris_reflectance(eye_color: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Linear RGB reflectance of the iris from dark brown (0) to blue (1)."""
    return _interpolate(_IRIS, np.asarray(eye_color, dtype=np.float64) * (len(_IRIS) - 1))
