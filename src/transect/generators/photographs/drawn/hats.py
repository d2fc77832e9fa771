"""What is worn on the head: caps, beanies and brimmed hats, hoods and headscarves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import HATS
from transect.generators.faceworld.rows import (
    Parameters,
    Rows,
    Vector,
    beyond,
    bump,
    coverage,
    mix,
    over,
    power,
    put,
    smoothstep,
    some,
    tint,
    unit,
)
from transect.generators.photographs.drawn.head import BREADTH, CROWN, REACH, Frame, read_tables
from transect.generators.photographs.drawn.skin import KEY, light_color

NO_LIMIT = 1e3
"""Half width to which hair without a hat is pressed."""

_RIM_Y, _PULLED = -0.42, 0.055
"""Height of a hat's rim on the forehead, and by how much it differs: in half of 150 portraits with hats the forehead
.35 interocular distances above the brows is covered or shaded, and just above the brows in a third."""


class Hat(NamedTuple):
    """cover: before all else; under: half width left to hair; shadow: on what lies below; lining: behind the head."""

    radiance: Tensor
    cover: Tensor
    under: Tensor
    shadow: Tensor
    lining: Tensor


def rim_height(frame: Frame, p: Parameters, drop: float, tilt: float) -> Tensor:
    """Height of a hat's lower edge: an ellipse, lower at the sides by `drop`, slanting by `tilt` as the head turns."""
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
    """The normal of cloth in folds whose phase grows along `across`, and how much light their valleys keep."""
    tilt = depth * torch.cos(phase)
    nx, ny, nz = normal
    return unit(nx + tilt * across[0], ny + tilt * across[1], nz), 1 - 0.30 * depth * (1 - torch.sin(phase))


_HOOD_MIDDLE, _SCARF_MIDDLE = -0.05, 0.13
"""Heights of the middle of the opening for the face."""


def draw_hood(frame: Frame, p: Parameters, folds: Tensor) -> Hat:
    """A hood that stands off the head: one sees its lining on both sides of the face, and its hem before it."""
    wide = 1 + BREADTH * p["face_width"]
    x = frame.U - 0.40 * p["sin_yaw"]
    y = frame.V + 0.45 * p["sin_pitch"] - _HOOD_MIDDLE
    lower = beyond(y)
    # Round above the forehead; below the jaw its two sides come together.
    across = x / (0.60 * wide) * (1 + 0.55 * lower * smoothstep(y, 0.35, 1.15))
    radius, outward = _around(across, y / mix(torch.full_like(y, 0.76), torch.full_like(y, 1.14), lower))
    beyond_hem = (radius - 1) * 0.60
    outer = _outline(frame, wide, (1.22, 0.80), 0.010 * folds)
    inside = torch.minimum(outer - frame.U.abs(), 1.30 - 0.10 * frame.U.abs() - frame.V)
    whole = coverage(inside, 1.5 * frame.pixel)
    cover = whole * coverage(beyond_hem, frame.pixel)
    normal = unit(*_normal(frame, outer, (0.45, 1.25), 0.08))
    depth = 0.16 + 0.34 * smoothstep(frame.V, 0.2, 0.9)
    aside = (frame.U / outer.clamp(min=0.05)).clamp(-1, 1)
    normal, valleys = fold(normal, 19 * beyond_hem + 1.7 * folds + 2.0 * aside, depth, outward)
    hem = 1 - 0.30 * bump(beyond_hem - 0.055, 0.008) + 0.14 * bump(beyond_hem - 0.022, 0.020)
    seam = 1 - 0.25 * bump(frame.U + 0.35 * p["sin_yaw"], 0.010) * smoothstep(-frame.V, 0.80, 0.84)
    lit = cloth_light(p, normal) * valleys * hem * seam * (1 + 0.05 * folds)
    # The lining, which little light reaches, fills what the hem frames.
    lining = 0.30 * p["ambient"] + 0.20 * smoothstep(radius, 0.55, 1.0)
    shade = mix(lining, lit, coverage(beyond_hem, frame.pixel))
    shadow = (0.15 + 0.75 * smoothstep(-y, -0.1, 0.7)) * smoothstep(radius, 0.66, 1.0)
    return Hat(cloth(p, shade), cover, outer - 0.06, shadow, whole)


