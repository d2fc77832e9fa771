"""From a subject's attribute values and identity code to what the renderer needs, as float32 tensors.

Angles become radians; reflectances follow from tone, pigment and grey; the key light is turned into the head's frame.
Parameters are computed in float64 and rounded once, so that they do not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import IDENTITY, NAMES
from transect.generators.faceworld.facial_hair import facial_hair_traits
from transect.generators.faceworld.glasses import glasses_traits
from transect.generators.faceworld.hair import hair_traits
from transect.generators.faceworld.hats import hat_traits
from transect.generators.faceworld.head import shape_weights, vertical_scale
from transect.generators.faceworld.reflectance import (
    FILL,
    hair_reflectance,
    iris_reflectance,
    luminance,
    skin_reflectance,
)
from transect.generators.faceworld.rows import Rows
from transect.generators.faceworld.scene import scene_traits
from transect.generators.faceworld.skin import AMBIENT

_ANGLES = ("yaw", "pitch", "roll", "light_azimuth", "light_elevation")
_IDENTITY_LIMIT, _IDENTITY_SCALE = 2.4, 1.25
_RELATIVE_REFERENCE, _RELATIVE_POWER = 0.45, 0.80
_VECTOR = 16
BACKDROP = (0.1140, 1.75)
"""Radiance of the darkest background, and the ratio of the lightest to it."""


def parameters(
    values: Mapping[str, Float[np.ndarray, " n"]],
    identity: Float[np.ndarray, "n d"],
    device: torch.device | str = "cpu",
) -> Rows:
    """Scalars [n, 1, 1] and colors [n, 3, 1, 1] by name. The identity code is bounded, to stay within human shapes."""
    n = len(identity)
    # Filled up to whole vectors, so that no row is left to the slower code that NumPy has for the last ones.
    rows = np.minimum(np.arange(-(-n // _VECTOR) * _VECTOR), max(n - 1, 0)) if n else np.zeros(0, dtype=np.intp)
    scalars, colors = _parameters(
        {name: np.asarray(values[name], dtype=np.float64)[rows] for name in NAMES},
        np.ascontiguousarray(identity[rows].T),
    )
    return Rows({k: v[:n] for k, v in scalars.items()}, {k: v[:n] for k, v in colors.items()}, device)


def _parameters(
    values: dict[str, Float[np.ndarray, " n"]], identity: Float[np.ndarray, "d n"]
) -> tuple[dict[str, Float[np.ndarray, " n"]], dict[str, Float[np.ndarray, "n 3"]]]:
    scalars = values | {name: np.radians(values[name]) for name in _ANGLES}
    bounded = _IDENTITY_LIMIT * np.tanh(identity * (_IDENTITY_SCALE / _IDENTITY_LIMIT))
    scalars |= dict(zip(IDENTITY, bounded, strict=True))
    scalars["old"] = np.clip((scalars["age"] - 28) / 45, 0, 1.2)
    scalars["young"] = np.clip((34 - scalars["age"]) / 16, 0, 1)
    grey = 1 / (1 + np.exp(-(scalars["age"] - 60 + 6 * scalars["greying"]) / 5))
    skin = skin_reflectance(scalars["skin_tone"])
    colors = {
        "skin": skin,
        "hair": hair_reflectance(scalars["hair_color"], scalars["hair_redness"], 0.9 * grey),
        "iris": iris_reflectance(scalars["eye_color"]),
        "cloth": _cloth(scalars["clothing_hue"], scalars["clothing_lightness"]),
        "hat_cloth": _cloth(0.6 + 0.45 * scalars["hat_hue"], np.clip(0.62 + 0.22 * scalars["hat_lightness"], 0, 1)),
        "backdrop": _backdrop(scalars["background_hue"], scalars["background_lightness"]),
        "gain": _gain(scalars),
    }
    # Swatches span 47x, living skin about a fifth of that. What lies next to skin in photographs (sclera, teeth) is
    # therefore stated relative to skin, so that the ratio to the cheek stays in the range that photographs have.
    scalars["beside_skin"] = (luminance(skin) / _RELATIVE_REFERENCE) ** _RELATIVE_POWER
    spectacles, colors["lens_depth"] = glasses_traits(values, scalars["frame_color"])
    scalars |= spectacles | hair_traits(values) | facial_hair_traits(values) | hat_traits(values) | scene_traits(values)
    scalars |= _transcendental(scalars) | shape_weights(scalars)
    scalars["eye_tall"] = scalars["eye_tall"] * vertical_scale(scalars)
    return scalars | _key_light(scalars), colors


def _transcendental(p: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """Transcendental functions of one parameter that layers need: see rows.py."""
    sines = {f"sin_{name}": np.sin(p[name]) for name in ("yaw", "pitch", "roll", "light_azimuth")}
    return {
        **sines,
        **{f"cos_{name}": np.cos(p[name]) for name in ("yaw", "pitch", "roll")},
        "parted_side": np.tanh(p["hair_parting"]),
        "swept_side": np.tanh(1.5 * p["hair_parting"]),
        "bare_knot": p["knot"] * (p["hat"] == 0),
        "squareness": 1 / (1 + np.exp(-1.5 * p["frame_shape"])),
        "sheen": p["beside_skin"] ** 0.4,
        "sclera": np.minimum(p["beside_skin"], 1.15),
        "light_factor": np.exp2(p["light_level"]),
        "fill": FILL * p["fill_light"],
        "ambient": AMBIENT + FILL * p["fill_light"],
    }


def _gain(p: Mapping[str, Float[np.ndarray, " n"]]) -> Float[np.ndarray, "n 3"]:
    """The camera's gain by channel: exposure, and white balance with red up and blue down by half of it each."""
    half = 0.5 * p["white_balance"]
    return np.asarray(np.exp2(p["exposure"][:, None] + np.stack([half, np.zeros_like(half), -half], axis=1)))


