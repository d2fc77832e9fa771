"""What lies behind the person: a room, a wall or a street out of focus, as photographs have them.

Textures are lattices of the subject's own random numbers, interpolated by cubic B-splines.
"""

from __future__ import annotations

import functools
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.attributes import BACKGROUNDS
from transect.generators.faceworld.chance import Stream, fine_noise

Picture: TypeAlias = Float[np.ndarray, "s s"]

_FAR_LIGHT = np.array([1.03, 0.99, 0.97], np.float32)
"""The light on the background, nearer to daylight than that on the face."""
_WARM = np.array([0.085, 0.0, -0.115], np.float32)
_EXTENT = 1.27
"""Half the width of the picture, in face units."""
_SOFT, _SHAPES, _FINE = (6, 6), (5, 6), (26, 26)
"""Rows and columns of the lattices."""


class _View(NamedTuple):
    """Picture coordinates [1, s] and [s, 1], and the subject's textures: smooth, of shapes, fine."""

    x: Float[np.ndarray, "1 s"]
    y: Float[np.ndarray, "s 1"]
    soft: Picture
    shapes: Float[np.ndarray, "5 6"]
    fine: Float[np.ndarray, "26 26"]


@functools.lru_cache(maxsize=4)
def background(size: int, seed: int, kind: int, azimuth: float, tint: bytes) -> Float[np.ndarray, "s s 3"]:
    """Radiance under nominal light, barely saturated. azimuth: sine of the key light's; tint: linear RGB in float32."""
    view = _view(size, seed)
    depth, warmth = _STRUCTURES[BACKGROUNDS[kind]](view)
    warmth = warmth + 0.35 * view.soft.clip(-1.5, 1.5)
    shade = np.exp(0.16 * azimuth * view.x - 0.20 * view.y + depth + 0.025 * _spread(view.fine, size))
    color = np.frombuffer(tint, np.float32) * _FAR_LIGHT
    return np.asarray(shade[..., None] * color * (1 + warmth[..., None] * _WARM), dtype=np.float32)


def _view(size: int, seed: int) -> _View:
    lengths = [rows * columns for rows, columns in (_SOFT, _SHAPES, _FINE)]
    soft, shapes, fine = np.split(fine_noise(seed, Stream.TEXTURE, sum(lengths)), np.cumsum(lengths)[:-1])
    axis = ((np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1) * np.float32(_EXTENT)
    smooth = _spread(soft.reshape(_SOFT), size)
    return _View(axis[None], axis[:, None], smooth, shapes.reshape(_SHAPES), fine.reshape(_FINE))


def _spread(lattice: Float[np.ndarray, "r c"], size: int) -> Picture:
    """The lattice as a smooth field over the picture."""
    rows, columns = (_splines(size, knots) for knots in lattice.shape)
    return _product(_product(rows, lattice), columns.T)


def _product(left: Float[np.ndarray, "m k"], right: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "m n"]:
    """The product of matrices, the same to the last bit whatever BLAS and its threads would do."""
    return np.asarray(np.einsum("mk,kn->mn", left, right))


@functools.lru_cache(maxsize=16)
def _splines(size: int, knots: int) -> Float[np.ndarray, "s k"]:
    """Cubic B-spline weights of pixel centers; rows sum to 1."""
    position, weights = (np.arange(size) + 0.5) / size * (knots - 1), np.zeros((size, knots))
    for offset in (-1, 0, 1, 2):
        knot = np.floor(position).astype(int) + offset
        distance = np.abs(position - knot)
        near, far = 2 / 3 - distance**2 + distance**3 / 2, np.clip(2 - distance, 0, None) ** 3 / 6
        np.add.at(weights, (np.arange(size), np.clip(knot, 0, knots - 1)), np.where(distance < 1, near, far))
    return weights.astype(np.float32)


def _step(value: np.ndarray, low: float, high: float) -> np.ndarray:
    """0 below low, 1 above high, 3t² - 2t³ in between."""
    t = np.clip((value - low) / (high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))


def _studio(view: _View) -> tuple[Picture, Picture]:
    """A paper or cloth backdrop, lit brighter behind the head."""
    glow = np.exp(-(view.x**2 + (view.y + 0.1) ** 2) / 1.15**2)
    return 0.55 * glow + 0.16 * view.soft - 0.25, 0.1 * glow


def _wall(view: _View) -> tuple[Picture, Picture]:
    """A plastered wall with the soft edge of a window's light, and a rail or the floor's corner at some height."""
    lean, offset, height = view.shapes[0, :3] * np.array([0.6, 0.6, 0.5], np.float32)
    edge = _step(view.x + lean * view.y - offset, -0.22, 0.22)
    rail = _step(view.y - 0.35 - height, -0.05, 0.05)
    return 0.42 * edge - 0.30 * rail + 0.10 * view.soft - 0.05, 0.5 * edge - 0.3 * rail


def _interior(view: _View) -> tuple[Picture, Picture]:
    """A room out of focus: shelves, frames and a window as blurred boxes."""
    x, y, width, tone, hue = (view.shapes[:, k, None] for k in range(5))
    half_x, half_y = 0.16 + 0.13 * np.abs(width), 0.75 - 0.28 * width.clip(-1, 1)
    across = _step(half_x - np.abs(view.x - 0.9 * x), -0.10, 0.10)
    down = _step(half_y - np.abs(view.y.T + 0.35 - 0.5 * y), -0.10, 0.10).T
    # A box is a row times a column: all boxes of a room are one product of matrices.
    depth, warmth = _product(down, 0.60 * tone * across), _product(down, 0.8 * hue * across)
    return (depth + 0.12 * view.soft).clip(-1.3, 1.1), (warmth + 0.2 * view.soft).clip(-1.5, 1.5)


def _outdoors(view: _View) -> tuple[Picture, Picture]:
    """Sky above foliage or a street, far out of focus, with discs of light."""
    horizon = _step(view.y + 0.35 + 0.35 * view.soft, -0.45, 0.45)
    leaves = _step(_spread(view.shapes, len(view.soft)), -0.5, 0.6) - 0.5
    discs = np.zeros_like(view.soft)
    for x, y, brightness in view.fine[:7, :3]:
        radius = np.sqrt((view.x - 0.9 * x) ** 2 + (view.y + 0.3 - 0.5 * y) ** 2)
        discs = np.maximum(discs, _step(brightness, -0.2, 1.5) * _step(0.13 - radius, -0.03, 0.03))
    depth = 0.55 * (1 - horizon) - 0.25 * horizon + horizon * (0.65 * leaves + 0.55 * discs) + 0.15 * view.soft
    return depth, -0.6 * (1 - horizon) + 0.5 * horizon * leaves


_STRUCTURES = dict(zip(BACKGROUNDS, (_studio, _wall, _interior, _outdoors), strict=True))
"""Depth of the shade and warmth of each background."""
