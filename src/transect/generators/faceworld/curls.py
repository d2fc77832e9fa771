"""Curled hair: ringlets, which turn along each lock, and coils, which close on themselves.

Which way a lock or coil turns follows from its number by products and remainders alone, which every processor rounds
in the same way.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, bump
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.textures import sample_mirrored

_LOCKS, _TURNS = 8.0, 40.0
"""Ringlets on each half of the head, and radians by which they turn per face unit."""

_COIL = 0.031
"""Distance of neighboring coils, in face units."""


def ringlets(
    frame: Frame, p: Parameters, strands: Tensor, across: Tensor, straight: Tensor, coarse: Tensor
) -> tuple[Tensor, Tensor]:
    """What strands.Strands calls fine and ragged, for locks that turn like corkscrews. strands: the lattice."""
    bent = 0.30 * torch.sin(9 * frame.V + 6 * across) + 0.35 * coarse
    number, place = _cells(_LOCKS * across + bent + 40)
    kind = scatter(number, p["hair_fall"])
    # From one side of a lock to the other the strands rise: one sees the front of each turn.
    turn = _TURNS * frame.V * (0.75 + 0.5 * kind) + 6.2832 * kind + 3.4 * place + 0.9 * coarse
    wave, edge = torch.sin(turn), 4 * place * place
    wound = sample_mirrored(strands.unsqueeze(1), 0.055 * turn + 0.37 * number, 0.8 * place).squeeze(1)
    fine = (0.045 / frame.pixel).clamp(max=1) * (0.34 * wave - 0.55 * edge * edge + 0.15)
    fine = fine + (0.010 / frame.pixel).clamp(max=1) * 0.62 * wound + 0.45 * straight
    return fine, 0.20 * wave + 0.80 * (2 * kind - 1) * (1 - edge) + 0.50 * coarse


def coils(frame: Frame, p: Parameters, curls: Tensor) -> tuple[Tensor, Tensor]:
    """The same for hair in small coils, each with its own light side, in tufts."""
    lattice = curls.unsqueeze(1)
    noise = sample_mirrored(lattice, frame.U / 2.3, frame.V / 2.9).squeeze(1)
    tufts = sample_mirrored(lattice, frame.U / 5.2 + 0.3, frame.V / 5.2 - 0.2).squeeze(1)
    warp = 0.75 * noise
    x, y = frame.U / _COIL + warp + 60, frame.V / _COIL - warp + 0.5 * tufts + 60
    first = _coil(x, y, p["hair_fall"])
    second = _coil(0.77 * x + 0.62 * y + 13.3, 0.77 * y - 0.62 * x + 80.9, p["hair_parting"])
    visible = (0.6 * _COIL / frame.pixel).clamp(max=1)
    grain = sample_mirrored(lattice, 0.9 * frame.U - 0.2, 0.9 * frame.V + 0.1).squeeze(1)
    fine = visible * (0.85 * torch.maximum(first, second) - 0.35 + 0.30 * grain) + 0.40 * noise + 0.36 * tufts
    return fine, 0.70 * noise + 0.40 * tufts + 0.50 * fine


def _coil(x: Tensor, y: Tensor, subject: Tensor) -> Tensor:
    """Height of a crescent in each cell, 0 to about 1.3, in its own place, size and direction."""
    (i, u), (j, v) = _cells(x), _cells(y)
    a = scatter(i + 17.17 * j, subject)
    b = torch.frac(31.7 * a + 0.317 * i)
    u, v = u + 0.75 * (a - 0.5), v + 0.75 * (b - 0.5)
    radius = (u * u + v * v + 1e-4).sqrt()
    lit = (1.4 * (a - 0.5) * u + (0.7 * (b - 0.5) - 0.45) * v) / radius
    return bump(radius - 0.17 - 0.16 * b, 0.12) * (0.75 + lit)


def _cells(position: Tensor) -> tuple[Tensor, Tensor]:
    """The number of the cell of a positive position, and the place in it, -.5 to .5."""
    place = torch.frac(position)
    return position - place, place - 0.5


def scatter(number: Tensor, subject: Tensor) -> Tensor:
    """A number from 0 to 1 for each whole number, without an order that one could see, other for each subject."""
    a = torch.frac(0.1031 * number + 0.37 * subject.abs())
    a = a * (a + 33.33)
    return torch.frac(2 * a * a)
