"""From a subject's attribute values and identity code to what the renderer needs, as float32 numbers.

Angles become radians; reflectances follow from tone, pigment and grey. Parameters are computed in float64 and rounded
once, so that they do not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.attributes import IDENTITY, NAMES
from transect.generators.faceworld.reflectance import hair_reflectance, iris_reflectance, luminance, skin_reflectance

_ANGLES = ("yaw", "pitch", "roll", "light_azimuth", "light_elevation")
_IDENTITY_LIMIT, _IDENTITY_SCALE = 2.1, 1.45
_RELATIVE_REFERENCE, _RELATIVE_POWER = 0.45, 0.80
_VECTOR = 16
BACKDROP = (0.105, 3.8)
"""Radiance of the darkest background, and the ratio of the lightest to it."""

Columns = dict[str, Float[np.ndarray, " n"]]


class Row(NamedTuple):
    """One subject's parameters: numbers and linear RGB by name."""

    values: dict[str, float]
    colors: dict[str, Float[np.ndarray, " 3"]]


def parameters(values: Mapping[str, Float[np.ndarray, " n"]], identity: Float[np.ndarray, "n d"]) -> list[Row]:
    """The rows' parameters, rounded to float32. The identity code is bounded, to stay within human shapes."""
    n = len(identity)
    # Filled up to whole vectors, so that no row is left to the slower code that NumPy has for the last ones.
    rows = np.minimum(np.arange(-(-n // _VECTOR) * _VECTOR), max(n - 1, 0)) if n else np.zeros(0, dtype=np.intp)
    filled = {name: np.asarray(values[name], dtype=np.float64)[rows] for name in NAMES}
    scalars = scalars_of(filled, np.ascontiguousarray(identity[rows].T))
    exact = colors_of(scalars)
    scalars |= beside_skin(exact["skin"])
    colors = {name: color.astype(np.float32) for name, color in exact.items()}
    numbers = np.stack(list(scalars.values())).astype(np.float32).T
    tints = [dict(zip(colors, row, strict=True)) for row in zip(*colors.values(), strict=True)]
    each = zip(numbers[:n].tolist(), tints[:n], strict=True)
    return [Row(dict(zip(scalars, row, strict=True)), tint) for row, tint in each]


def scalars_of(values: Columns, identity: Float[np.ndarray, "d n"]) -> Columns:
    """Attributes with angles in radians, the bounded identity code, and what follows from either alone."""
    scalars = values | {name: np.radians(values[name]) for name in _ANGLES}
    bounded = _IDENTITY_LIMIT * np.tanh(identity * (_IDENTITY_SCALE / _IDENTITY_LIMIT))
    scalars |= dict(zip(IDENTITY, bounded, strict=True))
    scalars["old"] = np.clip((scalars["age"] - 28) / 45, 0, 1.2)
    scalars["squareness"] = 1 / (1 + np.exp(-1.5 * scalars["frame_shape"]))
    scalars["sin_light_azimuth"] = np.sin(scalars["light_azimuth"])
    scalars["light_factor"] = np.exp2(values["light_level"])
    return scalars


def colors_of(scalars: Columns) -> dict[str, Float[np.ndarray, "n 3"]]:
    """Reflectances of skin, hair, irises and cloth; radiance of the background; the camera's gain by channel."""
    grey = 1 / (1 + np.exp(-(scalars["age"] - 60 + 6 * scalars["greying"]) / 5))
    return {
        "skin": skin_reflectance(scalars["skin_tone"]),
        "hair": hair_reflectance(scalars["hair_color"], scalars["hair_redness"], 0.9 * grey),
        "iris": iris_reflectance(scalars["eye_color"]),
        "cloth": _cloth(scalars["clothing_hue"], scalars["clothing_lightness"]),
        "hat_cloth": _cloth(0.6 + 0.45 * scalars["hat_hue"], (0.47 + 0.17 * scalars["hat_lightness"]).clip(0.05, 0.78)),
        "backdrop": _backdrop(scalars["background_hue"], scalars["background_lightness"]),
        "gain": _gain(scalars),
    }


def beside_skin(skin: Float[np.ndarray, "n 3"]) -> Columns:
    """How light sclera and teeth are beside that skin."""
    # Swatches span 47x, living skin about a fifth of that. What lies next to skin in photographs (sclera, teeth) is
    # therefore stated relative to skin, so that the ratio to the cheek stays in the range that photographs have.
    beside = (luminance(skin) / _RELATIVE_REFERENCE) ** _RELATIVE_POWER
    return {"beside_skin": beside, "sclera": np.minimum(beside, 1.15)}


def _gain(p: Mapping[str, Float[np.ndarray, " n"]]) -> Float[np.ndarray, "n 3"]:
    """The camera's gain by channel: exposure, and white balance with red up and blue down by half of it each."""
    half = 0.5 * p["white_balance"]
    return np.asarray(np.exp2(p["exposure"][:, None] + np.stack([half, np.zeros_like(half), -half], axis=1)))


def _hue(turns: Float[np.ndarray, " n"], chroma: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """A color of luminance near 1 and the given chroma."""
    angle = 2 * np.pi * (turns[:, None] - np.array([0.0, 1.0, 2.0]) / 3)
    return np.asarray(1 + chroma[:, None] * np.cos(angle))


def _cloth(hue: Float[np.ndarray, " n"], lightness: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Reflectance of cloth, .012 to .55 on a logarithmic scale: much near grey, navy, wine, brown or olive."""
    kinds = ((0.61, 0.10, 0.50), (0.99, 0.06, 0.55), (0.09, 0.06, 0.28), (0.33, 0.08, 0.16))
    colored = sum(most * np.exp(-((((hue - center + 0.5) % 1 - 0.5) / wide) ** 2)) for center, wide, most in kinds)
    chroma = 0.02 + (0.1 + 0.9 * np.sin(np.pi * lightness) ** 2) * (1.1 - lightness) ** 0.5 * colored
    return np.asarray(0.012 * 46.0 ** lightness[:, None] * _hue(hue, chroma))


def _backdrop(hue: Float[np.ndarray, " n"], lightness: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Radiance of the background under nominal light, on a logarithmic scale: wood, leaves, sky, no pink."""
    darkest, span = BACKDROP
    near = [np.exp(-((((hue - center + 0.5) % 1 - 0.5) / 0.11) ** 2)) for center in (0.09, 0.30, 0.58)]
    chroma = np.asarray(0.015 + 0.12 * near[0] + 0.05 * near[1] + 0.25 * near[2])
    return np.asarray(darkest * span ** lightness[:, None] * _hue(hue, chroma))
