"""The hair of the head: its styles, tails and knots, bangs and scalp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import HAIR_STYLES
from transect.generators.faceworld.canvas import read_mirrored
from transect.generators.faceworld.rows import (
    Parameters,
    Rows,
    beyond,
    bump,
    coverage,
    mix,
    power,
    put,
    smoothstep,
    some,
)
from transect.generators.photographs.drawn.head import CROWN, HAIRLINE_Y, REACH, Frame, read_tables, vertical_scale
from transect.generators.photographs.drawn.heads import Window, cut, upright_box
from transect.generators.photographs.drawn.strands import Strands, feather, parted_share, shade, strands

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Traits:
    """A style at hair_length 0 and 1.

    hang: how far hair hangs. lift: how high it lies on the skull. wave, curl, coil: shares of S-shaped, ringlet and
    coily texture. tied: swept back. tail, knot: size of ponytail and bun. density: share of the scalp that is hidden.
    fullness: by how much hair_volume changes it.
    """

    hang: Span = (0.0, 0.0)
    lift: Span = (0.02, 0.02)
    wave: Span = (0.0, 0.0)
    curl: Span = (0.0, 0.0)
    coil: Span = (0.0, 0.0)
    tied: Span = (0.0, 0.0)
    tail: Span = (0.0, 0.0)
    knot: Span = (0.0, 0.0)
    density: Span = (1.0, 1.0)
    fullness: Span = (1.0, 1.0)


STYLES: dict[str, Traits] = {
    "bald": Traits(lift=(0.0, 0.0), density=(0.0, 0.0)),
    "cropped": Traits(lift=(0.002, 0.23), density=(0.38, 1.0), fullness=(0.0, 0.4)),
    "coily": Traits(hang=(0.0, 0.26), lift=(0.035, 0.30), coil=(1.0, 1.0), density=(0.985, 1.0)),
    "curly": Traits(hang=(0.0, 0.80), lift=(0.080, 0.16), wave=(0.4, 0.4), curl=(1.0, 1.0)),
    "wavy": Traits(hang=(0.10, 0.90), lift=(0.075, 0.110), wave=(1.0, 1.0)),
    "straight": Traits(hang=(0.10, 0.90), lift=(0.060, 0.090)),
    "ponytail": Traits(lift=(0.016, 0.075), tied=(1.0, 1.0), tail=(0.05, 1.0), fullness=(0.4, 0.4)),
    "bun": Traits(lift=(0.014, 0.030), tied=(1.0, 1.0), knot=(0.08, 0.46), fullness=(0.4, 0.4)),
}
_TABLE = np.array([astuple(STYLES[name]) for name in HAIR_STYLES])
_NAMES = tuple(field.name for field in fields(Traits))


def hair_traits(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """Traits of each row's style at its length; scalp, thinning: bare shares; short: hair that ends all over."""
    ends = _TABLE[np.asarray(values["hair_style"]).astype(int)]
    at = ends[..., 0] + np.asarray(values["hair_length"])[:, None] * (ends[..., 1] - ends[..., 0])
    traits = {name: at[:, j] for j, name in enumerate(_NAMES)}
    thinning = np.clip((values["baldness"] - 0.35) / 0.40, 0, 1)
    traits["hang"] = traits["hang"] * (1 - 0.15 * thinning)
    hair_loss = np.clip((values["baldness"] - 0.82) / 0.18, 0, 1)
    shaven = (ends[:, _NAMES.index("density"), 1] == 0).astype(np.float64)
    volume = traits["fullness"] * np.asarray(values["hair_volume"])
    flat = (
        np.clip(1 - traits["lift"] / 0.09, 0, 1) * (traits["hang"] == 0) * (traits["tied"] == 0) * (traits["coil"] == 0)
    )
    bare = {"scalp": np.maximum(shaven, hair_loss), "thinning": thinning * (1 - shaven)}
    return traits | bare | {"hair_volume": volume, "short": flat}


_ROUND = 1.5
"""Width of a knot over its height."""


class Bundle(NamedTuple):
    """All [b, h, w]. cover, before: behind and before the shoulders; depth: share of light; share: of the pixel."""

    cover: Tensor
    before: Tensor
    depth: Tensor
    share: Tensor
    lateral: Tensor
    fine: Tensor


