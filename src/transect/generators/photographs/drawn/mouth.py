"""The mouth: lips, and the teeth between them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.rows import (
    Parameters,
    Pick,
    Rows,
    beyond,
    bump,
    color,
    coverage,
    over,
    picked,
    power,
    put,
    smoothstep,
    some,
    tint,
)
from transect.generators.photographs.drawn.head import Frame, mouth_y, nose_base, nose_half_width
from transect.generators.photographs.drawn.skin import Illumination, light_color, lip_reflectance, lit_skin


class Opening(NamedTuple):
    """The gap between the lips: t = -1 .. 1 from corner to corner, height v below the lips' line, its edges."""

    t: Tensor
    v: Tensor
    top: Tensor
    bottom: Tensor


class Teeth(NamedTuple):
    """The row of teeth at each pixel. number: 0 at the midline and so on; side: -1 to 1 across a tooth."""

    number: Tensor
    side: Tensor


def between_lips(frame: Frame, p: Parameters, opening: Opening, light: Illumination) -> Tensor:
    """Radiance [b, 3, h, w] of the mouth's inside, which the lips shade."""
    lit = 0.35 + 0.55 * light.diffuse.clamp(max=1.2) + 0.40 * p["fill"]
    deep = 1 - smoothstep(opening.t.abs(), 0.40, 0.97)
    beside, (b, h, w) = p["beside_skin"].unsqueeze(1).clamp(max=1), opening.v.shape
    dark = (color(p["skin"], 0.035, 0.010, 0.009) * beside).expand(b, 3, h, w)
    hollow = 0.35 + 0.65 * smoothstep(opening.t.abs(), 0.0, 0.25)
    tongue = tint(color(p["skin"], 0.26, 0.075, 0.070) * beside, lit * deep * hollow)
    # The tongue lies low: it is seen where the mouth is wide open.
    low = opening.bottom - 0.55 * (opening.bottom - opening.top - 0.035).clamp(min=0)
    seen = over(dark, tongue, smoothstep(opening.v - low, -0.008, 0.022))
    seen = over(seen, *_lower(frame, p, opening, lit * deep))
    return over(seen, *_upper(frame, p, opening, lit * deep)) * light_color(seen)


def _row(p: Parameters, x: Tensor) -> Teeth:
    """The upper teeth at face coordinate x. No mouth is quite even: its middle and its widths are a person's own."""
    aside = (x + 0.0025 * p["relief_1"]).abs()
    number = aside * (11.6 + 36 * aside) * (1 + 0.025 * p["relief_2"])
    return Teeth(number, 2 * (number - number.floor()) - 1)


def _seams(frame: Frame, teeth: Teeth) -> Tensor:
    """How dark the lines between the teeth are; a line is narrower than a pixel."""
    width = 0.0035 + 0.35 * frame.pixel
    return (0.0035 / width).clamp(max=1) * bump(0.031 * (1 - teeth.side.abs()), width)


def _enamel(p: Parameters) -> Tensor:
    """Enamel yellows with age."""
    worn = 1 - p["old"].unsqueeze(1) * color(p["skin"], 0.16, 0.21, 0.30)
    return color(p["skin"], 0.93, 0.81, 0.66) * worn * p["beside_skin"].unsqueeze(1)


def _upper(frame: Frame, p: Parameters, opening: Opening, lit: Tensor) -> tuple[Tensor, Tensor]:
    """The upper row below its gum: radiance and coverage. Canines are darker, incisors have round corners."""
    teeth = _row(p, frame.face.x)
    across = teeth.side * teeth.side
    fine = (0.010 / frame.pixel).clamp(max=1)
    below = opening.v - opening.top
    gum = 0.016 * smoothstep(p["smile"] + 0.12 * p["relief_2"].clamp(-1, 1), 0.72, 1.0)
    shown = (0.064 * (0.35 + 0.65 * smoothstep(p["smile"], 0.15, 0.60)) + gum) * (1 - 0.30 * opening.t * opening.t)
    shorter = 0.07 * bump(teeth.number - 1.5, 0.42) + 0.085 * fine * across * across
    # Teeth that reach the lower lip are cut off by it, so that their corners are hidden.
    gap = opening.bottom - opening.top
    edge = torch.minimum(shown * (1 - shorter), (0.95 - 0.35 * shorter) * gap) - below
    shade = smoothstep(below, -0.012, 0.028) * (1 - 0.10 * across - 0.55 * _seams(frame, teeth)) * lit
    back = smoothstep(teeth.number, 1.8, 2.3).unsqueeze(1)
    enamel = tint(_enamel(p), shade * (1 - 0.10 * smoothstep(0.014 - edge, 0.0, 0.014)))
    enamel = enamel * (1 - back * color(enamel, 0.12, 0.19, 0.30))
    pink = tint(color(p["skin"], 0.46, 0.19, 0.18) * p["beside_skin"].unsqueeze(1).clamp(max=1), lit)
    above = coverage(gum + 0.010 * fine * across - 0.006 - below, 1.5 * frame.pixel) * smoothstep(gum, 0.0, 0.006)
    return over(enamel, pink, above), coverage(edge, 1.5 * frame.pixel)


