"""Glasses and earrings. Glasses are a rigid plane before the eyes, so that they turn with the head exactly."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import (
    Parameters,
    bump,
    color,
    coverage,
    mix,
    over,
    power,
    smoothstep,
    tint,
)
from transect.generators.faceworld.head import BREADTH, EYE_Y, Frame
from transect.generators.faceworld.lighting import light_color
from transect.generators.faceworld.relief import eye_x
from transect.generators.faceworld.skin import ear_coordinates

FRAME_DEPTH = 0.66
"""Distance of the lenses in front of the head's axis."""

LENS_HALF_WIDTH, LENS_HALF_HEIGHT = 0.185, 0.140
EARRING_Y, EARRING_RADIUS = 0.235, 0.042


def glasses(frame: Frame, p: Parameters, radiance: Tensor) -> Tensor:
    """The picture with glasses."""
    parts = glasses_parts(frame, p)
    worn = p["glasses"]
    radiance = radiance * (1 - 0.10 * worn * parts.lens).unsqueeze(1) + (0.012 * worn * parts.glare).unsqueeze(1)
    return over(radiance, _frame_color(p, radiance, parts.y), 0.96 * worn * parts.wire)


class GlassesParts(NamedTuple):
    """Coverage of the frame and of the lenses, the reflection on these, and the height on the glasses' plane."""

    wire: Tensor
    lens: Tensor
    glare: Tensor
    y: Tensor


def glasses_parts(frame: Frame, p: Parameters) -> GlassesParts:
    """Position of the glasses, worn or not."""
    x, y = _on_plane(frame, p, FRAME_DEPTH)
    square = 2.2 + 1.6 * p["squareness"]
    thick = 0.012 + 0.009 * smoothstep(p["frame_color"], -1.0, 0.8)
    outward = (x.abs() - eye_x(p) * 1.02) / LENS_HALF_WIDTH
    down = (y - EYE_Y - 0.03) / LENS_HALF_HEIGHT
    radius = power(power(outward.abs(), square) + power(down.abs(), square) + 1e-9, 1 / square)
    ring = coverage(thick - ((radius - 1) * 0.5 * (LENS_HALF_WIDTH + LENS_HALF_HEIGHT)).abs(), frame.pixel)
    bridge = coverage(0.8 * thick - (y - EYE_Y + 0.015 + 0.25 * x * x).abs(), frame.pixel)
    bridge = bridge * coverage(eye_x(p) * 1.02 - LENS_HALF_WIDTH - x.abs(), frame.pixel)
    lens = coverage((1 - radius) * LENS_HALF_HEIGHT, frame.pixel)
    glare = lens * smoothstep(bump(outward + 0.9 * down - 0.3, 0.28), 0.2, 1.0)
    return GlassesParts(torch.maximum(ring, bridge).maximum(_temples(frame, p, thick)), lens, glare, y)


def _on_plane(frame: Frame, p: Parameters, z: float) -> tuple[Tensor, Tensor]:
    """Head coordinates x, y of the point of the plane at depth z that each pixel sees: the projection, inverted."""
    sin_yaw, cos_yaw = p["sin_yaw"], p["cos_yaw"]
    sin_pitch, cos_pitch = p["sin_pitch"], p["cos_pitch"]
    x = (frame.U - z * sin_yaw) / cos_yaw
    return x, (frame.V + (z * cos_yaw - x * sin_yaw) * sin_pitch) / cos_pitch


def _temples(frame: Frame, p: Parameters, thick: Tensor) -> Tensor:
    """Coverage of the two arms, from the frame's outer ends back to the ears, seen over the head only."""
    total = torch.zeros_like(frame.U)
    for side in (-1.0, 1.0):
        front_x = side * (eye_x(p) * 1.02 + LENS_HALF_WIDTH)
        ear_x = side * 0.625 * (1 + BREADTH * p["face_width"])
        start, end = front_x * p["cos_yaw"] + FRAME_DEPTH * p["sin_yaw"], ear_x * p["cos_yaw"]
        along = ((frame.U - start) / (end - start + side * 1e-3)).clamp(0, 1)
        depth = FRAME_DEPTH * (1 - along)
        y = (EYE_Y - 0.03) * p["cos_pitch"] - depth * p["sin_pitch"]
        near = smoothstep(side * (end - start), 0.0, 0.02)
        inside = coverage(side * (frame.U - start), frame.pixel) * coverage(side * (end - frame.U), frame.pixel)
        total = torch.maximum(total, near * inside * coverage(0.8 * thick - (frame.V - y).abs(), frame.pixel))
    return total * frame.head


def _frame_color(p: Parameters, radiance: Tensor, y: Tensor) -> Tensor:
    """Black, tortoise or metal, with a faint light from above."""
    black, metal = color(radiance, 0.012, 0.011, 0.011), color(radiance, 0.055, 0.050, 0.042)
    tortoise = color(radiance, 0.050, 0.022, 0.010)
    base = mix(metal, black, smoothstep(p["frame_color"], -0.9, -0.5).unsqueeze(1))
    base = mix(base, tortoise, smoothstep(p["frame_color"], 0.6, 0.9).unsqueeze(1))
    return base * (1 + 0.25 * bump(y - EYE_Y + 0.09, 0.05)).unsqueeze(1) * light_color(radiance)


def earring(frame: Frame, p: Parameters, side: float) -> tuple[Tensor, Tensor]:
    """Radiance and coverage of a ring or drop below the ear at the viewer's left (-1) or right (1)."""
    x, y = ear_coordinates(frame, p, side)
    radius = (x * x + (y - EARRING_Y) ** 2).sqrt()
    far = smoothstep(side * p["sin_yaw"], -0.10, 0.02) * frame.head
    hoop = smoothstep(p["frame_shape"], 0.1, 0.3)
    ring = 0.014 - (radius - 0.045).abs()
    cover = coverage(mix(EARRING_RADIUS - radius, ring, hoop), frame.pixel)
    shine = 0.55 + 1.6 * bump(x + 0.012, 0.014) * bump(y - EARRING_Y + 0.012, 0.016)
    gold, silver = color(frame.U, 0.30, 0.20, 0.065), color(frame.U, 0.30, 0.30, 0.30)
    metal = mix(gold, silver, smoothstep(p["frame_color"], 0.0, 0.3).unsqueeze(1))
    return tint(metal * light_color(frame.U), shine), p["earrings"] * cover * (1 - far)
