"""A soft key light and the light of the surroundings, linear; irradiance is about 1 on a cheek under nominal light.

Diffuse light wraps around the terminator as it does in skin; highlights are Blinn's, fading where the surface turns
away so that silhouettes stay quiet. Source: Blinn 1977, Models of light reflection for computer synthesized pictures.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, Vector, unit

KEY, AMBIENT, WRAP = 1.20, 0.21, 0.12
LIGHT_COLOR = (1.163, 0.965, 0.86)
"""Warm light under a daylight white balance, as in most portrait photographs."""


class Illumination(NamedTuple):
    """diffuse: irradiance [b, h, w]; highlight: 0..1 lobe [b, h, w]."""

    diffuse: Tensor
    highlight: Tensor


def illuminate(
    p: Parameters, normal: Vector, occlusion: Tensor | float = 0.0, shadow: Tensor | float = 0.0
) -> Illumination:
    """Light on a surface of the head. normal: components [b, h, w] in the head's frame.

    occlusion: optical depth of what keeps all light away; shadow: of what keeps the key light away.
    """
    nx, ny, nz = normal
    toward_key = nx * p["key_x"] + ny * p["key_y"] + nz * p["key_z"]
    key = KEY * ((toward_key + WRAP) / (1 + WRAP)).clamp(min=0)
    ambient = AMBIENT * (0.86 - 0.24 * ny + 0.10 * nz)
    open_sky = torch.exp(-torch.as_tensor(occlusion))
    diffuse = open_sky * (ambient + key * torch.exp(-torch.as_tensor(shadow)))
    return Illumination(diffuse, _highlight(p, nx, ny, nz) * open_sky)


def _highlight(p: Parameters, nx: Tensor, ny: Tensor, nz: Tensor) -> Tensor:
    hx, hy, hz = p["key_x"] + p["eye_from_x"], p["key_y"] + p["eye_from_y"], p["key_z"] + p["eye_from_z"]
    length = (hx * hx + hy * hy + hz * hz).sqrt()
    lobe = ((nx * hx + ny * hy + nz * hz) / length).clamp(min=0) ** 14
    facing = (nx * p["eye_from_x"] + ny * p["eye_from_y"] + nz * p["eye_from_z"]).clamp(0, 1)
    return lobe * facing


def relieved(normal: Vector, slope_x: Tensor, slope_y: Tensor) -> Vector:
    """The smooth head's normal tilted by the relief's slopes; at silhouettes, where nz is 0, the relief has no say."""
    nx, ny, nz = normal
    forward = nz.clamp(min=0)
    return unit(nx - forward * slope_x, ny - forward * slope_y, nz)


def light_color(like: Tensor) -> Tensor:
    """The light's color, [1, 3, 1, 1]."""
    return like.new_tensor(LIGHT_COLOR).view(1, 3, 1, 1)
