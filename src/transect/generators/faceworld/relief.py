"""The face's relief and its slow shades: sums of axis-parallel Gaussian bumps on a canonical lattice.

A Gaussian with parallel axes is a product of a row and a column, so that all bumps of all maps are one matrix
product per map: height above the smooth head, its slopes, occlusion, blush, and the skin's irregularities. The lattice
does not depend on the picture; the renderer reads it where each pixel looks at the face.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.compositing import bump
from transect.generators.faceworld.head import EYE_Y
from transect.generators.faceworld.products import products
from transect.generators.faceworld.textures import LATTICES, sample, spline_matrix, spread

X_EXTENT = 0.72
Y_CENTER, Y_EXTENT = -0.08, 1.02
_COLUMNS, _ROWS = 144, 192
_IRREGULAR = ("mottle", "pores", "freckles")
Heads: TypeAlias = Mapping[str, Float[np.ndarray, " n"]]
"""One number per head, by name."""

_FIELDS = ("x", "y", "width_x", "width_y", "height", "occlusion", "blush")


Scalar = TypeVar("Scalar", Tensor, Float[np.ndarray, " n"])
"""What a shape is computed from: a number per picture, as a tensor or an array."""

Number: TypeAlias = float | Float[np.ndarray, " n"]
"""The same for all heads, or one per head."""


@dataclass(frozen=True, slots=True)
class Bump:
    """One bump, mirrored to the other side unless x is 0: center, widths, and its weight in the maps."""

    x: Number
    y: Number
    width_x: Number
    width_y: Number
    height: Number = 0.0
    occlusion: Number = 0.0
    blush: Number = 0.0


def eye_x(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of an eye's center from the midline."""
    return 0.27 * (1 + 0.04 * p["eye_spacing"] + 0.055 * p["face_width"])


