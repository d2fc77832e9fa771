"""Ears, and earrings."""

from __future__ import annotations

import torch
from torch import Tensor

from transect.generators.faceworld.head import BREADTH, Frame
from transect.generators.faceworld.rows import Parameters, beyond, bump, color, coverage, mix, smoothstep, tint, unit
from transect.generators.faceworld.skin import blood, illuminate, light_color, lit_skin, shown_blood


def ear(frame: Frame, p: Parameters, side: float) -> tuple[Tensor, Tensor]:
    """Radiance and coverage of the ear at the viewer's left (-1) or right (1); the head hides the far one."""
    x, y = ear_coordinates(frame, p, side)
    # Wide above, narrow at the lobe.
    wide = 0.066 - 0.085 * y.clamp(min=-0.1, max=0.26)
    radius = ((x - 0.020 + 0.05 * y) / wide) ** 2 + (y / (0.198 - 0.01 * beyond(y))) ** 2
    from_middle = radius.sqrt()
    free = smoothstep(x - 0.4 * (y + 0.10).clamp(max=0), -0.045, 0.010)
    low = smoothstep(y, 0.075, 0.125)
    rim = bump(from_middle - 0.88, 0.12) * free
    groove = bump(from_middle - 0.67, 0.10) * free * (1 - low)
    ridge = bump(from_middle - 0.46, 0.11) * free * (1 - low)
    hollow = _spot(x + 0.004, y - 0.025, 0.030, 0.070)
    flap = _spot(x + 0.036, y - 0.030, 0.014, 0.034)
    outward = 0.36 + 0.52 * rim - 0.50 * groove + 0.30 * ridge - 0.55 * flap - 0.10 * low
    down = -0.05 - 0.32 * rim * smoothstep(-y, 0.0, 0.2) + 0.20 * low
    normal = unit(side * outward, down, torch.full_like(x, 0.75))
    light = illuminate(p, normal, 0.30 + 1.9 * groove + 2.1 * hollow * (1 - flap) - 0.20 * rim - 0.12 * low)
    # Thin skin over blood, through which light passes: reddest at rim and lobe, and in the hollow.
    red = 0.32 + 0.25 * rim + 0.22 * low + 0.30 * hollow
    albedo = p["skin"] * blood(p["skin"], shown_blood(p, red))
    behind = smoothstep(side * p["sin_yaw"], -0.10, 0.02)
    # Before, it goes over into the cheek.
    cover = coverage((1 - radius) * 0.45 * wide, frame.pixel) * smoothstep(x, -0.052, -0.020)
    return lit_skin(p, albedo, light), cover * (1 - frame.head * behind)


def _spot(x: Tensor, y: Tensor, width: float, height: float) -> Tensor:
    """A soft ellipse around x = y = 0."""
    return bump(((x / width) ** 2 + (y / height) ** 2).sqrt(), 1.0)


def ear_coordinates(frame: Frame, p: Parameters, side: float) -> tuple[Tensor, Tensor]:
    """X outward and y down from the middle of an ear, in units of an average ear."""
    width = 0.603 * (1 + BREADTH * p["face_width"])
    moved = width * side + p["ear_left" if side < 0 else "ear_right"]
    x = moved * p["cos_yaw"] - 0.06 * p["sin_yaw"]
    y = 0.020 * p["cos_pitch"] + 0.1 * p["sin_pitch"]
    size = 1 + 0.07 * p["ear_size"] + 0.12 * p["old"]
    outward = side * (frame.U - x)
    return outward / size, (frame.V - y + 0.12 * outward) / size


EARRING_Y, EARRING_RADIUS = 0.235, 0.042


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
