"""Colors of skin and hair from their pigments, and the exposure that a camera's meter chooses for them."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

WAVELENGTHS = np.arange(420.0, 701.0, 10.0)
"""Nanometers. The range outside contributes less than a percent of luminance."""

# Molar extinction, 1 / (cm M), from 420 to 700 nm in steps of 10: Prahl's table, rounded to three digits.
_OXYGENATED = np.array(
    [480, 246, 103, 62.8, 44.5, 33.2, 26.6, 23.7, 20.9, 20.0, 24.2, 39.9, 53.2, 43.0, 32.6, 44.5, 50.1, 14.4,
     3.20, 1.51, 0.942, 0.610, 0.442, 0.368, 0.320, 0.294, 0.278, 0.276, 0.290]
) * 1e3  # fmt: skip
_DEOXYGENATED = np.array(
    [408, 529, 414, 103, 23.4, 16.2, 14.6, 16.7, 20.9, 25.8, 31.6, 39.0, 46.6, 53.4, 53.8, 45.1, 37.0, 28.3,
     14.7, 9.44, 6.51, 5.15, 4.35, 3.75, 3.23, 2.80, 2.41, 2.05, 1.79]
) * 1e3  # fmt: skip
_OXYGENATION = 0.75
_HAEMOGLOBIN_OF_BLOOD = 150 / 64500  # mol per liter: 150 g/l at 64,500 g/mol
_EPIDERMIS = 0.006  # cm
_HORNY_LAYER = 0.0005  # cm of it, which keeps the remains of melanosomes
_REFRACTION = 1.4

# CIE standard illuminant D65 at the wavelengths above, relative.
_DAYLIGHT = np.array(
    [93.4, 86.7, 104.9, 117.0, 117.8, 114.9, 115.9, 108.8, 109.4, 107.8, 104.8, 107.7, 104.4, 104.0, 100.0, 96.3,
     95.8, 88.7, 90.0, 89.6, 87.7, 83.3, 83.7, 80.0, 80.2, 82.3, 78.3, 69.7, 71.6]
)  # fmt: skip
_LINEAR_FROM_XYZ = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])


class Chromophores(NamedTuple):
    """Parameters of the color of skin: one number or one array entry per skin.

    melanin: share of the epidermis that is melanosomes (light skin .01 to .05, dark .2 to .45); red_melanin: share of
    pheomelanin in it; blood: share of the dermis that is blood; scattering: of the dermis, relative to average skin;
    surface: share of the light that the horny layer returns before it meets living skin.
    """

    melanin: Float[np.ndarray, "*n"]
    red_melanin: Float[np.ndarray, "*n"]
    blood: Float[np.ndarray, "*n"]
    scattering: Float[np.ndarray, "*n"]
    surface: Float[np.ndarray, "*n"]


def reflectance_spectrum(skin: Chromophores) -> Float[np.ndarray, "*n w"]:
    """Diffuse reflectance 0..1 at WAVELENGTHS."""
    melanin, red, blood, scattering, surface = (np.asarray(value)[..., None] for value in skin)
    eumelanin, pheomelanin = 6.6e11 * WAVELENGTHS**-3.33, 2.9e15 * WAVELENGTHS**-4.75
    baseline = 0.244 + 85.3 * np.exp(-(WAVELENGTHS - 154) / 66.2)
    epidermis = melanin * ((1 - red) * eumelanin + red * pheomelanin) + (1 - melanin) * baseline
    dermis = blood * _blood_absorption() + (1 - blood) * baseline
    below = _dipole(dermis, scattering * 46.0 * (WAVELENGTHS / 500) ** -1.421)
    # Diffuse light crosses a layer on a path about twice its thickness, down and up again.
    dusted = surface * np.exp(-4 * melanin * eumelanin * _HORNY_LAYER)
    return np.asarray(dusted + (1 - surface) * np.exp(-4 * epidermis * _EPIDERMIS) * below)


def _blood_absorption() -> Float[np.ndarray, " w"]:
    """Absorption of whole blood, 1 / cm."""
    extinction = _OXYGENATION * _OXYGENATED + (1 - _OXYGENATION) * _DEOXYGENATED
    return np.asarray(np.log(10) * extinction * _HAEMOGLOBIN_OF_BLOOD)


def _dipole(absorption: Float[np.ndarray, "*n w"], scattering: Float[np.ndarray, "*n w"]) -> Float[np.ndarray, "*n w"]:
    """Diffuse reflectance of a semi-infinite medium (Jensen et al. 2001, section 3)."""
    albedo = scattering / (scattering + absorption)
    internal = -1.440 / _REFRACTION**2 + 0.710 / _REFRACTION + 0.668 + 0.0636 * _REFRACTION
    boundary = (1 + internal) / (1 - internal)
    root = np.sqrt(3 * (1 - albedo))
    return np.asarray(albedo / 2 * (1 + np.exp(-4 / 3 * boundary * root)) * np.exp(-root))


def linear_rgb(spectrum: Float[np.ndarray, "*n w"]) -> Float[np.ndarray, "*n 3"]:
    """Linear RGB (sRGB primaries) of reflectance spectra under daylight; a perfect white is 1, 1, 1."""
    weights = _color_matching() * _DAYLIGHT
    xyz = spectrum @ weights.T
    white = weights.sum(axis=1)
    return np.asarray(xyz / white * (np.linalg.inv(_LINEAR_FROM_XYZ) @ np.ones(3)) @ _LINEAR_FROM_XYZ.T)


def _color_matching() -> Float[np.ndarray, "3 w"]:
    """CIE 1931 x, y, z at WAVELENGTHS (Wyman et al. 2013, equation 4)."""
    x = 1.056 * _lobe(599.8, 37.9, 31.0) + 0.362 * _lobe(442.0, 16.0, 26.7) - 0.065 * _lobe(501.1, 20.4, 26.2)
    y = 0.821 * _lobe(568.8, 46.9, 40.5) + 0.286 * _lobe(530.9, 16.3, 31.1)
    z = 1.217 * _lobe(437.0, 11.8, 36.0) + 0.681 * _lobe(459.0, 26.0, 13.8)
    return np.stack([x, y, z])


def _lobe(peak: float, below: float, above: float) -> Float[np.ndarray, " w"]:
    width = np.where(peak > WAVELENGTHS, below, above)
    return np.asarray(np.exp(-0.5 * ((WAVELENGTHS - peak) / width) ** 2))


MONK_CHROMOPHORES = Chromophores(
    melanin=np.array([0.00281, 0.0076, 0.00918, 0.0215, 0.0288, 0.0536, 0.114, 0.229, 0.364, 0.467]),
    red_melanin=np.array([0.766, 0.765, 0.761, 0.736, 0.681, 0.317, 0.0655, 0.00993, 0.00244, 0.000527]),
    blood=np.array([0.000724, 0.00117, 0.00192, 0.0036, 0.00657, 0.00648, 0.00685, 0.00583, 0.0422, 0.0499]),
    scattering=np.array([2.81, 2.94, 2.97, 2.94, 2.11, 0.531, 0.325, 0.39, 0.405, 0.401]),
    surface=np.array([0.078, 0.0852, 0.0881, 0.0888, 0.0885, 0.0912, 0.102, 0.084, 0.0677, 0.0412]),
)
"""Optical parameters of skin of Monk's tones 1 to 10, by least squares on the curvature of hue over tones, within
CIEDE2000 < 6 of the swatches (https://skintone.google). Tones 5 to 8 are less saturated than these, nearer to skin in
vivo: exposed as a portrait is, the swatches themselves would be orange."""

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Relative luminance of linear RGB (ITU-R BT.709)."""

# Dark brown, brown, hazel, green, blue.
_IRIS = np.array(
    [[0.030, 0.017, 0.011], [0.064, 0.034, 0.017], [0.069, 0.048, 0.023], [0.053, 0.060, 0.039], [0.049, 0.071, 0.090]]
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


_EUMELANIN = np.array([0.419, 0.697, 1.37])
_PHEOMELANIN = np.array([0.187, 0.4, 1.05])
_PHEOMELANIN_OF_RED = np.array([0.187, 0.60, 1.57])
"""The published absorption leaves red hair paler than it is in photographs: half as much again in green and blue."""

_SCATTERING = 5.89
_MELANIN_OF_BLACK, _DECADES = 1.9, 4.1
"""Concentration at hair_color 0, and the natural logarithm by which it falls until 1."""

_BODY, _SURFACE = 0.52, 0.004
"""Reflectance of a mass of fibers without pigment, and of every fiber's surface."""

_PHEOMELANIN_OF_BLOND = 0.25
_RED, _RED_DECADES = 0.9, 1.6
"""Pheomelanin of the reddest hair at hair_color 0, and the natural logarithm by which it falls until 1."""

_GREY = np.array([0.176, 0.171, 0.164])


def hair_reflectance(
    hair_color: Float[np.ndarray, " n"], redness: Float[np.ndarray, " n"], grey: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n 3"]:
    """Reflectance of hair: from black (0) to blond (1), redness 0..1, share `grey` 0..1 without pigment.

    Redness puts red melanin in the place of the brown; red hair holds more melanin than blond.
    """
    color = np.asarray(hair_color, dtype=np.float64)
    brown = 1 - np.asarray(redness)
    melanin = _MELANIN_OF_BLACK * np.exp(-_DECADES * color) * brown
    of_blond = melanin * _PHEOMELANIN_OF_BLOND * color
    of_red = _RED * np.exp(-_RED_DECADES * color) * (1 - brown)
    absorption = (melanin - of_blond)[:, None] * _EUMELANIN + of_blond[:, None] * _PHEOMELANIN
    absorption = absorption + of_red[:, None] * _PHEOMELANIN_OF_RED
    pigmented = _SURFACE + _BODY * np.exp(-_SCATTERING * np.sqrt(absorption))
    return np.asarray(pigmented + np.asarray(grey)[:, None] * (_GREY - pigmented))


PARENTS = ("skin_tone", "light_level", "metering", "fill_light")
"""What the meter responds to, in the order of metered_exposure's arguments."""

MAXIMUM_GAIN = 6.0
"""The largest gain of the meter, in stops over the base gain (ISO 100 to ISO 6400)."""

REFERENCE_LUMINANCE = 0.51
"""The luminance of skin that the meter leaves at base gain under nominal light."""

TONE_ADAPTATION = 0.58
"""The share, in stops, of a skin's departure from the reference that the meter compensates when it reads the scene."""

COMMON_LUMINANCE = 0.30
"""The luminance of skin that is exposed alike whether the meter reads the scene or the face."""

MIRRORED = 0.012
"""What the surface of any skin mirrors of its surroundings: a meter that reads the face reads it too."""

FILL = 1.16
"""Irradiance of all the fill light: with that of the surroundings, as much as the key light has (lighting.py)."""


def metered_exposure(
    skin_tone: Float[np.ndarray, " n"],
    light_level: Float[np.ndarray, " n"],
    metering: Float[np.ndarray, " n"] | float = 0.0,
    fill_light: Float[np.ndarray, " n"] | float = 0.0,
) -> Float[np.ndarray, " n"]:
    """Gain in stops that the meter sets: scene light in full, and at most MAXIMUM_GAIN.

    What skin and fill light make of the face counts in part, or in full where the meter reads the face.
    skin_tone: Monk scale, 1..10. light_level: stops of scene light around nominal. metering: 0 scene, 1 face.
    fill_light: 0..1.
    """
    skin = luminance(skin_reflectance(skin_tone))
    # Under nominal light a cheek receives about 1 without fill light.
    filled = np.log2(1 + FILL * np.asarray(fill_light))
    scene = TONE_ADAPTATION * (np.log2(REFERENCE_LUMINANCE / skin) - filled)
    common = TONE_ADAPTATION * np.log2(REFERENCE_LUMINANCE / COMMON_LUMINANCE)
    face = common + np.log2((COMMON_LUMINANCE + MIRRORED) / (skin + MIRRORED)) - filled
    return np.asarray(np.minimum(MAXIMUM_GAIN, np.where(np.asarray(metering) == 1, face, scene) - light_level))
