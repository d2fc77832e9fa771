"""Eyes: lids, eyeballs with iris and glint, lashes and brows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.canvas import read_mirrored
from transect.generators.faceworld.rows import Parameters, beyond, bump, color, coverage, mix, over, smoothstep, tint
from transect.generators.photographs.drawn.head import EYE_Y, Frame, eye_x
from transect.generators.photographs.drawn.skin import KEY, WRAP, Illumination, light_color

MM = 0.54 / 63
"""A millimeter at an eye, in face units: pupils lie .54 and on average 63 mm apart."""

HALF_WIDTH, ABOVE, BELOW = 14.8 * MM, 6.1 * MM, 4.1 * MM
"""Half the width of an average eye's opening, and how far its lids are from the line between its corners: openings are
28 to 31 mm wide and 9 to 11 mm high."""

SOCKET, INNER = 0.93, 0.45
"""Optical depth of the shade above an eye, and of that between its inner corner and the brow."""


@dataclass(frozen=True, slots=True, eq=False)
class Lids:
    """An eye's own coordinates and the edges of its lids, [b, h, w]; `front` is 0 where the head turns away.

    side: -1 for the eye at the viewer's left, 1 for the other. outward: from the eye's center towards the temple; down:
    from the line between its corners; half: its half width; t: outward in half widths, arch: 1 - t²; upper, lower:
    `down` of the lids' edges at that `outward`.
    """

    pixel: Tensor
    side: Tensor
    outward: Tensor
    down: Tensor
    half: Tensor
    t: Tensor
    arch: Tensor
    upper: Tensor
    lower: Tensor
    front: Tensor


def locate_lids(frame: Frame, p: Parameters) -> Lids:
    """The lids at each pixel: an arch each, which age, smile and identity lower or raise."""
    across = frame.face.x.abs() - eye_x(p)
    outward, half = across * p["eye_wide"], _half_width(p)
    down = (frame.face.y - eye_line(p, across)) * p["eye_tall"]
    t = outward / half
    arch, upper, lower = _edges(p, t)
    front, side = beyond(frame.face.cosine), torch.sign(frame.face.x)
    return Lids(frame.pixel, side, outward, down, half, t, arch, upper, lower, front)


def eye_opening(lids: Lids) -> Tensor:
    """Coverage of what is seen of the eyeballs between the lids."""
    inside = torch.minimum(lids.down - lids.upper, lids.lower - lids.down).minimum(lids.half - lids.outward.abs())
    return coverage(inside, lids.pixel) * lids.front


def eye_line(p: Parameters, outward: Tensor) -> Tensor:
    """Height of the line between the eye's corners; identity tilts it, and age lowers its outer end."""
    return EYE_Y - (0.06 + 0.07 * p["eye_tilt"]) * outward + 0.10 * p["old"] * outward.clamp(min=0)