def ponytail(frame: Frame, p: Parameters, locks: Strands, strands: Tensor, head: Tensor) -> Bundle:
    """A tail that comes out beside the head and falls. strands: the lattice; head: coverage of the head's hair."""
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
    tresses = read_mirrored(strands, 0.36 * across + 0.3, 0.7 * along)
    fine = read_mirrored(strands, across, along)
    return 0.70 * tresses + 0.60 * (0.013 / frame.pixel).clamp(max=1) * fine


_WIDEST_Y = -0.16
_EDGE = 0.15
"""More than hair departs from its outline."""

_CORNER = 0.16
"""Size of the rounding where the hairline turns down at the temples."""

_COIL_Y = -0.36
"""Height of the middle of coily hair."""


@dataclass(frozen=True, slots=True, eq=False)
class Hair:
    """Within `window`: radiance, light behind the face, coverage behind and before it, optical depth on the skin."""

    radiance: Tensor
    depth: Tensor
    back: Tensor
    front: Tensor
    shadow: Tensor
    window: Window


def hair(whole: Frame, p: Rows, lattices: dict[str, Tensor], under_hat: Tensor | None = None) -> Hair:
    """The hair of the head, at each pixel. under_hat: [b, h, w], the half width to which a hat presses it."""
    height = torch.full_like(p["yaw"], _WIDEST_Y)
    widest = read_tables(whole.tables[:, REACH : REACH + 1], height)[:, 0] * (1 + _side(p) / 0.62)
    window = _window(whole, p, widest)
    frame = cut(whole, window)
    outer = _outline(frame.V, frame.tables, p, widest)
    locks = strands(frame, p, lattices, outer, widest)
    rough = _roughness(p) * (1 - 0.7 * p["short"] * smoothstep(frame.V, -0.60, -0.20))
    outer = outer + rough * locks.ragged.clamp(max=1.1) + _of_shape(frame, p)
    thinning = p.with_any("thinning")
    if thinning is not None:
        put(outer, thinning, _laid_down(frame.take(thinning), p.take(thinning), some(outer, thinning)))
    pressed = None if under_hat is None else window.of(under_hat).contiguous()
    if pressed is not None:
        outer = torch.minimum(outer, pressed)
    grown = _left(frame, p, locks)
    inside = outer - (frame.U - _lean(p) * smoothstep(-frame.V, 0.2, 0.9)).abs()
    # Some hairs stand off the others.
    loose = locks.fine.clamp(max=1.8) + 0.6 * (1 - p["coil"]) * (locks.fine - 0.9).clamp(min=0)
    width = 0.010 + 0.010 * p["coil"] + 0.008 * p["curl"] - 0.004 * parted_share(p)
    edge = feather(frame, inside, loose, width)
    if pressed is not None:
        edge = edge * coverage(pressed + 0.020 - frame.U.abs(), frame.pixel)
    bottom = _bottom(frame, p, locks)
    density = mix(p["density"], torch.ones_like(inside), smoothstep(p["lift"], 0.01, 0.06))
    ends = feather(frame, bottom - frame.V, locks.fine, _spread(p))
    back = edge * ends * grown * density
    line = _hairline(frame, p, locks)
    front = _grown_from(frame, p, line, locks.fine, inside)
    hanging = p.with_any("hang")
    if hanging is not None:
        hung = frame.take(hanging), p.take(hanging), locks.take(hanging)
        curtain = _curtain(*hung, *(some(each, hanging) for each in (outer, bottom, ends)))
        put(front, hanging, torch.maximum(some(front, hanging), curtain))
    within = edge.maximum(frame.head)
    front = front * within * grown
    fringed = p.with_any("bangs")
    if fringed is not None:
        lain = frame.take(fringed), p.take(fringed), locks.take(fringed)
        reach, cover = _bangs(*lain, some(line, fringed), some(within, fringed))
        put(line, fringed, torch.maximum(some(line, fringed), reach))
        put(front, fringed, torch.maximum(some(front, fringed), cover))
    depth = 1 - 0.45 * smoothstep(frame.V, -0.15, 0.5)
    _tie(frame, p, locks, lattices["strands"], (edge, back, front, depth))
    radiance = shade(frame, p, locks, smoothstep(inside, 0.0, 0.25))
    return Hair(radiance, depth, back, front, _shadow(frame, p, line), window)


