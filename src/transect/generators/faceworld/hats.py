"""What is worn on the head: cap, beanie and brimmed hat, domes around the skull. They press down the hair below them.

Hood and headscarf, which also go around the face, are in head_wraps.py, cloth and its folds in hat_cloth.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.attributes import HATS
from transect.generators.faceworld.compositing import (
    Parameters,
    Vector,
    beyond,
    bump,
    coverage,
    over,
    power,
    smoothstep,
)
from transect.generators.faceworld.hat_cloth import NO_LIMIT, Hat, cloth, cloth_light, rim_height
from transect.generators.faceworld.head import BREADTH, CROWN, REACH, Frame, read_tables
from transect.generators.faceworld.head_wraps import draw_headscarf, draw_hood
from transect.generators.faceworld.rows import Rows, put, some

__all__ = ["NO_LIMIT", "Hat", "hat", "hat_traits"]

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
    outer, above = _outline(frame, 1.06, 0.15), edge - frame.V
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
    outer = _outline(frame, 1.075, 0.15)
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


def _outline(frame: Frame, thick: float, lift: float) -> Tensor:
    """Half width of a dome: the skull's, enlarged and drawn up."""
    y = (frame.V - 0.1) / (1 + lift / 1.1) + 0.1
    widest = read_tables(frame.tables[:, REACH : REACH + 1], y.clamp(max=-0.16))[:, 0]
    return widest * thick - 3.0 * (CROWN - y).clamp(min=0)


def _pressed(outer: Tensor, above: Tensor) -> Tensor:
    """Half width to which a dome presses the hair; below its edge hair spreads again."""
    return outer - 0.035 + 1.1 * (0.01 - above).clamp(min=0)


def _normal(frame: Frame, outer: Tensor) -> Vector:
    nx = (frame.U / outer.clamp(min=0.05)).clamp(-1, 1)
    ny = -smoothstep(-frame.V, 0.40, 1.25)
    return nx, 0.9 * ny, (1 - nx * nx - 0.6 * ny * ny).clamp(min=0.05).sqrt()


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
