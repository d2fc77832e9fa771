"""Hats: a dome around the skull with a cap's peak or a beanie's cuff. They press down the hair above their edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.compositing import (
    Parameters,
    Vector,
    bump,
    coverage,
    over,
    power,
    smoothstep,
    tint,
    unit,
)
from transect.generators.faceworld.head import BREADTH, CROWN, REACH, Frame, read_tables
from transect.generators.faceworld.lighting import illuminate, light_color
from transect.generators.faceworld.rows import Pick, Rows, put, some

_EDGE_Y = -0.50
NO_LIMIT = 1e3
"""Half width to which hair without a hat is pressed."""


@dataclass(frozen=True, slots=True, eq=False)
class Hat:
    """radiance [b, 3, h, w]; cover: coverage; under: half width that hair keeps to; shadow: optical depth on skin."""

    radiance: Tensor
    cover: Tensor
    under: Tensor
    shadow: Tensor


def hat_traits(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """capped, knitted: 1 where a cap or a beanie is worn, else 0.

    >>> {name: column.tolist() for name, column in hat_traits({"hat": np.array([0.0, 1.0, 2.0])}).items()}
    {'capped': [0.0, 1.0, 0.0], 'knitted': [0.0, 0.0, 1.0]}
    """
    level = np.asarray(values["hat"])
    return {"capped": (level == 1).astype(np.float64), "knitted": (level == 2).astype(np.float64)}


def hat(frame: Frame, p: Rows, folds: Tensor) -> Hat:
    """The hat at each pixel. folds: [b, h, w] smooth noise."""
    outer, edge = _outline(frame, p), _edge(frame, p)
    above = edge - frame.V
    dome = coverage(torch.minimum(outer - frame.U.abs(), above), frame.pixel)
    under = outer - 0.035 + 0.55 * (-0.02 - above).clamp(min=0)
    normal = _normal(frame, outer)
    radiance = _cloth(frame, p, folds, normal, above)
    shadow = 0.55 * smoothstep(above, -0.16, 0.0) * (1 + 1.0 * p["capped"])
    layers, capped = Hat(radiance, dome, under, shadow), p.with_any("capped")
    if capped is not None:
        _add_peak(layers, capped, frame.take(capped), p.take(capped), some(edge, capped))
    return layers


def _add_peak(layers: Hat, pick: Pick, frame: Frame, p: Parameters, edge: Tensor) -> None:
    """Gives the hats of those rows a cap's peak and its shadow. frame, p, edge: those of the rows."""
    peak, shade = _peak(frame, p, edge)
    level = torch.full_like(frame.U, 0.0)
    light = illuminate(p, (level, level - 0.75, level + 0.66), 0.1)
    brim = tint(p["hat_cloth"], light.diffuse * shade) * light_color(layers.radiance)
    put(layers.radiance, pick, over(some(layers.radiance, pick), brim, peak))
    put(layers.cover, pick, torch.maximum(some(layers.cover, pick), peak))
    put(layers.shadow, pick, some(layers.shadow, pick) + 0.5 * _below_peak(frame, p, edge))


def _outline(frame: Frame, p: Parameters) -> Tensor:
    """Half width of the dome: the skull's, enlarged and, for a beanie, drawn up."""
    lift = 0.085 + 0.05 * p["knitted"]
    y = (frame.V - 0.1) / (1 + lift / 1.1) + 0.1
    thick = 1.075 + 0.02 * p["knitted"]
    widest = read_tables(frame.tables[:, REACH : REACH + 1], y.clamp(max=-0.16))[:, 0]
    return widest * thick - 3.0 * (CROWN - y).clamp(min=0)


def _edge(frame: Frame, p: Parameters) -> Tensor:
    """Height of the hat's lower edge on the picture: an ellipse around the head, seen from above or below."""
    across = (frame.U / (0.66 * (1 + BREADTH * p["face_width"]))).clamp(-1, 1)
    round_ = (1 - across * across).clamp(min=0).sqrt()
    lean = p["sin_pitch"]
    drop = 0.15 * across * across + 0.10 * across * p["sin_yaw"]
    return _EDGE_Y - 0.02 * p["knitted"] + drop - 0.70 * lean * round_


def _normal(frame: Frame, outer: Tensor) -> Vector:
    nx = (frame.U / outer.clamp(min=0.05)).clamp(-1, 1)
    ny = -smoothstep(-frame.V, 0.35, 1.25)
    return unit(nx, 0.9 * ny, (1 - nx * nx - 0.6 * ny * ny).clamp(min=0.05).sqrt())


def _cloth(frame: Frame, p: Parameters, folds: Tensor, normal: Vector, above: Tensor) -> Tensor:
    """Radiance of the dome: a cap's panels and seams, a beanie's ribs and cuff."""
    light = illuminate(p, normal, 0.06)
    seams = 1 - 0.30 * bump(normal[0] - 0.62 * p["sin_yaw"], 0.018) - 0.22 * bump(normal[0].abs() - 0.62, 0.02)
    ribs = 1 + 0.16 * torch.sin(46 * torch.asin(normal[0].clamp(-0.99, 0.99))) * (0.02 / frame.pixel).clamp(max=1)
    cuff = 1 - 0.40 * bump(above - 0.205, 0.018) + 0.10 * smoothstep(0.19 - above, 0.0, 0.02)
    knit = ribs * cuff * (1 + 0.04 * folds)
    panel = seams * (1 + 0.05 * folds) * (1 - 0.25 * bump(above, 0.03))
    surface = p["capped"] * panel + (1 - p["capped"]) * knit
    return tint(p["hat_cloth"], light.diffuse * surface) * light_color(light.diffuse)


def _peak(frame: Frame, p: Parameters, edge: Tensor) -> tuple[Tensor, Tensor]:
    """Coverage and shade of a cap's peak, which comes forward and a little down from the edge."""
    x = (frame.U - 0.62 * p["sin_yaw"]) / 0.60
    arch = (1 - x * x).clamp(min=0)
    lower = edge - 0.005 + (0.21 - 0.55 * p["sin_pitch"]).clamp(min=0.03) * power(arch, 0.55)
    upper = edge - 0.045 * arch
    cover = coverage(torch.minimum(lower - frame.V, frame.V - upper), frame.pixel) * coverage(
        1 - x.abs(), 2 * frame.pixel
    )
    return cover, 1.05 - 0.50 * smoothstep(frame.V, upper, lower) + 0.30 * bump(frame.V - upper, 0.025)


def _below_peak(frame: Frame, p: Parameters, edge: Tensor) -> Tensor:
    reach = (0.22 + 0.20 * (-p["key_y"]).clamp(min=0)) * bump(frame.U - 0.4 * p["sin_yaw"], 0.5)
    return 1.6 * smoothstep(edge + reach + 0.20 - frame.V, 0.0, 0.14)
