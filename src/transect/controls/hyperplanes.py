"""Attribute hyperplanes in a latent space: decision values, projection onto all at once, directions that leave others.

Source: Balakrishnan et al. 2020, arXiv:2007.06570, §4.1 with its Algorithms 1 and 2. Axes: n latents, d dimensions, K
hyperplanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput

LARGEST_CONDITION = 1e3
"""Of the normals, as of two that are a ninth of a degree apart; beyond it a step that leaves one attribute alone is
a thousand times as long as one along its normal, and attributes cannot be told apart in this latent space."""


@dataclass(frozen=True, slots=True)
class Hyperplanes:
    """One hyperplane n·z + b = 0 per attribute, with unit normals [K, d] and offsets [K]."""

    names: tuple[str, ...]
    normals: Float[np.ndarray, "K d"]
    offsets: Float[np.ndarray, " K"]

    @classmethod
    def of(
        cls, names: Sequence[str], coefficients: Float[np.ndarray, "K d"], intercepts: Float[np.ndarray, " K"]
    ) -> Hyperplanes:
        """From the coefficients of linear models, of any length: both are divided by it."""
        normals, offsets = np.asarray(coefficients, dtype=np.float64), np.asarray(intercepts, dtype=np.float64)
        if normals.ndim != 2 or len(normals) != len(names) or offsets.shape != (len(names),):
            shapes = f"coefficients {list(normals.shape)} and intercepts {list(offsets.shape)}"
            raise BadInput(f"hyperplanes: expected a row and a number for each of {len(names)} names, got {shapes}")
        lengths = np.linalg.norm(normals, axis=1)
        unsound = ~(np.isfinite(lengths) & np.isfinite(offsets) & (lengths > 0))
        if unsound.any():
            affected = ", ".join(name for name, bad in zip(names, unsound, strict=True) if bad)
            raise BadInput(
                f"hyperplanes: expected finite normals that are not 0, got others for {affected}; fit them again"
            )
        return cls(tuple(names), normals / lengths[:, None], offsets / lengths)

    def decisions(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n K"]:
        """Signed distance of each latent to each hyperplane."""
        return np.asarray(z @ self.normals.T + self.offsets)


def angles(normals: Float[np.ndarray, "K d"]) -> Float[np.ndarray, "K K"]:
    """Degrees between directions.

    >>> angles(np.array([[1.0, 0.0], [0.0, 2.0]])).round().tolist()
    [[0.0, 90.0], [90.0, 0.0]]
    """
    unit = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(np.degrees(np.arccos(np.clip(unit @ unit.T, -1, 1))))


def dual_directions(planes: Hyperplanes) -> Float[np.ndarray, "K d"]:
    """Unit directions v_j with v_j ⟂ n_k for every k ≠ j, and v_j·n_j > 0: the rows of the transposed pseudo-inverse.

    Of all directions that leave the other decision values alone, v_j is the nearest to n_j.
    """
    _check_independent(planes)
    dual = np.linalg.pinv(planes.normals).T
    return np.asarray(dual / np.linalg.norm(dual, axis=1, keepdims=True))


def steps_along(planes: Hyperplanes, ways: Float[np.ndarray, "K d"]) -> Float[np.ndarray, "K d"]:
    """Steps s_j with s_j·n_j = 1 and s_j·n_k = 0 for every k ≠ j, each a combination of the ways.

    With the normals as ways: the dual directions. Raises BadInput for attributes that the ways do not tell apart.

    >>> planes = Hyperplanes.of(["a", "b"], np.array([[1.0, 0.0], [1.0, 1.0]]), np.zeros(2))
    >>> steps_along(planes, planes.normals).round(3).tolist()
    [[1.0, -1.0], [0.0, 1.414]]
    """
    _check_independent(planes)
    through = ways / (ways * planes.normals).sum(axis=1, keepdims=True)
    across = planes.normals @ through.T
    if not np.linalg.cond(across) <= LARGEST_CONDITION:
        raise BadInput(
            f"directions: expected attributes that vary apart in the latent space, got {', '.join(planes.names)} "
            f"(condition number {np.linalg.cond(across):.2g}); drop some of them"
        )
    return np.asarray(np.linalg.solve(across.T, through))


def _check_independent(planes: Hyperplanes) -> None:
    condition = float(np.linalg.cond(planes.normals)) if len(planes.names) <= planes.normals.shape[1] else np.inf
    if condition <= LARGEST_CONDITION:
        return
    turns, lengths, _ = np.linalg.svd(planes.normals)
    lengths = np.pad(lengths, (0, len(planes.names) - len(lengths)))  # more attributes than dimensions
    weights = np.linalg.norm(turns[:, lengths < lengths[0] / LARGEST_CONDITION], axis=1)
    involved = ", ".join(name for name, w in zip(planes.names, weights, strict=True) if w > 0.1 * weights.max())
    raise BadInput(
        f"directions: expected attributes that differ in the latent space, got collinear {involved}"
        f" (condition number {condition:.2g}); drop one of them"
    )
