"""Strands: in which direction hair runs, how it waves and curls, and the light on it.

A strand is a line of constant `across`. Parted hair runs in arches from the parting over the side of the head and then
hangs parallel to the outline; swept and cropped hair runs along meridians from the crown. Highlights across strands:
Kajiya & Kay 1989, Rendering fur with three dimensional textures.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, beyond, bump, mix, smoothstep, tint
from transect.generators.faceworld.head import Frame
from transect.generators.faceworld.lighting import KEY, light_color
from transect.generators.faceworld.rows import Pick, Rows, put, some
from transect.generators.faceworld.textures import sample_mirrored

_ARCH_Y, _ARCH_HEIGHT = -0.22, 0.98
_SPACING = 0.0085
"""Distance of neighboring strands in the lattice, in face units."""

_TRESS, _GATHERED = 0.36, 0.012
"""Strands' spacing over that of tresses, and how far strands move towards the middle of their lock."""


@dataclass(frozen=True, slots=True, eq=False)
class Strands:
    """lateral: -1..1 across the mass; fine: unit variance, strand by strand; ragged: unit variance, lock by lock."""

    lateral: Tensor
    fine: Tensor
    ragged: Tensor

    def take(self, pick: Pick) -> Strands:
        """The strands of some rows."""
        return Strands(some(self.lateral, pick), some(self.fine, pick), some(self.ragged, pick))


def parting_x(p: Parameters) -> Tensor:
    """Where the hair is parted, on the top of the head."""
    return 0.17 * p["parted_side"]


def parted_share(p: Parameters) -> Tensor:
    """1 where hair is parted and runs to both sides, 0 where it is swept, tied, cropped or falls over the forehead."""
    return (1 - smoothstep(p["bangs"], 0.1, 0.3)) * (1 - p["tied"]) * smoothstep(p["hang"], 0.02, 0.15)


def strands(frame: Frame, p: Rows, lattices: dict[str, Tensor], outer: Tensor, widest: Tensor) -> Strands:
    """The strands at each pixel of a mass of half width `outer`, `widest` at the temples."""
    lateral = (frame.U / outer.clamp(min=0.05)).clamp(-1.2, 1.2)
    side = frame.U - parting_x(p) * (1 - smoothstep(frame.V, -0.95, -0.1))
    rise = (_ARCH_Y - frame.V).clamp(min=0) / _ARCH_HEIGHT
    arch = ((side / mix(outer.clamp(min=0.3), widest, beyond(rise))) ** 2 + rise * rise + 1e-6).sqrt()
    parted = parted_share(p)
    combed = frame.U / (0.35 * outer.clamp(min=0.05) + 0.65 * widest) + 0.30 * p["swept_side"] * (frame.V + 0.4)
    # Tied hair is drawn back over the outline of the head.
    drawn_back = frame.U * (1 + 0.5 * (frame.V + 0.4)) / widest
    bare_forehead = p["tied"] * (1 - smoothstep(p["bangs"], 0.1, 0.3))
    across = mix(mix(combed, drawn_back, bare_forehead), arch * (2 * beyond(side) - 1), parted)
    along = frame.V / 1.4
    # Where hair is parted, the strands of one side end and others begin, so neither stands out there.
    off_parting = mix(torch.ones_like(side), smoothstep(side.abs(), 0.0, 0.10), parted)
    coarse = _read(lattices["locks"], across, along) * off_parting
    phase = 1.6 * torch.sin(8 * across) + 0.3 * coarse
    bend = p["wave"] * (0.040 * torch.sin(11 * frame.V + phase) + 0.014 * torch.sin(23 * frame.V - phase))
    # Strands gather in locks, and within them in tresses.
    across_lock = across + bend + _GATHERED * coarse
    fine = _read(lattices["strands"], across_lock, along) * _visible_contrast(1.5 * _SPACING, frame.pixel)
    tresses = _read(lattices["strands"], _TRESS * across_lock + 0.3, 0.7 * along)
    tresses = tresses * _visible_contrast(1.5 * _SPACING / _TRESS, frame.pixel)
    straight = 0.58 * fine + 0.55 * tresses + 0.22 * coarse
    cropped = p.with_any("short")
    if cropped is not None:
        put(
            straight,
            cropped,
            _draw_short(
                frame.take(cropped), p.take(cropped), *(some(each, cropped) for each in (lattices["stubble"], straight))
            ),
        )
    curly = p.with_any("curl", "coil")
    if curly is None:
        return Strands(lateral, straight, coarse)
    textures = {name: some(lattices[name], curly) for name in ("curls", "stubble")}
    drawn = (some(field, curly) for field in (across, straight, coarse))
    fine, ragged = _draw_curls(frame.take(curly), p.take(curly), textures, *drawn)
    coarse = coarse.clone()
    put(straight, curly, fine)
    put(coarse, curly, ragged)
    return Strands(lateral, straight, coarse)


