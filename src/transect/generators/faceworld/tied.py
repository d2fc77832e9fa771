"""Hair that is tied: a tail that swings out beside the head, and a knot on the crown."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, beyond, bump, power, smoothstep
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.strands import Strands, feather
from transect.generators.faceworld.textures import sample_mirrored

_ROUND = 1.5
"""Width of a knot over its height."""


class Bundle(NamedTuple):
    """All [b, h, w]. cover, before: coverage behind and before the shoulders. depth: share of light behind the head.

    share: of each pixel that shows the bundle and not the hair of the head; lateral, fine: those of strands.Strands.
    """

    cover: Tensor
    before: Tensor
    depth: Tensor
    share: Tensor
    lateral: Tensor
    fine: Tensor


def ponytail(frame: Frame, p: Parameters, locks: Strands, strands: Tensor, head: Tensor) -> Bundle:
    """A tail that is tied behind the head, comes out beside it and falls, thickest below its middle.

    strands: the lattice; head: coverage of the hair of the head, behind which it begins.
    """
    side = 2 * beyond(p["hair_parting"]) - 1
    t = ((frame.V + 0.70) / (0.62 + 1.06 * p["tail"])).clamp(0, 2.0)
    sway = 0.04 * torch.sin(4 * frame.V) - 0.1 * p["sin_yaw"]
    # Below a hat, and where the crown is bare, it is tied low.
    low = torch.maximum(beyond(p["hat"]), p["thinning"])
    out = 0.34 + 0.35 * smoothstep(frame.V - 0.40 * low, -0.80, -0.15) - 0.10 * smoothstep(frame.V, 0.10, 1.0)
    out = out - 0.05 * p["thinning"]
    full = (0.08 + 0.10 * p["tail"] + 0.02 * p["hair_volume"]) * (0.70 + 0.75 * t)
    half = full * power((1 - t).clamp(min=0), 0.5)
    place = frame.U - side * out - sway
    fine = _wound(frame, strands, 0.8 * place / full + 0.02 * locks.ragged, frame.V / 1.4)
    inside = half + 0.012 * locks.ragged - place.abs()
    # A hat leaves it what hangs below, a hood nothing.
    worn = low * (1 - smoothstep(frame.V, -0.38, -0.30))
    shown = (1 - worn) * (1 - p["hooded"]) * smoothstep(frame.V, -0.72, -0.60) * smoothstep(1 - p["scalp"], 0.0, 0.35)
    cover = feather(frame, inside, fine, 0.016) * feather(frame, 0.6 * (1 - t), fine, 0.040) * shown
    root = 0.55 + 0.45 * smoothstep(inside, 0.0, 0.06) * smoothstep(t, 0.10, 0.45)
    before = cover * smoothstep(frame.V, 0.88, 0.96)
    return Bundle(cover, before, root, cover * (1 - head), 0.9 * place / full, fine)


def bun(frame: Frame, p: Parameters, locks: Strands, strands: Tensor, head: Tensor) -> Bundle:
    """A knot on the crown, wound around itself; it stands behind the head's axis and turns with it."""
    x, y = frame.U + 0.25 * p["sin_yaw"], frame.V + 0.97 - 0.25 * p["sin_pitch"]
    radius = ((x / _ROUND) ** 2 + y * y + 1e-6).sqrt()
    wound = _wound(frame, strands, 1.3 * radius + 0.10 * x / radius, 0.5 * x / radius)
    left = smoothstep(1 - p["thinning"], 0.0, 0.6) * smoothstep(1 - p["scalp"], 0.0, 0.35)
    knot = feather(frame, p["knot"] + 0.012 * locks.ragged - radius, wound, 0.012) * left
    around = bump(x, _ROUND * p["knot"]) * beyond(0.10 - y)
    depth = (1 - 0.6 * bump(y + 0.03, 0.05) * around) * (0.70 + 0.30 * smoothstep(p["knot"] - radius, 0.0, 0.08))
    return Bundle(knot, torch.zeros_like(knot), depth, knot * (1 - head), 0.8 * x / (_ROUND * p["knot"]), wound)


def _wound(frame: Frame, strands: Tensor, across: Tensor, along: Tensor) -> Tensor:
    """Strands along a bundle, of about unit variance."""
    lattice = strands.unsqueeze(1)
    tresses = sample_mirrored(lattice, 0.36 * across + 0.3, 0.7 * along).squeeze(1)
    fine = sample_mirrored(lattice, across, along).squeeze(1)
    return 0.70 * tresses + 0.60 * (0.013 / frame.pixel).clamp(max=1) * fine
