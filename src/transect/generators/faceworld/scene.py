"""What lies behind the person: a room, a wall or a street out of focus, as photographs have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import BACKGROUNDS
from transect.generators.faceworld.canvas import Canvas, picture_grid, spread_over
from transect.generators.faceworld.rows import Rows, bump, color, products, put, smoothstep, some, tint

_FAR_LIGHT = (1.03, 0.99, 0.97)
"""The light on the background, nearer to daylight than that on the face."""


def scene_traits(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """1 for the background that a row has, 0 for all others."""
    shown = np.asarray(values["background"])
    return {level: (shown == index).astype(np.float64) for index, level in enumerate(BACKGROUNDS)}


def background(canvas: Canvas, p: Rows, lattices: dict[str, Tensor]) -> Tensor:
    """Radiance [b, 3, h, w] of the background under nominal light, barely saturated."""
    field = {name: spread_over(canvas, lattices[name]) for name in ("backdrop", "backdrop_fine")}
    view = _View(canvas, *(1.2 * axis for axis in picture_grid(canvas)))
    falloff = 0.16 * view.X * p["sin_light_azimuth"] - 0.20 * view.Y
    depth, warmth = torch.zeros_like(field["backdrop"]), 0.35 * field["backdrop"].clamp(-1.5, 1.5)
    for name, structure in (("studio", _studio), ("wall", _wall), ("interior", _interior), ("outdoors", _outdoors)):
        pick = p.with_any(name)
        if pick is not None:
            textures = {name: some(lattices[name], pick) for name in ("backdrop_shapes", "backdrop_fine")}
            structured, tinted = structure(view, textures, some(field["backdrop"], pick))
            put(depth, pick, structured)
            put(warmth, pick, some(warmth, pick) + tinted)
    shade = torch.exp(falloff + depth + 0.025 * field["backdrop_fine"])
    warm = color(shade.unsqueeze(1), 0.085, 0.0, -0.115)
    return tint(p["backdrop"], shade) * (1 + warmth.unsqueeze(1) * warm) * color(shade, *_FAR_LIGHT)


class _View(NamedTuple):
    """The far background, which keeps its place when the camera steps back: picture coordinates [1, h, w]."""

    canvas: Canvas
    X: Tensor
    Y: Tensor


def _studio(view: _View, _: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A paper or cloth backdrop, lit brighter behind the head."""
    glow = bump((view.X**2 + (view.Y + 0.1) ** 2).sqrt(), 1.15)
    return 0.55 * glow + 0.16 * soft - 0.25, 0.1 * glow


def _wall(view: _View, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A plastered wall with the soft edge of a window's light, and a rail or the floor's corner at some height."""
    knots = lattices["backdrop_shapes"]
    lean, offset, height = 0.6 * knots[:, 0, 0], 0.6 * knots[:, 0, 1], 0.35 + 0.5 * knots[:, 0, 2]
    edge = smoothstep(view.X + lean.view(-1, 1, 1) * view.Y - offset.view(-1, 1, 1), -0.22, 0.22)
    rail = smoothstep(view.Y - height.view(-1, 1, 1), -0.05, 0.05)
    return 0.42 * edge - 0.30 * rail + 0.10 * soft - 0.05, 0.5 * edge - 0.3 * rail


def _interior(view: _View, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A room out of focus: shelves, frames and a window as blurred boxes."""
    x, y, width, tone, hue = (lattices["backdrop_shapes"][:, :5, j].unsqueeze(2) for j in range(5))
    half_x, half_y = 0.16 + 0.13 * width.abs(), 0.75 - 0.28 * width.clamp(-1, 1)
    across = smoothstep(half_x - (view.X[:, :1] - 0.9 * x).abs(), -0.10, 0.10)
    down = smoothstep(half_y - (view.Y[:, :, :1].transpose(1, 2) + 0.35 - 0.5 * y).abs(), -0.10, 0.10).transpose(1, 2)
    # A box is a row times a column: all boxes of a room are one product of matrices.
    depth, warmth = products(down, 0.60 * tone * across), products(down, 0.8 * hue * across)
    return (depth + 0.12 * soft).clamp(-1.3, 1.1), (warmth + 0.2 * soft).clamp(-1.5, 1.5)


def _outdoors(view: _View, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """Sky above foliage or a street, far out of focus, with discs of light."""
    shapes = spread_over(view.canvas, lattices["backdrop_shapes"])
    horizon = smoothstep(view.Y + 0.35 + 0.35 * soft, -0.45, 0.45)
    leaves = smoothstep(shapes, -0.5, 0.6) - 0.5
    spots = lattices["backdrop_fine"]
    x, y, brightness = (spots[:, :7, j].view(-1, 7, 1, 1) for j in range(3))
    radius = ((view.X - 0.9 * x) ** 2 + (view.Y + 0.3 - 0.5 * y) ** 2).sqrt()
    discs = (smoothstep(brightness, -0.2, 1.5) * smoothstep(0.13 - radius, -0.03, 0.03)).amax(1)
    depth = 0.55 * (1 - horizon) - 0.25 * horizon + horizon * (0.65 * leaves + 0.55 * discs) + 0.15 * soft
    return depth, -0.6 * (1 - horizon) + 0.5 * horizon * leaves