def nose_half_width(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of a nostril's wing from the midline."""
    return 0.146 * (1 + 0.13 * p["nose_width"] + 0.05 * p["face_width"] + 0.10 * (p["face_shape"] - 0.5))


def nose_base(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the base of the nose."""
    return 0.305 + 0.038 * p["nose_length"]


def mouth_y(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the line between the lips."""
    return 0.522 + 0.018 * p["mouth_height"] + 0.016 * p["nose_length"]


def _skull(p: Heads) -> list[Bump]:
    masculine, old = p["face_shape"] - 0.5, p["old"]
    ex = eye_x(p)
    return [
        Bump(ex, EYE_Y - 0.01, 0.17, 0.10, -0.090 - 0.016 * masculine - 0.012 * old, 0.92 + 0.2 * masculine),
        Bump(0.13, EYE_Y - 0.02, 0.055, 0.07, -0.03, 0.22),
        Bump(ex + 0.02, -0.285, 0.19, 0.05, 0.026 + 0.05 * np.maximum(masculine, -0.4)),
        Bump(0.0, -0.29, 0.11, 0.06, 0.012 + 0.035 * masculine),
        Bump(0.0, -0.50, 0.36, 0.2, 0.022 - 0.02 * masculine, 0.05),
        Bump(0.54, -0.36, 0.09, 0.16, -0.02 - 0.012 * old, 0.05),
        Bump(0.41, 0.085, 0.175, 0.14, 0.052 + 0.020 * p["cheekbones"] - 0.015 * masculine),
        Bump(
            0.44,
            0.34,
            0.14,
            0.16,
            -0.016 + 0.022 * p["cheek_fullness"] - 0.016 * old + 0.014 * p["young"],
            0.10 + 0.06 * old,
        ),
        Bump(0.0, 0.795, 0.16, 0.11, 0.045 + 0.03 * masculine + 0.016 * p["chin_length"], -0.17),
        Bump(0.0, 0.672, 0.18, 0.040, -0.013, 0.04),
    ]


def _nose(p: Heads) -> list[Bump]:
    base, half = nose_base(p), nose_half_width(p)
    bridge = 1 + 0.36 * p["nose_bridge"] + 0.25 * (p["face_shape"] - 0.5)
    tip = 1 + 0.20 * p["nose_tip"]
    return [
        Bump(0.0, -0.14, 0.072, 0.10, 0.034 * bridge, 0.20),
        Bump(0.0, base - 0.30, 0.076, 0.10, 0.052 * bridge, 0.05),
        Bump(0.0, base - 0.19, 0.084, 0.085, 0.072 * bridge),
        Bump(0.0, base - 0.057, 0.088 * tip, 0.062, 0.125, 0.0, 0.14),
        Bump(0.0, base - 0.052, 0.048 * tip, 0.040, 0.022 * tip),
        Bump(half * 0.82, base - 0.038, 0.044, 0.044, 0.066, -0.05, 0.2),
        Bump(half * 1.20, base - 0.045, 0.024, 0.048, -0.012, 0.30),
        Bump(half * 0.60, base - 0.075, 0.022, 0.030, -0.014, 0.10),
        Bump(half * 0.52, base + 0.014, half * 0.30, 0.026, -0.009, 0.55),
        Bump(0.0, base + 0.044, half * 0.62, 0.046, 0.0, 0.50),
        Bump(0.0, base - 0.002, 0.026, 0.024, 0.012, -0.30),
        Bump(0.125, 0.07, 0.055, 0.13, -0.010, 0.06),
        Bump(0.0, base + 0.09, 0.028, 0.05, -0.0045, 0.06),
        Bump(0.040, base + 0.09, 0.020, 0.045, 0.003),
    ]


def _mouth(p: Heads) -> list[Bump]:
    my, full, smile = mouth_y(p), 1 + 0.2 * p["lip_fullness"], p["smile"]
    corner = 0.225 + 0.012 * p["mouth_width"] + 0.065 * smile
    return [
        Bump(0.0, my - 0.01, 0.25 + 0.04 * smile, 0.14, 0.034),
        Bump(0.055, my - 0.035, 0.075, 0.026, 0.022 * full),
        Bump(0.0, my + 0.05, 0.12, 0.032, 0.032 * full),
        Bump(0.0, my + 0.128, 0.14, 0.030, -0.010, 0.14),
        Bump(corner, my - 0.03 * smile, 0.048, 0.044, -0.010, 0.17),
        Bump(0.36 + 0.02 * smile, 0.17 - 0.03 * smile, 0.15, 0.13, 0.032 * smile, 0.0, 0.2 + 0.2 * smile),
    ]


def _folds(p: Heads) -> list[Bump]:
    """Folds from nose to mouth, bags and wrinkles: valleys in the relief, shaded by the light like everything else."""
    old, smile = p["old"], p["smile"]
    depth = 0.006 * (1 - 0.7 * p["young"]) + 0.023 * old + 0.017 * smile
    bumps = [
        Bump(0.165 + 0.135 * t + 0.02 * smile, 0.265 + 0.20 * t, 0.042, 0.055, -depth * (1 - 0.4 * t), 2.9 * depth)
        for t in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    for y, trait in ((-0.43, "hairline"), (-0.51, "complexion"), (-0.595, "greying")):
        bumps += _forehead_line(p, y, old * (0.9 + 0.35 * p[trait]).clip(0.1, 1.6))
    bumps += [
        Bump(0.030, -0.265, 0.012, 0.05, -0.004 * old, 0.16 * old),
        Bump(0.47, EYE_Y - 0.045, 0.06, 0.012, -0.004 * old, 0.19 * old + 0.05 * smile),
        Bump(0.475, EYE_Y + 0.01, 0.06, 0.012, -0.004 * old, 0.19 * old + 0.05 * smile),
        Bump(0.465, EYE_Y + 0.06, 0.06, 0.012, -0.004 * old, 0.17 * old + 0.05 * smile),
        Bump(
            eye_x(p) - 0.02,
            EYE_Y + 0.105,
            0.12,
            0.022,
            -0.008 * (0.4 - 0.3 * p["young"] + old),
            0.10 - 0.05 * p["young"] + 0.22 * old + 0.06 * smile,
        ),
        Bump(eye_x(p), EYE_Y + 0.075, 0.12, 0.03, 0.012 * (0.5 + old + smile)),
        Bump(0.27, 0.66, 0.045, 0.10, -0.018 * old, 0.24 * old),
        Bump(0.40, 0.61, 0.10, 0.08, 0.032 * old),
    ]
    return bumps


def _forehead_line(p: Heads, y: float, depth: Number) -> list[Bump]:
    """A line over the brows: it rises over each of them, more or less by the arch of the brows, and fades outwards."""
    rise = 0.012 + 0.006 * p["brow_arch"]
    at = ((0.05, 0.3, 1.0), (0.16, 0.8, 1.0), (0.27, 0.9, 0.8), (0.37, 0.1, 0.5))
    return [Bump(x, y - rise * up, 0.075, 0.015, -0.004 * depth * share, 0.12 * depth * share) for x, up, share in at]


def _blush(p: Heads) -> list[Bump]:
    makeup = p["makeup"]
    return [
        Bump(0.42, 0.12, 0.19, 0.12, blush=0.12 + 0.5 * makeup),
        Bump(0.0, 0.78, 0.16, 0.08, blush=0.25),
        Bump(0.0, -0.45, 0.3, 0.16, blush=0.10),
        Bump(eye_x(p), EYE_Y + 0.1, 0.13, 0.05, blush=0.25),
    ]


def _bumps(p: Heads) -> list[Bump]:
    return _skull(p) + _nose(p) + _mouth(p) + _folds(p) + _blush(p)


def _table(bumps: list[Bump], heads: int) -> Float[np.ndarray, "fields n k"]:
    """The numbers of all bumps, one row per head, filled up with flat ones to a multiple of 16."""
    table = np.zeros((len(_FIELDS), heads, -(-len(bumps) // 16) * 16))
    table[2:4] = 1.0
    for number, entry in enumerate(bumps):
        for field, name in enumerate(_FIELDS):
            table[field, :, number] = getattr(entry, name)
    return table


def _seen_by(pixel: float, table: Float[np.ndarray, "fields n k"]) -> Float[np.ndarray, "fields n k"]:
    """The bumps as pixels of that width show them: wider and lower, as a pixel shows the mean over itself.

    A pixel has the variance pixel² / 12 along each side, a bump exp(-(x / w)²) that of w² / 2; variances add up.
    """
    blurred = table.copy()
    blurred[2:4] = np.sqrt(table[2:4] ** 2 + pixel * pixel / 6)
    blurred[4:] *= (table[2:4] / blurred[2:4]).prod(axis=0)
    return blurred


def lattice_size(pixel: float) -> tuple[int, int]:
    """Rows and columns of the maps for pixels of that width in face units: finer than these, whole vectors.

    >>> lattice_size(2.6 / 64), lattice_size(2.6 / 512)
    ((80, 48), (192, 144))
    """
    rows, columns = (-(-int(2 * extent / (0.75 * pixel)) // 16) * 16 for extent in (Y_EXTENT, X_EXTENT))
    return min(rows, _ROWS), min(columns, _COLUMNS)


def face_maps(p: Heads, lattices: Mapping[str, Tensor], pixel: float) -> Tensor:
    """[b, 8, rows, columns] of b heads: height, slopes in x and y, occlusion, blush, mottle, pores, freckles.

    pixel: the width of the pixels that will read them, in face units; what is finer is averaged out.
    """
    device, size = lattices["pores"].device, lattice_size(pixel)
    table = _seen_by(pixel, _table(_bumps(p), len(p["old"]))).astype(np.float32)
    b = dict(zip(_FIELDS, torch.from_numpy(table).to(device).unsqueeze(-1).unbind(0), strict=True))
    x, y = _axes(device, size)
    dy = (y - b["y"]) / b["width_y"]
    down = bump(dy, 1.0)
    tilt = down * dy * (-2 / b["width_y"])
    across, lean = _across(b, x)
    shaped = [across * b["height"], lean * b["height"], across * b["occlusion"], across * b["blush"]]
    # The maps are concatenated, so that all with the same rows share one product.
    same = products(down.transpose(1, 2), torch.cat(shaped, dim=2))
    height, slope_x, occlusion, blush = same.view(len(same), size[0], 4, size[1]).unbind(2)
    slope_y = products(tilt.transpose(1, 2), shaped[0])
    irregular = [spread(lattices[name], *_splines(device, name, size, pixel)) for name in _IRREGULAR]
    return torch.stack([height, slope_x, slope_y, occlusion, blush, *irregular], dim=1)


def _across(b: Mapping[str, Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """The columns of all bumps, each with its mirror image unless it lies on the midline, and their slopes."""
    apart = (b["x"] != 0).to(x.dtype)
    left, right = (x + b["x"]) / b["width_x"], (x - b["x"]) / b["width_x"]
    mirrored, straight = bump(left, 1.0) * apart, bump(right, 1.0)
    return straight + mirrored, (straight * right + mirrored * left) * (-2 / b["width_x"])


@functools.lru_cache(maxsize=32)
def _axes(device: torch.device, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Columns and rows of the maps in face coordinates, each [1, 1, n]."""
    with torch.inference_mode(False):
        x = torch.linspace(-X_EXTENT, X_EXTENT, size[1], dtype=torch.float32, device=device)
        y = torch.linspace(Y_CENTER - Y_EXTENT, Y_CENTER + Y_EXTENT, size[0], dtype=torch.float32, device=device)
        return x.view(1, 1, -1), y.view(1, 1, -1)


@functools.lru_cache(maxsize=64)
def _splines(device: torch.device, name: str, size: tuple[int, int], pixel: float) -> tuple[Tensor, Tensor]:
    """What spreads a lattice over the maps, averaged over a pixel; freckles are not, which are a share of few peaks."""
    rows, columns = LATTICES[name]
    wide = 0.0 if name == "freckles" else pixel
    down = spline_matrix(size[0], rows, spans=wide / (2 * Y_EXTENT) * size[0])
    return down.to(device), spline_matrix(size[1], columns, spans=wide / (2 * X_EXTENT) * size[1]).to(device)


def read_maps(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The maps at face coordinates x, y [b, h, w]: [b, c, h, w]."""
    return sample(maps, x / X_EXTENT, (y - Y_CENTER) / Y_EXTENT)
