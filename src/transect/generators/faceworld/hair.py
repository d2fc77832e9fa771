"""Hair: a cap around the skull, what hangs from it, and a hairline over the face.

The cap is the head itself enlarged, so that it turns with the head; what hangs falls before or behind the shoulders.
hair_styles.py says what a style is made of, strands.py how strands run and shine.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transect.generators.faceworld.compositing import Parameters, bump, coverage, mix, smoothstep
from transect.generators.faceworld.head import CROWN, HAIRLINE_Y, Frame, read_tables
from transect.generators.faceworld.strands import shade, strands
from transect.generators.faceworld.windows import Window, cut, hair_window

_WIDEST_Y = -0.16
_COIL_Y = -0.36
"""Height of the middle of coily hair."""


@dataclass(frozen=True, slots=True, eq=False)
class Hair:
    """Within `window` of the picture: radiance [b, 3, h, w] and the share of it behind the face; coverages [b, h, w].

    back, front: coverage behind and before the face. shadow: optical depth on the skin, of the whole picture.
    """

    radiance: Tensor
    depth: Tensor
    back: Tensor
    front: Tensor
    shadow: Tensor
    window: Window


def hair(whole: Frame, p: Parameters, lattices: dict[str, Tensor], under_hat: Tensor | None = None) -> Hair:
    """The hair of the head, at each pixel. under_hat: [b, h, w], the half width to which a hat presses it."""
    window = hair_window(whole, _lowest(p))
    frame = cut(whole, window)
    if under_hat is not None:
        under_hat = window.of(under_hat)
    widest = read_tables(frame.tables, torch.full_like(frame.V, _WIDEST_Y))[:, 2] * (1 + _side(p) / 0.62)
    outer = _outline(frame, p, widest)
    locks = strands(frame, p, lattices, outer, widest)
    outer = outer + _roughness(p) * locks.ragged
    if under_hat is not None:
        outer = torch.minimum(outer, under_hat)
    grown = 1 - p["scalp"]
    soft = 1.6 * frame.pixel + 0.02 * p["coil"]
    inside = outer - frame.U.abs()
    bottom = _bottom(frame, p, locks.ragged)
    density = mix(p["density"], torch.ones_like(inside), smoothstep(p["lift"], 0.0, 0.045))
    back = coverage(inside, soft) * coverage(bottom - frame.V, 2 * frame.pixel + 0.02) * grown * density
    front = _hairline(frame, p, locks.ragged).maximum(_curtain(frame, p, locks.ragged, outer, bottom))
    front = front * coverage(inside, soft) * grown
    radiance = shade(frame, p, locks, smoothstep(inside, 0.0, 0.25))
    depth = 1 - 0.45 * smoothstep(frame.V, -0.15, 0.5)
    if float(p["tail"].max()) > 0:
        tail = _ponytail(frame, p, locks.ragged) * grown
        back = torch.maximum(back, tail)
        front = torch.maximum(front, tail * smoothstep(frame.V, 0.88, 0.96))
    if float(p["knot"].max()) > 0 and under_hat is None:
        knot, base = _bun(frame, p, locks.ragged)
        back = torch.maximum(back, knot * grown)
        depth = depth * (1 - 0.6 * base)
    shadow = torch.zeros_like(whole.U)
    window.of(shadow).copy_(_shadow(frame, p))
    return Hair(radiance, depth, back, front, shadow, window)


def _lowest(p: Parameters) -> float:
    """Height of the upright head below which no hair is, and none of its shade on the skin."""
    hanging = _end(p) + 0.35 * p["coil"] + 0.45 * smoothstep(p["hang"], 0.0, 0.1)
    tail = 0.75 + 0.85 * p["tail"] - 10 * (p["tail"] == 0)
    return float(torch.maximum(hanging, tail).clamp(min=0.30).max())


def _end(p: Parameters) -> Tensor:
    """Height at which hanging hair ends."""
    return -0.12 + 1.62 * p["hang"]


def _side(p: Parameters) -> Tensor:
    """How far hair stands off beside the head."""
    loose = smoothstep(p["hang"], 0.02, 0.35)
    volume = 1 + 0.45 * p["hair_volume"]
    side = 0.010 + 0.55 * p["lift"] * volume + (0.035 + 0.03 * p["hair_volume"]) * loose
    return side * (1 - 0.6 * smoothstep(p["baldness"], 0.1, 0.7)) + 0.012


def _roughness(p: Parameters) -> Tensor:
    return 0.005 + 0.006 * p["wave"] + 0.013 * p["curl"] + 0.010 * p["coil"] * smoothstep(p["lift"], 0.02, 0.15)


def _outline(frame: Frame, p: Parameters, widest: Tensor) -> Tensor:
    """Half width of the hair at each height."""
    lift = p["lift"] * (1 + 0.45 * p["hair_volume"]) * (1 - 0.85 * smoothstep(p["baldness"], 0.1, 0.7)) + 0.012
    y = (frame.V - 0.1) / (1 + lift / 1.1) + 0.1
    cap = read_tables(frame.tables, y.clamp(max=_WIDEST_Y))[:, 2] * (1 + _side(p) / 0.62)
    cap = cap - 3.0 * (CROWN - y).clamp(min=0)
    hanging = (frame.V - _WIDEST_Y).clamp(min=0)
    loose = smoothstep(p["hang"], 0.15, 0.7)
    flare = (0.06 + 0.05 * p["hair_volume"] + 0.05 * p["wave"] + 0.16 * p["curl"]) * loose
    swing = 0.016 * p["wave"] * torch.sin(11 * frame.V + 1.4) * smoothstep(hanging, 0.0, 0.4)
    end = _end(p)
    tapered = 0.16 * smoothstep(frame.V, end - 0.55, end + 0.1) ** 2 * smoothstep(p["hang"], 0.2, 0.5)
    hung = cap + flare * hanging - 0.09 * loose * hanging**2 + swing - tapered
    return mix(hung, _cloud(frame, p, widest), p["coil"]) if float(p["coil"].max()) > 0 else hung


def _cloud(frame: Frame, p: Parameters, widest: Tensor) -> Tensor:
    """Half width of coily hair: a rounded cloud around the skull, lower and wider as it grows."""
    lift = p["lift"] * (1 + 0.3 * p["hair_volume"])
    up, down = 0.735 + lift, 0.42 + 0.8 * lift + 1.1 * p["hang"]
    rise = (frame.V - _COIL_Y) / torch.where(frame.V < _COIL_Y, up, down)
    return (widest + 0.65 * lift) * (1 - (rise * rise).clamp(max=1) ** 1.3).clamp(min=0).sqrt() - 0.2 * (rise.abs() > 1)


def _bottom(frame: Frame, p: Parameters, ragged: Tensor) -> Tensor:
    """Height at which hanging hair ends, lock by lock; longer behind than beside the face."""
    hang = p["hang"]
    locks = (0.03 + 0.07 * smoothstep(hang, 0.1, 0.6)) * (1 - 0.5 * p["curl"]) * ragged
    return _end(p) + 0.35 * p["coil"] + locks - 0.10 * bump(frame.U.abs() - 0.62, 0.14) * hang


def _hairline(frame: Frame, p: Parameters, ragged: Tensor) -> Tensor:
    """Coverage of the hair that grows on the visible skull: over the forehead, down the temples, and bangs."""
    face, bald, masculine = frame.face, p["baldness"], p["face_shape"]
    # 0 on the midline, 1 beside the face, up to 2 behind.
    across = torch.where(face.cosine > 0, face.sine.abs(), 2 - face.sine.abs())
    crown = HAIRLINE_Y - 0.028 * p["forehead_height"] - 0.55 * smoothstep(bald, 0.0, 0.75)
    recession = (0.05 * masculine + 0.10 * masculine * p["old"] + 0.25 * bald) * bump(across - 0.52, 0.18)
    peak = 0.030 * p["hairline"] * bump(across, 0.13) - 0.012 * p["hairline"].clamp(max=0) * bump(across - 0.3, 0.2)
    center = crown - recession + peak + 0.05 * across**2
    loose = smoothstep(p["hang"], 0.0, 0.12)
    sideburn = torch.minimum(0.02 + 0.16 * masculine - 0.08 * p["tied"], 0.02 + 0.16 * masculine + loose)
    temple = smoothstep(across, 0.80, 0.94)
    line = mix(center + 0.20 * smoothstep(across, 0.35, 0.9), sideburn, temple)
    line = torch.maximum(line, mix(_bangs(frame, p, center), line, temple) - 2.0 * bald)
    fringe = 0.012 + 0.026 * p["bangs"] * (1 - smoothstep(bald, 0.0, 0.4)) * (1 - 0.6 * p["coil"]) + 0.008 * p["coil"]
    faded = 1 - 0.35 * (1 - smoothstep(p["lift"], 0.0, 0.045)) * smoothstep(face.y, -0.45, 0.0)
    return coverage(line + fringe * ragged - face.y, 2.2 * frame.pixel + 0.012) * p["density"] * faded


def _bangs(frame: Frame, p: Parameters, center: Tensor) -> Tensor:
    """Height to which bangs fall: parted, swept to a side or straight across; the hairline itself without bangs."""
    x = frame.face.x
    parted = 0.12 * smoothstep((x - 0.1 * p["hair_parting"]).abs(), 0.0, 0.5)
    swept = 0.16 * torch.tanh(1.5 * p["hair_parting"]) * x
    low = -0.30 - 0.14 * (1 - p["bangs"]) + (parted + swept) * (1 - 0.5 * p["bangs"]) - 0.05 * p["coil"]
    # Tied hair leaves two loose strands beside the forehead.
    strands_only = mix(low, center + 0.30 * bump(x.abs() - 0.40, 0.07) * p["bangs"], p["tied"])
    return mix(center, strands_only, smoothstep(p["bangs"], 0.0, 0.25) * smoothstep(p["lift"], 0.012, 0.03))


def _curtain(frame: Frame, p: Parameters, ragged: Tensor, outer: Tensor, bottom: Tensor) -> Tensor:
    """Coverage of the hair that hangs before the ears or, tucked, behind them, and before or behind the shoulders."""
    shift = 0.30 * torch.sin(p["yaw"])
    x, V = frame.U - shift, frame.V
    side = torch.where(x > 0, 1.0, -1.0)
    tucked = smoothstep(p["hair_tuck"] + 0.4 * side * torch.sign(p["hair_parting"]), 0.55, 0.75)
    opens = 0.05 * smoothstep(V, 0.15, 0.8) - 0.07 * bump(V - 0.42, 0.3) * (1 - p["curl"])
    waves = 0.020 * p["wave"] * torch.sin(11 * V + side)
    inner = 0.535 + 0.03 * p["face_width"] + opens + waves + 0.02 * ragged
    inner = inner + 0.22 * tucked * bump(V - 0.02, 0.24)
    ended = (outer - inner).clamp(min=0) * smoothstep(V, bottom - 0.45, bottom + 0.05)
    beside = coverage(x.abs() - inner - 0.55 * ended, 1.8 * frame.pixel)
    behind = smoothstep(side * 0.5 * torch.sign(p["hair_parting"]) + p["hair_fall"], -0.1, 0.1)
    falls = 1 - behind * smoothstep(V, 0.92, 1.0)
    below_temple = smoothstep(V, -0.55, -0.30)
    above_end = coverage(bottom - V, 2 * frame.pixel + 0.02)
    return beside * below_temple * above_end * falls * smoothstep(p["hang"], 0.20, 0.28)


def _ponytail(frame: Frame, p: Parameters, ragged: Tensor) -> Tensor:
    """Coverage of a tail that leaves the crown and comes forward over one shoulder, thick above and pointed below."""
    side = torch.where(p["hair_parting"] > 0, 1.0, -1.0)
    t = ((frame.V - 0.30) / (0.35 + 0.85 * p["tail"])).clamp(0, 1.2)
    sway = 0.05 * torch.sin(4 * frame.V) - 0.1 * torch.sin(p["yaw"])
    center = side * (0.32 + 0.22 * smoothstep(frame.V, 0.3, 1.0)) + sway
    half = (0.19 + 0.05 * p["hair_volume"]) * (1 - t).clamp(min=0) ** 0.6 * (0.7 + 0.6 * t)
    along = smoothstep(frame.V, 0.05, 0.30) * (t < 1).to(t.dtype)
    return coverage(half + 0.018 * ragged - (frame.U - center).abs(), 2 * frame.pixel) * along


def _bun(frame: Frame, p: Parameters, ragged: Tensor) -> tuple[Tensor, Tensor]:
    """Coverage of a knot on the crown, and the dark of its base; it stands behind the head's axis and turns with it."""
    x, y = frame.U + 0.25 * torch.sin(p["yaw"]), frame.V + 1.06 - 0.25 * torch.sin(p["pitch"])
    radius = ((x / 1.35) ** 2 + y * y).sqrt()
    around = bump(x, 1.5 * p["knot"]) * (y < 0.10).to(y.dtype)
    return coverage(p["knot"] + 0.012 * ragged - radius, 2 * frame.pixel), bump(y + 0.03, 0.05) * around


def _shadow(frame: Frame, p: Parameters) -> Tensor:
    """What the hair takes of the light on the skin just below its edge."""
    line = HAIRLINE_Y + 0.45 * p["bangs"] * (1 - p["tied"])
    grown = (1 - smoothstep(p["baldness"], 0.0, 0.4)) * (1 - p["scalp"]) * (0.25 + smoothstep(p["lift"], 0.0, 0.08))
    below = 0.28 * (1 - smoothstep(frame.face.y - line, -0.05, 0.20)) * grown
    beside = smoothstep(frame.face.sine.abs(), 0.72, 0.98) * smoothstep(_end(p) - frame.V, -0.05, 0.3)
    return below + 0.55 * beside * smoothstep(p["hang"], 0.18, 0.3) * (1 - p["scalp"])


def shade_skin(radiance: Tensor, shadow: Tensor) -> Tensor:
    """Skin in the shadow of the hair."""
    return radiance * torch.exp(-shadow).unsqueeze(1)
