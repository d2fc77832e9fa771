"""Earrings."""

from __future__ import annotations

from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, bump, color, coverage, mix, smoothstep, tint
from transect.generators.faceworld.ears import ear_coordinates
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import light_color

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