def _hue(turns: Float[np.ndarray, " n"], chroma: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """A color of luminance near 1 and the given chroma."""
    angle = 2 * np.pi * (turns[:, None] - np.array([0.0, 1.0, 2.0]) / 3)
    return np.asarray(1 + chroma[:, None] * np.cos(angle))


def _cloth(hue: Float[np.ndarray, " n"], lightness: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Reflectance of cloth: .008 to .24 on a logarithmic scale; the middle tones carry the color."""
    chroma = 0.08 + 0.34 * np.sin(np.pi * lightness) ** 2
    return np.asarray(0.008 * 30.0 ** lightness[:, None] * _hue(hue, chroma))


def _backdrop(hue: Float[np.ndarray, " n"], lightness: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Radiance of the background under nominal light, on a logarithmic scale: wood, leaves, sky, no pink."""
    darkest, span = BACKDROP
    near = [np.exp(-((((hue - center + 0.5) % 1 - 0.5) / 0.11) ** 2)) for center in (0.09, 0.30, 0.58)]
    chroma = np.asarray(0.03 + 0.10 * near[0] + 0.08 * near[1] + 0.13 * near[2])
    return np.asarray(darkest * span ** lightness[:, None] * _hue(hue, chroma))


def _key_light(p: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """Unit vectors to the key light (light_, key_), the viewer (eye_from_), between (half_), and the nose's shade."""
    azimuth, elevation = p["light_azimuth"], p["light_elevation"]
    x = np.sin(azimuth) * np.cos(elevation)
    y, z = -np.sin(elevation), np.cos(azimuth) * np.cos(elevation)
    key = np.stack(to_head(p, x, y, z))
    eye = np.stack(to_head(p, 0 * x, 0 * x, 0 * x + 1))
    half = key + eye
    half = half / np.sqrt(half[0] ** 2 + half[1] ** 2 + half[2] ** 2)
    vectors = {"light": (x, y, z), "key": key, "eye_from": eye, "half": half}
    named = {
        f"{name}_{axis}": part for name, vector in vectors.items() for axis, part in zip("xyz", vector, strict=True)
    }
    return {**named, "nose_side": np.tanh(4 * key[0])}


Scalar = TypeVar("Scalar", Tensor, Float[np.ndarray, " n"])
"""A number per row, as a tensor or an array."""


def to_head(p: Mapping[str, Scalar], x: Scalar, y: Scalar, z: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A vector of the viewer's frame in the head's frame: roll, pitch and yaw undone."""
    c, s = p["cos_roll"], p["sin_roll"]
    x, y = c * x + s * y, c * y - s * x
    c, s = p["cos_pitch"], p["sin_pitch"]
    y, z = c * y + s * z, c * z - s * y
    c, s = p["cos_yaw"], p["sin_yaw"]
    return c * x - s * z, y, c * z + s * x
