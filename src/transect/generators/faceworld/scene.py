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
_WARM, _GREEN = np.array([0.13, 0.0, -0.17], np.float32), np.array([-0.10, 0.06, -0.24], np.float32)
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
    shade = np.exp(0.16 * azimuth * view.x - 0.20 * view.y + depth)
    hue = 1 + (warmth + 0.15 * view.soft.clip(-1.5, 1.5))[..., None] * _WARM
    if BACKGROUNDS[kind] == "outdoors":
        hue += (0.4 + 0.8 * warmth).clip(0, 1)[..., None] * _GREEN
    color = np.frombuffer(tint, np.float32) * _FAR_LIGHT
    return np.asarray(shade[..., None] * color * hue, dtype=np.float32)


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
    """A paper or cloth backdrop: lit behind the head or from a side, and darker towards the corners."""
    aside, strength, lean = view.shapes[0, :3]
    glow = np.exp(-((view.x - 0.45 * aside) ** 2 + (view.y + 0.1) ** 2) / 1.25**2)
    return (0.50 + 0.16 * strength) * glow + 0.16 * lean * view.y + 0.05 * view.soft - 0.25, 0.15 * glow


def _wall(view: _View) -> tuple[Picture, Picture]:
    """A plastered wall with the wide edge of a window's light, and in some a rail or a corner of the room."""
    lean, offset, height, corner, rails = view.shapes[0, :5]
    edge = _step(view.x + 0.4 * lean * view.y - 0.7 * offset, -0.6, 0.6)
    rail = _step(view.y - 0.6 - 0.4 * height, -0.10, 0.10) * _step(rails, -0.1, 0.1)
    turned = _step(view.x - 1.3 * corner, -0.07, 0.07)
    return 0.36 * edge - 0.25 * rail + 0.22 * turned + 0.07 * view.soft - 0.2, 0.6 * edge - 0.3 * rail - 0.2 * turned


def _boxes(view: _View, knots: Float[np.ndarray, "k 6"], soft: float, narrow: float) -> tuple[Picture, Picture]:
    """Blurred boxes, how bright and how warm: each is a row times a column, so all are one product of matrices."""
    x, y, width, tone, hue, tall = (knots[:, k, None] for k in range(6))
    half_x, half_y = narrow + 0.20 * np.abs(width), 0.55 + 0.40 * tall.clip(-1, 1)
    across = _step(half_x - np.abs(view.x - 0.95 * x), -soft, soft)
    down = _step(half_y - np.abs(view.y.T + 0.35 - 0.6 * y), -soft, soft).T
    return _product(down, 0.62 * tone * across), _product(down, 0.9 * hue * across)


def _discs(view: _View, high: float, radius: float) -> Picture:
    """Points of light far out of focus, the brightest at each place."""
    found = np.zeros_like(view.soft)
    for x, y, bright, size in view.fine[:7, :4]:
        if bright > 0.1:
            far = np.sqrt((view.x - 0.9 * x) ** 2 + (view.y + high - 0.5 * y) ** 2)
            edge = radius * (1 + 0.3 * np.clip(size, -1, 1)) - far
            found = np.maximum(found, _step(bright, 0.0, 1.6) * _step(edge, -0.035, 0.035))
    return found


def _interior(view: _View) -> tuple[Picture, Picture]:
    """A room far out of focus: walls and floor, furniture, windows and lamps."""
    both = _boxes(view, view.shapes, 0.24, 0.22), _boxes(view, view.fine[9:14], 0.11, 0.03)
    depth, warmth = (large + small for large, small in zip(*both, strict=True))
    floor = _step(view.y - 0.75 - 0.3 * view.shapes[0, 5], -0.2, 0.2)
    lamps = _discs(view, 0.45, 0.13)
    depth = depth - 0.35 * floor + 0.8 * lamps + 0.10 * view.soft
    return depth.clip(-1.4, 1.3), (warmth + 0.5 * floor + 0.8 * lamps + 0.35).clip(-1.5, 1.8)


def _outdoors(view: _View) -> tuple[Picture, Picture]:
    """Sky above trees or a street, far out of focus, with discs of light."""
    shapes, fine = (_spread(of, len(view.soft)) for of in (view.shapes, view.fine))
    houses, _ = _boxes(view, view.shapes, 0.14, 0.3)
    leaves = _step(shapes + 0.32 * fine, -0.9, 0.9) - 0.5
    ground = _step(view.y + 0.65 + 0.5 * view.soft + 0.35 * shapes + 0.07 * fine, -0.4, 0.4)
    lit = 0.6 * leaves + 0.5 * houses + 0.7 * _discs(view, 0.3, 0.10) - 0.35
    return 0.75 * (1 - ground) + ground * lit, ground * (1.5 + 0.5 * leaves - 1.2 * np.abs(houses)) - 0.9


_STRUCTURES = dict(zip(BACKGROUNDS, (_studio, _wall, _interior, _outdoors), strict=True))
"""Depth of the shade and warmth of each background."""
