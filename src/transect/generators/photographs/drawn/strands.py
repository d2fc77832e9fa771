"""Strands of hair: waves, curls and coils, and how they shine."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transect.generators.faceworld.canvas import read_mirrored
from transect.generators.faceworld.rows import (
    Parameters,
    Pick,
    Rows,
    Vector,
    beyond,
    bump,
    mix,
    put,
    smoothstep,
    some,
    tint,
)
from transect.generators.photographs.drawn.head import Frame
from transect.generators.photographs.drawn.skin import KEY, light_color

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
    wound = read_mirrored(strands, 0.055 * turn + 0.37 * number, 0.8 * place)
    fine = (0.045 / frame.pixel).clamp(max=1) * (0.34 * wave - 0.55 * edge * edge + 0.15)
    fine = fine + (0.010 / frame.pixel).clamp(max=1) * 0.62 * wound + 0.45 * straight
    return fine, 0.20 * wave + 0.80 * (2 * kind - 1) * (1 - edge) + 0.50 * coarse


def coils(frame: Frame, p: Parameters, curls: Tensor) -> tuple[Tensor, Tensor]:
    """The same for hair in small coils, each with its own light side, in tufts."""
    noise = read_mirrored(curls, frame.U / 2.3, frame.V / 2.9)
    tufts = read_mirrored(curls, frame.U / 5.2 + 0.3, frame.V / 5.2 - 0.2)
    warp = 0.75 * noise
    x, y = frame.U / _COIL + warp + 60, frame.V / _COIL - warp + 0.5 * tufts + 60
    first = _coil(x, y, p["hair_fall"])
    second = _coil(0.77 * x + 0.62 * y + 13.3, 0.77 * y - 0.62 * x + 80.9, p["hair_parting"])
    visible = (0.6 * _COIL / frame.pixel).clamp(max=1)
    grain = read_mirrored(curls, 0.9 * frame.U - 0.2, 0.9 * frame.V + 0.1)
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


_ARCH_Y, _ARCH_HEIGHT = -0.22, 0.98
_SPACING = 0.0085
"""Distance of neighboring strands in the lattice, in face units."""

_TRESS, _SINGLE, _GATHERED = 0.36, 2.9, 0.018
"""Strands' spacing over that of tresses and of single hairs; how far strands move towards the middle of their lock."""

SINGLE_HAIRS = 160
"""Pictures of that many pixels or more show single hairs; in smaller ones they average out."""


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
    # Next to the outline they run along it.
    outermost = smoothstep(lateral.abs(), 0.65, 0.95) * smoothstep(frame.V, -1.05, -0.25)
    arch = mix(arch, lateral.abs(), outermost)
    parted = parted_share(p)
    combed = frame.U / (0.35 * outer.clamp(min=0.05) + 0.65 * widest) + 0.30 * p["swept_side"] * (frame.V + 0.4)
    # Tied hair is drawn back over the outline of the head, or together to the knot on its crown.
    drawn_back = frame.U * (1 + (0.5 - 1.6 * beyond(p["knot"])) * (frame.V + 0.4)) / widest
    bare_forehead = p["tied"] * (1 - smoothstep(p["bangs"], 0.1, 0.3))
    across = mix(mix(combed, drawn_back, bare_forehead), arch * (2 * beyond(side) - 1), parted)
    along = frame.V / 1.4
    # Where hair is parted, the strands of one side end and others begin, so neither stands out there.
    off_parting = mix(torch.ones_like(side), smoothstep(side.abs(), 0.0, 0.10), parted)
    coarse = read_mirrored(lattices["locks"], across, along) * off_parting
    phase = 1.6 * torch.sin(8 * across) + 0.3 * coarse
    bend = p["wave"] * (0.040 * torch.sin(11 * frame.V + phase) + 0.014 * torch.sin(23 * frame.V - phase))
    # Strands gather in locks, and within them in tresses.
    across_lock = across + bend + _GATHERED * coarse
    fine = read_mirrored(lattices["strands"], across_lock, along) * _visible_contrast(1.5 * _SPACING, frame.pixel)
    tresses = read_mirrored(lattices["strands"], _TRESS * across_lock + 0.3, 0.7 * along)
    tresses = tresses * _visible_contrast(1.5 * _SPACING / _TRESS, frame.pixel)
    straight = 0.54 * fine + 0.52 * tresses + 0.26 * coarse
    if frame.canvas.size >= SINGLE_HAIRS:
        straight = straight + 0.50 * _single_hairs(frame, lattices, across_lock, along)
    cropped = p.with_any("short")
    if cropped is not None:
        part, plain = frame.take(cropped), some(straight, cropped)
        # Short hairs end all over the head.
        ends = read_mirrored(some(lattices["stubble"], cropped), part.U / 0.62, part.V / 1.5)
        ends = ends * _visible_contrast(0.018, part.pixel)
        put(straight, cropped, mix(plain, 0.75 * ends + 0.40 * plain, p.take(cropped)["short"]))
    curly = p.with_any("curl", "coil")
    if curly is None:
        return Strands(lateral, straight, coarse)
    textures = {name: some(lattices[name], curly) for name in ("curls", "strands")}
    drawn = (some(field, curly) for field in (across, straight, coarse))
    fine, ragged = _draw_curls(frame.take(curly), p.take(curly), textures, *drawn)
    coarse = coarse.clone()
    put(straight, curly, fine)
    put(coarse, curly, ragged)
    return Strands(lateral, straight, coarse)


