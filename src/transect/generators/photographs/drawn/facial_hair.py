"""Facial hair: where it grows, how dense it is, and how its hairs lie on the skin and hang from the chin."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import FACIAL_HAIR_STYLES
from transect.generators.faceworld.canvas import read_mirrored
from transect.generators.faceworld.rows import Parameters, beyond, bump, color, coverage, mix, over, smoothstep, tint
from transect.generators.photographs.drawn.head import (
    CHIN,
    Frame,
    mouth_y,
    nose_base,
    project,
    read_shift,
    shift_maps,
    vertical_scale,
)
from transect.generators.photographs.drawn.skin import Illumination, light_color
from transect.generators.photographs.drawn.strands import SINGLE_HAIRS

_REGIONS: dict[str, tuple[float, float, float]] = {
    "stubble": (1.0, 1.0, 1.0),
    "mustache": (1.0, 0.0, 0.0),
    "goatee": (1.0, 1.0, 0.0),
    "full": (1.0, 1.0, 1.0),
}
"""Shares of upper lip, chin and jaw that are left to grow."""


def facial_hair_traits(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """on_lip, on_chin, on_jaw: where hair grows; beard: its density 0..1; shadow: the darkness of stubble 0..1."""
    level, amount = np.asarray(values["facial_hair_style"]).astype(int), np.asarray(values["facial_hair"])
    regions = np.array([_REGIONS[name] for name in FACIAL_HAIR_STYLES])[level]
    stubble = level == FACIAL_HAIR_STYLES.index("stubble")
    return {
        **{name: regions[:, j] for j, name in enumerate(("on_lip", "on_chin", "on_jaw"))},
        "beard": np.where(stubble, 0.0, amount),
        "stubble": np.where(stubble, amount**0.7, np.clip(amount / 0.8, 0, 0.6)),
    }


def facial_hair(
    frame: Frame, p: Parameters, radiance: Tensor, light: Illumination, lattices: dict[str, Tensor]
) -> Tensor:
    """The face with its facial hair: first a shade of stubble, then hair that hides the skin."""
    hairs, dots = _hairs(frame, p, lattices)
    # A fuller beard also takes more of the cheeks and the lip.
    region = _region(p, frame.face.x, frame.face.y) + 0.045 * (p["beard"] - 0.6) * beyond(p["beard"])
    # Below the jaw it grows on behind the line of the ear.
    behind = -0.15 - 0.55 * smoothstep(frame.face.y, 0.30, 0.50)
    grows = smoothstep(frame.face.cosine, behind, behind + 0.20)
    growth = smoothstep(region + 0.012 * dots + 0.006 * hairs, -0.045, 0.060) * grows
    shadow = growth * p["stubble"] * (0.88 + 0.20 * dots).clamp(0.10, 0.97)
    stain = (0.18 + 0.44 * (p["hair"] / 0.3).clamp(max=1)) * color(radiance, 0.96, 1.0, 1.06)
    radiance = radiance * mix(torch.ones_like(stain), stain, shadow.unsqueeze(1))
    # At its border single hairs lie on skin, fewer and fewer of them.
    single = smoothstep(region + 0.034 * hairs + 0.022 * dots, -0.030, 0.045) * grows
    dense = 0.10 + 0.93 * p["beard"] + (0.10 * hairs + 0.10 * dots) * (1 - 0.6 * p["beard"])
    hidden = single * dense.clamp(0, 0.97) * smoothstep(p["beard"], 0.0, 0.15)
    return over(radiance, _lit_hairs(p, light.diffuse, hairs + 0.4 * dots), hidden)


def _hairs(frame: Frame, p: Parameters, lattices: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Hairs that lie downwards and outwards from the mouth, or in curls; and the dots of stubble. Unit variance."""
    x, y = frame.face.x, frame.face.y
    # On the lip they fan out from below the nose to the corners of the mouth.
    fan = 0.7 * (2 * smoothstep(x, -0.10, 0.10) - 1) * (y - nose_base(p)).clamp(0, 0.2) * p["on_lip"]
    fan = fan * (1 - smoothstep(y, mouth_y(p) - 0.04, mouth_y(p) + 0.02))
    away = (x - fan) / (0.5 + 0.9 * (y - 0.15).clamp(min=0.0))
    curly = torch.maximum(p["coil"], 0.8 * p["curl"])
    lying = 0.70 * read_mirrored(lattices["strands"], 1.7 * away + 0.02 * torch.sin(30 * y), 2.2 * y)
    lying = lying + 0.60 * read_mirrored(lattices["strands"], 0.75 * away + 0.05 * y + 0.3, 1.3 * y)
    if frame.canvas.size >= SINGLE_HAIRS:
        crossing = read_mirrored(lattices["strands"], 2.6 * away - 0.35 * y, 3.1 * y - 0.4)
        lying = lying + 0.55 * (0.009 / frame.pixel).clamp(max=1) * crossing
    curled = 1.1 - 1.9 * read_mirrored(lattices["curls"], 1.5 * x, 1.2 * y).abs()
    return mix(lying, curled, curly), read_mirrored(lattices["stubble"], 1.5 * x, 0.75 * y)


