"""The latent part of a search space: directions that no attribute names, one coordinate of the cube each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput
from transect.protocols import Generator
from transect.records import Attribute, Latents

DIRECTIONS: Final = 4
"""Latent coordinates that are searched by default."""
_SUBJECTS: Final = 1024
"""Subjects that principal directions are taken of: a space w+ has thousands of coordinates."""
_CHANCE: Final = 1.2
"""How far beyond the edge of chance a variance must lie to count as more than the others."""


@final
@dataclass(frozen=True, slots=True)
class LatentPart:
    """Orthonormal directions of a latent space. directions float64 [m, k]; ranked float64 [m, q]: coordinates along
    each, ascending, as a sample of subjects has them.
    """

    directions: Float[np.ndarray, "m k"]
    ranked: Float[np.ndarray, "m q"]

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """A name for each coordinate: latent_1 and so on; they mean nothing by themselves."""
        return tuple(
            Attribute(
                f"latent_{number}",
                "continuous",
                "a latent coordinate",
                "",
                float(row[0]),
                float(row[-1]),
                role="nuisance",
            )
            for number, row in enumerate(self.ranked, start=1)
        )

    def placed(self, latents: Latents, wanted: Float[np.ndarray, "n m"]) -> Latents:
        """The latents with those coordinates along the directions; what is orthogonal to them stays the subject's."""
        values = np.asarray(latents.values, dtype=np.float64)
        rows = values.reshape(len(values), -1)
        # Row by row: the last bit of one product of all rows would depend on their number.
        moved = [row + (goal - self.directions @ row) @ self.directions for row, goal in zip(rows, wanted, strict=True)]
        return replace(latents, values=np.array(moved).reshape(values.shape))


def latent_part(latents: Latents, count: int) -> LatentPart:
    """The part that `count` directions of a sample of subjects span.

    Where some directions vary more than chance lets equal ones (a space w, say) they are the first principal ones; else
    (z, u) the first coordinates, which for FaceWorld are its identity code. Coordinates with few values, a network's
    conditions, are left out. Raises BadInput for a count below 1 or beyond the coordinates that there are.
    """
    rows = np.asarray(latents.values, dtype=np.float64).reshape(len(latents), -1)
    free = np.flatnonzero([len(np.unique(column)) > len(rows) // 2 for column in rows.T])
    if not 1 <= count <= len(free):
        raise BadInput(
            f"expected --latent-dims from 1 to {len(free)}, the latent coordinates that there are, got {count}"
        )
    directions = np.zeros((count, rows.shape[1]))
    directions[:, free] = _directions(rows[:_SUBJECTS, free], count)
    return LatentPart(
        directions, np.sort([[float(direction @ row) for row in rows] for direction in directions], axis=1)
    )


def _directions(rows: Float[np.ndarray, "n k"], count: int) -> Float[np.ndarray, "m k"]:
    n, k = rows.shape
    _, singular, principal = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    # Marchenko and Pastur 1967: the largest variance that k equal ones show in n rows, as a multiple of their mean.
    edge = (1 + np.sqrt(k / n)) ** 2
    if singular[0] ** 2 <= _CHANCE * edge * (singular**2).sum() / k:
        return np.eye(k)[:count]
    signs = np.sign(principal[:, np.abs(principal).argmax(axis=1)].diagonal())
    return np.asarray(principal[:count] * signs[:count, None])


def latent_part_of(world: Generator, seeds: Int[np.ndarray, " n"], count: int) -> LatentPart:
    """The latent part of a world's subjects of these seeds. Raises BadInput as `latent_part` does."""
    return latent_part(world.sample(seeds), count)
