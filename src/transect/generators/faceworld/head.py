"""The head: a stack of ellipses whose visible side is found in closed form under any pose, without marching rays.

Head coordinates: x to the viewer's right, y down, z to the viewer; eyes at y = -0.1, chin near 0.88, crown at -1.06.
At height y the section is (x / w)² + (z / d)² = 1 with half width w(y) and half depth d(y). A point of azimuth φ has
x = w sin φ, z = d cos φ; turned by yaw θ it lies at X = R sin(φ + δ), R² = (w cos θ)² + (d sin θ)²,
δ = atan2(d sin θ, w cos θ), so that φ follows from X at once. Pitch and relief enter by fixed-point iteration on a
coarse lattice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.compositing import Parameters, Vector, coverage, unit

HALF_EXTENT = 1.3
"""Half the width of the picture in face units; the picture's center is at (0, CENTER_Y)."""

CENTER_Y = 0.02
CROWN, CHIN = -1.06, 0.89
EYE_Y = -0.10
HAIRLINE_Y = -0.76

_HEIGHTS = np.array([CROWN, -1.02, -0.94, -0.82, -0.64, -0.42, -0.2, 0.02, 0.22, 0.4, 0.55, 0.68, 0.77, 0.84, CHIN])
_HALF_WIDTH = np.array([0.0, 0.24, 0.4, 0.505, 0.575, 0.61, 0.62, 0.61, 0.583, 0.54, 0.474, 0.375, 0.275, 0.165, 0.0])
_HALF_DEPTH = np.array([0.0, 0.30, 0.46, 0.57, 0.64, 0.68, 0.7, 0.7, 0.69, 0.67, 0.65, 0.62, 0.57, 0.43, 0.0])
_TABLE = 512
_COARSE = 48
_ITERATIONS = 3


@functools.lru_cache(maxsize=1)
def _spline_bases() -> tuple[Tensor, Tensor]:
    """Natural cubic spline through values at _HEIGHTS, as matrices [_TABLE, knots]: values and derivatives in y."""
    y = np.linspace(CROWN, CHIN, _TABLE)
    cardinal = CubicSpline(_HEIGHTS, np.eye(len(_HEIGHTS)), bc_type="natural")
    return torch.tensor(cardinal(y), dtype=torch.float32), torch.tensor(cardinal(y, 1), dtype=torch.float32)


def vertical_scale(p: Parameters) -> Tensor:
    """How much longer than the average head this one is."""
    return 1 + 0.030 * p["face_length"] + 0.02 * (p["face_shape"] - 0.5)


def _profile(p: Parameters) -> tuple[Tensor, Tensor]:
    """Half widths and half depths at _HEIGHTS, [b, knots]: what jaw, chin, cheekbones and forehead look like."""
    q = {name: value.reshape(-1, 1) for name, value in p.items() if value.dim() == 3}
    masculine = q["face_shape"] - 0.5
    old = ((q["age"] - 50) / 35).clamp(-1, 1)
    widen = 1 + 0.055 * q["face_width"] + 0.015 * masculine
    widen = widen + (0.032 * q["jaw_width"] + 0.12 * masculine + 0.025 * old) * _near(0.52, 0.22)
    widen = widen + (0.06 * q["chin_width"] + 0.28 * masculine) * _near(0.80, 0.13)
    widen = widen + 0.016 * q["cheekbones"] * _near(0.02, 0.2) + 0.02 * q["cheek_fullness"] * _near(0.35, 0.22)
    widen = widen + 0.018 * q["forehead_width"] * _near(-0.5, 0.3)
    depth = torch.tensor(_HALF_DEPTH, dtype=torch.float32) * (1 + 0.05 * masculine * _near(0.8, 0.2))
    return torch.tensor(_HALF_WIDTH, dtype=torch.float32) * widen, depth


def _near(height: float, width: float) -> Tensor:
    """How near each of _HEIGHTS is to that height: 1 there, falling off as a Gaussian."""
    return torch.tensor(np.exp(-(((_HEIGHTS - height) / width) ** 2)), dtype=torch.float32)