def _draw_curls(
    frame: Frame, p: Rows, lattices: dict[str, Tensor], across: Tensor, straight: Tensor, coarse: Tensor
) -> tuple[Tensor, Tensor]:
    """Ringlets turn along each lock; coils close on themselves."""
    fine, ragged = straight.clone(), coarse.clone()
    for name, lattice in (("curl", "strands"), ("coil", "curls")):
        rows = p.with_any(name)
        if rows is None:
            continue
        of = frame.take(rows), p.take(rows), some(lattices[lattice], rows)
        lines = (some(field, rows) for field in (across, straight, coarse))
        drawn = ringlets(*of, *lines) if name == "curl" else coils(*of)
        put(fine, rows, drawn[0])
        put(ragged, rows, drawn[1])
    return fine, ragged


def _single_hairs(frame: Frame, lattices: dict[str, Tensor], across: Tensor, along: Tensor) -> Tensor:
    """Contrast of hairs finer than strands, as far as pixels show them."""
    hairs = read_mirrored(lattices["strands"], _SINGLE * across - 0.4, 1.6 * along + 0.2)
    return hairs * (2.0 * _SPACING / _SINGLE / frame.pixel - 0.5).clamp(0, 1)


def _visible_contrast(spacing: float, pixel: Tensor) -> Tensor:
    """The share of a texture's contrast that pixels of that width still show."""
    return (spacing / pixel).clamp(max=1)


def feather(frame: Frame, inside: Tensor, fine: Tensor, width: float | Tensor) -> Tensor:
    """Coverage at an edge of hair: single hairs reach beyond it, about that far, and between them one sees through."""
    # Where pixels show single hairs these end sharply; farther off they are a soft edge.
    half = (1 - 0.6 * (0.013 / frame.pixel).clamp(max=1)) * width + frame.pixel
    return smoothstep(inside + 1.15 * width * fine, -half, half)


def shade(frame: Frame, p: Parameters, locks: Strands, rounded: Tensor) -> Tensor:
    """Radiance of hair: light on a rounded mass, strands, and the two highlights across them."""
    curly = torch.maximum(p["curl"], p["coil"])
    # Every lock faces a little elsewhere.
    nx = (locks.lateral + 0.20 * locks.ragged * (1 - 0.6 * p["coil"])).clamp(-1, 1)
    ny = -smoothstep(-frame.V, 0.25, 1.15)
    nz = (1 - nx * nx - 0.8 * ny * ny).clamp(min=0.02).sqrt()
    toward = nx * p["light_x"] + ny * p["light_y"] + nz * p["light_z"]
    lit = ((toward + 0.25) / 1.25).clamp(min=0)
    diffuse = p["ambient"] * (0.75 - 0.2 * ny) + KEY * lit
    # Little light reaches what lies between locks.
    deep = locks.fine - 0.35 * (-0.4 - locks.fine).clamp(min=0)
    contrast = torch.exp((0.29 + 0.06 * curly) * deep.clamp(max=1.8) + 0.15 * locks.ragged)
    white, colored = _highlights(p, locks, (nx, ny, nz), lit)
    body = (0.82 * diffuse + 0.50 * colored) * contrast * _depth(frame, p, rounded)
    return (tint(p["hair"], body) + (0.016 * white * contrast).unsqueeze(1)) * light_color(body)


def _highlights(p: Parameters, locks: Strands, normal: Vector, lit: Tensor) -> tuple[Tensor, Tensor]:
    """The white and the colored highlight: where strands stand across the direction halfway to the light, or nearly.

    Scales of a hair tilt its surface, which moves the first towards the root and the second towards the end.
    """
    nx, ny, nz = normal
    scale = 1 / (2 + 2 * p["light_z"]).clamp(min=0.2).sqrt()
    faces = (nx * p["light_x"] + ny * p["light_y"] + nz * (1 + p["light_z"])) * scale
    slant = p["light_y"] * scale - ny * faces + 0.05 * locks.fine + 0.09 * locks.ragged
    strength = lit * (1.2 * nz).clamp(max=1) * p["density"] * (1 - 0.55 * torch.maximum(p["curl"], p["coil"]))
    return bump(slant - 0.08, 0.13) * strength, bump(slant + 0.12, 0.22) * strength


def _depth(frame: Frame, p: Parameters, rounded: Tensor) -> Tensor:
    """How hair shades hair: darker below, next to the face, at the outline of coils and in the parting."""
    low = 1 - 0.32 * smoothstep(frame.V, -0.2, 0.9)
    at_face = 1 - 0.45 * bump(frame.U.abs() - 0.56, 0.11) * smoothstep(frame.V, -0.4, 0.0) * (1 - p["tied"]) * (
        1 - p["coil"]
    )
    opening = 0.022 + 0.05 * (frame.V + 1.12).clamp(min=0)
    parted = (1 - smoothstep(p["bangs"], 0.1, 0.3)) * (1 - p["tied"]) * smoothstep(p["hang"], 0.05, 0.2)
    parting = bump((frame.U - parting_x(p)) / opening, 1.0) * bump(frame.V + 0.93, 0.16) * parted * (1 - p["curl"])
    # The ends of a fringe lie close to the forehead and in the shade of what hangs over them.
    fringe = 0.36 * p["bangs"] * smoothstep(frame.V, -0.62, -0.30) * smoothstep(frame.face.cosine, 0.2, 0.5)
    return low * at_face * (1 - fringe) * (1 - 0.45 * parting) * (1 - 0.25 * p["coil"] * (1 - rounded))