def _tie(frame: Frame, p: Rows, locks: Strands, strands: Tensor, covers: tuple[Tensor, ...]) -> None:
    """Adds tails and knots to `covers` (of the head, behind and before the face, light behind) and to the strands."""
    head, back, front, depth = covers
    for name, tie in (("tail", ponytail), ("bare_knot", bun)):
        rows = p.with_any(name)
        if rows is None:
            continue
        part = frame.take(rows), p.take(rows), locks.take(rows)
        bundle = tie(*part, some(strands, rows), some(head, rows))
        put(back, rows, torch.maximum(some(back, rows), bundle.cover))
        put(front, rows, torch.maximum(some(front, rows), bundle.before))
        replaced = ((depth, bundle.depth), (locks.lateral, bundle.lateral), (locks.fine, bundle.fine))
        for of_head, of_bundle in replaced:
            put(of_head, rows, mix(some(of_head, rows), of_bundle, bundle.share))


def _left(frame: Frame, p: Parameters, locks: Strands) -> Tensor:
    """The share of hair that is left at each height: balding bares the crown and leaves the sides."""
    bare = smoothstep(p["baldness"], 0.35, 0.75)
    rim = -0.45 + 0.75 * p["scalp"]
    sides = smoothstep(frame.V + 0.05 * locks.fine, rim - 0.30, rim)
    return smoothstep(1 - p["scalp"], 0.02, 0.17) * (1 - bare * (1 - sides))


def _laid_down(frame: Frame, p: Parameters, outer: Tensor) -> Tensor:
    """Half width of hair around a bare crown: it lies on the skull where it begins and thickens downwards."""
    laid = smoothstep(p["thinning"], 0.0, 0.5)
    height = frame.V / (vertical_scale(p) * (1 + 1.1 * (1 - laid) * p["coil"] * p["lift"]))
    skull = read_tables(frame.tables[:, REACH : REACH + 1], height)[:, 0] + 0.008
    skull = skull - 3.0 * (CROWN - height).clamp(min=0)
    rim = -0.45 + 0.75 * p["scalp"]
    thick = (0.55 + 0.30 * p["coil"]) * smoothstep(frame.V, rim - 0.20, rim + 0.30)
    return mix(outer, skull + thick * (outer - skull), laid)


def _of_shape(frame: Frame, p: Parameters) -> Tensor:
    """By how much a face's own shape moves its outline outwards at the ears; hair that hangs follows it less."""
    right = beyond(frame.U)
    wider = right * p["ear_right"] - (1 - right) * p["ear_left"]
    return 0.6 * p["cos_yaw"] * (1 - smoothstep(p["hang"], 0.02, 0.35)) * wider * smoothstep(frame.V, -0.90, -0.30)


def _window(whole: Frame, p: Rows, widest: Tensor) -> Window:
    """Where the rows' hair can be, with room for its ragged edge, and the shade that it throws on the head."""
    heights = torch.linspace(-1.8, 1.35, 64, dtype=torch.float32, device=p.device).view(1, 1, -1)
    outline = _outline(heights, whole.tables, p, widest)[:, 0].cpu().numpy()
    half = np.maximum(outline.max(axis=1) + _EDGE, np.where(p.host("tail")[0] > 0, 1.0, 0.8))
    top = np.where((outline > -_EDGE).any(axis=1), np.linspace(-1.8, 1.35, 64)[(outline > -_EDGE).argmax(axis=1)], 0.0)
    top = np.minimum(top - 0.05, np.where(p.host("knot")[0] > 0, -1.7, -1.3))
    lowest = _lowest(p)[:, 0, 0].cpu().numpy()
    return upright_box(whole.canvas, p, (-half, half), (top, lowest))


def _lowest(p: Parameters) -> Tensor:
    """Height of the upright head below which no hair is, and none of its shade on the skin, [b, 1, 1]."""
    hanging = _end(p) + 0.35 * p["coil"] + 0.62 * smoothstep(p["hang"], 0.0, 0.1)
    tail = 0.30 + 1.70 * p["tail"] - 10 * (1 - beyond(p["tail"]))
    raised = 0.4 * (-p["sin_pitch"]).clamp(min=0)
    sideburns = 0.36 + raised + 0.12 * p["bangs"] + 0.24 * smoothstep(p["baldness"], 0.0, 0.5)
    return torch.maximum(torch.maximum(hanging, tail), sideburns)


