"""Hair: a cap around the skull, curtains beside the face, a hairline over it, strands on all; and the beard.

The cap is the head itself enlarged, so that it turns with the head. Strands run along meridians of the cap (constant
sin φ) from the crown and hang straight below the ears; curl bends them and breaks them up. Highlights across strands:
Kajiya & Kay 1989, Rendering fur with three dimensional textures.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, bump, color, coverage, mix, over, smoothstep, tint
from transect.generators.faceworld.head import CROWN, HAIRLINE_Y, Frame, read_tables
from transect.generators.faceworld.lighting import AMBIENT, KEY, Illumination, light_color
from transect.generators.faceworld.relief import mouth_y, nose_base
from transect.generators.faceworld.textures import sample_mirrored

_WIDEST_Y = -0.16


@dataclass(frozen=True, slots=True, eq=False)
class Hair:
    """radiance [b, 3, h, w]; back, front: coverage behind and before the face; shadow: optical depth on the skin."""

    radiance: Tensor
    back: Tensor
    front: Tensor
    shadow: Tensor


def hair(frame: Frame, p: Parameters, lattices: dict[str, Tensor]) -> Hair:
    """The hair of the head, at each pixel."""
    curly = smoothstep(p["hair_curl"], -0.3, 1.8)
    outer, lateral = _outline(frame, p, curly)
    strands, ragged = _strands(frame, lattices, lateral, curly)
    bottom = -0.12 + 1.62 * p["hair_length"]
    soft = 2.2 * frame.pixel
    mass = coverage(outer - frame.U.abs() + 0.012 * (1 + 1.5 * curly) * ragged, soft) * (1 - _bare(p))
    above_end = coverage(bottom + 0.07 * ragged - frame.V, soft + 0.02)
    back = mass * above_end
    front = _hairline(frame, p, ragged, bottom).maximum(_curtain(frame, p, ragged, above_end)) * mass
    shadow = _forehead_shadow(frame, p, bottom)
    return Hair(_shade(frame, p, lateral, strands, curly), back, front, shadow)


def _bare(p: Parameters) -> Tensor:
    return smoothstep(p["baldness"], 0.82, 1.0)


def _outline(frame: Frame, p: Parameters, curly: Tensor) -> tuple[Tensor, Tensor]:
    """Half width of the hair at each height, and the lateral coordinate -1..1 across it."""
    length, volume = p["hair_length"], p["hair_volume"]
    lift = 0.035 + 0.05 * smoothstep(length, 0.0, 0.35) + 0.045 * volume + 0.09 * curly * smoothstep(length, 0.0, 0.5)
    lift = lift * (1 - 0.9 * smoothstep(p["baldness"], 0.1, 0.7))
    side = 0.018 + 0.07 * smoothstep(length, 0.05, 0.5) + 0.10 * curly * length
    side = side + 0.03 * volume * smoothstep(length, 0.0, 0.3)
    y = (frame.V - 0.1) / (1 + lift.clamp(min=0.028) / 1.1) + 0.1
    cap = read_tables(frame.tables, y.clamp(max=_WIDEST_Y))[:, 2] * (1 + side.clamp(min=0.022) / 0.62)
    hanging = (frame.V - _WIDEST_Y).clamp(min=0)
    flare = (0.03 + 0.05 * volume + 0.12 * curly) * smoothstep(length, 0.2, 0.8)
    outer = cap + flare * hanging - 0.05 * hanging**2 * smoothstep(length, 0.3, 1.0) - 3.0 * (CROWN - y).clamp(min=0)
    return outer, (frame.U / outer.clamp(min=0.05)).clamp(-1.2, 1.2)


def _strands(frame: Frame, lattices: dict[str, Tensor], lateral: Tensor, curly: Tensor) -> tuple[Tensor, Tensor]:
    """Fine strands (shade) and coarse locks (edges), about unit variance."""
    wave = curly * (0.030 * torch.sin(15 * frame.V + 5 * frame.U) + 0.02 * torch.sin(31 * frame.V - 9 * frame.U))
    across, along = lateral * 0.85 + wave, frame.V / 1.4
    fine = sample_mirrored(lattices["strands"].unsqueeze(1), across, along).squeeze(1)
    coarse = sample_mirrored(lattices["locks"].unsqueeze(1), across, along).squeeze(1)
    curls = sample_mirrored(lattices["curls"].unsqueeze(1), frame.U / 1.1, frame.V / 1.1).squeeze(1)
    strands = mix(0.75 * fine + 0.65 * coarse, 0.9 * curls + 0.5 * coarse, curly)
    return strands, mix(0.6 * fine + 0.8 * coarse, 1.2 * curls, curly)


def _hairline(frame: Frame, p: Parameters, ragged: Tensor, bottom: Tensor) -> Tensor:
    """Coverage of the hair that grows on the visible skull: over the forehead, down the temples, and bangs."""
    face, bald, masculine = frame.face, p["baldness"], p["face_shape"]
    # 0 on the midline, 1 beside the face, up to 2 behind.
    across = torch.where(face.cosine > 0, face.sine.abs(), 2 - face.sine.abs())
    crown = HAIRLINE_Y - 0.028 * p["forehead_height"] - 0.55 * smoothstep(bald, 0.0, 0.75)
    recession = (0.05 * masculine + 0.10 * masculine * p["old"] + 0.25 * bald) * bump(across - 0.52, 0.18)
    center = crown - recession + 0.02 * p["hairline"] * bump(across, 0.16) + 0.05 * across**2
    sideburn = torch.minimum(0.06 + 0.16 * masculine, bottom + 0.14)
    temple = smoothstep(across, 0.80, 0.94)
    line = mix(center + 0.20 * smoothstep(across, 0.35, 0.9), sideburn, temple)
    line = torch.maximum(line, mix(_bangs(frame, p, center), line, temple) - 2.0 * bald)
    fringe = 0.016 + 0.022 * p["bangs"] * (1 - smoothstep(bald, 0.0, 0.4))
    density = 1 - 0.25 * (1 - smoothstep(p["hair_length"], 0.0, 0.12))
    return coverage(line + fringe * ragged - face.y, 2.5 * frame.pixel + 0.012) * density


def _bangs(frame: Frame, p: Parameters, center: Tensor) -> Tensor:
    """Height to which bangs fall, a little higher at the parting; the hairline itself without bangs."""
    parted = 0.10 * smoothstep((frame.face.x - 0.1 * p["hair_parting"]).abs(), 0.0, 0.5)
    return mix(center, -0.285 - 0.10 * (1 - p["bangs"]) + parted, smoothstep(p["bangs"], 0.0, 0.25))


def _curtain(frame: Frame, p: Parameters, ragged: Tensor, above_end: Tensor) -> Tensor:
    """Coverage of the hair that hangs before the ears, beside the face."""
    shift = 0.30 * torch.sin(p["yaw"])
    inner = 0.535 + 0.03 * p["face_width"] - 0.06 * (frame.V - 0.2).clamp(min=0) + 0.02 * ragged
    beside = coverage((frame.U - shift).abs() - inner, 2.2 * frame.pixel)
    below_temple = smoothstep(frame.V, -0.55, -0.30)
    return beside * below_temple * above_end * smoothstep(p["hair_length"], 0.24, 0.34)


def _forehead_shadow(frame: Frame, p: Parameters, bottom: Tensor) -> Tensor:
    """What the hair takes of the light on the skin just below its edge."""
    line = HAIRLINE_Y + 0.45 * p["bangs"]
    below = 0.35 * (1 - smoothstep(frame.face.y - line, -0.05, 0.20)) * (1 - smoothstep(p["baldness"], 0.0, 0.4))
    beside = smoothstep(frame.face.sine.abs(), 0.72, 0.98) * smoothstep(bottom - frame.V, -0.05, 0.3)
    return below + 0.55 * beside * smoothstep(p["hair_length"], 0.2, 0.35)


def _shade(frame: Frame, p: Parameters, lateral: Tensor, strands: Tensor, curly: Tensor) -> Tensor:
    """Radiance of hair: light on a rounded mass, strands, and a band of highlight across them."""
    nx = lateral.clamp(-1, 1)
    ny = -smoothstep(-frame.V, 0.25, 1.15)
    nz = (1 - nx * nx - 0.8 * ny * ny).clamp(min=0.02).sqrt()
    toward = nx * p["light_x"] + ny * p["light_y"] + nz * p["light_z"]
    diffuse = AMBIENT * (0.75 - 0.2 * ny) + KEY * ((toward + 0.2) / 1.2).clamp(min=0)
    contrast = (1 + (0.30 + 0.12 * curly) * strands).clamp(0.25, 1.9)
    body = tint(p["hair"], diffuse * contrast * _depth_shade(frame, p, curly))
    # Strands run down the mass: light that meets them across makes the band.
    across = ny * p["light_y"] + nz * (1 + p["light_z"]) + 0.10 * strands
    band = bump(across - 1.72, 0.16) * (1 - 0.75 * curly) * (nz * 1.2).clamp(max=1) * (1 + 0.6 * strands).clamp(0, 2)
    return (body + (0.025 + 0.11 * p["hair"]) * band.unsqueeze(1)) * light_color(body)


def _depth_shade(frame: Frame, p: Parameters, curly: Tensor) -> Tensor:
    """What hair keeps from hair: darker below, beside the face and in the parting."""
    low = 1 - 0.35 * smoothstep(frame.V, -0.2, 0.9)
    beside = 1 - 0.35 * bump(frame.U.abs() - 0.56, 0.12) * smoothstep(frame.V, -0.4, 0.0)
    opening = 0.03 + 0.10 * (frame.V + 1.12).clamp(min=0)
    parting = bump((frame.U - 0.13 * p["hair_parting"]) / opening, 1.0) * bump(frame.V + 1.05, 0.2)
    return low * beside * (1 - 0.30 * parting * (1 - curly))


def shade_skin(radiance: Tensor, shadow: Tensor) -> Tensor:
    """Skin in the shadow of the hair."""
    return radiance * torch.exp(-shadow).unsqueeze(1)


def beard(frame: Frame, p: Parameters, radiance: Tensor, light: Illumination, stubble: Tensor) -> Tensor:
    """The face with its facial hair: first a shade of stubble, then hair that hides the skin.

    stubble: [b, h, w] noise of standard deviation about 1.
    """
    amount = p["facial_hair"]
    growth = smoothstep(_beard_region(p, frame.face.x, frame.face.y) + 0.012 * stubble, -0.02, 0.05)
    growth = growth * smoothstep(frame.face.cosine, -0.15, 0.05)
    shadow = growth * smoothstep(amount, 0.0, 0.25) * (0.42 + 0.12 * stubble).clamp(0.1, 0.7)
    stain = (0.35 + 0.65 * (p["hair"] / 0.3).clamp(max=1)) * color(radiance, 0.96, 1.0, 1.06)
    radiance = radiance * mix(torch.ones_like(stain), stain, shadow.unsqueeze(1))
    dense = 1.25 * smoothstep(amount, 0.12, 1.0) + 0.22 * stubble * smoothstep(amount, 0.05, 0.3)
    hidden = growth * dense.clamp(0, 0.96) * smoothstep(amount, 0.0, 0.15)
    hairs = tint(p["hair"], (1 + 0.30 * stubble).clamp(0.3, 1.8) * light.diffuse * 0.72) * light_color(radiance)
    return over(radiance, hairs, hidden)


def _beard_region(p: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """Signed distance into the region where facial hair grows: jaw, chin and upper lip, not lips or cheeks."""
    side, my = x.abs(), mouth_y(p)
    cheek_line = 0.43 - 0.75 * (side - 0.27).clamp(min=0)
    jaw = y - cheek_line
    lip_half = 0.235 + 0.05 * p["smile"]
    mouth_area = 1 - (((x / lip_half) ** 2) + ((y - my - 0.008) / 0.088) ** 2).sqrt()
    jaw = torch.minimum(jaw, -0.14 * mouth_area)
    upper_lip = torch.minimum(y - nose_base(p) - 0.045, my - 0.022 - y).minimum(0.255 - side + 0.25 * (y - my))
    chin_strip = torch.minimum(y - my - 0.10, 0.07 - side)
    return torch.maximum(jaw, upper_lip).maximum(chin_strip - 0.02)
