"""Hood and headscarf: cloth that goes around the face and covers ears, neck and, all or most of it, the hair."""

from __future__ import annotations

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, beyond, bump, coverage, mix, power, smoothstep, unit
from transect.generators.faceworld.hat_cloth import Hat, cloth, cloth_light, fold
from transect.generators.faceworld.head import BREADTH, Frame

_HOOD_MIDDLE, _SCARF_MIDDLE = -0.05, 0.13
"""Heights of the middle of the opening for the face."""


def draw_hood(frame: Frame, p: Parameters, folds: Tensor) -> Hat:
    """A hood that stands off the head: one sees its lining on both sides of the face, and its hem before it."""
    wide = 1 + BREADTH * p["face_width"]
    x = frame.U - 0.40 * p["sin_yaw"]
    y = frame.V + 0.45 * p["sin_pitch"] - _HOOD_MIDDLE
    lower = beyond(y)
    # Round above the forehead; below the jaw its two sides come together.
    across = x / (0.60 * wide) * (1 + 0.55 * lower * smoothstep(y, 0.35, 1.15))
    radius, outward = _around(across, y / mix(_full(y, 0.76), _full(y, 1.14), lower))
    beyond_hem = (radius - 1) * 0.60
    outer = _outline(frame, wide, (1.22, 0.80), 0.010 * folds)
    inside = torch.minimum(outer - frame.U.abs(), 1.30 - 0.10 * frame.U.abs() - frame.V)
    whole = coverage(inside, 1.5 * frame.pixel)
    cover = whole * coverage(beyond_hem, frame.pixel)
    ny = -smoothstep(-frame.V, 0.45, 1.25)
    nx = (frame.U / outer.clamp(min=0.05)).clamp(-1, 1)
    normal = unit(nx, 0.9 * ny, (1 - nx * nx - 0.6 * ny * ny).clamp(min=0.08).sqrt())
    depth = 0.16 + 0.34 * smoothstep(frame.V, 0.2, 0.9)
    normal, valleys = fold(normal, 19 * beyond_hem + 1.7 * folds + 2.0 * nx, depth, outward)
    hem = 1 - 0.30 * bump(beyond_hem - 0.055, 0.008) + 0.14 * bump(beyond_hem - 0.022, 0.020)
    seam = 1 - 0.25 * bump(frame.U + 0.35 * p["sin_yaw"], 0.010) * smoothstep(-frame.V, 0.80, 0.84)
    lit = cloth_light(p, normal) * valleys * hem * seam * (1 + 0.05 * folds)
    # The lining, which little light reaches, fills what the hem frames.
    lining = 0.30 * p["ambient"] + 0.20 * smoothstep(radius, 0.55, 1.0)
    shade = mix(lining, lit, coverage(beyond_hem, frame.pixel))
    shadow = (0.15 + 0.75 * smoothstep(-y, -0.1, 0.7)) * smoothstep(radius, 0.66, 1.0)
    return Hat(cloth(p, shade), cover, outer - 0.06, shadow, whole)


def draw_headscarf(frame: Frame, p: Parameters, folds: Tensor) -> Hat:
    """A scarf that lies close around the face and under the chin, one end laid over the other shoulder."""
    wide = 1 + BREADTH * p["face_width"]
    face = frame.face
    top = 0.76 + 0.04 * p["hat_height"].clamp(-1.5, 1.5)
    down = face.y - _SCARF_MIDDLE
    radius, _ = _around(face.x / (0.545 * wide), down / mix(top.expand_as(down), _full(down, 0.75), beyond(down)))
    shown = coverage((1 - radius) * 0.52, frame.pixel) * beyond(face.cosine) * frame.head
    outer = _outline(frame, wide, (1.11, 0.71), 0.014 * folds)
    inside = torch.minimum(outer - frame.U.abs(), 1.42 - 0.30 * frame.U.abs() - frame.V)
    cover = coverage(inside, 1.5 * frame.pixel) * (1 - shown)
    x = (frame.U - 0.40 * p["sin_yaw"]) / 0.56
    y = (frame.V - _SCARF_MIDDLE + 0.40 * p["sin_pitch"]) / 0.80
    ring, outward = _around(x, y)
    nx = (frame.U / outer.clamp(min=0.05)).clamp(-1, 1)
    ny = -smoothstep(-frame.V, 0.35, 1.15)
    normal = unit(nx, 0.9 * ny, (1 - nx * nx - 0.6 * ny * ny).clamp(min=0.08).sqrt())
    # Tight over the forehead, loose below the chin.
    loose = smoothstep(frame.V, -0.45, 0.9)
    end = 2 * beyond(p["hair_parting"]) - 1
    phase = 15 * ring + 2.2 * folds + 2.2 * end * x
    normal, valleys = fold(normal, phase, 0.20 + 0.40 * loose, outward)
    # The end that crosses below the chin lies on the other.
    over = frame.V - 0.99 + 0.42 * end * frame.U
    crossing = 1 - 0.42 * bump(over.clamp(min=0), 0.05) * smoothstep(frame.V, 0.86, 0.96) * beyond(over)
    hem = 1 + 0.16 * bump(radius - 1.045, 0.022) - 0.26 * bump(radius - 1.10, 0.020)
    below = smoothstep(0.40 - (frame.U - 0.5 * p["sin_yaw"]).abs(), 0.0, 0.3) * bump(frame.V - 0.90, 0.10)
    shade = cloth_light(p, normal) * valleys * crossing * hem * (1 - 0.45 * below)
    shadow = 0.55 * smoothstep(radius, 0.84, 1.0) * (0.5 + 0.5 * smoothstep(-face.y, -0.2, 0.4))
    nothing = torch.zeros_like(cover)
    return Hat(cloth(p, shade), cover, nothing, shadow, nothing)


def _full(like: Tensor, value: float) -> Tensor:
    return torch.full_like(like, value)


def _around(x: Tensor, y: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Distance from the middle of an opening in which it ends at 1, and the direction outwards."""
    radius = (x * x + y * y + 1e-6).sqrt()
    return radius, (x / radius, y / radius)


def _outline(frame: Frame, wide: Tensor, size: tuple[float, float], ragged: Tensor) -> Tensor:
    """Half width of cloth over head and shoulders. size: its height above the middle of the head and half width."""
    top, half = size
    up = ((-0.10 - frame.V) / (top - 0.10)).clamp(0, 1.2)
    round_ = (1 - power(up.clamp(max=1), 2.4)).clamp(min=0).sqrt() - 3.0 * (up - 1).clamp(min=0)
    spread = 0.03 * smoothstep(frame.V, 0.0, 0.6) + 0.34 * smoothstep(frame.V, 0.62, 1.25)
    return half * wide * round_ + spread + ragged
