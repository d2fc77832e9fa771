"""The fields that make surfaces irregular: skin, strands, cloth, backdrop.

Each is white normal noise on a fixed lattice, drawn from the subject's own stream: independent of the image size,
the batch and the other attributes, and always drawn in full, used or not. Cubic B-splines make it a smooth field.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.chance import Stream, fine_noise
from transect.generators.faceworld.products import products

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
    """Cubic B-spline weights [points + beyond, knots] of pixel centers; rows sum to 1.

    The first `points` are spread evenly over the span of the knots. spans: how many points' distances each of them
    averages over.
    """
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


def sample(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Maps [b, c, rows, columns] read bilinearly at x, y [b, h, w], both in -1..1 over the map's extent."""
    return _read(maps, x, y, "border")


def sample_mirrored(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Like sample, but the map continues beyond its extent, mirrored: for fields without a frame."""
    return _read(maps, x, y, "reflection")


def _read(maps: Tensor, x: Tensor, y: Tensor, padding: str) -> Tensor:
    # Coordinates one after the other: interleaving them takes longer than reading the map.
    grid = torch.stack([x, y], dim=1).permute(0, 2, 3, 1)
    return functional.grid_sample(maps, grid, mode="bilinear", padding_mode=padding, align_corners=True)