def _lower(frame: Frame, p: Parameters, opening: Opening, lit: Tensor) -> tuple[Tensor, Tensor]:
    """The tips of the lower row, which a wide open mouth shows in the shade: narrower teeth than the upper ones."""
    number = 21 * frame.face.x.abs() + 0.5 * p["relief_1"].clamp(-1, 1)
    side = 2 * (number - number.floor()) - 1
    wide = smoothstep(opening.bottom - opening.top, 0.060, 0.120) * (1 - p["smile"])
    edge = opening.v - opening.bottom + 0.014 * wide - 0.003 * side * side
    shade = 0.27 * lit * (1 - 0.45 * _seams(frame, Teeth(number, side)))
    front = 1 - smoothstep(opening.t.abs(), 0.30, 0.62)
    return tint(_enamel(p), shade), coverage(edge, 1.5 * frame.pixel) * wide * front


TEETH_FROM = 0.42
"""The smile from which on teeth are seen."""


def mouth(frame: Frame, p: Rows, radiance: Tensor, light: Illumination, grain: Tensor) -> Tensor:
    """The face with its mouth. grain: [b, h, w] noise that creases the lips."""
    x = frame.face.x
    curves = mouth_curves(p, x / mouth_half_width(p))
    v, within = frame.face.y - curves.line, curves.half - x.abs()
    radiance = over(radiance, _lips(frame, p, curves, v, light, grain), 0.95 * _vermilion(frame, p, curves, v, within))
    radiance = radiance * (1 - _lines(frame, p, curves, v, within).unsqueeze(1) * color(radiance, 0.88, 1.0, 1.0))
    opened, smile = p.host("mouth_open", "smile")
    parted = picked((opened > 0) | (smile > TEETH_FROM))
    if parted is not None:
        put(radiance, parted, _opened(frame, p, curves, light, radiance, parted))
    return radiance


def _opened(frame: Frame, p: Rows, curves: MouthCurves, light: Illumination, radiance: Tensor, rows: Pick) -> Tensor:
    """Those rows with what is seen between their parted lips."""
    t, line, top, bottom = (some(part, rows) for part in (curves.t, curves.line, curves.gap_top, curves.gap_bottom))
    frame, p, light = frame.take(rows), p.take(rows), Illumination(*(some(part, rows) for part in light))
    v, within = frame.face.y - line, mouth_half_width(p) - frame.face.x.abs()
    cover = coverage(torch.minimum(v - top, bottom - v), 1.3 * frame.pixel) * smoothstep(within, 0.0, 0.045)
    seen = between_lips(frame, p, Opening(t, v, top, bottom), light)
    return over(some(radiance, rows), seen, cover * smoothstep(_gap(p), 0.004, 0.02))


def _lips(frame: Frame, p: Parameters, curves: MouthCurves, v: Tensor, light: Illumination, grain: Tensor) -> Tensor:
    """Radiance of the lips: the upper one faces down, the lower one catches the light; both are creased upright."""
    low = v - curves.gap_bottom - 0.030 * curves.full
    creases = (0.010 / frame.pixel).clamp(max=1) * grain
    body = bump(low, 0.036)
    upper = 1 - smoothstep(v, -0.030, 0.020)
    # Light that enters a lip beside its shaded parts leaves through them.
    turned = 0.70 + 0.20 * p["mouth_open"] - 0.10 * upper + 0.07 * body
    form = (0.86 * light.diffuse + 0.5 * p["ambient"]) * turned * (1 + 0.075 * creases)
    wet = bump(low, 0.013) * curves.arch * (1 + 0.5 * creases)
    shine = 0.5 * light.highlight + (0.16 + 0.40 * p["lipstick"]) * wet
    return lit_skin(p, lip_reflectance(p), Illumination(form, shine))


def _vermilion(frame: Frame, p: Parameters, curves: MouthCurves, v: Tensor, within: Tensor) -> Tensor:
    """Coverage of the lips. Their border is soft, that of the lower lip most; lipstick sharpens it."""
    bare = (1 - 0.6 * p["lipstick"]) * (curves.full / 1.08).clamp(0.4, 1)
    above = coverage(v - curves.top, 1.5 * frame.pixel + 0.014 * bare)
    below = coverage(curves.bottom - v, 1.5 * frame.pixel + 0.028 * bare)
    return torch.minimum(above, below) * coverage(within - 0.010 * bare, 1.5 * frame.pixel + 0.040 * bare)


