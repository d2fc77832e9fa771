"""Brows: hairs that stand up at the inner end and lie along the brow at the outer one, where each pixel looks."""

from __future__ import annotations

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, beyond, mix, smoothstep
from transect.generators.faceworld.eyeballs import FINE
from transect.generators.faceworld.head import EYE_Y, Frame
from transect.generators.faceworld.relief import eye_x
from transect.generators.faceworld.textures import sample_mirrored

BROW_HALF_WIDTH = 0.195
"""Half the length of an average brow."""

_SPACING = 3.0
"""Units of half the lattice's width per face unit: a hair and its gap are about 1 mm wide."""


def brows(frame: Frame, p: Parameters, radiance: Tensor, hairs: Tensor) -> Tensor:
    """The face with its brows. Hair over skin takes light away, so that brows are darker than skin of any tone.

    hairs: lattice [b, rows, columns] of strands.
    """
    masculine = p["face_shape"] - 0.5
    t = (frame.face.x.abs() - eye_x(p)) / BROW_HALF_WIDTH
    taper = (1 - 0.72 * smoothstep(t, -0.2, 1.0)) * (0.80 + 0.20 * smoothstep(t, -1.0, -0.5))
    half = (0.041 + 0.009 * p["brow_thickness"].clamp(-2, 2) + 0.002 * masculine) * taper * (1 - 0.15 * p["old"])
    v = (frame.face.y - brow_line(p, t)) / half
    single = _strokes(frame, t, v * half, v, hairs)
    makeup = p["makeup"]
    soft = 0.42 * (1 - 0.6 * makeup) + 0.5 * frame.pixel / half
    edge = smoothstep(1.22 - v.abs() + 0.24 * single, -soft, 1.6 * soft)
    ends = smoothstep(1.04 - t + 0.05 * single, 0.0, 0.30) * smoothstep(t + 1.06 + 0.06 * single, 0.0, 0.34)
    density = (0.83 - 0.16 * masculine + 0.03 * makeup + 0.13 * single).clamp(0.2, 0.97) * edge * ends
    density = density * beyond(frame.face.cosine) * (0.74 + 0.26 * smoothstep(t, -1.0, -0.35))
    return radiance * mix(torch.ones_like(p["hair"]), _pigment(p), density.unsqueeze(1))


def _pigment(p: Parameters) -> Tensor:
    """The share of light that a brow leaves: the darker the skin, the less do hairs of the same color stand out."""
    deep = (1 - p["beside_skin"]).clamp(min=0).unsqueeze(1)
    bare = torch.minimum(p["hair"] / (0.30 - 0.18 * deep), 0.125 + 0.44 * deep)
    return bare * (1 - 0.30 * p["makeup"].unsqueeze(1))


def _strokes(frame: Frame, t: Tensor, down: Tensor, v: Tensor, hairs: Tensor) -> Tensor:
    """Single hairs, -1 .. 1, as far as pixels show them: those from below lie outwards and up, those from above
    outwards and down, and meet along the middle.
    """
    x, side = t * BROW_HALF_WIDTH, 0.30 * torch.sign(frame.face.x)
    along = smoothstep(t, -1.0, 0.4)
    # Hairs that lie flat are no closer together: less of x, the more of the height.
    spread, visible = (1 - 0.45 * along) * x, (0.007 / frame.pixel).clamp(max=1)
    rising = _SPACING * (spread + (0.25 + 1.5 * along) * down)
    if frame.canvas.pixel >= FINE:
        return _read(hairs, rising + side, 0.9 * down - 0.5).clamp(-0.9, 1.3) * visible
    tufts = (_SPACING * 0.007) * torch.sin(43 * x + 2 * frame.face.y + 6 * side) * v
    first = _read(hairs, rising + side + tufts, 0.9 * down - 0.5)
    falling = _SPACING * (spread - (0.20 + 0.5 * along) * down)
    second = _read(hairs, falling + side + tufts, 0.9 * down + 0.5)
    above = 0.55 * smoothstep(-v, -0.5, 0.9) * smoothstep(t, -0.9, 0.0)
    return (first + above * (second - first)).clamp(-0.9, 1.3) * visible


def _read(hairs: Tensor, across: Tensor, along: Tensor) -> Tensor:
    return sample_mirrored(hairs.unsqueeze(1), across, along).squeeze(1)


def brow_line(p: Parameters, t: Tensor) -> Tensor:
    """Height of the brow's middle line at t = -1 (inner end) .. 1 (outer end)."""
    masculine = p["face_shape"] - 0.5
    arch = (0.040 + 0.023 * p["brow_arch"] - 0.030 * masculine).clamp(min=0.002)
    lift = 0.016 * p["brow_height"] - 0.055 * masculine - 0.012 * p["old"] + 0.030 * p["brow_raise"]
    frown = 0.022 * (-p["brow_raise"]).clamp(min=0) * (0.6 - t).clamp(min=0)
    return EYE_Y - 0.185 - lift - arch * (1 - (t - 0.25) ** 2) + 0.012 * t + frown
