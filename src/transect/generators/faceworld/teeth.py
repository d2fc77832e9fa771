"""What is seen between parted lips: teeth one by one, gums in a broad smile, the tongue and the dark behind them.

Widths of teeth follow Wheeler's averages (Nelson & Ash 2010, ISBN 978-1-4160-6209-7): a central incisor is 8.5 mm wide,
those beside it narrow as they turn back along the arch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, bump, color, coverage, over, smoothstep, tint
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import Illumination, light_color


class Opening(NamedTuple):
    """The gap between the lips: t = -1 .. 1 from corner to corner, height v below the lips' line, its edges."""

    t: Tensor
    v: Tensor
    top: Tensor
    bottom: Tensor


class Teeth(NamedTuple):
    """The row of teeth at each pixel. number: 0 at the midline, 1 where the second tooth begins, and so on; side: -1 to
    1 across a tooth.
    """

    number: Tensor
    side: Tensor


def between_lips(frame: Frame, p: Parameters, opening: Opening, light: Illumination) -> Tensor:
    """Radiance [b, 3, h, w] of the mouth's inside, which the lips shade."""
    lit = 0.35 + 0.55 * light.diffuse.clamp(max=1.2) + 0.40 * p["fill"]
    deep = 1 - smoothstep(opening.t.abs(), 0.40, 0.97)
    seen = over(_dark(p).expand(*_colors(opening.v)), _tongue(p, opening, lit * deep), _tongue_cover(opening))
    seen = over(seen, *_lower(frame, p, opening, lit * deep))
    return over(seen, *_upper(frame, p, opening, lit * deep)) * light_color(seen)


def _colors(plane: Tensor) -> tuple[int, int, int, int]:
    b, h, w = plane.shape
    return b, 3, h, w


def _dark(p: Parameters) -> Tensor:
    return color(p["skin"], 0.035, 0.010, 0.009) * p["beside_skin"].unsqueeze(1).clamp(max=1)


def _tongue(p: Parameters, opening: Opening, lit: Tensor) -> Tensor:
    hollow = 0.35 + 0.65 * smoothstep(opening.t.abs(), 0.0, 0.25)
    return tint(color(p["skin"], 0.26, 0.075, 0.070) * p["beside_skin"].unsqueeze(1).clamp(max=1), lit * hollow)


def _tongue_cover(opening: Opening) -> Tensor:
    """The tongue lies low: it is seen where the mouth is wide open."""
    top = opening.bottom - 0.55 * (opening.bottom - opening.top - 0.035).clamp(min=0)
    return smoothstep(opening.v - top, -0.008, 0.022)


def _row(p: Parameters, x: Tensor) -> Teeth:
    """The upper teeth at face coordinate x. No mouth is quite even: its middle and its widths are a person's own."""
    aside = (x + 0.0025 * p["relief_1"]).abs()
    number = aside * (11.6 + 36 * aside) * (1 + 0.025 * p["relief_2"])
    return Teeth(number, 2 * (number - number.floor()) - 1)


def _seams(frame: Frame, teeth: Teeth) -> Tensor:
    """How dark the lines between the teeth are; a line is narrower than a pixel."""
    width = 0.0035 + 0.35 * frame.pixel
    return (0.0035 / width).clamp(max=1) * bump(0.031 * (1 - teeth.side.abs()), width)


def _enamel(p: Parameters) -> Tensor:
    """Enamel yellows with age."""
    worn = 1 - p["old"].unsqueeze(1) * color(p["skin"], 0.16, 0.21, 0.30)
    return color(p["skin"], 0.93, 0.81, 0.66) * worn * p["beside_skin"].unsqueeze(1)


def _upper(frame: Frame, p: Parameters, opening: Opening, lit: Tensor) -> tuple[Tensor, Tensor]:
    """The upper row below its gum: radiance and coverage. Canines are darker, incisors have round corners."""
    teeth = _row(p, frame.face.x)
    across = teeth.side * teeth.side
    fine = (0.010 / frame.pixel).clamp(max=1)
    below = opening.v - opening.top
    gum = 0.016 * smoothstep(p["smile"] + 0.12 * p["relief_2"].clamp(-1, 1), 0.72, 1.0)
    shown = (0.064 * (0.35 + 0.65 * smoothstep(p["smile"], 0.15, 0.60)) + gum) * (1 - 0.30 * opening.t * opening.t)
    shorter = 0.07 * bump(teeth.number - 1.5, 0.42) + 0.085 * fine * across * across
    # Teeth that reach the lower lip are cut off by it, so that their corners are hidden.
    gap = opening.bottom - opening.top
    edge = torch.minimum(shown * (1 - shorter), (0.95 - 0.35 * shorter) * gap) - below
    shade = smoothstep(below, -0.012, 0.028) * (1 - 0.10 * across - 0.55 * _seams(frame, teeth)) * lit
    back = smoothstep(teeth.number, 1.8, 2.3).unsqueeze(1)
    enamel = tint(_enamel(p), shade * (1 - 0.10 * smoothstep(0.014 - edge, 0.0, 0.014)))
    enamel = enamel * (1 - back * color(enamel, 0.12, 0.19, 0.30))
    pink = tint(color(p["skin"], 0.46, 0.19, 0.18) * p["beside_skin"].unsqueeze(1).clamp(max=1), lit)
    above = coverage(gum + 0.010 * fine * across - 0.006 - below, 1.5 * frame.pixel) * smoothstep(gum, 0.0, 0.006)
    return over(enamel, pink, above), coverage(edge, 1.5 * frame.pixel)


def _lower(frame: Frame, p: Parameters, opening: Opening, lit: Tensor) -> tuple[Tensor, Tensor]:
    """The tips of the lower row, which a wide open mouth shows in the shade: narrower teeth than the upper ones."""
    number = 21 * frame.face.x.abs() + 0.5 * p["relief_1"].clamp(-1, 1)
    side = 2 * (number - number.floor()) - 1
    wide = smoothstep(opening.bottom - opening.top, 0.060, 0.120) * (1 - p["smile"])
    edge = opening.v - opening.bottom + 0.014 * wide - 0.003 * side * side
    shade = 0.27 * lit * (1 - 0.45 * _seams(frame, Teeth(number, side)))
    front = 1 - smoothstep(opening.t.abs(), 0.30, 0.62)
    return tint(_enamel(p), shade), coverage(edge, 1.5 * frame.pixel) * wide * front
