"""Glasses: a rigid plane before the eyes, so that they turn with the head exactly; frames, lenses and their shade.

A lens takes light away, bends what is seen at its edge and mirrors its surroundings. How much light sunglasses pass is
that of filter category 3 (dark) and of categories 1 to 2 (tinted) of ISO 12312-1:2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.canvas import sample
from transect.generators.faceworld.rows import Parameters, bump, color, coverage, mix, over, power, smoothstep, tint
from transect.generators.photographs.drawn.head import BREADTH, EYE_Y, Frame, eye_x
from transect.generators.photographs.drawn.skin import KEY, light_color

FRAME_DEPTH, CHEEK_DEPTH = 0.66, 0.51
"""Distances in front of the head's axis: of the lenses, and of the skin on which they cast their shade."""

LENS_HALF_WIDTH, LENS_HALF_HEIGHT = 0.212, 0.162
"""Of an average lens, in face units: 50 mm wide and 38 mm high, where the pupils are 63 mm apart."""

CENTER, BELOW = 1.06, 0.040
"""How far apart lenses are over the eyes' distance, and how far their middle lies below the eyes."""

SPREAD = 0.05
"""How much farther out than the front's ends the arms meet the ears."""

_BROWN, _GREY = np.array([0.90, 1.02, 1.25]), np.array([1.02, 0.99, 1.00])
_CLEAR, _TINTED, _DARK = 0.165, 0.85, 3.0
"""Optical depths of lenses: 85, 43 and 5 % of the light are left. What is behind a lens was lit through it: clear
glass passes 92 %, twice."""


def glasses_traits(
    values: Mapping[str, Float[np.ndarray, " n"]], frame_color: Float[np.ndarray, " n"]
) -> tuple[dict[str, Float[np.ndarray, " n"]], Float[np.ndarray, "n 3"]]:
    """Traits by the level of GLASSES (shaded: the light that lenses hold back), and the lenses' depth [n, 3]."""
    level = np.asarray(values["glasses"]).astype(int)
    depth = np.array([0.0, _CLEAR, _CLEAR, _TINTED, _DARK])[level]
    brown = (np.asarray(frame_color) > 0)[:, None]
    hue = np.where(level[:, None] > 2, np.where(brown, _BROWN, _GREY), 1.0)
    traits = {
        "worn": (level > 0).astype(np.float64),
        "bold": np.array([0.0, 0.0, 1.0, 0.0, 0.5])[level],
        "lens_size": np.array([1.0, 1.0, 1.03, 1.04, 1.06])[level],
        "shaded": 1 - np.exp(-depth),
        "tinted": (level == 3).astype(np.float64),
    }
    return traits, depth[:, None] * hue


def glasses(frame: Frame, p: Parameters, radiance: Tensor, hair: Tensor) -> Tensor:
    """The picture with glasses. hair: coverage [b, h, w] of hair that lies over their arms."""
    parts = glasses_parts(frame, p)
    wire = torch.maximum(parts.front, parts.arms * (1 - hair))
    seen = radiance * (1 - _shade(frame, p)).unsqueeze(1)
    seen = over(seen, _bent(frame, p, parts, seen), parts.lens * smoothstep(parts.radius, 0.72, 0.86))
    graded = (1 - 0.45 * p["tinted"] * parts.down).unsqueeze(1)
    lens = seen * torch.exp(-p["lens_depth"] * graded) + _mirrored(p, parts)
    seen = over(seen, lens, p["worn"] * parts.lens)
    return over(seen, _frame_color(p, radiance, parts.y), 0.96 * p["worn"] * wire)


class GlassesParts(NamedTuple):
    """Coverage of front, arms and lenses; x, y: on their plane; outward, down, radius: 1 at a lens's edge."""

    front: Tensor
    arms: Tensor
    lens: Tensor
    x: Tensor
    y: Tensor
    outward: Tensor
    down: Tensor
    radius: Tensor


def glasses_parts(frame: Frame, p: Parameters) -> GlassesParts:
    """Position of the glasses, worn or not."""
    x, y = _on_plane(frame, p, FRAME_DEPTH)
    thick = _thickness(p)
    outward, down, radius = _in_lens(p, x, y)
    ring = coverage(thick - ((radius - 1) * 0.5 * (LENS_HALF_WIDTH + LENS_HALF_HEIGHT)).abs(), frame.pixel)
    bridge = coverage(0.8 * thick - (y - EYE_Y + 0.015 + 0.25 * x * x).abs(), frame.pixel)
    bridge = bridge * coverage(eye_x(p) * CENTER - LENS_HALF_WIDTH * p["lens_size"] - x.abs(), frame.pixel)
    lens = coverage((1 - radius) * LENS_HALF_HEIGHT, frame.pixel)
    front, arms = torch.maximum(ring, bridge), _temples(frame, p, thick)
    return GlassesParts(front, arms, lens, x, y, outward, down, radius)


def _thickness(p: Parameters) -> Tensor:
    """Half the width of the frame's rims: metal is thinner than plastic."""
    return (0.011 + 0.004 * smoothstep(p["frame_color"], -1.0, 0.8)) * (1 - p["bold"]) + 0.025 * p["bold"]


