"""A soft key light and the light of the surroundings, linear; irradiance is about 1 on a cheek under nominal light.

Diffuse light wraps around the terminator as it does in skin; highlights are Blinn's, fading where the surface turns
away so that silhouettes stay quiet. Source: Blinn 1977, Models of light reflection for computer synthesized pictures.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, Vector, color, unit

KEY, AMBIENT, WRAP = 1.32, 0.157, 0.10
LIGHT_COLOR = (1.120, 0.973, 0.914)
"""What a camera's white balance leaves of a warm light, as in most portrait photographs: it discounts most of it."""


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
    _, ny, nz = normal
    key = (toward(normal, p, "key") + WRAP).clamp_(min=0).mul_(KEY / (1 + WRAP))
    ambient = p["ambient"] * (0.86 - 0.24 * ny + 0.10 * nz)
    diffuse, highlight = ambient + key * _passed(shadow), _highlight(p, normal)
    open_sky = _passed(occlusion)
    return Illumination(diffuse * open_sky, highlight * open_sky)


def toward(vector: Vector, p: Parameters, name: str) -> Tensor:
    """Product of a vector with that of the parameters: for unit vectors, the cosine between them."""
    x, y, z = vector
    return (x * p[f"{name}_x"]).addcmul_(y, p[f"{name}_y"]).addcmul_(z, p[f"{name}_z"])


def _passed(depth: Tensor | float) -> Tensor | float:
    """The share of light that passes an optical depth."""
    return torch.exp(-depth) if isinstance(depth, Tensor) else math.exp(-depth)


def _highlight(p: Parameters, normal: Vector) -> Tensor:
    """Blinn's lobe with an exponent of 14."""
    lobe = toward(normal, p, "half").clamp_(min=0)
    second = lobe * lobe
    fourth = second * second
    return (fourth * fourth).mul_(fourth).mul_(second).mul_(toward(normal, p, "eye_from").clamp_(0, 1))


def relieved(normal: Vector, slope_x: Tensor, slope_y: Tensor) -> Vector:
    """The smooth head's normal tilted by the relief's slopes; the relief has no effect at silhouettes (nz = 0)."""
    nx, ny, nz = normal
    forward = nz.clamp(min=0)
    return unit(nx - forward * slope_x, ny - forward * slope_y, nz)


def light_color(like: Tensor) -> Tensor:
    """The light's color, [1, 3, 1, 1]."""
    return color(like, *LIGHT_COLOR)
