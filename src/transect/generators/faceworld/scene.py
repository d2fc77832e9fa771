"""What surrounds the face: a room, a wall or a street out of focus, as photographs have them, and clothes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import BACKGROUNDS, CLOTHES, PATTERNS
from transect.generators.faceworld.compositing import Parameters, bump, color, coverage, mix, smoothstep, tint
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import AMBIENT, KEY, light_color
from transect.generators.faceworld.textures import spread


def scene_traits(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """1 for the background, the neckline and the pattern that a row has, 0 for all others.

    >>> traits = scene_traits({name: np.array([1.0]) for name in ("background", "clothing", "clothing_pattern")})
    >>> sorted(name for name, column in traits.items() if column[0] == 1)
    ['stripes', 'v-neck', 'wall']
    """
    tables = (("background", BACKGROUNDS), ("clothing", CLOTHES), ("clothing_pattern", PATTERNS))
    return {
        level: (np.asarray(values[name]) == index).astype(np.float64)
        for name, levels in tables
        for index, level in enumerate(levels)
    }


def background(frame: Frame, p: Parameters, lattices: dict[str, Tensor]) -> Tensor:
    """Radiance [b, 3, h, w] of the background under nominal light, hardly saturated."""
    field = {name: spread(lattices[name], frame.size, frame.size) for name in ("backdrop", "backdrop_fine")}
    falloff = 0.16 * frame.X * torch.sin(p["light_azimuth"]) - 0.20 * frame.Y
    depth, warmth = torch.zeros_like(frame.X), 0.35 * field["backdrop"].clamp(-1.5, 1.5)
    for name, structure in (("studio", _studio), ("wall", _wall), ("interior", _interior), ("outdoors", _outdoors)):
        if float(p[name]) > 0:
            structured, tinted = structure(frame, lattices, field["backdrop"])
            depth, warmth = depth + structured, warmth + tinted
    shade = torch.exp(falloff + depth + 0.025 * field["backdrop_fine"])
    warm = color(shade.unsqueeze(1), 0.085, 0.0, -0.115)
    return tint(p["backdrop"], shade) * (1 + warmth.unsqueeze(1) * warm) * light_color(shade)


def _studio(frame: Frame, _: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A paper or cloth backdrop, lit brighter behind the head."""
    glow = bump((frame.X**2 + (frame.Y + 0.1) ** 2).sqrt(), 1.15)
    return 0.55 * glow + 0.16 * soft - 0.25, 0.1 * glow


