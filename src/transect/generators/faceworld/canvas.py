"""The picture's plane, and textures: lattices of random numbers, interpolated by B-splines."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.chance import Stream, fine_noise
from transect.generators.faceworld.rows import products

LATTICES: dict[str, tuple[int, int]] = {
    "mottle": (14, 11),
    "pores": (88, 66),
    "freckles": (88, 66),
    "strands": (7, 150),
    "locks": (5, 36),
    "curls": (56, 56),
    "stubble": (110, 110),
    "backdrop": (6, 6),
    "backdrop_shapes": (5, 6),
    "backdrop_fine": (26, 26),
    "folds": (9, 20),
}
"""Rows and columns of each lattice. Append only: the order is the order of the draws."""


_PARTS = 8
"""Number of points of an average over a pixel."""


@functools.lru_cache(maxsize=64)
def _draw(seed: int) -> Float[np.ndarray, " n"]:
    """All lattices of that subject, in order."""
    total = sum(rows * columns for rows, columns in LATTICES.values())
    return fine_noise(seed, Stream.TEXTURE, total)


def draw_lattices(seeds: Sequence[int], device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """The noise lattices of those subjects: name -> float32 [b, rows, columns]."""
    noise = torch.from_numpy(np.stack([_draw(seed) for seed in seeds])).to(device)
    sizes = [rows * columns for rows, columns in LATTICES.values()]
    parts = zip(LATTICES.items(), torch.split(noise, sizes, dim=1), strict=True)
    return {name: part.reshape(-1, *size) for (name, size), part in parts}


@functools.lru_cache(maxsize=256)
def spline_matrix(points: int, knots: int, beyond: int = 0, spans: float = 0.0) -> Tensor:
    """Cubic B-spline weights of pixel centers, each averaged over `spans` points' distances; rows sum to 1."""
    parts = (np.arange(_PARTS) + 0.5) / _PARTS - 0.5 if spans else np.zeros(1)
    centers = np.arange(points + beyond)[:, None] + 0.5 + spans * parts
    weights = _spline_weights(centers.ravel() / points * (knots - 1), knots)
    averaged = weights.reshape(points + beyond, len(parts), knots).mean(axis=1)
    with torch.inference_mode(False):
        return torch.from_numpy(averaged.astype(np.float32))


def _spline_weights(position: Float[np.ndarray, " n"], knots: int) -> Float[np.ndarray, "n knots"]:
    weights = np.zeros((len(position), knots))
    for offset in (-1, 0, 1, 2):
        knot = np.floor(position).astype(int) + offset
        distance = np.abs(position - knot)
        near, far = 2 / 3 - distance**2 + distance**3 / 2, np.clip(2 - distance, 0, None) ** 3 / 6
        weight = np.where(distance < 1, near, far)
        np.add.at(weights, (np.arange(len(position)), np.clip(knot, 0, knots - 1)), weight)
    return weights


def spread(lattice: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The lattice [b, r, c] as a smooth field [b, height, width], by spline matrices [height, r] and [width, c]."""
    return products(rows.unsqueeze(0), products(lattice, columns.T.unsqueeze(0)))


HALF_EXTENT = 1.06
"""Half the width of the picture in face units from distance 1; eyes are then a quarter
of the width apart, as in collections of portraits (Karras et al. 2019, FFHQ)."""

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
