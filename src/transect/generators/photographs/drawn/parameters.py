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

from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.parameters import beside_skin, colors_of, scalars_of
from transect.generators.faceworld.reflectance import FILL
from transect.generators.faceworld.rows import Rows
from transect.generators.photographs.drawn.facial_hair import facial_hair_traits
from transect.generators.photographs.drawn.glasses import glasses_traits
from transect.generators.photographs.drawn.hair import hair_traits
from transect.generators.photographs.drawn.hats import hat_traits
from transect.generators.photographs.drawn.head import shape_weights, vertical_scale
from transect.generators.photographs.drawn.skin import AMBIENT

_VECTOR = 16


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
    scalars = scalars_of(values, identity)
    scalars["young"] = np.clip((34 - scalars["age"]) / 16, 0, 1)
    colors = colors_of(scalars)
    scalars |= beside_skin(colors["skin"])
    spectacles, colors["lens_depth"] = glasses_traits(values, scalars["frame_color"])
    scalars |= spectacles | hair_traits(values) | facial_hair_traits(values) | hat_traits(values)
    scalars |= _transcendental(scalars) | shape_weights(scalars)
    scalars["eye_tall"] = scalars["eye_tall"] * vertical_scale(scalars)
    return scalars | _key_light(scalars), colors


def _transcendental(p: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """Transcendental functions of one parameter that layers need: see rows.py."""
    sines = {f"sin_{name}": np.sin(p[name]) for name in ("yaw", "pitch", "roll")}
    return {
        **sines,
        **{f"cos_{name}": np.cos(p[name]) for name in ("yaw", "pitch", "roll")},
        "parted_side": np.tanh(p["hair_parting"]),
        "swept_side": np.tanh(1.5 * p["hair_parting"]),
        "bare_knot": p["knot"] * (p["hat"] == 0),
        "sheen": p["beside_skin"] ** 0.4,
        "fill": FILL * p["fill_light"],
        "ambient": AMBIENT + FILL * p["fill_light"],
    }


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
