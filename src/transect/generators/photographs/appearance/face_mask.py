"""A surgical mask over nose, mouth and chin, on FaceWorld's head: three pleats, a wire and two loops."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, bump, color, coverage, smoothstep, tint, unit
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import illuminate, light_color

_CLOTH: Final = (0.30, 0.45, 0.53)
"""Reflectance of blue nonwoven cloth, linear RGB."""
_HALF: Final = 0.475
_TOP, _BOTTOM = 0.035, 0.955
_PLEATS: Final = (0.36, 0.50, 0.64)
_LOOPS: Final = (((0.455, 0.235), (0.63, -0.06)), ((0.455, 0.66), (0.63, 0.22)))
"""Where the loops leave the mask and where they go behind the ear, on the face."""
_THREAD: Final = 0.009


def face_mask(frame: Frame, p: Parameters, hair: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Radiance [b, 3, h, w] of the mask, its coverage, and the optical depth of its shade on the skin, each [b, h, w].

    hair: coverage of hair, under which the loops run.
    """
    y = frame.face.y
    # Below the jaw the head ends, and the mask goes on in the plane of the chin.
    low = smoothstep(y, 0.66, 0.86)
    across = frame.U - 0.62 * p["sin_yaw"]
    x = frame.face.x * (1 - low) + across * low
    aside = x.abs()
    below_chin = 0.33 * (1 - ((across / 0.37) ** 2 + ((y - 0.63) / 0.335) ** 2).sqrt())
    top = _TOP + 0.62 * x * x + 0.05 * smoothstep(aside, 0.05, 0.16)
    bottom = _BOTTOM - 1.15 * x * x
    inside = torch.minimum(y - top, bottom - y).minimum(1.1 * (_HALF - aside))
    inside = torch.minimum(inside, below_chin + frame.head)
    seen = smoothstep(frame.face.cosine + low, 0.05, 0.20)
    cover = coverage(inside, frame.pixel) * seen
    around = (y - 0.5) / 0.5
    normal = unit(1.15 * x / _HALF, 0.55 * around, 1 - 0.30 * (x / _HALF) ** 2)
    light = illuminate(p, normal).diffuse
    flat = smoothstep(_HALF - aside, 0.0, 0.10)
    shade = torch.ones_like(light)
    for place in _PLEATS:
        line = y - place - 0.10 * x * x
        shade = shade * (1 - flat * (0.30 * bump(line, 0.014) - 0.07 * bump(line + 0.035, 0.025)))
    binding = 1 + 0.08 * bump(inside - 0.012, 0.012) - 0.16 * bump(inside - 0.030, 0.006)
    wire = 1 + 0.07 * bump(y - top - 0.055, 0.010) - 0.07 * bump(y - top - 0.075, 0.010)
    cloth = tint(color(frame.planes, *_CLOTH), light * shade * binding * wire)
    loops = _loops(frame, hair)
    white = tint(color(frame.planes, 0.72, 0.72, 0.72), illuminate(p, normal).diffuse)
    radiance = torch.lerp(white, cloth, (cover / (cover + loops).clamp(min=1e-6)).unsqueeze(1)) * light_color(light)
    shadow = 0.55 * bump((-inside).clamp(min=0), 0.045) * seen
    return radiance, torch.maximum(cover, loops), shadow


def _loops(frame: Frame, hair: Tensor) -> Tensor:
    """Coverage of the two loops, over the head only."""
    x, y = frame.face.x.abs(), frame.face.y
    total = torch.zeros_like(x)
    for (x0, y0), (x1, y1) in _LOOPS:
        along = ((x - x0) / (x1 - x0)).clamp(0, 1)
        distance = ((x - x0 - along * (x1 - x0)) ** 2 + (y - y0 - along * (y1 - y0)) ** 2).sqrt()
        total = torch.maximum(total, coverage(_THREAD - distance, frame.pixel) * smoothstep(x, x0 - 0.02, x0))
    return total * frame.head * (1 - hair) * smoothstep(frame.face.cosine, -0.02, 0.05)