def draw_headscarf(frame: Frame, p: Parameters, folds: Tensor) -> Hat:
    """A scarf that lies close around the face and under the chin, one end laid over the other shoulder."""
    wide = 1 + BREADTH * p["face_width"]
    face = frame.face
    top = 0.76 + 0.04 * p["hat_height"].clamp(-1.5, 1.5)
    down = face.y - _SCARF_MIDDLE
    radius, _ = _around(
        face.x / (0.545 * wide), down / mix(top.expand_as(down), torch.full_like(down, 0.75), beyond(down))
    )
    shown = coverage((1 - radius) * 0.52, frame.pixel) * beyond(face.cosine) * frame.head
    outer = _outline(frame, wide, (1.11, 0.71), 0.014 * folds)
    inside = torch.minimum(outer - frame.U.abs(), 1.42 - 0.30 * frame.U.abs() - frame.V)
    cover = coverage(inside, 1.5 * frame.pixel) * (1 - shown)
    x = (frame.U - 0.40 * p["sin_yaw"]) / 0.56
    y = (frame.V - _SCARF_MIDDLE + 0.40 * p["sin_pitch"]) / 0.80
    ring, outward = _around(x, y)
    normal = unit(*_normal(frame, outer, (0.35, 1.15), 0.08))
    # Tight over the forehead, loose below the chin.
    loose = smoothstep(frame.V, -0.45, 0.9)
    end = 2 * beyond(p["hair_parting"]) - 1
    phase = 15 * ring + 2.2 * folds + 2.2 * end * x
    normal, valleys = fold(normal, phase, 0.20 + 0.40 * loose, outward)
    # The end that crosses below the chin lies on the other.
    over = frame.V - 0.99 + 0.42 * end * frame.U
    crossing = 1 - 0.42 * bump(over.clamp(min=0), 0.05) * smoothstep(frame.V, 0.86, 0.96) * beyond(over)
    hem = 1 + 0.16 * bump(radius - 1.045, 0.022) - 0.26 * bump(radius - 1.10, 0.020)
    below = smoothstep(0.40 - (frame.U - 0.5 * p["sin_yaw"]).abs(), 0.0, 0.3) * bump(frame.V - 0.90, 0.10)
    shade = cloth_light(p, normal) * valleys * crossing * hem * (1 - 0.45 * below)
    shadow = 0.55 * smoothstep(radius, 0.84, 1.0) * (0.5 + 0.5 * smoothstep(-face.y, -0.2, 0.4))
    nothing = torch.zeros_like(cover)
    return Hat(cloth(p, shade), cover, nothing, shadow, nothing)