def lid_edges(p: Parameters, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Half width and both lids' edges below the eye's line on the stretched face, t = -1 (inner corner) .. 1."""
    _, upper, lower = _edges(p, t)
    return _half_width(p) / p["eye_wide"], upper / p["eye_tall"], lower / p["eye_tall"]


def _half_width(p: Parameters) -> Tensor:
    return HALF_WIDTH * (1 + 0.04 * p["eye_size"] - 0.02 * (p["face_shape"] - 0.5))


def _edges(p: Parameters, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """1 - t², and the lids' edges: an almond, highest next to the nose and lowest next to the temple."""
    t = t.clamp(-1, 1)
    arch = (1 - t * t).clamp(min=0)
    root = arch.sqrt()
    openness = 1 + 0.10 * p["eye_openness"] - 0.03 * (p["face_shape"] - 0.5) - 0.05 * p["old"] + 0.08 * p["brow_raise"]
    size = 1 + 0.04 * p["eye_size"]
    upper = (-ABOVE * size) * (openness - 0.03 * p["smile"]) * (0.50 * root + 0.50 * arch) * (1 - 0.12 * t)
    lower = (BELOW * size) * (openness - 0.09 * p["smile"]) * (0.25 * root + 0.75 * arch) * (1 + 0.16 * t)
    return arch, upper, lower


def socket(frame: Frame, p: Parameters, radiance: Tensor) -> Tensor:
    """The face with the shade of the sockets: deepest between the inner corner and the brow."""
    outward, y = frame.face.x.abs() - eye_x(p), frame.face.y - EYE_Y
    above = bump(y + 0.062, 0.098) * bump(outward + 0.01, 0.18)
    inner = bump(y + 0.045, 0.075) * bump(outward + 0.15, 0.075)
    # Cheeks that a smile raises catch light below the eye, and there masculine faces are lighter.
    raised = 0.17 * p["smile"] * bump(y - 0.078, 0.050) + 0.10 * (p["face_shape"] - 0.5) * bump(y - 0.105, 0.040)
    raised = (raised + 0.10 * p["old"] * bump(y - 0.055, 0.030)) * bump(outward, 0.17)
    deep = SOCKET - 0.40 * (p["face_shape"] - 0.5)
    # Nothing is left of it at the edge of its window.
    shade = (deep * above + INNER * inner - 0.002).clamp(min=0) * beyond(frame.face.cosine)
    shade = shade - raised * beyond(frame.face.cosine)
    # What light there is has crossed a little skin.
    return radiance * torch.exp(-shade.unsqueeze(1) * color(radiance, 0.97, 1.01, 1.02))


def lid_skin(p: Parameters, lids: Lids, radiance: Tensor) -> Tensor:
    """The fold of the upper lid, eye shadow below it, and the moist rim of the lower lid."""
    v, pixel = lids.down, lids.pixel
    high = (4.6 + 1.3 * p["eyelid_fold"] - 1.0 * p["old"]).clamp(min=1.2) * MM
    fold = lids.upper - high * (0.45 + 0.55 * lids.arch)
    near = smoothstep(1.22 - lids.t.abs(), 0.0, 0.30) * lids.front
    off, fine = v - fold, (0.0001 + pixel * pixel / 6).sqrt()
    line = bump(off, fine) * (0.010 / fine)
    over = bump((off + 0.012).clamp(max=0), 0.035) * (1 - smoothstep(off, -0.006, 0.010))
    depth = (0.55 + 0.16 * p["eyelid_fold"]).clamp(0.1, 0.9)
    shade = near * (0.75 * line + 0.30 * over) * depth
    rim = smoothstep(v - lids.lower, -0.004, 0.002) * (1 - smoothstep(v - lids.lower, 0.006, 0.016))
    lit = 1 - shade + 0.22 * rim * lids.arch * lids.front
    return radiance * lit.unsqueeze(1) * _eye_shadow(p, lids, fold, near, radiance)


def _eye_shadow(p: Parameters, lids: Lids, fold: Tensor, near: Tensor, like: Tensor) -> Tensor:
    """What powder on the lid, up to a little above its fold and out to the temple, lets through."""
    reach = fold - 0.018 - 0.030 * smoothstep(lids.t, -0.4, 1.0)
    lid = smoothstep(lids.down - reach, -0.020, 0.030) * (1 - smoothstep(lids.down - lids.upper, -0.004, 0.012))
    below = 0.35 * bump(lids.down - lids.lower - 0.010, 0.014) * smoothstep(lids.t, -0.5, 0.6)
    powder = (p["makeup"] * near * (0.62 * lid + below)).unsqueeze(1)
    return 1 - powder * color(like, 0.50, 0.62, 0.52)


IRIS_RADIUS, PUPIL_RADIUS, GLOBE_RADIUS, CORNEA_RADIUS = 5.9 * MM, 1.9 * MM, 12.0 * MM, 7.8 * MM
"""An iris is 11.8 mm wide, an eyeball 24, and the cornea has a radius of curvature of 7.8 mm."""

FINE = 0.013
"""Pictures whose pixels, in face units from distance 1, are wider show no fibers of the iris and no single lashes."""

SCLERA, IRIS = 0.330, 0.70
"""Shares of the light at an eye that reach sclera and iris: lids and lashes keep away what a bare globe would get."""

GLINT, FILL_GLINT = 1.6, 0.035
"""Radiance of what the cornea mirrors of the key light, and of what lies opposite."""


class _Iris(NamedTuple):
    """Each pixel from the iris's middle: X to the right, y down, radius; glint: where the key light is mirrored."""

    X: Tensor
    y: Tensor
    radius: Tensor
    glint_across: Tensor
    glint_down: Tensor


def eyeballs(p: Parameters, lids: Lids, light: Illumination, fibers: Tensor | None) -> Tensor:
    """Radiance of the eyeballs. fibers: lattice [b, rows, columns] for the iris, or None where pixels are coarse."""
    iris = _locate_iris(p, lids)
    shade = _shade(p, lids, light)
    ball = _sclera(p, lids, shade)
    edge = lids.pixel + 0.004
    ball = over(ball, _iris_color(p, lids, iris, shade, fibers), coverage(IRIS_RADIUS - iris.radius, edge))
    pupil = coverage(PUPIL_RADIUS - iris.radius, lids.pixel + 0.002)
    ball = over(ball, color(ball, 0.003, 0.003, 0.003), pupil)
    return (ball + _mirrored(lids, iris).unsqueeze(1)) * light_color(ball)


def _locate_iris(p: Parameters, lids: Lids) -> _Iris:
    """The iris behind the lids: a turned head shows it at the far side of the opening."""
    turned = (0.055 * p["sin_yaw"] - 0.034 * p["gaze"]).clamp(-4.2 * MM, 4.2 * MM)
    X = lids.side * lids.outward * p["cos_yaw"] + turned
    y = lids.down - 0.035 * p["sin_pitch"] + 1.8 * MM
    across = p["cos_roll"] * p["light_x"] + p["sin_roll"] * p["light_y"]
    down = p["cos_roll"] * p["light_y"] - p["sin_roll"] * p["light_x"]
    half = CORNEA_RADIUS / (2 + 2 * p["light_z"]).clamp(min=0.5).sqrt()
    return _Iris(X, y, (X * X + y * y).sqrt(), half * across, (half * down).clamp(-3.1 * MM, 2.5 * MM))


def _shade(p: Parameters, lids: Lids, light: Illumination) -> Tensor:
    """Light on the eyeball: a sphere under the shade of the upper lid."""
    nx, ny = (lids.outward / GLOBE_RADIUS).clamp(-1.1, 1.1) * 0.8, (lids.down / GLOBE_RADIUS) * 0.8
    nz = (1 - nx * nx - ny * ny).clamp(min=0.04).sqrt()
    key = (lids.side * nx * p["key_x"] + ny * p["key_y"] + nz * p["key_z"] + WRAP).clamp(min=0) * (KEY / (1 + WRAP))
    lid = 0.25 + 0.75 * smoothstep(lids.down - lids.upper, -0.004, 0.050)
    corners = 1 - 0.42 * (1 - lids.arch).clamp(max=1) * (1 - lids.arch).clamp(max=1)
    reached = (0.35 + 0.65 * light.diffuse).clamp(max=1)
    return (p["ambient"] + key) * reached * lid * corners


def _sclera(p: Parameters, lids: Lids, shade: Tensor) -> Tensor:
    """The white of the eye: pink where skin is near, and the caruncle in the inner corner."""
    white = color(shade.unsqueeze(1), 0.550, 0.505, 0.475) * p["sclera"].unsqueeze(1)
    near = (1 - lids.arch).clamp(max=1)
    pink = (0.5 * near * near + 0.35 * bump(lids.lower - lids.down, 0.010)).unsqueeze(1)
    ball = white * (SCLERA * shade).unsqueeze(1) * (1 - pink * color(white, 0.02, 0.16, 0.16))
    flesh = bump(lids.outward + 0.93 * lids.half, 0.020) * bump(lids.down - 0.003, 0.020)
    return mix(ball, tint(p["skin"] * color(white, 0.62, 0.36, 0.36), shade), (0.85 * flesh).unsqueeze(1))


def _iris_color(p: Parameters, lids: Lids, iris: _Iris, shade: Tensor, fibers: Tensor | None) -> Tensor:
    """Fibers between a lighter ring at the pupil and a dark one at the edge, lightest opposite the key light."""
    q = (iris.radius / IRIS_RADIUS).clamp(max=1.1)
    length = (iris.glint_across * iris.glint_across + iris.glint_down * iris.glint_down).sqrt().clamp(min=0.012)
    away = -(iris.X * iris.glint_across + iris.y * iris.glint_down) / (length * IRIS_RADIUS)
    bright = 0.72 + 0.62 * smoothstep(away, -0.45, 0.85)
    ring = 1 - 0.74 * smoothstep(q, 0.72, 0.98)
    if fibers is not None:
        ring = ring * (1 + 0.30 * _fibers(lids, iris, fibers) * smoothstep(q, 0.2, 0.5))
    warm = (0.32 * bump(q - 0.48, 0.17)).unsqueeze(1)
    body = tint(p["iris"], IRIS * shade * bright * ring)
    return body * (1 + warm * color(body, 1.15, 0.75, 0.25))


def _fibers(lids: Lids, iris: _Iris, lattice: Tensor) -> Tensor:
    """Noise that changes around the pupil and hardly along the radius, as far as pixels show it."""
    around = 0.30 / iris.radius.clamp(min=0.3 * IRIS_RADIUS)
    x, y = iris.X * around + 0.45 * lids.side + 1.6 * iris.X, iris.y * around + 1.6 * iris.y
    return read_mirrored(lattice, x, y) * (0.007 / lids.pixel).clamp(max=1)


def _mirrored(lids: Lids, iris: _Iris) -> Tensor:
    """A window or lamp, a fainter one opposite, and the line of tears on the lower lid."""
    lid = smoothstep(lids.down - lids.upper, -0.002, 0.010)
    key = _glint(lids, iris.X - iris.glint_across, iris.y - iris.glint_down, 0.0078)
    fill = _glint(lids, iris.X + 0.95 * iris.glint_across, iris.y - 0.030, 0.0100)
    fine = (0.000016 + lids.pixel * lids.pixel / 6).sqrt()
    tears = bump(lids.lower - lids.down - 0.004, fine) * (0.004 / fine) * lids.arch
    sheen = 0.010 * bump(iris.y + 0.025, 0.030) * bump(iris.X, 0.05)
    return lid * (GLINT * key + FILL_GLINT * fill + sheen) + 0.07 * tears


def _glint(lids: Lids, x: Tensor, y: Tensor, size: float) -> Tensor:
    """Share of each pixel that an upright patch of half width .8 `size` covers."""
    radius = (1.5 * x * x + y * y).sqrt()
    share = (2.2 * size * size / (lids.pixel * lids.pixel)).clamp(max=1)
    return coverage(size - radius, lids.pixel + 0.002) * share


_SPACING = 3.6
"""Columns of the lattice, in its own units of half its width, per face unit: lashes are about .6 mm apart."""


def lashes(p: Parameters, lids: Lids, radiance: Tensor, hairs: Tensor | None) -> Tensor:
    """The face with its lashes. hairs: lattice [b, rows, columns] of single hairs, or None where pixels are coarse."""
    upper, lower = _upper(p, lids, hairs), _lower(p, lids, hairs)
    dark = 1 - (1 - upper) * (1 - lower) * (1 - _liner(p, lids))
    return radiance * (1 - (dark * lids.front).clamp(max=0.95)).unsqueeze(1)


def _along(lids: Lids, outer: Tensor | float) -> Tensor:
    """1 along the lids, fading at the inner corner and beyond the outer one."""
    return smoothstep(lids.t, -1.0, -0.55) * smoothstep(outer - lids.t, 0.0, 0.16)


def _upper(p: Parameters, lids: Lids, hairs: Tensor | None) -> Tensor:
    """A dark root at the lid's edge, and hairs that fan out over the lid, longest at the outer end."""
    makeup, outer = p["makeup"], smoothstep(lids.t, -0.7, 0.9)
    height = lids.upper - lids.down
    root = coverage((0.75 + 0.2 * makeup + 0.45 * outer) * MM - (height + 0.001).abs(), lids.pixel + 0.003)
    length = (1.9 + 2.3 * outer) * (1.1 - 0.3 * p["face_shape"] + 0.5 * makeup) * MM
    hair = _hairs(lids, height, length, 0.55 * (lids.t + 0.15), hairs)
    density = (1.14 - 0.58 * p["face_shape"] - 0.25 * p["old"] + 0.02 * makeup).clamp(max=0.97) * root
    return 1 - (1 - density * _along(lids, 1.05)) * (1 - (0.70 + 0.25 * makeup) * hair * _along(lids, 1.12))


def _lower(p: Parameters, lids: Lids, hairs: Tensor | None) -> Tensor:
    """Fainter hairs below the rim of the lower lid."""
    depth = lids.down - lids.lower - 1.0 * MM
    length = (1.1 + 0.9 * smoothstep(lids.t, -0.6, 0.8) + 0.6 * p["makeup"]) * MM
    hair = _hairs(lids, depth, length, 0.75 * (lids.t + 0.10), hairs)
    return (0.26 + 0.20 * p["makeup"]) * hair * smoothstep(lids.t, -0.85, 0.0) * smoothstep(1.04 - lids.t, 0.0, 0.1)


def _hairs(lids: Lids, height: Tensor, length: Tensor, lean: Tensor, hairs: Tensor | None) -> Tensor:
    """Coverage of hairs that rise from an edge: dense there, and thinner up to their length."""
    up = height / length
    mean = smoothstep(height, -0.004, 0.002) * (1 - up).clamp(0, 1)
    if hairs is None:
        return 0.60 * mean
    x = _SPACING * (lids.outward - lean * height) + 0.40 * lids.side
    drawn = read_mirrored(hairs, x, torch.full_like(x, -0.6))
    seen = (0.005 / lids.pixel).clamp(max=1)
    single = (
        smoothstep(drawn + 0.9 - 1.6 * up, 0.0, 0.9) * smoothstep(height, -0.004, 0.002) * (1 - 0.5 * up).clamp(0, 1)
    )
    return seen * single + (1 - seen) * 0.60 * mean


def _liner(p: Parameters, lids: Lids) -> Tensor:
    """A pencil's line on the upper lid, drawn out beyond the corner, and a softer one below."""
    wing = lids.upper - 0.16 * (lids.t - 0.90).clamp(min=0) * lids.half
    thick = (0.35 + 0.65 * smoothstep(lids.t, -0.9, 0.9)) * smoothstep(1.20 - lids.t, 0.0, 0.35) * p["makeup"] * MM
    upper = coverage(thick - (lids.down - wing + thick).abs(), lids.pixel + 0.002)
    lower = 0.35 * coverage(0.004 - (lids.down - lids.lower - 0.004).abs(), lids.pixel + 0.004)
    along = smoothstep(lids.t, -1.0, -0.7) * smoothstep(1.16 - lids.t, 0.0, 0.08)
    return p["makeup"] * along * (0.80 * upper + lower * smoothstep(lids.t, -0.4, 0.5)).clamp(max=0.95)


BROW_HALF_WIDTH = 0.195
"""Half the length of an average brow."""

_BROWS_SPACING = 3.0
"""Units of half the lattice's width per face unit: a hair and its gap are about 1 mm wide."""


def brows(frame: Frame, p: Parameters, radiance: Tensor, hairs: Tensor) -> Tensor:
    """The face with its brows: hair over skin takes light away. hairs: lattice [b, rows, columns] of strands."""
    masculine = p["face_shape"] - 0.5
    t = (frame.face.x.abs() - eye_x(p)) / BROW_HALF_WIDTH
    taper = (1 - 0.72 * smoothstep(t, -0.2, 1.0)) * (0.80 + 0.20 * smoothstep(t, -1.0, -0.5))
    half = (0.041 + 0.009 * p["brow_thickness"].clamp(-2, 2) + 0.002 * masculine) * taper * (1 - 0.15 * p["old"])
    v = (frame.face.y - brow_line(p, t)) / half
    single = _strokes(frame, t, v * half, v, hairs)
    makeup = p["makeup"]
    soft = 0.42 * (1 - 0.6 * makeup) + 0.5 * frame.pixel / half
    edge = smoothstep(1.22 - v.abs() + 0.24 * single, -soft, 1.6 * soft)
    ends = smoothstep(1.04 - t + 0.05 * single, 0.0, 0.30) * smoothstep(t + 1.06 + 0.06 * single, 0.0, 0.34)
    density = (0.83 - 0.16 * masculine + 0.03 * makeup + 0.13 * single).clamp(0.2, 0.97) * edge * ends
    density = density * beyond(frame.face.cosine) * (0.74 + 0.26 * smoothstep(t, -1.0, -0.35))
    return radiance * mix(torch.ones_like(p["hair"]), _pigment(p), density.unsqueeze(1))


def _pigment(p: Parameters) -> Tensor:
    """The share of light that a brow leaves: the darker the skin, the less do hairs of the same color stand out."""
    deep = (1 - p["beside_skin"]).clamp(min=0).unsqueeze(1)
    bare = torch.minimum(p["hair"] / (0.30 - 0.18 * deep), 0.125 + 0.44 * deep)
    return bare * (1 - 0.30 * p["makeup"].unsqueeze(1))


def _strokes(frame: Frame, t: Tensor, down: Tensor, v: Tensor, hairs: Tensor) -> Tensor:
    """Single hairs, -1 .. 1, as far as pixels show them; from below they rise, from above they fall outwards."""
    x, side = t * BROW_HALF_WIDTH, 0.30 * torch.sign(frame.face.x)
    along = smoothstep(t, -1.0, 0.4)
    # Hairs that lie flat are no closer together: less of x, the more of the height.
    spread, visible = (1 - 0.45 * along) * x, (0.007 / frame.pixel).clamp(max=1)
    rising = _BROWS_SPACING * (spread + (0.25 + 1.5 * along) * down)
    if frame.canvas.pixel >= FINE:
        return read_mirrored(hairs, rising + side, 0.9 * down - 0.5).clamp(-0.9, 1.3) * visible
    tufts = (_BROWS_SPACING * 0.007) * torch.sin(43 * x + 2 * frame.face.y + 6 * side) * v
    first = read_mirrored(hairs, rising + side + tufts, 0.9 * down - 0.5)
    falling = _BROWS_SPACING * (spread - (0.20 + 0.5 * along) * down)
    second = read_mirrored(hairs, falling + side + tufts, 0.9 * down + 0.5)
    above = 0.55 * smoothstep(-v, -0.5, 0.9) * smoothstep(t, -0.9, 0.0)
    return (first + above * (second - first)).clamp(-0.9, 1.3) * visible


def brow_line(p: Parameters, t: Tensor) -> Tensor:
    """Height of the brow's middle line at t = -1 (inner end) .. 1 (outer end)."""
    masculine = p["face_shape"] - 0.5
    arch = (0.040 + 0.023 * p["brow_arch"] - 0.030 * masculine).clamp(min=0.002)
    lift = 0.016 * p["brow_height"] - 0.055 * masculine - 0.012 * p["old"] + 0.030 * p["brow_raise"]
    frown = 0.022 * (-p["brow_raise"]).clamp(min=0) * (0.6 - t).clamp(min=0)
    return EYE_Y - 0.185 - lift - arch * (1 - (t - 0.25) ** 2) + 0.012 * t + frown
