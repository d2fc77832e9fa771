"""The relief of a real head and of its shapes, laid where a subject's features are drawn.

facts/relief.npz holds, on the right half of a lattice over an average face, the height of a mean head above the smooth
one and by how much each shape changes it (docs/head_relief.py: MakeHuman's head, CC0 1.0). A subject's relief is the
sum of these with the subject's weights, moved smoothly so that lids, nose and lips lie where they are drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline, RBFInterpolator
from scipy.ndimage import gaussian_filter, map_coordinates
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.eyes import eye_line, lid_edges
from transect.generators.faceworld.head import BREADTH, EYE_Y
from transect.generators.faceworld.mouth import mouth_curves
from transect.generators.faceworld.products import products
from transect.generators.faceworld.relief import (
    X_EXTENT,
    Y_CENTER,
    Y_EXTENT,
    eye_x,
    nose_base,
    nose_half_width,
)

ROWS, COLUMNS = 192, 72
"""Rows of the file's maps, and columns from the midline to the right."""

STEP = 4e-5
"""The file holds whole numbers of this height, in face units, as steps from column to column."""

FILE = Path(__file__).parent / "facts" / "relief.npz"

Heads: TypeAlias = Mapping[str, Float[np.ndarray, " n"]]
"""One number per head, by name."""

_PADDED = 16
_NARROW, _WIDE = 0.022, 0.075
_IN_CREASES, _IN_HOLLOWS = 6.0, 5.0
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
        "smile": p["smile"],
        "mouth_open": p["mouth_open"],
    }


def relief_maps(p: Heads, size: tuple[int, int], pixel: float, device: torch.device) -> Tensor:
    """[b, 4, rows, columns] of b heads: height, its slopes in x and y, occlusion; pixel: as in relief.face_maps."""
    given = shape_weights(p)
    names = tuple(given)
    weights = np.zeros((len(p["old"]), 1, -(-len(names) // _PADDED) * _PADDED), dtype=np.float32)
    weights[:, 0, : len(names)] = np.stack(list(given.values()), axis=1)
    maps = products(torch.from_numpy(weights).to(device), _stack(device, names, size, pixel)).view(-1, 2, *size)
    height, occlusion = _moved(maps, p).unbind(1)
    down, across = _derivatives(device, size)
    return torch.stack([height, products(height, across), products(down, height), occlusion], dim=1)


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
    rows, columns = (np.linspace(0, n - 1, m) for n, m in zip((ROWS, 2 * COLUMNS), size, strict=True))
    grid = np.meshgrid(rows, columns, indexing="ij")
    stack = np.zeros((-(-len(names) // _PADDED) * _PADDED, 2, *size), dtype=np.float32)
    for number, name in enumerate(names):
        for channel, field in enumerate(_fields()[name]):
            stack[number, channel] = map_coordinates(_blurred(field, pixel / 12**0.5), grid, order=1)
    with torch.inference_mode(False):
        return torch.from_numpy(stack.reshape(1, len(stack), -1)).to(device)


@functools.lru_cache(maxsize=32)
def _derivatives(device: torch.device, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Matrices that turn a map's values into its slopes along a column, from the left, and a row, from the right."""
    along = [
        CubicSpline(np.linspace(-extent, extent, n), np.eye(n))(np.linspace(-extent, extent, n), 1)
        for n, extent in zip(size, (Y_EXTENT, X_EXTENT), strict=True)
    ]
    down, across = (torch.from_numpy(matrix.astype(np.float32)).unsqueeze(0).to(device) for matrix in along)
    with torch.inference_mode(False):
        return down.clone(), across.transpose(1, 2).contiguous()


def _moved(maps: Tensor, p: Heads) -> Tensor:
    """Maps [b, c, rows, columns] of an average face as those of the subjects' faces."""
    size, device = (maps.shape[2], maps.shape[3]), maps.device
    away = feature_points(p) - feature_points(AVERAGE)
    away = np.pad(away, ((0, 0), (0, -away.shape[1] % _PADDED), (0, 0))).astype(np.float32)
    shift = [
        products(torch.from_numpy(np.ascontiguousarray(away[:, None, :, axis])).to(device), basis)
        for axis, basis in enumerate(_spreading(device, size))
    ]
    shifts = torch.cat(shift, dim=1).view(-1, 2, *size)
    places = _places(device, size)
    # A place shows what lies at it less the shift of what lies there: found in two steps.
    first = (places - shifts).permute(0, 2, 3, 1)
    there = functional.grid_sample(shifts, first, padding_mode="border", align_corners=True)
    return functional.grid_sample(maps, (places - there).permute(0, 2, 3, 1), padding_mode="border", align_corners=True)


@functools.lru_cache(maxsize=32)
def _places(device: torch.device, size: tuple[int, int]) -> Tensor:
    """[1, 2, rows, columns]: x and y of a map's values, -1 to 1."""
    with torch.inference_mode(False):
        y, x = (torch.linspace(-1, 1, n, dtype=torch.float32, device=device) for n in size)
        return torch.stack([x.view(1, -1).expand(size), y.view(-1, 1).expand(size)]).unsqueeze(0).contiguous()


@functools.lru_cache(maxsize=32)
def _spreading(device: torch.device, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """How a shift of each point of the right half, and of its mirror image, spreads over the face: smooth surfaces.

    [1, points, rows * columns] for shifts in x and y, in extents of the map.
    """
    known = feature_points(AVERAGE)[0]
    aside = np.flatnonzero(known[:, 0] > 1e-6)
    points = np.concatenate([known, known[aside] * [-1.0, 1.0]])
    values = np.zeros((len(points), -(-len(known) // _PADDED) * _PADDED, 2))
    values[np.arange(len(known)), np.arange(len(known))] = 1.0
    values[len(known) + np.arange(len(aside)), aside] = [-1.0, 1.0]
    x, y = np.linspace(-X_EXTENT, X_EXTENT, size[1]), np.linspace(Y_CENTER - Y_EXTENT, Y_CENTER + Y_EXTENT, size[0])
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    spread = RBFInterpolator(points, values.reshape(len(points), -1), kernel="thin_plate_spline")(places)
    spread = spread.reshape(len(places), -1, 2).transpose(2, 1, 0) / np.array([X_EXTENT, Y_EXTENT])[:, None, None]
    with torch.inference_mode(False):
        across, down = torch.from_numpy(spread.astype(np.float32)).to(device).unsqueeze(1).unbind(0)
        return across.contiguous(), down.contiguous()


_AGE = 30.0
AVERAGE: Heads = {
    "old": np.array([(_AGE - 28) / 45]),
    "young": np.array([(34 - _AGE) / 16]),
    "face_shape": np.array([0.5]),
    **{
        name: np.zeros(1)
        for name in (
            *("eye_spacing", "face_width", "nose_width", "nose_length", "mouth_height", "mouth_width", "smile"),
            *("eye_size", "eye_tilt", "eye_openness", "lip_fullness", "mouth_open"),
        )
    },
}
"""What feature_points needs of an average young face at rest."""

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