def _around(x: Tensor, y: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Distance from the middle of an opening in which it ends at 1, and the direction outwards."""
    radius = (x * x + y * y + 1e-6).sqrt()
    return radius, (x / radius, y / radius)


def _outline(frame: Frame, wide: Tensor, size: tuple[float, float], ragged: Tensor) -> Tensor:
    """Half width of cloth over head and shoulders. size: its height above the middle of the head and half width."""
    top, half = size
    up = ((-0.10 - frame.V) / (top - 0.10)).clamp(0, 1.2)
    round_ = (1 - power(up.clamp(max=1), 2.4)).clamp(min=0).sqrt() - 3.0 * (up - 1).clamp(min=0)
    spread = 0.03 * smoothstep(frame.V, 0.0, 0.6) + 0.34 * smoothstep(frame.V, 0.62, 1.25)
    return half * wide * round_ + spread + ragged


_TRAITS = dict(zip(HATS[1:], ("capped", "knitted", "brimmed", "hooded", "scarfed"), strict=True))


def hat_traits(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """capped, knitted, brimmed, hooded, scarfed: 1 where that is worn, else 0."""
    level = np.asarray(values["hat"])
    return {trait: (level == HATS.index(name)).astype(np.float64) for name, trait in _TRAITS.items()}


def hat(frame: Frame, p: Rows, folds: Tensor) -> Hat:
    """What each row wears, at each pixel. folds: [b, h, w] smooth noise."""
    nothing = torch.zeros_like(frame.U)
    layers = Hat(torch.zeros_like(frame.planes[:, :3]), *(nothing.clone() for _ in range(4)))
    for name, draw in _KINDS.items():
        rows = p.with_any(name)
        if rows is not None:
            drawn = draw(frame.take(rows), p.take(rows), some(folds, rows))
            for whole, part in zip(layers, drawn, strict=True):
                put(whole, rows, part)
    return layers


def _cap(frame: Frame, p: Parameters, folds: Tensor) -> Hat:
    edge = rim_height(frame, p, 0.15, 0.10) - 0.03
    outer, above = _hats_outline(frame, 1.06, 0.15), edge - frame.V
    normal = _normal(frame, outer)
    turned = normal[0] - 0.62 * p["sin_yaw"]
    seams = 1 - 0.26 * bump(turned, 0.014) - 0.22 * bump(turned.abs() - 0.66, 0.016)
    eyelets = 1 - 0.5 * bump(turned.abs() - 0.36, 0.022) * bump(above - 0.40, 0.022)
    # The sweatband's seam, and the front panels that stand stiff above it.
    band = 1 - 0.18 * bump(above - 0.05, 0.010) - 0.22 * smoothstep(0.03 - above, 0.0, 0.04)
    light = cloth_light(p, normal) * seams * eyelets * band * (1 + 0.07 * folds)
    cover = coverage(torch.minimum(outer - frame.U.abs(), above), frame.pixel)
    peak, lit = _peak(frame, p, edge)
    radiance = over(cloth(p, light), cloth(p, lit), peak)
    beside = bump(frame.U - 0.4 * p["sin_yaw"], 0.62)
    shadow = 0.35 * smoothstep(above, -0.10, 0.0) + beside * _shade_below(frame, p, edge + 0.03, 0.40)
    return Hat(radiance, torch.maximum(cover, peak), _pressed(outer, above), shadow, torch.zeros_like(cover))


def _peak(frame: Frame, p: Parameters, edge: Tensor) -> tuple[Tensor, Tensor]:
    """Coverage and light of a cap's peak: it comes forward and down from the edge and bends down at its ends."""
    x = (frame.U - 0.60 * p["sin_yaw"]) / 0.54
    aside = (x * x).clamp(max=1)
    arch = 1 - aside
    steep = (0.17 - 0.62 * p["sin_pitch"]).clamp(min=0.035)
    lower = edge - 0.02 + steep * power(arch, 0.36) * (1 - 0.25 * arch) + 0.075 * aside
    upper = edge - 0.075 * arch
    cover = coverage(torch.minimum(lower - frame.V, frame.V - upper), frame.pixel)
    cover = cover * coverage((1 - x.abs()) * 0.54, 2 * frame.pixel)
    down = ((frame.V - upper) / (lower - upper).clamp(min=0.02)).clamp(0, 1)
    lit = cloth_light(p, (0.65 * x, -0.90 + 0.35 * down, 0.50 + 0.30 * down))
    rows = 1 - 0.10 * (bump(down - 0.80, 0.045) + bump(down - 0.60, 0.045)) * (0.014 / frame.pixel).clamp(max=1)
    # Next to the crown it lies in its shade; its outer edge is a rounded hem.
    crease = 1 - 0.45 * bump(down, 0.16)
    return cover, lit * rows * crease * (1 - 0.30 * smoothstep(down, 0.90, 1.0))


def _beanie(frame: Frame, p: Parameters, folds: Tensor) -> Hat:
    edge = rim_height(frame, p, 0.22, 0.10)
    above = edge - frame.V
    outer = _hats_outline(frame, 1.075, 0.15)
    # The turned-up cuff lies over the cap and stands off it.
    cuff = smoothstep(0.225 - above, -0.012, 0.012)
    outer = outer + 0.028 * cuff + 0.006 * folds * (1 - cuff)
    normal = _normal(frame, outer)
    azimuth = torch.asin(normal[0].clamp(-0.99, 0.99)) - p["yaw"]
    drawn_up = 1 + 0.5 * smoothstep(-frame.V, 0.7, 1.2)
    rib = torch.sin((34 + 14 * cuff) * azimuth + 0.35 * folds) * (0.020 / frame.pixel).clamp(max=1)
    rounded = (above - 0.11) / 0.11
    ny = normal[1] + cuff * (-0.45 * rounded.clamp(-1, 1))
    light = cloth_light(p, (normal[0], ny, normal[2]))
    knit = 1 + 0.15 * rib * drawn_up + 0.05 * folds
    creases = 1 - 0.45 * bump(above - 0.232, 0.020) - 0.30 * smoothstep(0.025 - above, 0.0, 0.03)
    cover = coverage(torch.minimum(outer - frame.U.abs(), above), frame.pixel)
    shadow = 0.60 * smoothstep(above, -0.13, 0.0) + _shade_below(frame, p, edge, 0.10)
    radiance = cloth(p, light * knit * creases)
    return Hat(radiance, cover, _pressed(outer, above), shadow, torch.zeros_like(cover))


def _brimmed(frame: Frame, p: Parameters, folds: Tensor) -> Hat:
    """A crown with a ribbon on a round brim, which dips towards the front."""
    edge = rim_height(frame, p, 0.05, 0.10) - 0.06
    above = edge - frame.V
    half = 0.66 * (1 + BREADTH * p["face_width"])
    up = (above / 0.74).clamp(0, 1.3)
    dent = 0.05 * bump(frame.U - 0.5 * p["sin_yaw"], 0.20)
    squared = (up + dent) * (up + dent)
    round_ = (1 - (squared * squared * squared).clamp(max=1)).sqrt()
    outer = half * (1 - 0.14 * up) * round_ - 3.0 * (up - 1).clamp(min=0)
    crown = coverage(torch.minimum(outer - frame.U.abs(), above + 0.02), frame.pixel)
    nx = (frame.U / outer.clamp(min=0.05)).clamp(-1, 1)
    normal = (nx, -smoothstep(up, 0.55, 1.05), (1 - nx * nx).clamp(min=0.03).sqrt())
    pinch = 1 - 0.28 * bump((frame.U - 0.5 * p["sin_yaw"]).abs() - 0.20, 0.06) * smoothstep(up, 0.45, 0.85)
    ribbon = smoothstep(0.15 - above, 0.0, 2 * frame.pixel)
    shade = pinch * (1 - 0.62 * ribbon) * (1 - 0.30 * bump(above - 0.15, 0.012)) * (1 + 0.05 * folds)
    brim, lit = _brim(frame, p, edge)
    # The crown's shade on the brim behind the ribbon's foot.
    lit = lit * (1 - 0.40 * bump(above, 0.05) * coverage(half - frame.U.abs(), 0.1))
    radiance = over(cloth(p, lit), cloth(p, cloth_light(p, normal) * shade), crown)
    cover = torch.maximum(brim, crown)
    shadow = 0.30 * smoothstep(above, -0.10, 0.0) + _shade_below(frame, p, edge + 0.03, 0.42)
    return Hat(radiance, cover, _pressed(torch.minimum(outer, half), above), shadow, torch.zeros_like(cover))


def _brim(frame: Frame, p: Parameters, edge: Tensor) -> tuple[Tensor, Tensor]:
    """Coverage and light of the brim: an ellipse seen from above or, where the head is raised, from below."""
    dip = 0.17
    slope = dip * p["cos_yaw"] - p["sin_pitch"]
    middle = edge - 0.10 * p["sin_yaw"] * frame.U - dip * p["sin_yaw"] * frame.U
    x = frame.U / 0.98
    aside = (x * x).clamp(max=1)
    down = frame.V - middle + 0.08 * aside
    reach = (slope.abs() + 0.03) * (1 - aside).clamp(min=1e-6).sqrt()
    cover = coverage(torch.minimum(reach - down.abs(), (1 - x.abs()) * 0.98), frame.pixel)
    seen_from_below = smoothstep(-slope, -0.03, 0.03)
    # A raised head's brim is hidden by the head where it lies behind it.
    cover = cover * (1 - seen_from_below * frame.head * beyond(down))
    lit = cloth_light(p, (0.25 * x, torch.full_like(x, -0.85), torch.full_like(x, 0.45)))
    lit = lit * (1 - 0.65 * seen_from_below) * (1 - 0.25 * smoothstep(down.abs() / reach, 0.86, 1.0))
    return cover, lit


def _hats_outline(frame: Frame, thick: float, lift: float) -> Tensor:
    """Half width of a dome: the skull's, enlarged and drawn up."""
    y = (frame.V - 0.1) / (1 + lift / 1.1) + 0.1
    widest = read_tables(frame.tables[:, REACH : REACH + 1], y.clamp(max=-0.16))[:, 0]
    return widest * thick - 3.0 * (CROWN - y).clamp(min=0)


def _pressed(outer: Tensor, above: Tensor) -> Tensor:
    """Half width to which a dome presses the hair; below its edge hair spreads again."""
    return outer - 0.035 + 1.1 * (0.01 - above).clamp(min=0)


def _normal(frame: Frame, outer: Tensor, top: tuple[float, float] = (0.40, 1.25), least: float = 0.05) -> Vector:
    nx = (frame.U / outer.clamp(min=0.05)).clamp(-1, 1)
    ny = -smoothstep(-frame.V, *top)
    return nx, 0.9 * ny, (1 - nx * nx - 0.6 * ny * ny).clamp(min=least).sqrt()


def _shade_below(frame: Frame, p: Parameters, edge: Tensor, overhang: float) -> Tensor:
    """Optical depth of what a brim casts: down to where the light from above passes its outer end."""
    steep = ((-p["key_y"]).clamp(min=0) / p["key_z"].clamp(min=0.4)).clamp(max=1.4)
    below = frame.V - edge
    return 0.92 * smoothstep(overhang * steep + 0.10 - below, 0.0, 0.18) * smoothstep(steep, 0.0, 0.25)


_KINDS: dict[str, Callable[[Frame, Parameters, Tensor], Hat]] = {
    "capped": _cap,
    "knitted": _beanie,
    "brimmed": _brimmed,
    "hooded": draw_hood,
    "scarfed": draw_headscarf,
}