def _wall(frame: Frame, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A plastered wall with the soft edge of a window's light, and a rail or the floor's corner at some height."""
    knots = lattices["backdrop_shapes"]
    lean, offset, height = 0.6 * knots[:, 0, 0], 0.6 * knots[:, 0, 1], 0.35 + 0.5 * knots[:, 0, 2]
    edge = smoothstep(frame.X + lean.view(-1, 1, 1) * frame.Y - offset.view(-1, 1, 1), -0.22, 0.22)
    rail = smoothstep(frame.Y - height.view(-1, 1, 1), -0.05, 0.05)
    return 0.42 * edge - 0.30 * rail + 0.10 * soft - 0.05, 0.5 * edge - 0.3 * rail


def _interior(frame: Frame, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """A room out of focus: shelves, frames and a window as blurred boxes."""
    knots, depth, warmth = lattices["backdrop_shapes"], 0.12 * soft, 0.2 * soft
    for i in range(5):
        x, y, width, tone, hue = (knots[:, i, j].view(-1, 1, 1) for j in range(5))
        half_x, half_y = 0.16 + 0.13 * width.abs(), 0.75 - 0.28 * width.clamp(-1, 1)
        across = smoothstep(half_x - (frame.X - 0.9 * x).abs(), -0.10, 0.10)
        down = smoothstep(half_y - (frame.Y + 0.35 - 0.5 * y).abs(), -0.10, 0.10)
        depth, warmth = depth + 0.60 * tone * across * down, warmth + 0.8 * hue * across * down
    return depth.clamp(-1.3, 1.1), warmth.clamp(-1.5, 1.5)


def _outdoors(frame: Frame, lattices: dict[str, Tensor], soft: Tensor) -> tuple[Tensor, Tensor]:
    """Sky above foliage or a street, far out of focus, with discs of light."""
    shapes = spread(lattices["backdrop_shapes"], frame.size, frame.size)
    horizon = smoothstep(frame.Y + 0.35 + 0.35 * soft, -0.45, 0.45)
    leaves = smoothstep(shapes, -0.5, 0.6) - 0.5
    spots = lattices["backdrop_fine"]
    discs = torch.zeros_like(frame.X)
    for i in range(7):
        x, y, brightness = (spots[:, i, j].view(-1, 1, 1) for j in range(3))
        radius = ((frame.X - 0.9 * x) ** 2 + (frame.Y + 0.3 - 0.5 * y) ** 2).sqrt()
        discs = torch.maximum(discs, smoothstep(brightness, -0.2, 1.5) * smoothstep(0.13 - radius, -0.03, 0.03))
    depth = 0.55 * (1 - horizon) - 0.25 * horizon + horizon * (0.65 * leaves + 0.55 * discs) + 0.15 * soft
    return depth, -0.6 * (1 - horizon) + 0.5 * horizon * leaves


def clothes(frame: Frame, p: Parameters, folds: Tensor) -> tuple[Tensor, Tensor]:
    """Radiance of the clothes and their coverage: shoulders, a neckline, a pattern. folds: smooth noise [b, h, w]."""
    side, masculine = frame.X.abs(), p["face_shape"] - 0.5
    slope = 1.03 - 0.02 * masculine + (0.30 - 0.12 * masculine) * ((side - 0.30).clamp(min=0) / 0.95) ** 1.4
    shoulder, neckline = frame.Y - slope, frame.Y - _neckline(p, frame.X)
    cover = coverage(torch.minimum(shoulder, neckline), 1.5 * frame.pixel)
    nx = (frame.X / 1.4).clamp(-1, 1)
    toward = nx * p["light_x"] - 0.45 * p["light_y"] + 0.85 * p["light_z"]
    light = AMBIENT + KEY * ((toward + 0.3) / 1.3).clamp(min=0)
    rim = 1 - 0.30 * smoothstep(0.05 - neckline, 0.0, 0.04) + 0.10 * smoothstep(0.03 - neckline, 0.0, 0.03)
    under_chin = 1 - 0.30 * smoothstep(0.60 - side, 0.0, 0.5)
    shade = light * (1 + 0.13 * folds) * rim * under_chin
    cloth = _patterned(frame, p, folds)
    if float(p["shirt"]) > 0:
        collar, crease = _collar(frame)
        cover = torch.maximum(cover, collar * coverage(frame.Y - 0.86, 0.08))
        shade = shade * (1 - 0.45 * crease)
    return cloth * shade.clamp(min=0).unsqueeze(1) * light_color(shade), cover


def _neckline(p: Parameters, X: Tensor) -> Tensor:
    """Height of the upper edge of the cloth at each X: round, pointed, open collar or high."""
    side = X.abs()
    round_ = 1.03 + 0.16 * (1 - (X / 0.47) ** 2).clamp(min=0)
    pointed = 1.00 + 0.62 * (0.46 - side).clamp(min=0)
    high = 0.93 + 0.05 * (1 - (X / 0.45) ** 2).clamp(min=0)
    opened = 0.96 + 0.50 * (0.40 - side).clamp(min=0)
    return p["crew neck"] * round_ + p["v-neck"] * pointed + p["turtleneck"] * high + p["shirt"] * opened


def _collar(frame: Frame) -> tuple[Tensor, Tensor]:
    """Coverage of a shirt's collar and how dark the line below its points is."""
    side = frame.X.abs()
    inner = frame.Y - 0.90 - 0.62 * (0.44 - side).clamp(min=0)
    outer = 1.02 + 0.55 * (0.50 - side) - frame.Y
    within = smoothstep(side, 0.10, 0.14) * (1 - smoothstep(side, 0.50, 0.54))
    collar = coverage(torch.minimum(inner, outer + 0.10), 1.5 * frame.pixel) * within
    placket = bump(frame.X, 0.012) * smoothstep(frame.Y, 1.14, 1.18)
    return collar, (bump(outer + 0.09, 0.022) * within).maximum(placket)


def _patterned(frame: Frame, p: Parameters, folds: Tensor) -> Tensor:
    """Reflectance of the cloth with its stripes or checks, which follow the folds."""
    x, y = frame.X + 0.02 * folds, frame.Y + 0.05 * frame.X.abs() + 0.02 * folds
    bars, rows = smoothstep(torch.sin(34 * x), -0.2, 0.5), smoothstep(torch.sin(34 * y), -0.2, 0.5)
    share = p["stripes"] * rows + p["checks"] * 0.5 * (bars + rows)
    second = 0.5 * p["cloth"] + color(p["cloth"], 0.07, 0.07, 0.075)
    return mix(p["cloth"].expand(-1, -1, *share.shape[-2:]), second, 0.8 * share.unsqueeze(1))
