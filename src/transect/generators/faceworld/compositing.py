"""Laying one thing over another: soft coverage, smooth steps, layers. Everything is per pixel; nothing mixes pixels.

Axes: b images of a tile, h and w pixels. Radiance and reflectance are linear RGB, [b, 3, h, w]; coverages and
distances are [b, h, w]. Lengths are in face units: the picture is 2 * HALF_EXTENT wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor

Parameters: TypeAlias = Mapping[str, Tensor]
"""Attributes, identity code and what follows from them, by name: float32 [b, 1, 1], colors [b, 3, 1, 1]."""


Vector: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""Components x, y, z, each [b, h, w]."""


def coverage(distance: Tensor, pixel: float | Tensor) -> Tensor:
    """Share of a pixel on the inner side of an edge at that signed distance (inside > 0): an edge one pixel wide."""
    return (distance / pixel + 0.5).clamp(0, 1)


def smoothstep(value: Tensor, low: float | Tensor, high: float | Tensor) -> Tensor:
    """0 below low, 1 above high, 3t² - 2t³ in between."""
    t = ((value - low) / (high - low)).clamp(0, 1)
    return t * t * (3 - 2 * t)


def bump(value: Tensor, width: float | Tensor) -> Tensor:
    """exp(-(value / width)²)."""
    return torch.exp(-((value / width) ** 2))


def mix(start: Tensor, end: Tensor, share: Tensor) -> Tensor:
    """Start at share 0, end at share 1; exactly start where the share is 0."""
    return start + share * (end - start)


def over(base: Tensor, layer: Tensor, alpha: Tensor) -> Tensor:
    """The layer laid over the base with coverage alpha [b, h, w]; exactly the base where alpha is 0."""
    return base + alpha.unsqueeze(1) * (layer - base)


def tint(reflectance: Tensor, shade: Tensor) -> Tensor:
    """A color [b, 3, 1, 1] under a shade [b, h, w]."""
    return reflectance * shade.unsqueeze(1)


def color(like: Tensor, red: float, green: float, blue: float) -> Tensor:
    """A constant linear RGB color [1, 3, 1, 1]."""
    return like.new_tensor([red, green, blue]).view(1, 3, 1, 1)


def unit(x: Tensor, y: Tensor, z: Tensor) -> Vector:
    """The vector scaled to length 1."""
    length = (x * x + y * y + z * z).sqrt().clamp(min=1e-12)
    return x / length, y / length, z / length