def _end(p: Parameters) -> Tensor:
    """Height at which hanging hair ends."""
    return -0.12 + 1.30 * p["hang"]


def _side(p: Parameters) -> Tensor:
    """How far hair stands off at the sides of the head."""
    loose = smoothstep(p["hang"], 0.02, 0.35)
    volume = 1 + 0.45 * p["hair_volume"]
    side = 0.010 + 0.55 * p["lift"] * volume + (0.035 + 0.03 * p["hair_volume"]) * loose
    return side * (1 - 0.6 * smoothstep(p["baldness"], 0.1, 0.7)) + 0.012


def _spread(p: Parameters) -> Tensor:
    """How much the lengths of single strands differ where hanging hair ends."""
    return 0.022 + 0.035 * smoothstep(p["hang"], 0.05, 0.5) * (1 - 0.5 * p["curl"])


def _lean(p: Parameters) -> Tensor:
    """How far the top of the hair lies towards one side: away from the parting, the more the higher it stands."""
    return 0.28 * p["lift"] * p["swept_side"] * (1 - 0.8 * p["coil"])


def _roughness(p: Parameters) -> Tensor:
    tufts = 0.012 * smoothstep(p["lift"], 0.03, 0.12) * (1 - p["coil"]) * (1 - p["tied"]) * (1 - 0.7 * parted_share(p))
    return 0.005 + tufts + 0.005 * p["wave"] + 0.009 * p["curl"] + 0.010 * p["coil"] * smoothstep(p["lift"], 0.02, 0.15)


def _outline(V: Tensor, tables: Tensor, p: Rows, widest: Tensor) -> Tensor:
    """Half width of the hair at heights V of the upright head."""
    lift = p["lift"] * (1 + 0.45 * p["hair_volume"]) * (1 - 0.75 * smoothstep(p["baldness"], 0.1, 0.7)) + 0.012
    y = (V / vertical_scale(p) - 0.1) / (1 + lift / 1.1) + 0.1
    # Hair that does not hang lies closer towards the ears.
    close = (1 - smoothstep(p["hang"], 0.02, 0.35)) * (1 - p["coil"]) * smoothstep(V, -0.85, -0.10)
    cap = read_tables(tables[:, REACH : REACH + 1], y.clamp(max=_WIDEST_Y))[:, 0]
    cap = cap * (1 + _side(p) * (1 - 0.85 * close) / 0.62)
    cap = cap - 3.0 * (CROWN - y).clamp(min=0)
    hanging = (V - _WIDEST_Y).clamp(min=0)
    loose = smoothstep(p["hang"], 0.15, 0.7)
    flare = (0.06 + 0.05 * p["hair_volume"] + 0.05 * p["wave"] + 0.16 * p["curl"]) * loose
    swing = 0.016 * p["wave"] * torch.sin(11 * V + 1.4) * smoothstep(hanging, 0.0, 0.4)
    end = _end(p)
    tapered = 0.16 * smoothstep(V, end - 0.55, end + 0.1) ** 2 * smoothstep(p["hang"], 0.2, 0.5)
    hung = cap + flare * hanging - 0.09 * loose * hanging**2 + swing - tapered
    coily = p.with_any("coil")
    if coily is not None:
        cloud = _cloud(some(V.expand_as(hung), coily), p.take(coily), some(widest, coily))
        put(hung, coily, mix(some(hung, coily), cloud, some(p["coil"], coily)))
    return hung


def _cloud(V: Tensor, p: Parameters, widest: Tensor) -> Tensor:
    """Half width of coily hair: a rounded cloud around the skull, lower and wider as it grows."""
    lift = p["lift"] * (1 + 0.3 * p["hair_volume"])
    up, down = 0.735 + lift, 0.42 + 0.8 * lift + 1.1 * p["hang"]
    rise = (V - _COIL_Y) / mix(down, up, beyond(_COIL_Y - V))
    round_ = (1 - power((rise * rise).clamp(max=1), 1.3)).clamp(min=0).sqrt()
    return (widest + 0.65 * lift) * round_ - 0.2 * beyond(rise.abs() - 1)


