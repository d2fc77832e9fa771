"""Lips, teeth and nostrils, drawn where each pixel looks at the face."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import (
    Parameters,
    beyond,
    bump,
    color,
    coverage,
    over,
    power,
    smoothstep,
    tint,
)
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import Illumination, light_color
from transect.generators.faceworld.relief import mouth_y, nose_base, nose_half_width
from transect.generators.faceworld.skin import lip_reflectance, lit_skin


def mouth(frame: Frame, p: Parameters, radiance: Tensor, light: Illumination, grain: Tensor) -> Tensor:
    """The face with its mouth. grain: [b, h, w] noise that creases the lips."""
    x = frame.face.x
    half = mouth_half_width(p)
    curves = mouth_curves(p, x / half)
    t, v = curves.t, frame.face.y - curves.line
    top, bottom, gap_top, gap_bottom = curves.top, curves.bottom, curves.gap_top, curves.gap_bottom
    arch, full, gap = curves.arch, curves.full, _gap(p)
    within = half - x.abs()
    lips = coverage(torch.minimum(v - top, bottom - v).minimum(within), 1.5 * frame.pixel + 0.010)
    form = light.diffuse * (1 - 0.36 * (1 - smoothstep(v, -0.03, 0.02))) * (1 + 0.04 * grain)
    shine = 0.5 * light.highlight + 0.5 * p["lipstick"] * bump(v - gap_bottom - 0.026 * full, 0.012) * arch
    lip_color = lit_skin(p, lip_reflectance(p), Illumination(form, shine))
    radiance = over(radiance, lip_color, 0.94 * lips)
    opening = coverage(torch.minimum(v - gap_top, gap_bottom - v).minimum(within), frame.pixel)
    opening = opening * smoothstep(gap, 0.004, 0.02)
    radiance = over(radiance, _inside(frame, p, v, gap_top, gap_bottom, t, light), opening)
    corner = 0.35 * bump(within, 0.03) * bump(v, 0.02)
    seam = bump(v - gap_top, 0.011) * smoothstep(within, -0.01, 0.03) * (1 - smoothstep(gap, 0.0, 0.03)) * 0.62
    return radiance * (1 - seam.maximum(corner)).unsqueeze(1)


def mouth_cover(frame: Frame, p: Parameters) -> Tensor:
    """Coverage of lips and open mouth together."""
    x = frame.face.x
    half = mouth_half_width(p)
    curves = mouth_curves(p, x / half)
    v = frame.face.y - curves.line
    inside = torch.minimum(v - curves.top, curves.bottom - v).minimum(half - x.abs())
    return coverage(inside, 1.5 * frame.pixel + 0.010) * beyond(frame.face.cosine)


class MouthCurves(NamedTuple):
    """The mouth at t = -1 .. 1 from corner to corner: heights below `line`, the line on which the lips meet."""

    t: Tensor
    half: Tensor
    line: Tensor
    arch: Tensor
    full: Tensor
    top: Tensor
    bottom: Tensor
    gap_top: Tensor
    gap_bottom: Tensor


def mouth_half_width(p: Parameters) -> Tensor:
    """Half the distance of the mouth's corners."""
    return (
        0.212
        + 0.020 * p["mouth_width"]
        + 0.046 * p["smile"]
        + 0.012 * (p["face_shape"] - 0.5)
        + 0.012 * p["face_width"]
    )


def mouth_curves(p: Parameters, t: Tensor) -> MouthCurves:
    """The edges of the lips and of the gap between them."""
    t = t.clamp(-1, 1)
    smile, half = p["smile"], mouth_half_width(p)
    arch = (1 - t * t).clamp(min=0)
    slant = 0.008 * p["mouth_slant"] * (0.5 + 0.5 * smile) * t * t.abs()
    line = mouth_y(p) - slant - 0.070 * smile * (t * t - 0.30) - 0.012 * (1 - smile) * (0.3 - t * t)
    full = 1.08 + 0.30 * p["lip_fullness"] - 0.22 * (p["face_shape"] - 0.5) - 0.24 * p["old"] + 0.06 * p["young"]
    full = full.clamp(min=0.55) * (1 - 0.05 * smile)
    gap_top, gap_bottom = -0.12 * _gap(p) * arch, 0.88 * _gap(p) * arch
    top = gap_top - 0.053 * full * power(arch, 0.78) * (1 - 0.26 * bump(t, 0.15))
    return MouthCurves(
        t, half, line, arch, full, top, gap_bottom + 0.073 * full * power(arch, 0.65), gap_top, gap_bottom
    )


def _gap(p: Parameters) -> Tensor:
    """How far the lips are apart in the middle: a broad smile shows teeth."""
    return 0.115 * p["mouth_open"] + 0.052 * smoothstep(p["smile"], 0.42, 0.95)


def _inside(
    frame: Frame, p: Parameters, v: Tensor, gap_top: Tensor, gap_bottom: Tensor, t: Tensor, light: Illumination
) -> Tensor:
    """The dark of the mouth with the upper teeth, which the lips shade."""
    dark = color(p["skin"], 0.035, 0.010, 0.009) * p["beside_skin"].unsqueeze(1).clamp(max=1)
    shown = 0.060 * (0.35 + 0.65 * smoothstep(p["smile"], 0.15, 0.60)) * (1 - 0.35 * t * t)
    length = torch.minimum(shown, 0.85 * (gap_bottom - gap_top))
    edge = coverage(gap_top + length - v, 1.5 * frame.pixel)
    lip_shade = smoothstep(v - gap_top, -0.010, 0.030) * (1 - smoothstep(t.abs(), 0.45, 0.95))
    between = 1 - 0.42 * bump(torch.sin(42 * frame.face.x), 0.22) * (0.02 / frame.pixel).clamp(max=1)
    enamel = color(p["skin"], 0.86, 0.73, 0.58) * p["beside_skin"].unsqueeze(1)
    teeth = tint(enamel, lip_shade * between * (0.35 + 0.55 * light.diffuse.clamp(max=1.2) + 0.40 * p["fill"]))
    return over(dark.expand_as(teeth), teeth, edge) * light_color(teeth)


def nostrils(frame: Frame, p: Parameters, radiance: Tensor) -> Tensor:
    """The face with its nostrils; the head's pitch opens or hides them."""
    x, y = frame.face.x, frame.face.y
    half = nose_half_width(p)
    dx = (x.abs() - 0.50 * half) / (0.22 * half)
    tall = 0.016 + 0.02 * p["sin_pitch"]  # 0.010 at -20 degrees, 0.024 at +20
    dy = (y - nose_base(p) + 0.006 + 0.22 * (x.abs() - 0.5 * half)) / tall
    hole = smoothstep(1.25 - (dx * dx + dy * dy).sqrt(), 0.0, 0.9)
    wing = bump((x.abs() - half * 1.12) / 0.016, 1.0) * bump(y - nose_base(p) + 0.03, 0.04)
    shade = 0.68 * hole * beyond(frame.face.cosine) + 0.16 * wing
    return radiance * (1 - shade.clamp(max=0.9)).unsqueeze(1)
