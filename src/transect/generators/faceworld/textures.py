"""The fields that make surfaces irregular: skin, strands, cloth, backdrop.

Each is white normal noise on a fixed lattice, drawn from the subject's own stream: the same whatever the image size,
the batch and the other attributes, and always drawn in full, used or not. Cubic B-splines make it a smooth field.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.chance import Stream, generator

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


@functools.lru_cache(maxsize=64)
def draw_lattices(seed: int) -> dict[str, Tensor]:
    """The noise lattices of that subject: name -> float32 [1, rows, columns]."""
    draws = generator(seed, Stream.TEXTURE)
    return {
        name: torch.from_numpy(draws.standard_normal((1, *size), dtype=np.float32)) for name, size in LATTICES.items()
    }


@functools.lru_cache(maxsize=256)
def spline_matrix(points: int, knots: int) -> Tensor:
    """Cubic B-spline weights [points, knots] of pixel centers spread evenly over the knots' span; rows sum to 1."""
    position = (np.arange(points) + 0.5) / points * (knots - 1)
    weights = np.zeros((points, knots))
    for offset in (-1, 0, 1, 2):
        knot = np.floor(position).astype(int) + offset
        distance = np.abs(position - knot)
        near, far = 2 / 3 - distance**2 + distance**3 / 2, np.clip(2 - distance, 0, None) ** 3 / 6
        weight = np.where(distance < 1, near, far)
        np.add.at(weights, (np.arange(points), np.clip(knot, 0, knots - 1)), weight)
    return torch.from_numpy(weights.astype(np.float32))


def spread(lattice: Tensor, height: int, width: int) -> Tensor:
    """The lattice [b, rows, columns] as a smooth field [b, height, width]."""
    rows, columns = lattice.shape[-2:]
    return spline_matrix(height, rows) @ lattice @ spline_matrix(width, columns).T


def sample(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Maps [b, c, rows, columns] read bilinearly at x, y [b, h, w], both in -1..1 over the map's extent."""
    grid = torch.stack([x, y], dim=-1)
    return functional.grid_sample(maps, grid, mode="bilinear", padding_mode="border", align_corners=True)


def sample_mirrored(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Like sample, but the map goes on beyond its extent, mirrored: for fields without a frame."""
    grid = torch.stack([x, y], dim=-1)
    return functional.grid_sample(maps, grid, mode="bilinear", padding_mode="reflection", align_corners=True)
