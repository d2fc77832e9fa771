"""The maps of a face: a head's relief, and on it folds, shades and irregularities, on a canonical lattice.

The relief is a real head's (relief_shapes.py). Folds and what no shape holds are sums of axis-parallel Gaussian bumps:
each is a product of a row and a column, so that all bumps of a map are one matrix product.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.compositing import bump
from transect.generators.faceworld.head import EYE_Y
from transect.generators.faceworld.products import products
from transect.generators.faceworld.relief import (
    X_EXTENT,
    Y_CENTER,
    Y_EXTENT,
    eye_x,
    lattice_size,
    mouth_y,
    nose_base,
    nose_half_width,
)
from transect.generators.faceworld.relief_shapes import Heads, half_relief, parting
from transect.generators.faceworld.textures import LATTICES, spline_matrix, spread

_IRREGULAR = ("mottle", "pores", "freckles")
SLOPE_X = 1
"""The map that changes its sign on the other side of the face."""

_FIELDS = ("x", "y", "width_x", "width_y", "height", "occlusion", "blush")

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


def _shades(p: Heads) -> list[Bump]:
    """What keeps light from places whose geometry alone does not show it: lids and lashes, the nose's and lips' own."""
    base, half, my = nose_base(p), nose_half_width(p), mouth_y(p)
    corner = 0.225 + 0.012 * p["mouth_width"] + 0.065 * p["smile"]
    masculine, old, philtrum = p["face_shape"] - 0.5, p["old"], (base + my) / 2 - 0.012
    return [
        Bump(eye_x(p), EYE_Y - 0.01, 0.17, 0.10, 0.0, 0.70 - 0.75 * masculine),
        Bump(0.0, base + 0.044, half * 0.55, 0.046, 0.0, 0.47),
        Bump(half * 0.50, base + 0.030, half * 0.27, 0.028, 0.0, 0.34),
        Bump(half * 1.10, base - 0.030, 0.026, 0.046, 0.0, 0.16),
        Bump(0.0, base - 0.057, 0.088, 0.062, 0.0, -0.05, 0.14),
        Bump(half * 0.82, base - 0.038, 0.044, 0.044, 0.0, 0.0, 0.2),
        Bump(0.0, -0.14, 0.072, 0.10, 0.0, 0.10),
        Bump(0.31, 0.07, 0.15, 0.11, 0.034),
        Bump(0.44, 0.33, 0.16, 0.17, -0.025, 0.23 + 0.06 * old),
        Bump(0.0, my + 0.105 + 0.04 * p["mouth_open"], 0.18, 0.05, 0.012 * parting(p)),
        Bump(0.0, my, 0.20, 0.06, 0.0, 0.14 * (1 - parting(p))),
        Bump(0.0, philtrum, 0.020, 0.045, -0.0045, 0.05),
        Bump(0.036, philtrum + 0.005, 0.017, 0.042, 0.0035),
        Bump(0.0, my + 0.275 + 0.045 * p["mouth_open"], 0.16, 0.06, 0.036 * p["smile"] + 0.065 * p["mouth_open"]),
        Bump(0.29, 0.19, 0.075, 0.085, 0.010 + 0.004 * old),
        Bump(corner, my - 0.03 * p["smile"], 0.048, 0.044, 0.0, 0.12),
        Bump(0.0, 0.765, 0.20, 0.11, 0.0, -0.32),
        Bump(
            0.36 + 0.02 * p["smile"],
            0.17 - 0.03 * p["smile"],
            0.12,
            0.10,
            0.034 * p["smile"],
            0.0,
            0.2 + 0.2 * p["smile"],
        ),
    ]


def _folds(p: Heads) -> list[Bump]:
    """Folds from nose to mouth, bags and wrinkles: valleys in the relief, shaded by the light like everything else."""
    old, smile = p["old"], p["smile"]
    depth = 0.009 * (1 - 0.7 * p["young"]) + 0.013 * old - 0.004 * smile
    bumps = [
        Bump(0.165 + 0.135 * t + 0.02 * smile, 0.265 + 0.20 * t, 0.042, 0.055, -depth * (1 - 0.4 * t), 4.0 * depth)
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
            0.10 - 0.05 * p["young"] + 0.22 * old,
        ),
        Bump(eye_x(p), EYE_Y + 0.072, 0.12, 0.028, 0.004 * old + 0.009 * smile),
        Bump(eye_x(p), EYE_Y + 0.125, 0.13, 0.035, -0.002 * smile, -0.32 * smile),
        Bump(eye_x(p), EYE_Y + 0.125, 0.13, 0.045, 0.0, -0.24 * (p["face_shape"] - 0.5)),
        Bump(0.40, 0.20, 0.17, 0.15, 0.0, -0.12 * (p["face_shape"] - 0.5)),
        Bump(0.27, 0.66, 0.045, 0.10, -0.007 * old, 0.12 * old),
        Bump(0.40, 0.61, 0.10, 0.08, 0.010 * old),
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
        Bump(0.39, 0.15, 0.23, 0.16, blush=0.26 + 0.06 * makeup),
        Bump(0.0, 0.76, 0.16, 0.10, blush=0.22),
        Bump(0.0, -0.48, 0.42, 0.20, blush=-0.05),
        Bump(0.46, -0.24, 0.16, 0.18, blush=-0.10),
        Bump(eye_x(p), EYE_Y + 0.1, 0.13, 0.05, blush=0.10),
    ]


def _bumps(p: Heads) -> list[Bump]:
    return _shades(p) + _folds(p) + _blush(p)


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
    maps = torch.empty(len(same), 8, *size, device=device)
    halves = maps[..., : size[1] // 2], maps[..., size[1] // 2 :]
    for number, (right, bumps) in enumerate(
        zip(half_relief(p, size, pixel, device), (height, slope_x, slope_y, occlusion), strict=True)
    ):
        halves[1][:, number] = right
        halves[0][:, number] = -right.flip(2) if number == SLOPE_X else right.flip(2)
        maps[:, number] += bumps
    maps[:, 4] = blush
    for number, name in enumerate(_IRREGULAR):
        maps[:, 5 + number] = spread(lattices[name], *_splines(device, name, size, pixel))
    return maps


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
