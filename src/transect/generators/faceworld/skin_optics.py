"""The color of skin: melanin over blood over scattering fibers, from published absorption and scattering.

The dermis is a semi-infinite scattering medium with blood in it (dipole diffusion); the epidermis above filters light
twice with its melanin. Spectra become linear RGB under daylight. Sources: melanin, baseline and scattering, Jacques
2013, Optical properties of biological tissues, doi:10.1088/0031-9155/58/11/R37; haemoglobin, Prahl 1999 (compiled from
Gratzer and Kollias); diffuse reflectance, Jensen et al. 2001, doi:10.1145/383259.383319; the two layers and the two
melanins, Donner & Jensen 2006, A spectral BSSRDF for shading human skin; color matching functions, Wyman, Sloan &
Shirley 2013, Simple analytic approximations to the CIE XYZ color matching functions.
"""

from __future__ import annotations

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
