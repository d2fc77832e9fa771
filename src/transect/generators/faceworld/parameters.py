"""From a subject's attribute values and identity code to what the renderer needs, as float32 tensors.

Angles become radians; reflectances follow from tone, pigment and grey; the key light is turned into the head's frame.
Parameters are computed in float64 and rounded once, so that they do not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import IDENTITY, NAMES
from transect.generators.faceworld.facial_hair import facial_hair_traits
from transect.generators.faceworld.hair_pigment import hair_reflectance
from transect.generators.faceworld.hair_styles import hair_traits
from transect.generators.faceworld.hats import hat_traits
from transect.generators.faceworld.reflectance import (
    iris_reflectance,
    luminance,
    skin_reflectance,
)
from transect.generators.faceworld.scene import scene_traits

_ANGLES = ("yaw", "pitch", "roll", "light_azimuth", "light_elevation")
_IDENTITY_LIMIT, _IDENTITY_SCALE = 2.4, 1.25
_RELATIVE_REFERENCE, _RELATIVE_POWER = 0.45, 0.80
BACKDROP = (0.124, 2.0)
"""Radiance of the darkest background, and how many times brighter the lightest is."""


def parameters(values: Mapping[str, Float[np.ndarray, " n"]], identity: Float[np.ndarray, "n d"]) -> dict[str, Tensor]:
    """Scalars [n, 1, 1] and colors [n, 3, 1, 1] by name. The identity code is bounded, to stay within human shapes."""
    scalars = {name: np.asarray(values[name], dtype=np.float64) for name in NAMES}
    scalars |= {name: np.radians(scalars[name]) for name in _ANGLES}
    bounded = _IDENTITY_LIMIT * np.tanh(identity * (_IDENTITY_SCALE / _IDENTITY_LIMIT))
    scalars |= {name: bounded[:, j] for j, name in enumerate(IDENTITY)}
    scalars["old"] = np.clip((scalars["age"] - 28) / 45, 0, 1.2)
    grey = 1 / (1 + np.exp(-(scalars["age"] - 60 + 6 * scalars["greying"]) / 5))
    skin = skin_reflectance(scalars["skin_tone"])
    colors = {
        "skin": skin,
        "hair": hair_reflectance(scalars["hair_color"], scalars["hair_redness"], 0.9 * grey),
        "iris": iris_reflectance(scalars["eye_color"]),
        "cloth": _cloth(scalars["clothing_hue"], scalars["clothing_lightness"]),
        "hat_cloth": _cloth(0.6 + 0.45 * scalars["hat_hue"], np.clip(0.42 + 0.22 * scalars["hat_lightness"], 0, 1)),
        "backdrop": _backdrop(scalars["background_hue"], scalars["background_lightness"]),
    }
    # Swatches span 47x, living skin about a fifth of that. What photographs show beside skin (sclera, teeth) is
    # therefore given relative to it, so that the ratio to the cheek stays in the range that photographs have.
    scalars["beside_skin"] = (luminance(skin) / _RELATIVE_REFERENCE) ** _RELATIVE_POWER
    scalars |= hair_traits(values) | facial_hair_traits(values) | hat_traits(values)
    scalars |= scene_traits(values)
    made = {name: _tensor(value).view(-1, 1, 1) for name, value in scalars.items()}
    made |= {name: _tensor(value).view(-1, 3, 1, 1) for name, value in colors.items()}
    made |= _key_light(made)
    return made


def _tensor(value: Float[np.ndarray, ...]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(value, dtype=np.float32))


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
    chroma = np.asarray(0.02 + 0.06 * near[0] + 0.05 * near[1] + 0.09 * near[2])
    return np.asarray(darkest * span ** lightness[:, None] * _hue(hue, chroma))


def _key_light(p: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Unit vector towards the key light in the viewer's frame (light_*) and in the head's frame (key_*)."""
    azimuth, elevation = p["light_azimuth"], p["light_elevation"]
    x = torch.sin(azimuth) * torch.cos(elevation)
    y, z = -torch.sin(elevation), torch.cos(azimuth) * torch.cos(elevation)
    viewer = {"light_x": x, "light_y": y, "light_z": z}
    head = dict(zip(("key_x", "key_y", "key_z"), to_head(p, x, y, z), strict=True))
    eye = dict(zip(("eye_from_x", "eye_from_y", "eye_from_z"), to_head(p, 0 * x, 0 * x, 0 * x + 1), strict=True))
    return {**viewer, **head, **eye}


def to_head(p: Mapping[str, Tensor], x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A vector of the viewer's frame in the head's frame: roll, pitch and yaw undone."""
    c, s = torch.cos(p["roll"]), torch.sin(p["roll"])
    x, y = c * x + s * y, c * y - s * x
    c, s = torch.cos(p["pitch"]), torch.sin(p["pitch"])
    y, z = c * y + s * z, c * z - s * y
    c, s = torch.cos(p["yaw"]), torch.sin(p["yaw"])
    return c * x - s * z, y, c * z + s * x
