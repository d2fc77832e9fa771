"""What surrounds the face: a soft background, as photographs have out of focus, and clothes."""

from __future__ import annotations

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, color, coverage, mix, smoothstep, tint
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import AMBIENT, KEY, light_color
from transect.generators.faceworld.textures import spread


def background(frame: Frame, p: Parameters, lattices: dict[str, Tensor]) -> Tensor:
    """Radiance [b, 3, h, w]: a gradient, shapes out of focus in neighboring hues, and a fine unevenness."""
    field = {name: spread(lattices[name], frame.size, frame.size) for name in lattices if name.startswith("backdrop")}
    gradient = torch.exp(0.16 * frame.X * torch.sin(p["light_azimuth"]) - 0.22 * frame.Y)
    shapes = smoothstep(field["backdrop_shapes"], -0.55, 0.55)
    shade = gradient * torch.exp(0.50 * field["backdrop"] + 0.60 * (shapes - 0.5) + 0.035 * field["backdrop_fine"])
    warm, cool = color(shade.unsqueeze(1), 1.10, 1.0, 0.86), color(shade.unsqueeze(1), 0.92, 1.0, 1.08)
    return tint(p["backdrop"], shade) * mix(cool, warm, shapes.unsqueeze(1)) * light_color(shade)


def clothes(frame: Frame, p: Parameters, lattices: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Radiance of the clothes and their coverage: shoulders with a round collar."""
    folds = spread(lattices["folds"], frame.size, frame.size)
    side = frame.X.abs()
    masculine = p["face_shape"] - 0.5
    slope = 1.03 - 0.02 * masculine + (0.30 - 0.12 * masculine) * ((side - 0.30).clamp(min=0) / 0.95) ** 1.4
    shoulder = frame.Y - slope
    collar = frame.Y - 1.03 - 0.16 * (1 - (frame.X / 0.47) ** 2).clamp(min=0)
    cover = coverage(torch.minimum(shoulder, collar), 1.5 * frame.pixel)
    nx = (frame.X / 1.4).clamp(-1, 1)
    toward = nx * p["light_x"] - 0.45 * p["light_y"] + 0.85 * p["light_z"]
    light = AMBIENT + KEY * ((toward + 0.3) / 1.3).clamp(min=0)
    rim = 1 - 0.30 * smoothstep(0.05 - collar, 0.0, 0.04) + 0.10 * smoothstep(0.03 - collar, 0.0, 0.03)
    shade = light * (1 + 0.14 * folds) * rim * (1 - 0.25 * smoothstep(0.55 - side, 0.0, 0.5))
    return tint(p["cloth"], shade.clamp(min=0)) * light_color(shade), cover