def profile_tables(p: Parameters) -> Tensor:
    """[b, 7, 512] over y from crown to chin: w, d, R, cos δ, sin δ, w'/w, d'/d (bounded where the head ends).

    Squares are interpolated, since w² goes to zero linearly where an ellipsoid ends.
    """
    value, slope = _spline_bases()
    width, depth = _profile(p)
    w2, d2 = (width**2 @ value.T).clamp(min=1e-4), (depth**2 @ value.T).clamp(min=1e-4)
    w2_slope, d2_slope = width**2 @ slope.T, depth**2 @ slope.T
    yaw = p["yaw"].reshape(-1, 1)
    across, along = w2.sqrt() * torch.cos(yaw), d2.sqrt() * torch.sin(yaw)
    reach = (across**2 + along**2).sqrt()
    return torch.stack(
        [w2.sqrt(), d2.sqrt(), reach, across / reach, along / reach, w2_slope / (2 * w2), d2_slope / (2 * d2)], dim=1
    )


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """The visible head at each pixel. All [b, h, w].

    x, y: frontal face coordinates of what is seen; sine, cosine: of the azimuth φ (cosine < 0 behind the ears);
    depth: z of the smooth head; inside: signed distance to the silhouette.
    """

    x: Tensor
    y: Tensor
    sine: Tensor
    cosine: Tensor
    depth: Tensor
    inside: Tensor


def read_tables(tables: Tensor, y: Tensor) -> Tensor:
    """Tables [b, c, 512] at heights y [b, h, w]: [b, c, h, w], constant beyond crown and chin."""
    position = (y - CROWN) * (2 / (CHIN - CROWN)) - 1
    grid = torch.stack([torch.zeros_like(position), position], dim=-1)
    return functional.grid_sample(tables.unsqueeze(-1), grid, padding_mode="border", align_corners=True)


def surface_at(tables: Tensor, X: Tensor, y: Tensor, scale: Tensor) -> Surface:
    """The visible head at upright picture coordinate X and head height y (already freed of pitch and relief)."""
    y = y / scale
    w, d, reach, cos_delta, sin_delta, w_log_slope, _ = read_tables(tables, y).unbind(1)
    s = (X / reach).clamp(-1, 1)
    c = (1 - s * s).clamp(min=0).sqrt()
    sine, cosine = s * cos_delta - c * sin_delta, c * cos_delta + s * sin_delta
    beyond = (y - CHIN).clamp(min=0) + (CROWN - y).clamp(min=0)
    # The silhouette slopes: the horizontal distance to it is longer than the shortest one.
    slope = s.abs() * (w_log_slope * w * w * (1 - sin_delta**2) / reach).abs().clamp(max=20)
    inside = (reach - X.abs()) / (1 + slope * slope).sqrt() - beyond
    return Surface(w * sine, y, sine, cosine, d * cosine, inside)


