"""Squares of pictures, as networks look at them, and masks brought back from squares to pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, UInt8
from PIL import Image


@final
@dataclass(frozen=True, slots=True)
class Square:
    """An upright square of a picture, which may reach beyond it: left, top and side in pixels."""

    left: float
    top: float
    side: float

    @classmethod
    def whole(cls, width: int, height: int) -> Square:
        """The smallest about the whole picture.

        >>> Square.whole(10, 20)
        Square(left=-5.0, top=0.0, side=20.0)
        """
        side = float(max(width, height))
        return cls((width - side) / 2, (height - side) / 2, side)

    @classmethod
    def about(cls, points: Float[np.ndarray, "k 2"], times: float) -> Square:
        """About the box of the points, its longer side times a factor; at least a pixel wide."""
        low, high = points.min(axis=0), points.max(axis=0)
        side = max(1.0, times * float((high - low).max()))
        left, top = (low + high - side) / 2
        return cls(float(left), float(top), side)

    def placed(self, points: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "k 2"]:
        """Points in widths of the square as pixels of the picture."""
        return np.array([self.left, self.top]) + self.side * points


def seen(picture: UInt8[np.ndarray, "h w 3"], square: Square, size: int) -> UInt8[np.ndarray, "s s 3"]:
    """The square at that size: area-weighted where it shrinks, bilinear where it grows; edges repeat beyond."""
    height, width = picture.shape[:2]
    left, top = math.floor(square.left), math.floor(square.top)
    right, bottom = math.ceil(square.left + square.side), math.ceil(square.top + square.side)
    across = np.clip(np.arange(left, right), 0, width - 1)
    down = np.clip(np.arange(top, bottom), 0, height - 1)
    part = Image.fromarray(np.ascontiguousarray(picture[down[:, None], across[None, :]]))
    x, y = square.left - left, square.top - top
    box = (x, y, min(x + square.side, part.width), min(y + square.side, part.height))
    return np.asarray(part.resize((size, size), Image.Resampling.BILINEAR, box))


@final
@dataclass(frozen=True, slots=True)
class TurnedSquare:
    """A square of a picture in any direction: middle and side in pixels, angle in radians, clockwise as it is seen."""

    x: float
    y: float
    side: float
    angle: float = 0.0

    def placed(self, points: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "k 2"]:
        """Points in widths of the square, from its upper left corner, as pixels of the picture.

        >>> TurnedSquare(10, 10, 4, math.pi / 2).placed(np.array([[0.0, 0.0], [0.5, 0.5]])).round(9).tolist()
        [[12.0, 8.0], [10.0, 10.0]]
        """
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        turned = (points - 0.5) @ np.array([[cos, sin], [-sin, cos]])
        return np.asarray(np.array([self.x, self.y]) + self.side * turned)


def seen_turned(
    picture: UInt8[np.ndarray, "h w 3"], square: TurnedSquare, size: int, *, black: bool = False
) -> Float[np.ndarray, "s s 3"]:
    """The square at that size, from 0 to 255: bilinear, of area means where it shrinks to a half or less.

    Beyond the picture edges repeat, or it is black.
    """
    from scipy.ndimage import map_coordinates

    times = max(1, math.floor(square.side / size))
    smaller = np.asarray(Image.fromarray(np.ascontiguousarray(picture)).reduce(times), dtype=np.float64)
    middles = (np.arange(size) + 0.5) / size
    grid = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    x, y = (square.placed(grid) / times - 0.5).T
    mode = "grid-constant" if black else "nearest"
    channels = [map_coordinates(smaller[..., part], [y, x], order=1, mode=mode) for part in range(3)]
    return np.stack(channels, axis=-1).reshape(size, size, 3)


def brought_back(
    mask: Float[np.ndarray, "s s"], square: Square, width: int, height: int
) -> tuple[Float[np.ndarray, "h w"], Bool[np.ndarray, "h w"]]:
    """A mask of the square on the picture, bilinear, float32, 0 outside; and the pixels whose middles it holds."""
    scale = mask.shape[0] / square.side
    to_mask = (scale, 0.0, -square.left * scale, 0.0, scale, -square.top * scale)
    # Without repeated edges Pillow would leave out the outer half of the first and last cells.
    framed = Image.fromarray(np.pad(np.asarray(mask, dtype=np.float32), 1, mode="edge"))
    shifted = (*to_mask[:2], to_mask[2] + 1, *to_mask[3:5], to_mask[5] + 1)
    back = framed.transform((width, height), Image.Transform.AFFINE, shifted, Image.Resampling.BILINEAR)
    x, y = np.arange(width) + 0.5, np.arange(height) + 0.5
    across = (x >= square.left) & (x < square.left + square.side)
    down = (y >= square.top) & (y < square.top + square.side)
    inside = down[:, None] & across[None, :]
    return np.where(inside, np.asarray(back), np.float32(0)), inside
