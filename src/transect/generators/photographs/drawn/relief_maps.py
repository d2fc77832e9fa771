"""Maps of the relief of a face: shapes of a real head, moved to where a subject's features lie, and finer structure."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline, RBFInterpolator
from scipy.ndimage import gaussian_filter, map_coordinates
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.canvas import LATTICES, spline_matrix, spread
from transect.generators.faceworld.rows import bump, products
from transect.generators.photographs.drawn.eyes import eye_line, lid_edges
from transect.generators.photographs.drawn.head import (
    BREADTH,
    EYE_Y,
    X_EXTENT,
    Y_CENTER,
    Y_EXTENT,
    eye_x,
    lattice_size,
    mouth_y,
    nose_base,
    nose_half_width,
)
from transect.generators.photographs.drawn.mouth import mouth_curves

ROWS, COLUMNS = 192, 72
"""Rows of the file's maps, and columns from the midline to the right."""

STEP = 4e-5
"""The file holds whole numbers of this height, in face units, as steps from column to column."""

FILE = Path(__file__).parent / "facts" / "relief.npz"

Heads: TypeAlias = Mapping[str, Float[np.ndarray, " n"]]
"""One number per head, by name."""

CPU = torch.device("cpu")
_PADDED = 16
BEYOND = 0.05
"""How far the maps of the right half reach over the midline."""

_SMOOTH = (64, 32)
"""Rows and columns, from the midline, on which shifts of the features are spread over the face."""

_NARROW, _WIDE = 0.022, 0.075
_IN_CREASES, _IN_HOLLOWS = 6.0, 6.5
"""Optical depth that keeps light from a place per face unit that it lies below the mean of its surroundings, at two
widths (standard deviations, in face units)."""


def shape_weights(p: Heads) -> dict[str, Float[np.ndarray, " n"]]:
    """How much of each of the file's shapes a head has; the mean head always 1.

    Targets span what artists of the mesh hold possible: two standard deviations of a trait are most of it.
    """
    masculine, one = p["face_shape"] - 0.5, np.ones_like(p["old"])
    return {
        "mean": one,
        "masculine": 1.6 * masculine,
        "old": 0.9 * p["old"],
        "cheekbones": 0.30 * p["cheekbones"] + 0.4,
        "cheek_fullness": 0.16 * p["cheek_fullness"] + 0.10 * p["young"] - 0.10 * p["old"],
        "chin_length": 0.25 * p["chin_length"] + 0.3,
        "chin_width": 0.30 * p["chin_width"],
        "nose_width": 0.35 * p["nose_width"],
        "nose_length": 0.22 * p["nose_length"],
        "nose_bridge": 0.17 * p["nose_bridge"] + 0.1,
        "nose_tip": 0.30 * p["nose_tip"],
        "lip_fullness": 0.35 * p["lip_fullness"],
        "forehead_slope": 0.20 * p["forehead_height"],
        "forehead_width": 0.35 * p["forehead_width"],
        "eyelid_fold": 0.35 * p["eyelid_fold"],
        "nose_hump": 0.40 * p["nose_hump"] + 0.1,
        "nose_flare": 0.30 * p["nose_flare"],
        "lip_protrusion": 0.16 * p["lip_protrusion"],
        "brow_ridge": 0.16 * p["brow_ridge"] + 0.2 * masculine,
        "eye_bags": 0.30 * p["eye_bags"] + 0.5 * p["old"],
        "first": 0.40 * p["relief_1"],
        "second": 0.40 * p["relief_2"],
        "smile": p["smile"],
        "mouth_open": p["mouth_open"],
        # The modeled lips are pressed together: at rest, lips touch softly.
        "parted": 0.45 + 0.55 * parting(p),
    }


def parting(p: Heads) -> Float[np.ndarray, " n"]:
    """How far the lips are parted, from 0 to 1: by an open mouth, or by a smile that shows teeth."""
    return np.clip(5 * p["mouth_open"] + 2 * np.clip(p["smile"] - 0.42, 0, 1), 0, 1)