def smooth_normal(tables: Tensor, face: Surface) -> Vector:
    """The smooth head's outward normal, head's frame: the gradient of (x / w)² + (z / d)² scaled to length 1."""
    w, d, _, _, _, w_log_slope, d_log_slope = read_tables(tables, face.y).unbind(1)
    down = -(face.sine**2 * w_log_slope + face.cosine**2 * d_log_slope)
    return unit(face.sine / w, down, face.cosine / d)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where each pixel lies. X, Y: on the picture; U, V: the same with the head's roll undone; face: the relieved face.

    pixel: the width of a pixel. normal: of the smooth head. head: coverage of the head's silhouette.
    """

    size: int
    pixel: float
    X: Tensor
    Y: Tensor
    U: Tensor
    V: Tensor
    tables: Tensor
    face: Surface
    normal: Vector
    head: Tensor


@functools.lru_cache(maxsize=16)
def picture_axes(size: int) -> Tensor:
    """Pixel centers along one side, in face units around 0."""
    return (torch.arange(size, dtype=torch.float32) + 0.5) * (2 * HALF_EXTENT / size) - HALF_EXTENT


def picture_grid(size: int) -> tuple[Tensor, Tensor]:
    """Picture coordinates X, Y of the centers of size * size pixels, each [1, size, size]."""
    axis = picture_axes(size)
    return axis.view(1, 1, -1).expand(1, size, size), (axis + CENTER_Y).view(1, -1, 1).expand(1, size, size)


def locate(p: Parameters, size: int, relief: Callable[[Tensor, Tensor], Tensor]) -> Frame:
    """The frame of a picture of that size. relief: height above the smooth head at face coordinates x, y."""
    X, Y = picture_grid(size)
    U, V = unroll(p, X, Y)
    tables, scale = profile_tables(p), vertical_scale(p)
    shifts = torch.stack(_parallax(p, tables, scale, relief), dim=1)
    shift_x, shift_y = functional.interpolate(shifts, size=(size, size), mode="bilinear", align_corners=False).unbind(1)
    face = surface_at(tables, U + shift_x, V + shift_y, scale)
    smooth = surface_at(tables, U, V + shift_y, scale)
    pixel = 2 * HALF_EXTENT / size
    return Frame(size, pixel, X, Y, U, V, tables, face, smooth_normal(tables, face), coverage(smooth.inside, pixel))


def unroll(p: Parameters, X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """Picture coordinates turned back by the head's roll."""
    c, s = torch.cos(p["roll"]), torch.sin(p["roll"])
    return c * X + s * Y, c * Y - s * X


def _parallax(
    p: Parameters, tables: Tensor, scale: Tensor, relief: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """How far, on a coarse lattice over the picture, what is seen lies from where a flat upright face would show it."""
    U, V = unroll(p, *picture_grid(_COARSE))
    sin_yaw, cos_yaw = torch.sin(p["yaw"]), torch.cos(p["yaw"])
    sin_pitch, cos_pitch = torch.sin(p["pitch"]), torch.cos(p["pitch"])
    shift_x, y = torch.zeros_like(U), V
    for _ in range(_ITERATIONS):
        seen = surface_at(tables, U + shift_x, y, scale)
        height = relief(seen.x, seen.y) * seen.cosine.clamp(min=0)
        forward = (seen.depth + height) * cos_yaw - seen.x * sin_yaw
        shift_x, y = -height * sin_yaw, (V + forward * sin_pitch) / cos_pitch
    return shift_x, y - V


def project(p: Parameters, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Picture coordinates X, Y of points of the head."""
    turned_x = x * torch.cos(p["yaw"]) + z * torch.sin(p["yaw"])
    forward = z * torch.cos(p["yaw"]) - x * torch.sin(p["yaw"])
    turned_y = y * torch.cos(p["pitch"]) - forward * torch.sin(p["pitch"])
    c, s = torch.cos(p["roll"]), torch.sin(p["roll"])
    return c * turned_x - s * turned_y, c * turned_y + s * turned_x


def face_boxes(p: Parameters, size: int) -> Float[np.ndarray, "b 4"]:
    """x0, y0, x1, y1 in pixels around the visible face: hairline to chin, cheek to cheek, on the smooth head.

    The face is the half of the head before the ears; what of it the head itself hides lies within the silhouette.
    """
    y = torch.linspace(HAIRLINE_Y, CHIN, 96).view(1, -1, 1)
    w, d = read_tables(profile_tables(p), y.expand(p["yaw"].shape[0], -1, -1))[:, :2].unbind(1)
    angle = torch.linspace(-math.pi / 2, math.pi / 2, 61).view(1, 1, -1)
    X, Y = project(p, w * torch.sin(angle), y * vertical_scale(p), d * torch.cos(angle))
    corners = torch.stack([X, Y - CENTER_Y], dim=1).flatten(2)
    box = torch.cat([corners.amin(2), corners.amax(2)], dim=1).double()
    return ((box + HALF_EXTENT) * (size / (2 * HALF_EXTENT))).clamp(0, size).numpy()