def _draw_short(frame: Frame, p: Parameters, hairs: Tensor, straight: Tensor) -> Tensor:
    """Short hairs, which end all over the head."""
    ends = _read(hairs, frame.U / 0.62, frame.V / 1.5) * _visible_contrast(0.018, frame.pixel)
    return mix(straight, 0.75 * ends + 0.40 * straight, p["short"])


def _draw_curls(
    frame: Frame, p: Rows, lattices: dict[str, Tensor], across: Tensor, straight: Tensor, coarse: Tensor
) -> tuple[Tensor, Tensor]:
    """Ringlets turn along each lock; coils are the crests of a noise, which close on themselves."""
    curly = torch.maximum(p["curl"], p["coil"])
    size = 2.3 - 1.5 * p["coil"]
    noise = _read(lattices["curls"], frame.U / size, frame.V / (1.25 * size))
    coily = p.with_any("coil")
    if coily is not None:
        U, V, crests = (some(field, coily) for field in (frame.U, frame.V, lattices["stubble"]))
        fine = 0.8 * _visible_contrast(0.026, some(frame.pixel, coily)) * _read(crests, U / 1.1, V / 1.1)
        put(noise, coily, 0.55 * some(noise, coily) + fine)
    turns = torch.sin(31 * frame.V + 9 * across + 3.4 * noise + 3.2 * coarse)
    crests = 0.85 - 1.15 * noise.abs()
    rings = mix(
        0.36 * turns * (0.6 + 0.4 * coarse.abs()) + 0.50 * straight + 0.60 * crests, 0.62 * noise - 0.1, p["coil"]
    )
    ragged = mix(coarse, mix(0.45 * turns + 0.9 * coarse, noise, p["coil"]), curly)
    return mix(straight, 0.8 * rings, curly), ragged


def _visible_contrast(spacing: float, pixel: Tensor) -> Tensor:
    """The share of a texture's contrast that pixels of that width still show."""
    return (spacing / pixel).clamp(max=1)


def _read(lattice: Tensor, across: Tensor, along: Tensor) -> Tensor:
    return sample_mirrored(lattice.unsqueeze(1), across, along).squeeze(1)


def shade(frame: Frame, p: Parameters, locks: Strands, rounded: Tensor) -> Tensor:
    """Radiance of hair: light on a rounded mass, strands, and a band of highlight across them."""
    curly = torch.maximum(p["curl"], p["coil"])
    # Every lock faces a little elsewhere.
    nx = (locks.lateral + 0.20 * locks.ragged * (1 - 0.6 * p["coil"])).clamp(-1, 1)
    ny = -smoothstep(-frame.V, 0.25, 1.15)
    nz = (1 - nx * nx - 0.8 * ny * ny).clamp(min=0.02).sqrt()
    toward = nx * p["light_x"] + ny * p["light_y"] + nz * p["light_z"]
    diffuse = p["ambient"] * (0.75 - 0.2 * ny) + KEY * ((toward + 0.25) / 1.25).clamp(min=0)
    contrast = torch.exp((0.34 + 0.18 * curly) * locks.fine.clamp(max=1.6) + 0.12 * locks.ragged)
    body = tint(p["hair"], 0.85 * diffuse * contrast * _depth(frame, p, rounded))
    # Strands run down the mass: light that meets them across makes the band.
    across = ny * p["light_y"] + nz * (1 + p["light_z"]) + 0.08 * locks.fine + 0.11 * locks.ragged
    band = bump(across - 1.72, 0.15) * (1 - 0.8 * curly) * (nz * 1.2).clamp(max=1) * p["density"]
    sheen = (0.006 + 0.12 * p["hair"]) * (band * (1 + 0.5 * locks.fine).clamp(0, 2)).unsqueeze(1)
    return (body + sheen) * light_color(body)


def _depth(frame: Frame, p: Parameters, rounded: Tensor) -> Tensor:
    """How hair shades hair: darker below, next to the face, at the outline of coils and in the parting."""
    low = 1 - 0.32 * smoothstep(frame.V, -0.2, 0.9)
    at_face = 1 - 0.45 * bump(frame.U.abs() - 0.56, 0.11) * smoothstep(frame.V, -0.4, 0.0) * (1 - p["tied"]) * (
        1 - p["coil"]
    )
    opening = 0.022 + 0.05 * (frame.V + 1.12).clamp(min=0)
    parted = (1 - smoothstep(p["bangs"], 0.1, 0.3)) * (1 - p["tied"]) * smoothstep(p["hang"], 0.05, 0.2)
    parting = bump((frame.U - parting_x(p)) / opening, 1.0) * bump(frame.V + 0.93, 0.16) * parted * (1 - p["curl"])
    return low * at_face * (1 - 0.45 * parting) * (1 - 0.25 * p["coil"] * (1 - rounded))