def _bottom(frame: Frame, p: Parameters, texture: Strands) -> Tensor:
    """Height at which hanging hair ends, lock by lock; longer behind than at the sides of the face."""
    hang = p["hang"]
    locks = (0.02 + 0.05 * smoothstep(hang, 0.1, 0.6)) * (1 - 0.5 * p["curl"]) * (texture.ragged + 0.4 * texture.fine)
    return _end(p) + 0.35 * p["coil"] + locks - 0.10 * bump(frame.U.abs() - 0.62, 0.14) * hang


def _hairline(frame: Frame, p: Parameters, texture: Strands) -> Tensor:
    """How far above the edge of the hair that grows on the visible skull: forehead, temples, and bangs."""
    face, bald, masculine = frame.face, p["baldness"], p["face_shape"]
    # 0 on the midline, 1 at the side of the face, up to 2 behind.
    across = mix(2 - face.sine.abs(), face.sine.abs(), beyond(face.cosine))
    crown = HAIRLINE_Y + 0.08 - 0.04 * p["forehead_height"] - 0.55 * smoothstep(bald, 0.0, 0.75)
    recession = (0.03 * masculine + 0.07 * masculine * p["old"] + 0.16 * bald) * bump(across - 0.55, 0.26)
    peak = 0.017 * p["hairline"] * bump(across, 0.30) - 0.012 * p["hairline"].clamp(max=0) * bump(across - 0.3, 0.2)
    center = crown - recession + peak + 0.05 * across**2
    loose = smoothstep(p["hang"], 0.0, 0.12)
    reach = 0.02 + 0.16 * masculine - 0.12 * p["coil"]
    sideburn = torch.minimum(reach - 0.20 * p["tied"], reach + loose)
    # It comes forward a little at the temples and narrows to the sideburns.
    forward = across + 0.04 * bump(face.y + 0.28, 0.13) + 0.012 * texture.ragged
    forward = forward - (0.11 + 0.03 * p["tied"]) * smoothstep(face.y, -0.40, 0.02) - 0.02 * p["tied"]
    forehead = center + 0.20 * smoothstep(across, 0.35, 0.9) + (0.010 + 0.010 * p["coil"]) * texture.ragged - face.y
    beside = torch.minimum(0.60 * (forward - 0.88), sideburn - face.y)
    # The corner between both is round.
    rounding = (_CORNER - (forehead - beside).abs()).clamp(min=0)
    return torch.maximum(forehead, beside) + rounding * rounding / (4 * _CORNER)


def _grown_from(frame: Frame, p: Parameters, line: Tensor, fine: Tensor, inside: Tensor) -> Tensor:
    """Coverage of hair by its distance from the hairline: sparse at first, most where it is cropped or lost."""
    short = 1 - smoothstep(p["lift"], 0.0, 0.045)
    faded = 1 - (0.45 + 0.45 * short) * (1 - 0.6 * p["coil"]) * smoothstep(frame.face.y, -0.36, 0.14)
    # Where it does not hang, hair leaves the forehead upwards: one sees fine hairs, and not the ends of locks.
    upwards = (1 - smoothstep(p["hang"], 0.0, 0.12)) * (1 - p["curl"])
    width = 0.038 + 0.010 * p["tied"] + 0.018 * short + 0.026 * upwards
    width = width + 0.075 * smoothstep(p["baldness"], 0.0, 0.5)
    # At the outline one looks along the scalp: there is more hair before it.
    hidden = mix(p["density"], torch.ones_like(p["density"]), smoothstep(p["lift"], 0.03, 0.10))
    dense = mix(hidden, torch.ones_like(inside), 0.85 * (1 - smoothstep(inside, 0.0, 0.22)))
    # At the temples and beside a parting hairs lie along the line, and only their ends cross it.
    along = smoothstep(frame.face.sine.abs(), 0.70, 0.86).maximum(parted_share(p))
    ends = fine * (1 - 0.65 * along) * (1 - 0.65 * upwards) * (1 - 0.3 * p["tied"])
    return feather(frame, line, ends, width) * dense * faded


