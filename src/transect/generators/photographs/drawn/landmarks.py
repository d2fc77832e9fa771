"""Where the features lie: dlib's 68 points, from the same curves that draw the face.

Order: jaw 0-16, brows 17-26, nose 27-35, eyes 36-47, mouth 48-67, left to right as the viewer sees them. Source of the
scheme: Sagonas et al. 2013, 300 Faces in-the-Wild Challenge, doi:10.1109/ICCVW.2013.59.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.rows import Parameters
from transect.generators.photographs.drawn.eyes import BROW_HALF_WIDTH, brow_line, eye_line, lid_edges
from transect.generators.photographs.drawn.head import (
    DEPTH,
    EYE_Y,
    REACH,
    WIDTH,
    advance,
    blunted,
    eye_x,
    nose_base,
    nose_half_width,
    profile_tables,
    project,
    read_shift,
    read_tables,
    shift_maps,
    to_pixels,
    unroll,
    vertical_scale,
)
from transect.generators.photographs.drawn.mouth import mouth_curves

_ANGLES = ("yaw", "pitch", "roll")
_VECTOR = 32
_JAW_HEIGHTS = (-0.08, 0.10, 0.27, 0.43, 0.57, 0.685, 0.785, 0.85)
_JAW_AZIMUTH_SINE = 0.985
"""Jaw points lie just inside the silhouette of a frontal head, where annotators place them."""


def landmarks(p: Parameters, relief: Tensor, size: int) -> Float[np.ndarray, "b 68 2"]:
    """x, y of the 68 points in pixels, k from k to k + 1. relief: height above the smooth head there, [b, 68]."""
    x, y = face_points(p)
    tables = profile_tables(p)
    reach = read_tables(tables[:, REACH : REACH + 1], y.unsqueeze(1))[:, 0, 0]
    w, d = read_tables(tables[:, WIDTH : DEPTH + 1], blunted(y).unsqueeze(1))[:, :, 0].unbind(1)
    sine = (x / w).clamp(-1, 1)
    jut = advance(blunted(y))
    z = jut + (d + relief) * (1 - sine * sine).clamp(min=0).sqrt()
    flat = {f"{part}_{angle}": p[f"{part}_{angle}"].view(-1, 1) for part in ("sin", "cos") for angle in _ANGLES}
    scale = vertical_scale(p).reshape(-1, 1)
    X, Y = project(flat, x, y * scale, z)
    X, Y = _within_silhouette(flat, X, Y, reach, jut * flat["sin_yaw"])
    across, down = (part.squeeze(1) for part in read_shift(shift_maps(p), x.unsqueeze(1), y.unsqueeze(1)))
    moved_x, moved_y = project(flat, across, down * scale, 0 * z)
    X, Y = X + moved_x, Y + moved_y
    return to_pixels(p, X, Y, size).numpy()


def face_points(p: Parameters) -> tuple[Tensor, Tensor]:
    """Face coordinates x, y of the 68 points, each [b, 68]."""
    parts = [_jaw(p), _brows(p), _nose(p), _eyes(p), _mouth(p)]
    x, y = (torch.cat([part[axis] for part in parts], dim=1) for axis in (0, 1))
    return x, y


def _within_silhouette(p: Parameters, X: Tensor, Y: Tensor, reach: Tensor, middle: Tensor) -> tuple[Tensor, Tensor]:
    """Points that the turned head hides, moved to its visible edge at their height; middle: that of the section."""
    U, V = unroll(p, X, Y)
    U = torch.minimum(U.maximum(middle - reach), middle + reach)
    c, s = p["cos_roll"], p["sin_roll"]
    return c * U - s * V, c * V + s * U


def _row(like: Tensor, values: tuple[float, ...]) -> Tensor:
    return like.new_tensor(values).view(1, -1).expand(like.shape[0], -1)


def _jaw(p: Parameters) -> tuple[Tensor, Tensor]:
    like = p["yaw"].reshape(-1, 1)
    y = _row(like, _JAW_HEIGHTS)
    x = _JAW_AZIMUTH_SINE * read_tables(profile_tables(p)[:, WIDTH : WIDTH + 1], y.unsqueeze(1))[:, 0, 0]
    chin_x, chin_y = 0 * x[:, :1], 0 * y[:, :1] + 0.885
    return torch.cat([-x, chin_x, x.flip(1)], dim=1), torch.cat([y, chin_y, y.flip(1)], dim=1)


def _brows(p: Parameters) -> tuple[Tensor, Tensor]:
    like = p["yaw"].reshape(-1, 1)
    t = _row(like, (0.92, 0.50, 0.05, -0.40, -0.82))
    y = brow_line(p, t.unsqueeze(1)).squeeze(1)
    x = eye_x(p).reshape(-1, 1) + BROW_HALF_WIDTH * t
    return torch.cat([-x, x.flip(1)], dim=1), torch.cat([y, y.flip(1)], dim=1)


def _nose(p: Parameters) -> tuple[Tensor, Tensor]:
    base, half = nose_base(p).reshape(-1, 1), nose_half_width(p).reshape(-1, 1)
    tip, top = base - 0.065, base * 0 + EYE_Y
    ridge = top + (tip - top) * _row(base, (0.0, 0.36, 0.70, 1.0))
    wings = base + _row(base, (0.005, 0.020, 0.030, 0.020, 0.005))
    x = torch.cat([0 * ridge, half * _row(base, (-0.85, -0.42, 0.0, 0.42, 0.85))], dim=1)
    return x, torch.cat([ridge, wings], dim=1)


def _eyes(p: Parameters) -> tuple[Tensor, Tensor]:
    """Outer corner, two points of the upper lid, inner corner, two of the lower lid; mirrored for the other eye."""
    like = p["yaw"].reshape(-1, 1)
    t = _row(like, _pad((1.0, 0.38, -0.38, -1.0, -0.38, 0.38))).unsqueeze(1)
    half, upper, lower = lid_edges(p, t)
    down = torch.cat([0 * upper[..., :1], upper[..., 1:3], 0 * upper[..., :1], lower[..., 4:6]], dim=2)
    outward = half * t[..., :6]
    y = (down + eye_line(p, outward)).squeeze(1)
    x = (eye_x(p) + outward).squeeze(1)
    other = [3, 2, 1, 0, 5, 4]
    return torch.cat([-x, x[:, other]], dim=1), torch.cat([y, y[:, other]], dim=1)


def _mouth(p: Parameters) -> tuple[Tensor, Tensor]:
    """Corners and outer edges of the lips clockwise from the viewer's left, then their inner edges."""
    like = p["yaw"].reshape(-1, 1)
    outer, inner = (-1.0, -0.62, -0.25, 0.0, 0.25, 0.62, 1.0), (-0.85, -0.35, 0.0, 0.35, 0.85)
    t = _row(like, _pad(outer + outer[-2:0:-1] + inner + inner[-2:0:-1])).unsqueeze(1)
    curves = mouth_curves(p, t)
    v = torch.cat(
        [curves.top[..., :7], curves.bottom[..., 7:12], curves.gap_top[..., 12:17], curves.gap_bottom[..., 17:20]],
        dim=2,
    )
    return (curves.half * t[..., :20]).squeeze(1), (v + curves.line[..., :20]).squeeze(1)


def _pad(points: tuple[float, ...]) -> tuple[float, ...]:
    """The points, the last repeated until they fill whole vectors: see canvas.py."""
    return points + points[-1:] * (-len(points) % _VECTOR)
