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
from transect.generators.faceworld.rows import Rows, bump, color, products, put, smoothstep, some

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
    depth, green = torch.zeros_like(field["backdrop"]), torch.zeros_like(field["backdrop"])
    warmth = 0.15 * field["backdrop"].clamp(-1.5, 1.5)
    for name, structure in (("studio", _studio), ("wall", _wall), ("interior", _interior), ("outdoors", _outdoors)):
        pick = p.with_any(name)
        if pick is not None:
            textures = {name: some(lattices[name], pick) for name in ("backdrop_shapes", "backdrop_fine")}
            structured, tinted = structure(view, textures, some(field["backdrop"], pick))
            put(depth, pick, structured)
            put(warmth, pick, some(warmth, pick) + tinted)
            if name == "outdoors":
                put(green, pick, (0.4 + 0.8 * tinted).clamp(0, 1))
    shade = torch.exp(falloff + depth + 0.015 * field["backdrop_fine"]).unsqueeze(1)
    hue = 1 + warmth.unsqueeze(1) * color(shade, 0.13, 0.0, -0.17) + green.unsqueeze(1) * color(shade, -0.10, 0.06, -0.24)
    return p["backdrop"] * shade * hue * color(shade, *_FAR_LIGHT)


class _View(NamedTuple):
    """The far background, which keeps its place when the camera steps back: picture coordinates [1, h, w]."""

    canvas: Canvas
    X: Tensor
    Y: Tensor


def _studio(view: _View, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A paper or cloth backdrop: lit behind the head or from a side, and darker towards the corners."""
    knots = lattices["backdrop_shapes"]
    aside, strength, lean = (knots[:, 0, j].view(-1, 1, 1) for j in range(3))
    glow = bump(((view.X - 0.45 * aside) ** 2 + (view.Y + 0.1) ** 2).sqrt(), 1.25)
    return (0.50 + 0.16 * strength) * glow + 0.16 * lean * view.Y + 0.05 * soft - 0.25, 0.15 * glow


def _wall(view: _View, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A plastered wall with the wide edge of a window's light, and in some a rail or a corner of the room."""
    knots = lattices["backdrop_shapes"]
    lean, offset, height, corner, rails = (knots[:, 0, j].view(-1, 1, 1) for j in range(5))
    edge = smoothstep(view.X + 0.4 * lean * view.Y - 0.7 * offset, -0.6, 0.6)
    rail = smoothstep(view.Y - 0.6 - 0.4 * height, -0.10, 0.10) * smoothstep(rails, -0.1, 0.1)
    turned = smoothstep(view.X - 1.3 * corner, -0.07, 0.07)
    return 0.36 * edge - 0.25 * rail + 0.22 * turned + 0.07 * soft - 0.2, 0.6 * edge - 0.3 * rail - 0.2 * turned


def _boxes(view: _View, knots: Tensor, soft: float, narrow: float = 0.12) -> tuple[Tensor, Tensor]:
    """Blurred boxes, how bright and how warm: a box is a row times a column, so that all are one product of matrices."""
    x, y, width, tone, hue, tall = (knots[:, :5, j].unsqueeze(2) for j in range(6))
    half_x, half_y = narrow + 0.20 * width.abs(), 0.55 + 0.40 * tall.clamp(-1, 1)
    across = smoothstep(half_x - (view.X[:, :1] - 0.95 * x).abs(), -soft, soft)
    down = smoothstep(half_y - (view.Y[:, :, :1].transpose(1, 2) + 0.35 - 0.6 * y).abs(), -soft, soft).transpose(1, 2)
    return products(down, 0.62 * tone * across), products(down, 0.9 * hue * across)


def _discs(view: _View, spots: Tensor, high: float, radius: float) -> Tensor:
    """Points of light far out of focus, the brightest at each place."""
    x, y, bright, size = (spots[:, :7, j].view(-1, 7, 1, 1) for j in range(4))
    far = ((view.X - 0.9 * x) ** 2 + (view.Y + high - 0.5 * y) ** 2).sqrt()
    edge = radius * (1 + 0.3 * size.clamp(-1, 1)) - far
    return (smoothstep(bright, 0.0, 1.6) * smoothstep(edge, -0.035, 0.035)).amax(1)


def _interior(view: _View, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A room far out of focus: walls and floor, furniture, windows and lamps."""
    knots, fine = lattices["backdrop_shapes"], lattices["backdrop_fine"]
    depth, warmth = (
        large + small
        for large, small in zip(_boxes(view, knots, 0.24, 0.22), _boxes(view, fine[:, 9:, :6], 0.11, 0.03), strict=True)
    )
    floor = smoothstep(view.Y - 0.75 - 0.3 * knots[:, 0, 5].view(-1, 1, 1), -0.2, 0.2)
    lamps = _discs(view, fine, 0.45, 0.13)
    depth = depth - 0.35 * floor + 0.8 * lamps + 0.10 * soft
    return depth.clamp(-1.4, 1.3), (warmth + 0.5 * floor + 0.8 * lamps + 0.35).clamp(-1.5, 1.8)


def _outdoors(view: _View, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """Sky above trees or a street, far out of focus, with discs of light."""
    shapes, fine = (spread_over(view.canvas, lattices[name]) for name in ("backdrop_shapes", "backdrop_fine"))
    houses, _ = _boxes(view, lattices["backdrop_shapes"], 0.12, 0.3)
    leaves = smoothstep(shapes + 0.32 * fine, -0.9, 0.9) - 0.5
    ground = smoothstep(view.Y + 0.65 + 0.5 * soft + 0.35 * shapes + 0.07 * fine, -0.4, 0.4)
    discs = _discs(view, lattices["backdrop_fine"], 0.3, 0.10)
    depth = 0.75 * (1 - ground) + ground * (0.6 * leaves + 0.5 * houses + 0.7 * discs - 0.35)
    return depth, ground * (0.6 + 0.5 * leaves - 1.2 * houses.abs()) - 0.9 * (1 - ground)