def _bangs(frame: Frame, p: Parameters, locks: Strands, line: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """How far above the lower edge of the bangs, and their coverage; balding subjects have fewer, combed over."""
    face, amount = frame.face, p["bangs"]
    across = mix(2 - face.sine.abs(), face.sine.abs(), beyond(face.cosine))
    parted = 0.14 * smoothstep((face.x - 0.1 * p["hair_parting"]).abs(), 0.0, 0.5)
    swept = 0.22 * p["swept_side"] * face.x
    # They end strand by strand, longer towards the temples.
    low = HAIRLINE_Y + (0.475 - 0.03 * p["coil"]) * amount + (parted + swept) * amount * (1 - 0.6 * amount)
    distance = mix(low + amount * (0.16 * face.x * face.x - 0.02) - face.y, line, smoothstep(across, 0.80, 0.98))
    lengths = (0.95 * locks.fine + 0.45 * locks.ragged) * (1 - 0.6 * smoothstep(across, 0.70, 0.86))
    spread = 0.012 + (0.026 + 0.055 * amount) * (1 - 0.6 * p["coil"]) * (1 - 0.3 * p["curl"])
    sharp = (0.013 / frame.pixel).clamp(max=1)
    half = (1 - 0.72 * sharp) * spread + frame.pixel
    cover = smoothstep(distance + spread * lengths, -half, half)
    strays = locks.fine * (1 - 0.8 * p["coil"]) * (1 - 0.5 * p["curl"])
    left = smoothstep(strays + 4.0 - 4.4 * p["baldness"], -1.0, 1.0) * smoothstep(1 - p["scalp"], 0.0, 0.15)
    return distance, cover * left * inside


def _curtain(frame: Frame, p: Parameters, texture: Strands, outer: Tensor, bottom: Tensor, ends: Tensor) -> Tensor:
    """Coverage of the hair that hangs before the ears or, tucked, behind them, and before or behind the shoulders."""
    shift = 0.30 * p["sin_yaw"]
    x, V = frame.U - shift, frame.V
    side = 2 * beyond(x) - 1
    tucked = smoothstep(p["hair_tuck"] + 0.4 * side * torch.sign(p["hair_parting"]), 0.55, 0.75).maximum(p["thinning"])
    opens = 0.05 * smoothstep(V, 0.15, 0.8) - 0.07 * bump(V - 0.42, 0.3) * (1 - p["curl"])
    waves = 0.020 * p["wave"] * torch.sin(11 * V + side)
    inner = 0.535 + 0.045 * p["face_width"] + opens + waves + 0.02 * texture.ragged
    inner = inner + 0.26 * tucked * bump(V - 0.03, 0.29)
    ended = (outer - inner).clamp(min=0) * smoothstep(V - bottom, -0.45, 0.05)
    outer_strands = feather(frame, x.abs() - inner - 0.55 * ended, texture.fine, 0.018)
    behind = smoothstep(side * 0.5 * torch.sign(p["hair_parting"]) + p["hair_fall"], -0.1, 0.1)
    falls = 1 - behind * smoothstep(V, 0.92, 1.0)
    below_temple = smoothstep(V, -0.55, -0.30)
    return outer_strands * below_temple * ends * falls * smoothstep(p["hang"], 0.06, 0.12)


def _shadow(frame: Frame, p: Parameters, line: Tensor) -> Tensor:
    """How much light the hair takes from the skin just below its edge; line: distance above the hairline."""
    grown = (1 - smoothstep(p["baldness"], 0.0, 0.4)) * (1 - p["scalp"]) * (0.15 + smoothstep(p["lift"], 0.0, 0.08))
    overhang = 0.5 + 3.6 * p["bangs"]
    below = 0.42 * overhang * smoothstep(line, -0.05 - 0.12 * p["bangs"], 0.03) * grown
    at_sides = smoothstep(frame.face.sine.abs(), 0.72, 0.98) * smoothstep(_end(p) - frame.V, -0.05, 0.3)
    return below + 0.55 * at_sides * smoothstep(p["hang"], 0.06, 0.2) * (1 - p["scalp"])


def shade_skin(radiance: Tensor, shadow: Tensor) -> Tensor:
    """Skin in the shadow of the hair."""
    return radiance * torch.exp(-shadow).unsqueeze(1)
