"""What is seen between the lids: sclera, iris, pupil and what the moist cornea mirrors. Eyes look at the camera.

Light that meets the cornea is bent to the far side of the iris, which is therefore lightest opposite the key light. The
cornea mirrors that light where its surface points halfway between light and viewer.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from transect.generators.faceworld.compositing import (
    Parameters,
    bump,
    color,
    coverage,
    mix,
    over,
    smoothstep,
    tint,
)
from transect.generators.faceworld.eyes import MM, Lids
from transect.generators.faceworld.lighting import KEY, WRAP, Illumination, light_color
from transect.generators.faceworld.textures import sample_mirrored

IRIS_RADIUS, PUPIL_RADIUS, GLOBE_RADIUS, CORNEA_RADIUS = 5.9 * MM, 1.9 * MM, 12.0 * MM, 7.8 * MM
"""An iris is 11.8 mm wide, an eyeball 24, and the cornea has a radius of curvature of 7.8 mm."""

FINE = 0.013
"""Pictures whose pixels, in face units from distance 1, are wider show no fibers of the iris and no single lashes."""

SCLERA, IRIS = 0.330, 0.70
"""Shares of the light at an eye that reach sclera and iris: lids and lashes keep away what a bare globe would get."""

GLINT, FILL_GLINT = 1.6, 0.035
"""Radiance of what the cornea mirrors of the key light, and of what lies opposite."""


class _Iris(NamedTuple):
    """Where each pixel lies on the picture from the middle of the iris: X to the right, y down, radius.

    glint_across, glint_down: of the point in which the cornea mirrors the key light.
    """

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
    return sample_mirrored(lattice.unsqueeze(1), x, y).squeeze(1) * (0.007 / lids.pixel).clamp(max=1)


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
