"""Blocks of distances as matrix products, with bounds on what rounding can have done to them."""

from __future__ import annotations

from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.matching.sample import in_blocks

_SAFETY: Final = 16.0
"""Standard errors of a rounded sum allowed for: roundings add up like a random walk (Higham and Mary 2019)."""


@final
class Space:
    """Features centred at their mean and scaled so that no norm exceeds 1, read block by block."""

    def __init__(self, features: Float[np.ndarray, "n d"], rows: Int[np.ndarray, " m"], double: bool) -> None:
        """rows: the images that will be asked for. double: multiply in float64 instead of float32."""
        self.features, self.double = features, double
        size = max(1, (1 << 23) // features.shape[1])
        parts = [rows[part] for part in in_blocks(len(rows), size)]
        self.center = sum(np.asarray(features[part], dtype=np.float64).sum(axis=0) for part in parts) / len(rows)
        norms = [np.linalg.norm(np.asarray(features[part], dtype=np.float64) - self.center, axis=1) for part in parts]
        self.scale = float(max(part.max() for part in norms)) or 1.0
        self.unit = float(np.finfo(np.float64 if double else np.float32).eps)
        self.margin = self.unit * (2 * _SAFETY * np.sqrt(features.shape[1]) + 8)

    def block(self, rows: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
        """Centred and scaled features of some images."""
        kind = np.float64 if self.double else np.float32
        values: np.ndarray = np.array(self.features[rows], dtype=kind)
        values -= self.center.astype(kind)
        values *= values.dtype.type(1 / self.scale)
        return values

    def lower_bounds(
        self, rows: Float[np.ndarray, "m d"], columns: Float[np.ndarray, "b d"]
    ) -> Float[np.ndarray, "m b"]:
        """At most the distance of every row of `rows` to every row of `columns`, in the features' unit.

        The squared distance |x|² + |y|² - 2 x·y of vectors of norm 1 at most has lost at most `margin`; rounding on
        entry moved each vector by at most rows unit.
        """
        bounds: np.ndarray = rows @ columns.T
        bounds *= -2
        bounds += (columns * columns).sum(axis=1)[None, :]
        bounds += ((rows * rows).sum(axis=1) - bounds.dtype.type(self.margin))[:, None]
        np.sqrt(np.maximum(bounds, 0, out=bounds), out=bounds)
        bounds -= 4 * self.unit
        np.maximum(bounds, 0, out=bounds)
        bounds *= bounds.dtype.type(self.scale * (1 - 4 * self.unit))
        return bounds
