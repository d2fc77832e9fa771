"""Laying one thing over another: soft coverage, smooth steps, layers. Everything is per pixel; nothing mixes pixels.

Axes: b images of a tile, h and w pixels. Radiance and reflectance are linear RGB, [b, 3, h, w]; coverages and
distances are [b, h, w]. Lengths are in face units: the eyes are about .54 apart.
"""

from __future__ import annotations

import functools
from typing import TypeAlias

import torch
from torch import Tensor

from transect.generators.faceworld.rows import Parameters

__all__ = [
    "Parameters",
    "Vector",
    "beyond",
    "bump",
    "color",
    "coverage",
    "mix",
    "over",
    "power",
    "smoothstep",
    "tint",
    "unit",
]

Vector: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""Components x, y, z, each [b, h, w]."""


def coverage(distance: Tensor, pixel: float | Tensor) -> Tensor:
    """Share of a pixel on the inner side of an edge at that signed distance (inside > 0): an edge one pixel wide."""
    share = distance / pixel if isinstance(pixel, Tensor) else distance * (1 / pixel)
    return share.add_(0.5).clamp_(0, 1)


def smoothstep(value: Tensor, low: float | Tensor, high: float | Tensor) -> Tensor:
    """0 below low, 1 above high, 3t² - 2t³ in between."""
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        t = (value - low) / (high - low)
    else:
        t = (value - low).mul_(1 / (high - low))
    t = t.clamp_(0, 1)
    return (t * -2).add_(3).mul_(t).mul_(t)


LEAST = 25.0
"""Exponents end at -LEAST. Below -87 lie denormal numbers, which take a hundred times as long, and their products begin
before; e⁻²⁵ = 1e-11 is negligible next to 1 in float32."""


def bump(value: Tensor, width: float | Tensor) -> Tensor:
    """exp(-(value / width)²), and no less than exp(-LEAST)."""
    if isinstance(width, Tensor):
        t = value / width
        return t.mul_(t).neg_().clamp_(min=-LEAST).exp_()
    return (value * value).mul_(-1 / (width * width)).clamp_(min=-LEAST).exp_()


def power(value: Tensor, exponent: float | Tensor) -> Tensor:
    """A non-negative number to the power of another, by logarithms, which take a fifth of the time of a power."""
    return value.clamp(min=1e-20).log_().mul_(exponent).exp_()


def beyond(value: Tensor) -> Tensor:
    """1 where the value is above 0, else 0."""
    return torch.sign(value).clamp_(min=0)


def mix(start: Tensor, end: Tensor, share: Tensor) -> Tensor:
    """Start at share 0, end at share 1; exactly start where the share is 0."""
    if start.shape[-1] == end.shape[-1] == share.shape[-1] == 1:
        return start + share * (end - start)
    return torch.lerp(start, end, share)


def over(base: Tensor, layer: Tensor, alpha: Tensor) -> Tensor:
    """The layer laid over the base with coverage alpha [b, h, w]; exactly the base where alpha is 0."""
    return torch.lerp(base, layer, alpha.unsqueeze(1))


def tint(reflectance: Tensor, shade: Tensor) -> Tensor:
    """A color [b, 3, 1, 1] under a shade [b, h, w]."""
    return reflectance * shade.unsqueeze(1)


def color(like: Tensor, red: float, green: float, blue: float) -> Tensor:
    """A constant linear RGB color [1, 3, 1, 1]."""
    return _color((red, green, blue), like.dtype, like.device)


@functools.lru_cache(maxsize=256)
def _color(rgb: tuple[float, float, float], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(rgb, dtype=dtype, device=device).view(1, 3, 1, 1)


def unit(x: Tensor, y: Tensor, z: Tensor) -> Vector:
    """The vector scaled to length 1."""
    scale = (x * x).addcmul_(y, y).addcmul_(z, z).sqrt_().clamp_(min=1e-12).reciprocal_()
    return x * scale, y * scale, z * scale