def _lines(frame: Frame, p: Parameters, curves: MouthCurves, v: Tensor, within: Tensor) -> Tensor:
    """How much darker the line is on which the lips meet, and the corners of the mouth."""
    width = 0.005 + 0.40 * frame.pixel
    corner = (0.26 + 0.10 * p["smile"]) * bump(within + 0.006, 0.026) * bump(v, 0.020)
    seam = bump(v - curves.gap_top, width) * (0.0046 / width) * smoothstep(within, -0.012, 0.045)
    return (seam * (1 - smoothstep(_gap(p), 0.0, 0.03))).maximum(corner)


def mouth_cover(frame: Frame, p: Parameters) -> Tensor:
    """Coverage of lips and open mouth together."""
    x = frame.face.x
    curves = mouth_curves(p, x / mouth_half_width(p))
    cover = _vermilion(frame, p, curves, frame.face.y - curves.line, curves.half - x.abs())
    return cover * beyond(frame.face.cosine)


class MouthCurves(NamedTuple):
    """The mouth at t = -1 .. 1 from corner to corner: heights below `line`, the line on which the lips meet."""

    t: Tensor
    half: Tensor
    line: Tensor
    arch: Tensor
    full: Tensor
    top: Tensor
    bottom: Tensor
    gap_top: Tensor
    gap_bottom: Tensor


def mouth_half_width(p: Parameters) -> Tensor:
    """Half the distance of the mouth's corners."""
    return (
        0.212
        + 0.020 * p["mouth_width"]
        + 0.046 * p["smile"]
        + 0.012 * (p["face_shape"] - 0.5)
        + 0.012 * p["face_width"]
    )


def mouth_curves(p: Parameters, t: Tensor) -> MouthCurves:
    """The edges of the lips and of the gap between them."""
    t = t.clamp(-1, 1)
    smile, half = p["smile"], mouth_half_width(p)
    arch = (1 - t * t).clamp(min=0)
    slant = 0.005 * p["mouth_slant"] * (0.5 + 0.5 * smile) * t * t.abs()
    line = mouth_y(p) - slant - 0.058 * smile * (t * t - 0.30) - 0.010 * (1 - smile) * (0.3 - t * t)
    full = 1.08 + 0.30 * p["lip_fullness"] - 0.22 * (p["face_shape"] - 0.5) - 0.24 * p["old"] + 0.06 * p["young"]
    full = full.clamp(min=0.55) * (1 - 0.10 * smile)
    # A dropped jaw draws the lower lip into a bow that is blunter than a parabola.
    bow = arch + 0.45 * p["mouth_open"] * (arch.sqrt() - arch)
    gap_top, gap_bottom = -_raised(p) * arch, (_gap(p) - _raised(p)) * bow
    top = gap_top - 0.054 * full * power(arch, 0.95) * (1 - 0.24 * bump(t, 0.15))
    return MouthCurves(
        t, half, line, arch, full, top, gap_bottom + 0.074 * full * power(arch, 0.80), gap_top, gap_bottom
    )


def _gap(p: Parameters) -> Tensor:
    """How far the lips are apart in the middle: a broad smile shows teeth."""
    return 0.115 * p["mouth_open"] + _bared(p)


def _bared(p: Parameters) -> Tensor:
    return 0.054 * smoothstep(p["smile"], TEETH_FROM, 0.95)


def _raised(p: Parameters) -> Tensor:
    """How far the upper lip is raised: more by a smile than by an opening jaw."""
    return 0.0138 * p["mouth_open"] + 0.22 * _bared(p)


def nostrils(frame: Frame, p: Parameters, radiance: Tensor) -> Tensor:
    """The face with its nostrils; the head's pitch opens or hides them."""
    x, y = frame.face.x, frame.face.y
    half = nose_half_width(p)
    dx = (x.abs() - 0.50 * half) / (0.22 * half)
    tall = 0.016 + 0.02 * p["sin_pitch"]  # 0.010 at -20 degrees, 0.024 at +20
    dy = (y - nose_base(p) + 0.006 + 0.22 * (x.abs() - 0.5 * half)) / tall
    hole = smoothstep(1.25 - (dx * dx + dy * dy).sqrt(), 0.0, 0.9)
    wing = bump((x.abs() - half * 1.12) / 0.016, 1.0) * bump(y - nose_base(p) + 0.03, 0.04)
    shade = 0.68 * hole * beyond(frame.face.cosine) + 0.16 * wing
    return radiance * (1 - shade.clamp(max=0.9)).unsqueeze(1)
