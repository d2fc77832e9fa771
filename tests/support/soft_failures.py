"""Soft failures: where a target fails with some probability, because attributes outside the search also matter.

The rates were rendered by `benchmarks/search_soft.py`: 30,000 FaceWorld subjects, of whom a target fails on those whose
face is darkest in its middle. Rows are sixteenths of the population by skin tone, light to dark; columns are eighths of
light_level, dim to bright. The other four searched attributes do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Float

PER_MILLE: Final = {
    0.025: (
        (0, 0, 0, 0, 0, 4, 0, 0),
        (4, 0, 0, 9, 0, 0, 4, 0),
        (4, 8, 0, 0, 0, 4, 0, 4),
        (0, 0, 4, 4, 0, 0, 4, 0),
        (0, 0, 0, 5, 4, 0, 0, 0),
        (4, 4, 9, 4, 4, 4, 4, 0),
        (4, 0, 9, 0, 0, 0, 0, 0),
        (0, 4, 12, 4, 4, 0, 5, 0),
        (0, 0, 5, 0, 0, 8, 4, 0),
        (13, 12, 9, 0, 33, 4, 13, 5),
        (18, 12, 12, 9, 9, 8, 16, 8),
        (36, 17, 26, 26, 20, 12, 9, 16),
        (40, 40, 41, 42, 46, 42, 28, 19),
        (124, 37, 44, 57, 51, 27, 38, 38),
        (267, 92, 62, 83, 76, 66, 85, 56),
        (511, 201, 64, 105, 87, 106, 76, 57),
    ),
    0.055: (
        (0, 0, 0, 4, 0, 4, 4, 13),
        (8, 4, 0, 23, 0, 4, 8, 0),
        (13, 8, 4, 4, 0, 4, 0, 8),
        (0, 0, 13, 11, 0, 4, 12, 4),
        (0, 4, 5, 5, 9, 0, 0, 0),
        (13, 4, 13, 4, 4, 12, 4, 5),
        (9, 0, 13, 9, 0, 4, 0, 0),
        (9, 11, 12, 4, 8, 8, 9, 18),
        (14, 9, 5, 4, 5, 16, 8, 20),
        (22, 24, 32, 28, 33, 13, 26, 34),
        (36, 41, 25, 44, 32, 24, 36, 30),
        (82, 35, 34, 56, 71, 35, 13, 28),
        (123, 62, 98, 89, 92, 89, 80, 69),
        (257, 119, 109, 149, 134, 106, 105, 92),
        (440, 211, 171, 195, 185, 159, 145, 155),
        (709, 354, 186, 218, 233, 247, 219, 191),
    ),
}
DIMENSIONS: Final = 6


@final
@dataclass(frozen=True, slots=True)
class SoftTarget:
    """Fails at the rendered rates; the answer of each call is drawn anew, since each shows another subject."""

    rate: float
    random: np.random.Generator = field(repr=False)

    def chance(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Probability of a failure at points of the cube; coordinates 0 and 1 are skin_tone and light_level."""
        rates = np.array(PER_MILLE[self.rate]) / 1000
        tone, light = ((points[:, j] * rates.shape[j]).astype(int).clip(0, rates.shape[j] - 1) for j in (0, 1))
        return np.asarray(rates[tone, light])

    def __call__(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """1 for a failure, 0 for none."""
        return (self.random.random(len(points)) < self.chance(points)).astype(np.float64)


def soft_target(rate: float, seed: int) -> SoftTarget:
    """A target of base rate 0.025 or 0.055."""
    return SoftTarget(rate, np.random.default_rng([seed, 15]))