def _lit_hairs(p: Parameters, diffuse: Tensor, hairs: Tensor) -> Tensor:
    return tint(p["hair"], torch.exp(0.36 * hairs.clamp(-2, 1.6)) * (0.08 + 0.53 * diffuse)) * light_color(diffuse)


def _region(p: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """Signed distance into the region where facial hair grows: jaw, chin and upper lip, not lips or cheeks."""
    side, my = x.abs(), mouth_y(p)
    nowhere = torch.full_like(x, -1.0)
    lip_half = 0.235 + 0.05 * p["smile"]
    mouth_area = 1 - (((x / lip_half) ** 2) + ((y - my - 0.008) / 0.088) ** 2).sqrt()
    # The line sinks from the sideburn over the cheek to the corner of the mouth.
    cheek_line = 0.40 - 0.80 * (side - 0.27).clamp(min=0) - 0.05 * bump(side - 0.38, 0.10)
    jaw = torch.minimum(y - cheek_line, -0.14 * mouth_area)
    around = 0.215 + 0.04 * p["smile"] - 0.10 * smoothstep(y, 0.66, 0.90)
    chin = torch.minimum(around - side, y - my + 0.05).minimum(-0.14 * mouth_area)
    upper_lip = torch.minimum(y - nose_base(p) - 0.050, my - 0.022 - y).minimum(
        0.205 + 0.05 * p["smile"] - side + 0.50 * (y - nose_base(p) - 0.05)
    )
    upper_lip = upper_lip.maximum(mix(nowhere, torch.minimum(chin, 0.62 - y), p["on_chin"]))
    chin_strip = torch.minimum(y - my - 0.10, 0.07 - side) - 0.02
    parts = ((upper_lip, "on_lip"), (chin.maximum(chin_strip), "on_chin"), (jaw, "on_jaw"))
    for part, grows in parts:
        nowhere = torch.maximum(nowhere, mix(nowhere, part, p[grows]))
    return nowhere


def hanging_beard(frame: Frame, p: Parameters, lattices: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Radiance and coverage of what hangs below the chin, before the neck."""
    zero = torch.zeros_like(p["yaw"])
    across, down = read_shift(shift_maps(p), zero, zero + CHIN)
    X, Y = project(p, across, (down + CHIN) * vertical_scale(p), zero + 0.57)
    c, s = p["cos_roll"], p["sin_roll"]
    offset = c * X + s * Y
    x, y = frame.U - offset, frame.V - (c * Y - s * X)
    # Turned aside, the chin comes near one side of the jaw's outline and leaves the other.
    x = x / (1 - 1.9 * torch.sign(x) * offset).clamp(min=0.45)
    half = 0.14 + 0.38 * p["on_jaw"]
    length = 0.17 * smoothstep(p["beard"], 0.15, 1.1) * torch.maximum(0.8 * p["on_chin"], p["on_jaw"])
    hairs = 0.7 * read_mirrored(lattices["strands"], 1.2 * x, 1.2 * y) + 0.7 * read_mirrored(
        lattices["strands"], 0.5 * x - 0.4, y
    )
    # Longest below the middle of the chin.
    reach = length * (1 - (x / half) ** 2).clamp(min=0) * (0.85 + 0.30 * bump(x, 0.16))
    # The jaw from below is nearly a parabola; the part on the head is drawn with the head.
    below = (y + 1.4 * x * x) / (1 + (2.8 * x) ** 2).sqrt()
    edge = reach * (1 + 0.34 * hairs) - below
    shading = 0.50 - 0.42 * smoothstep(below, -0.02, 0.12) + 0.12 * p["light_x"] * x / half
    # Over the chin, whose own hairs run into them, those that hang begin little by little.
    visible = smoothstep(reach, 0.005, 0.03) * smoothstep(1 - (x / half) ** 2, 0.10, 0.45) * smoothstep(y, -0.45, -0.30)
    visible = visible * smoothstep(below + 0.04 * (1 - beyond(frame.head - 0.999)), -0.13, 0.01)
    return _lit_hairs(p, shading, hairs), coverage(edge, 1.8 * frame.pixel + 0.20 * reach) * visible
