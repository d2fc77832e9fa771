"""Balakrishnan et al. 2020 as printed: the cyclic projection, and Algorithm 1, against which the closed forms are tested."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from transect.controls.directions import Hyperplanes, check_independent
from transect.errors import BadInput


def dual_directions(planes: Hyperplanes) -> Float[np.ndarray, "K d"]:
    """Unit directions v_j with v_j ⟂ n_k for every k ≠ j, and v_j·n_j > 0: the rows of the transposed pseudo-inverse."""
    check_independent(planes)
    dual = np.linalg.pinv(planes.normals).T
    return np.asarray(dual / np.linalg.norm(dual, axis=1, keepdims=True))


def project(z: Float[np.ndarray, "n d"], planes: Hyperplanes) -> Float[np.ndarray, "n d"]:
    """The nearest point of the intersection of all hyperplanes, in closed form: z - N⁺(N z + b).

    The paper iterates, knowing no closed form; its iteration has this limit. Raises BadInput
    where the normals are collinear.
    """
    check_independent(planes)
    return np.asarray(z - planes.decisions(z) @ np.linalg.pinv(planes.normals).T)


def project_cyclically(
    z: Float[np.ndarray, "n d"], planes: Hyperplanes, tolerance: float = 1e-6, steps: int = 100_000
) -> tuple[Float[np.ndarray, "n d"], int]:
    """The paper's iteration: onto one hyperplane after the other, until all decisions are within the tolerance of 0.

    Returns the points and the number of single projections, at most `steps`.
    """
    sweeps = 0
    while np.abs(planes.decisions(z)).max(initial=0) > tolerance and sweeps < steps:
        k = sweeps % len(planes.names)
        normal = planes.normals[k]
        z = z - (z @ normal + planes.offsets[k])[:, None] * normal
        sweeps += 1
    return z, sweeps


def at_decisions(
    z: Float[np.ndarray, "n d"],
    planes: Hyperplanes,
    decisions: Float[np.ndarray, "cells K"],
    directions: Float[np.ndarray, "K d"] | None = None,
) -> Float[np.ndarray, "n cells d"]:
    """Algorithm 1: each latent, projected onto the intersection, then moved to each cell's signed decision values.

    directions: v_k; the dual ones by default, with which cells have exactly their values. With others the k-th step
    still moves the k-th decision by its value, and others along with it. Raises BadInput where normals are collinear or
    a direction does not move its own attribute.
    """
    steps = dual_directions(planes) if directions is None else np.asarray(directions, dtype=np.float64)
    scales = (steps * planes.normals).sum(axis=1)
    if (np.abs(scales) < 1e-9).any():
        still = ", ".join(name for name, move in zip(planes.names, scales, strict=True) if abs(move) < 1e-9)
        raise BadInput(f"directions: expected each to move its own attribute, got none for {still}; fit them again")
    moves = decisions @ (steps / scales[:, None])
    return np.asarray(project(z, planes)[:, None, :] + moves[None])