def _in_lens(p: Parameters, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Outward and down from the middle of the nearer lens, in its half width and height, and the radius."""
    square = 2.2 + 1.6 * p["squareness"]
    outward = (x.abs() - eye_x(p) * CENTER) / (LENS_HALF_WIDTH * p["lens_size"])
    down = (y - EYE_Y - BELOW) / (LENS_HALF_HEIGHT * p["lens_size"])
    radius = power(power(outward.abs(), square) + power(down.abs(), square) + 1e-9, 1 / square)
    return outward, down, radius


def _on_plane(frame: Frame, p: Parameters, z: float) -> tuple[Tensor, Tensor]:
    """Head coordinates x, y of the point of the plane at depth z that each pixel sees: the projection, inverted."""
    sin_yaw, cos_yaw = p["sin_yaw"], p["cos_yaw"]
    sin_pitch, cos_pitch = p["sin_pitch"], p["cos_pitch"]
    x = (frame.U - z * sin_yaw) / cos_yaw
    return x, (frame.V + (z * cos_yaw - x * sin_yaw) * sin_pitch) / cos_pitch


def _shade(frame: Frame, p: Parameters) -> Tensor:
    """Share of the light that frame and lenses keep from the skin behind and below them; away from the key light."""
    x, y = _on_plane(frame, p, CHEEK_DEPTH)
    reach = (FRAME_DEPTH - CHEEK_DEPTH) / p["key_z"].clamp(min=0.4)
    _, _, radius = _in_lens(p, x + reach * p["key_x"], y + reach * p["key_y"])
    edge = (radius - 1) * 0.5 * (LENS_HALF_WIDTH + LENS_HALF_HEIGHT)
    rim = smoothstep(_thickness(p) + 0.025 - edge.abs(), 0.0, 0.04) * (0.22 + 0.20 * p["bold"])
    behind = 0.55 * p["shaded"] * smoothstep(-edge, -0.03, 0.03)
    lit = KEY / (KEY + p["ambient"])
    return p["worn"] * lit * torch.maximum(rim, behind) * smoothstep(frame.face.cosine, 0.0, 0.35) * frame.head


def _bent(frame: Frame, p: Parameters, parts: GlassesParts, radiance: Tensor) -> Tensor:
    """What is seen through the lenses' edges: from farther outwards, as through lenses for short sight."""
    height, width = radiance.shape[2:]
    out = 0.09 * smoothstep(parts.radius, 0.70, 1.05)
    across = out * parts.outward * torch.sign(parts.x) * LENS_HALF_WIDTH
    along = out * parts.down * LENS_HALF_HEIGHT
    c, s = p["cos_roll"] / frame.pixel, p["sin_roll"] / frame.pixel
    column = torch.arange(width, dtype=radiance.dtype, device=radiance.device).view(1, 1, -1)
    row = torch.arange(height, dtype=radiance.dtype, device=radiance.device).view(1, -1, 1)
    grid_x = (column + c * across - s * along) * (2 / (width - 1)) - 1
    grid_y = (row + c * along + s * across) * (2 / (height - 1)) - 1
    return sample(radiance, grid_x, grid_y)


def _mirrored(p: Parameters, parts: GlassesParts) -> Tensor:
    """What the lenses mirror: surroundings as light as the background, brighter above, and a window or lamp."""
    above = 0.003 + 0.012 * smoothstep(-parts.down, -0.4, 1.0)
    # Lenses are curved: where one mirrors a light, its normal points halfway between that light and the viewer.
    normal_x = torch.sign(parts.x) * (0.08 + 0.11 * parts.outward)
    normal_y = 0.05 + 0.10 * parts.down
    off_x, off_y = normal_x - 0.6 * p["half_x"], normal_y - 0.35 * p["half_y"]
    window = smoothstep(0.075 - off_x.abs(), -0.015, 0.015) * smoothstep(0.060 - off_y.abs(), -0.015, 0.015)
    window = 0.035 * window * (1 - 0.6 * bump(off_x + 0.01, 0.010))
    return tint(p["backdrop"], above) + window.unsqueeze(1) * light_color(window)


def _temples(frame: Frame, p: Parameters, thick: Tensor) -> Tensor:
    """Coverage of the two arms, from the frame's outer ends back to the ears, seen over the head only."""
    total = torch.zeros_like(frame.U)
    for side in (-1.0, 1.0):
        front_x = side * (eye_x(p) * CENTER + LENS_HALF_WIDTH * p["lens_size"])
        ear_x = front_x + side * (SPREAD + 0.5 * BREADTH * p["face_width"])
        start, end = front_x * p["cos_yaw"] + FRAME_DEPTH * p["sin_yaw"], ear_x * p["cos_yaw"]
        along = ((frame.U - start) / (end - start + side * 1e-3)).clamp(0, 1)
        depth = FRAME_DEPTH * (1 - along)
        y = (EYE_Y - 0.03) * p["cos_pitch"] - depth * p["sin_pitch"]
        near = smoothstep(side * (end - start), 0.0, 0.02)
        inside = coverage(side * (frame.U - start), frame.pixel) * coverage(side * (end - frame.U), frame.pixel)
        total = torch.maximum(total, near * inside * coverage(0.65 * thick - (frame.V - y).abs(), frame.pixel))
    return total * frame.head


def _frame_color(p: Parameters, radiance: Tensor, y: Tensor) -> Tensor:
    """Black, tortoise or metal, with a faint light from above; plastic is never metal."""
    black, metal = color(radiance, 0.012, 0.011, 0.011), color(radiance, 0.055, 0.050, 0.042)
    tortoise = color(radiance, 0.050, 0.022, 0.010)
    plastic = smoothstep(p["frame_color"] + 2 * p["bold"], -0.9, -0.5)
    base = mix(metal, black, plastic.unsqueeze(1))
    base = mix(base, tortoise, smoothstep(p["frame_color"], 0.6, 0.9).unsqueeze(1))
    return base * (1 + 0.25 * bump(y - EYE_Y + 0.09, 0.05)).unsqueeze(1) * light_color(radiance)