def half_relief(p: Heads, size: tuple[int, int], pixel: float, device: torch.device) -> Tensor:
    """Height, its slopes and occlusion of b heads on the right half of the maps: [4, b, rows, columns / 2]."""
    given = shape_weights(p)
    names, coarse = tuple(given), _coarse_size(pixel)
    weights = np.zeros((len(p["old"]), 1, _padded(len(names))), dtype=np.float32)
    weights[:, 0, : len(names)] = np.stack(list(given.values()), axis=1)
    maps = products(torch.from_numpy(weights).to(device), _stack(device, names, coarse, pixel)).view(-1, 2, *coarse)
    height, occlusion = _moved(maps, p, size).unbind(1)
    down, across = _derivatives(device, size)
    return torch.stack([height, products(height, across), products(down, height), occlusion])


def _coarse_size(pixel: float) -> tuple[int, int]:
    """Rows and columns, from the midline, of the maps before they are moved: somewhat more than pixels."""
    rows, columns = (-(-int(extent / (0.7 * pixel)) // 8) * 8 for extent in (2 * Y_EXTENT, X_EXTENT + BEYOND))
    return min(rows, ROWS), min(columns, COLUMNS + 8)


def _padded(count: int) -> int:
    return -(-count // _PADDED) * _PADDED


def load() -> dict[str, Float[np.ndarray, "r c"]]:
    """The file's maps by name: the mean head, then its shapes; float64 [ROWS, COLUMNS], in face units."""
    with np.load(FILE, allow_pickle=False) as archive:
        return {name: np.cumsum(archive[name], axis=1, dtype=np.int64) * STEP for name in archive.files}


@functools.lru_cache(maxsize=1)
def _fields() -> dict[str, Float[np.ndarray, "2 r c"]]:
    """Height and occlusion of each shape, of both halves of the face."""
    found = {}
    for name, right in load().items():
        height = np.concatenate([right[:, ::-1], right], axis=1)
        creases, hollows = (_blurred(height, width) - height for width in (_NARROW, _WIDE))
        found[name] = np.stack([height, _IN_CREASES * creases + _IN_HOLLOWS * hollows])
    return found


def _blurred(field: Float[np.ndarray, "r c"], width: float) -> Float[np.ndarray, "r c"]:
    cell = 2 * Y_EXTENT / (ROWS - 1), 2 * X_EXTENT / (2 * COLUMNS - 1)
    return np.asarray(gaussian_filter(field, [width / step for step in cell], mode="nearest"))


@functools.lru_cache(maxsize=32)
def _stack(device: torch.device, names: tuple[str, ...], size: tuple[int, int], pixel: float) -> Tensor:
    """[1, shapes, 2 * rows * columns]: the fields as pixels of that width show them, each the mean over itself."""
    beyond = BEYOND / (2 * X_EXTENT) * (2 * COLUMNS - 1)
    rows = np.linspace(0, ROWS - 1, size[0])
    columns = np.linspace(COLUMNS - 0.5 - beyond, 2 * COLUMNS - 1, size[1])
    grid = np.meshgrid(rows, columns, indexing="ij")
    stack = np.zeros((_padded(len(names)), 2, *size), dtype=np.float32)
    for number, name in enumerate(names):
        for channel, field in enumerate(_fields()[name]):
            stack[number, channel] = map_coordinates(_blurred(field, pixel / 12**0.5), grid, order=3, mode="nearest")
    return _constant(stack.reshape(len(stack), -1), device)


@functools.lru_cache(maxsize=32)
def _derivatives(device: torch.device, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Matrices of cubic splines: a right half's slopes along a column, from the left, and a row, from the right."""
    y, x = (np.linspace(-extent, extent, n) for extent, n in zip((Y_EXTENT, X_EXTENT), size, strict=True))
    down, whole = (CubicSpline(places, np.eye(len(places)))(places, 1) for places in (y, x))
    half = size[1] // 2
    return _constant(down, device), _constant((whole[half:, half:] + whole[half:, half - 1 :: -1]).T, device)


def _moved(maps: Tensor, p: Heads, size: tuple[int, int]) -> Tensor:
    """Maps of the right half of an average face, [b, c, r, k], as those of the subjects' faces, [b, c, rows, half]."""
    device, half = maps.device, (size[0], size[1] // 2)
    away = feature_points(p) - _average_points()
    away = np.pad(away, ((0, 0), (0, -away.shape[1] % _PADDED), (0, 0))).astype(np.float32).transpose(0, 2, 1)
    each = np.ascontiguousarray(away[:, :, None])
    shift = [
        products(torch.from_numpy(each[:, axis]).to(device), basis) for axis, basis in enumerate(_spreading(device))
    ]
    shifts = torch.cat(shift, dim=1).view(-1, 2, *_SMOOTH)
    # A place shows what lies at it less the shift of what lies there: found in two steps.
    there = _read(shifts, _places(device, _SMOOTH, whole=True) - shifts, "bilinear")
    down, across = _finer(device, half)
    wide = products(products(down, there.flatten(0, 1)), across).view(-1, 2, *half)
    return _read(maps, _places(device, half) - wide, "bicubic")


@functools.lru_cache(maxsize=32)
def _finer(device: torch.device, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Matrices that turn shifts on _SMOOTH, from the left and from the right, into shifts at all places of a half."""
    y, x = (places[0].numpy() for places in (_places(CPU, size)[0, 1].T, _places(CPU, size)[0, 0]))
    down, across = (
        CubicSpline(np.linspace(-1, 1, many), np.eye(many))(there) for many, there in zip(_SMOOTH, (y, x), strict=True)
    )
    return _constant(down, device), _constant(across.T, device)


def _constant(matrix: Float[np.ndarray, "r c"], device: torch.device) -> Tensor:
    """[1, r, c], kept. What is negligible is 0: products with denormal numbers take a hundred times as long."""
    kept = np.where(np.abs(matrix) > 1e-9, matrix, 0)
    with torch.inference_mode(False):
        return torch.from_numpy(np.ascontiguousarray(kept, dtype=np.float32)).unsqueeze(0).to(device)


def _read(maps: Tensor, places: Tensor, how: str) -> Tensor:
    return functional.grid_sample(maps, places.permute(0, 2, 3, 1), how, padding_mode="border", align_corners=True)


@functools.lru_cache(maxsize=32)
def _places(device: torch.device, size: tuple[int, int], whole: bool = False) -> Tensor:
    """[1, 2, rows, columns]: x, y of the right half, -1 to 1; whole: the first column lies at BEYOND."""
    first = -1.0 if whole else 2 * (BEYOND + X_EXTENT / (2 * size[1] - 1)) / (X_EXTENT + BEYOND) - 1
    with torch.inference_mode(False):
        y = torch.linspace(-1, 1, size[0], dtype=torch.float32, device=device)
        x = torch.linspace(first, 1, size[1], dtype=torch.float32, device=device)
        return torch.stack([x.view(1, -1).expand(size), y.view(-1, 1).expand(size)]).unsqueeze(0).contiguous()


@functools.lru_cache(maxsize=8)
def _spreading(device: torch.device) -> tuple[Tensor, Tensor]:
    """How a shift of each point and its mirror image spreads smoothly over the right half, in x and in y."""
    known = _average_points()[0]
    aside = np.flatnonzero(known[:, 0] > 1e-6)
    points = np.concatenate([known, known[aside] * [-1.0, 1.0]])
    values = np.zeros((len(points), _padded(len(known)), 2))
    values[np.arange(len(known)), np.arange(len(known))] = 1.0
    values[len(known) + np.arange(len(aside)), aside] = [-1.0, 1.0]
    x, y = np.linspace(-BEYOND, X_EXTENT, _SMOOTH[1]), np.linspace(Y_CENTER - Y_EXTENT, Y_CENTER + Y_EXTENT, _SMOOTH[0])
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    spread = RBFInterpolator(points, values.reshape(len(points), -1), kernel="thin_plate_spline")(places)
    spread = spread.reshape(len(places), -1, 2).T * np.array([2 / (X_EXTENT + BEYOND), 1 / Y_EXTENT])[:, None, None]
    return _constant(spread[0], device), _constant(spread[1], device)


_AGE = 30.0
AVERAGE: Heads = {
    "old": np.array([(_AGE - 28) / 45]),
    "young": np.array([(34 - _AGE) / 16]),
    "face_shape": np.array([0.5]),
    "eye_wide": np.array([0.905]),
    "eye_tall": np.array([0.88]),
    **{
        name: np.zeros(1)
        for name in (
            *("eye_spacing", "face_width", "nose_width", "nose_length", "mouth_height", "mouth_width", "smile"),
            *("eye_size", "eye_tilt", "eye_openness", "lip_fullness", "mouth_open"),
        )
    },
}
"""What feature_points needs of an average young face at rest; the eyes are as large as those of the file's head."""

_STILL = (
    *((0.0, -0.90), (0.30, -0.80), (0.0, -0.55), (0.42, -0.50), (0.0, -0.30), (0.27, -0.33), (0.46, -0.29)),
    *((0.60, -0.10), (0.47, 0.08), (0.40, 0.26), (0.56, 0.30), (0.42, 0.48), (0.34, 0.70), (0.0, 0.90)),
)
"""Points of the right half of an average face that only its width moves."""


def feature_points(p: Heads) -> Float[np.ndarray, "n k 2"]:
    """Points of the right half of the face, in face coordinates, that move with the features."""
    wide = 1 + BREADTH * p["face_width"]
    fixed = [(x * wide, y + 0 * wide) for x, y in _STILL]
    return np.stack([np.stack(point, axis=-1) for point in (*_of_nose(p), *_of_features(p), *fixed)], axis=1)


@functools.lru_cache(maxsize=1)
def _average_points() -> Float[np.ndarray, "1 k 2"]:
    return feature_points(AVERAGE)


def _of_nose(p: Heads) -> list[tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]]:
    base, half = nose_base(p), nose_half_width(p)
    on_line = [(0 * base, y) for y in (base - 0.067, base + 0.030, (base - 0.067 + EYE_Y) / 2)]
    return [*on_line, (half, base - 0.043), (0.5 * half, base - 0.007)]


def _of_features(p: Heads) -> list[tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]]:
    """Points of lids and lips, from the curves that draw them."""
    still = {"brow_raise": 0 * p["old"], "mouth_slant": 0 * p["old"]}
    each = {name: torch.from_numpy(np.asarray(value)).view(-1, 1, 1) for name, value in {**p, **still}.items()}
    t = torch.tensor([-1.0, 0.0, 1.0, 0.5] * 8, dtype=torch.float64, device="cpu").view(1, 1, -1)
    half, upper, lower = lid_edges(each, t)
    x, line = eye_x(each) + half * t, eye_line(each, half * t)
    lids = [(x, line + edge, at) for edge, at in ((0 * x, 0), (0 * x, 2), (upper, 1), (lower, 1))]
    curves = mouth_curves(each, t)
    across, top, low = curves.half * t, curves.line + curves.top, curves.line + curves.bottom
    above, below = (top + curves.line + curves.gap_top) / 2, (low + curves.line + curves.gap_bottom) / 2
    lips = [(across, edge, at) for edge in (top, above, below, low) for at in (1, 3)]
    # The chin gives way to an opening mouth.
    hollow, chin = (curves.line + at + share * curves.gap_bottom for at, share in ((0.150, 0.7), (0.245, 0.35)))
    found = [*lids, *lips, (across, curves.line, 2), (across, hollow, 1), (across, chin, 1)]
    return [(a[:, 0, at].numpy(), b.expand_as(a)[:, 0, at].numpy()) for a, b, at in found]


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
    smile, masculine, old = p["smile"], p["face_shape"] - 0.5, p["old"]
    corner = 0.225 + 0.012 * p["mouth_width"] + 0.065 * smile
    philtrum = (base + my) / 2 - 0.012
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
        Bump(0.36 + 0.02 * smile, 0.17 - 0.03 * smile, 0.12, 0.10, 0.034 * smile, 0.0, 0.2 + 0.2 * smile),
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
    bag = -0.008 * (0.4 - 0.3 * p["young"] + old), 0.10 - 0.05 * p["young"] + 0.22 * old
    bumps += [
        Bump(0.030, -0.265, 0.012, 0.05, -0.004 * old, 0.16 * old),
        Bump(0.47, EYE_Y - 0.045, 0.06, 0.012, -0.004 * old, 0.19 * old + 0.05 * smile),
        Bump(0.475, EYE_Y + 0.01, 0.06, 0.012, -0.004 * old, 0.19 * old + 0.05 * smile),
        Bump(0.465, EYE_Y + 0.06, 0.06, 0.012, -0.004 * old, 0.17 * old + 0.05 * smile),
        Bump(eye_x(p) - 0.02, EYE_Y + 0.105, 0.12, 0.022, *bag),
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
    """[b, 8, rows, columns]: height, slopes in x, y, occlusion, blush, mottle, pores, freckles, averaged by pixel."""
    device, size = lattices["pores"].device, lattice_size(pixel)
    table = _seen_by(pixel, _table(_shades(p) + _folds(p) + _blush(p), len(p["old"]))).astype(np.float32)
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
