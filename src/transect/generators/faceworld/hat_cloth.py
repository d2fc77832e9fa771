"""What all hats share: what they hand to the renderer, their height on the head, cloth in light, and folds."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, Vector, tint, unit
from transect.generators.faceworld.head import BREADTH, Frame
from transect.generators.faceworld.lighting import KEY, light_color

NO_LIMIT = 1e3
"""Half width to which hair without a hat is pressed."""

_RIM_Y, _PULLED = -0.42, 0.055
"""Height of a hat's rim on the forehead, and by how much it differs: in half of 150 portraits with hats the forehead
.35 interocular distances above the brows is covered or shaded, and just above the brows in a third."""


class Hat(NamedTuple):
    """radiance [b, 3, h, w]; the others [b, h, w]. cover: coverage before all else. under: half width left to hair.

    shadow: optical depth on what lies below. lining: coverage behind the head by the inner side.
    """

    radiance: Tensor
    cover: Tensor
    under: Tensor
    shadow: Tensor
    lining: Tensor


def rim_height(frame: Frame, p: Parameters, drop: float, tilt: float) -> Tensor:
    """Height of a hat's lower edge on the picture: an ellipse around the head, seen from above or below.

    drop: by how much it lies lower at the sides; tilt: by how much it slants as the head turns.
    """
    across = (frame.U / (0.66 * (1 + BREADTH * p["face_width"]))).clamp(-1, 1)
    round_ = (1 - across * across).clamp(min=0).sqrt()
    worn = _RIM_Y + _PULLED * p["hat_height"]
    return worn + drop * across * across + tilt * across * p["sin_yaw"] - 0.70 * p["sin_pitch"] * round_


def cloth(p: Parameters, shade: Tensor) -> Tensor:
    """Radiance of the hat's cloth under a shade [b, h, w]."""
    return tint(p["hat_cloth"], shade) * light_color(shade)


def cloth_light(p: Parameters, normal: Vector) -> Tensor:
    """Light on cloth. normal: not quite of length 1, in the viewer's frame, as the outline has it."""
    nx, ny, nz = normal
    toward = nx * p["light_x"] + ny * p["light_y"] + nz * p["light_z"]
    return p["ambient"] * (0.86 - 0.24 * ny + 0.10 * nz) + KEY * ((toward + 0.12) / 1.12).clamp(min=0)


def fold(normal: Vector, phase: Tensor, depth: Tensor, across: tuple[Tensor, Tensor]) -> tuple[Vector, Tensor]:
    """The normal of cloth in folds of that phase and depth, and how much light their valleys keep.

    across: the direction in the picture in which the phase grows, of length about 1.
    """
    tilt = depth * torch.cos(phase)
    nx, ny, nz = normal
    return unit(nx + tilt * across[0], ny + tilt * across[1], nz), 1 - 0.30 * depth * (1 - torch.sin(phase))
