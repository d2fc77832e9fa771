"""The computed pixels: those of the picture, and a margin that fills whole vectors and is cut off at the end.

A processor computes full vectors of pixels by one code and the remainder by another, whose last bit may differ. A
canvas, and every window of it, has therefore rows and columns whose product is a multiple of 32.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from transect.generators.faceworld.textures import spline_matrix, spread

HALF_EXTENT = 1.06
"""Half the width of the picture in face units from distance 1; its center is at (0, CENTER_Y). Eyes are then a quarter
of the width apart, as in collections of portraits (Karras et al. 2019, FFHQ)."""

CENTER_Y = -0.06
ROWS, COLUMNS = 4, 8
"""Windows begin and end at multiples of these."""


class Canvas(NamedTuple):
    """Picture size, and rows and columns that are computed, on a device."""

    size: int
    height: int
    width: int
    device: torch.device

    @property
    def pixel(self) -> float:
        """The width of a pixel in face units, from distance 1."""
        return 2 * HALF_EXTENT / self.size


def canvas_of(size: int, device: torch.device | str = "cpu") -> Canvas:
    """The canvas of a square picture."""
    return Canvas(size, -(-size // ROWS) * ROWS, -(-size // COLUMNS) * COLUMNS, torch.device(device))


@functools.lru_cache(maxsize=32)
def picture_grid(canvas: Canvas) -> tuple[Tensor, Tensor]:
    """Centers of the canvas' pixels from that of the picture, from distance 1, each [1, height, width]."""
    with torch.inference_mode(False):
        x, y = (_axis(length, canvas.size).to(canvas.device) for length in (canvas.width, canvas.height))
        shape = (1, canvas.height, canvas.width)
        return x.view(1, 1, -1).expand(shape).contiguous(), y.view(1, -1, 1).expand(shape).contiguous()


def _axis(length: int, size: int) -> Tensor:
    """Pixel centers along one side, in face units; the first `size` of them around 0."""
    return (torch.arange(length, dtype=torch.float32, device="cpu") + 0.5) * (2 * HALF_EXTENT / size) - HALF_EXTENT


@functools.lru_cache(maxsize=64)
def _splines(canvas: Canvas, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    down = spline_matrix(canvas.size, rows, canvas.height - canvas.size)
    across = spline_matrix(canvas.size, columns, canvas.width - canvas.size)
    return down.to(canvas.device), across.to(canvas.device)


def spread_over(canvas: Canvas, lattice: Tensor) -> Tensor:
    """A lattice [b, rows, columns] as a smooth field over the canvas, [b, height, width]."""
    return spread(lattice, *_splines(canvas, *lattice.shape[-2:]))
