"""Correlated attributes: the correlation matrix of their normal scores, from common causes and pairs."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import Field

from transect.errors import BadInput
from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.marginals import Strict, known

_SMALLEST_EIGENVALUE = 1e-9
_NEAREST_FLOOR = 1e-4
_PROJECTIONS = 200


class Correlation(Strict):
    """Correlation of the normal scores of two attributes."""

    between: tuple[str, str]
    value: Annotated[float, Field(gt=-1, lt=1)]


class CommonCause(Strict):
    """What several attributes share: it correlates each two of them by the product of their loadings."""

    name: str
    loadings: dict[str, Annotated[float, Field(gt=-1, lt=1)]]


def correlation_matrix(
    where: str, causes: tuple[CommonCause, ...], correlations: tuple[Correlation, ...]
) -> Float[np.ndarray, "k k"]:
    """Products of the loadings, summed over common causes, plus the correlations given by pair; 1 on the diagonal."""
    matrix = np.zeros((len(NAMES), len(NAMES)))
    for index, cause in enumerate(causes):
        loading = np.zeros(len(NAMES))
        for name, value in cause.loadings.items():
            known(where, f"common_causes {index + 1}", name)
            loading[NAMES.index(name)] = value
        matrix += np.outer(loading, loading)
    pairs: set[frozenset[str]] = set()
    for index, item in enumerate(correlations):
        for name in item.between:
            known(where, f"correlations {index + 1}", name)
        pair = frozenset(item.between)
        if len(pair) < 2 or pair in pairs:
            raise BadInput(
                f"{where}: correlations {index + 1}: expected a new pair of attributes, got {item.between}; remove it"
            )
        pairs.add(pair)
        i, j = (NAMES.index(name) for name in item.between)
        matrix[[i, j], [j, i]] += item.value
    np.fill_diagonal(matrix, 1)
    return matrix


def cholesky(where: str, matrix: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """Lower factor L of the correlation matrix C = L Lᵀ; raises BadInput when C is not positive definite."""
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest <= _SMALLEST_EIGENVALUE:
        # I + s (C - I) has the eigenvalues 1 + s (λ - 1): positive definite while s < 1 / (1 - λ_min).
        limit = np.floor(1000 / (1 - smallest) - 1e-9) / 1000
        raise BadInput(
            f"{where}: correlations: expected a positive definite matrix, got smallest eigenvalue {smallest:.3g};"
            f" multiplied by {limit:g} or less they would be; the nearest that are: {_changes(matrix)}"
        )
    return np.linalg.cholesky(matrix)


def _changes(matrix: Float[np.ndarray, "k k"], shown: int = 4) -> str:
    """The pairs that the nearest correlation matrix changes most, with their values there."""
    nearest = nearest_correlation(matrix)
    changes = np.triu(np.abs(nearest - matrix), 1)
    order = np.argsort(-changes, axis=None, kind="stable")[:shown]
    rows, columns = (index.tolist() for index in np.unravel_index(order, changes.shape))
    pairs = [(i, j) for i, j in zip(rows, columns, strict=True) if changes[i, j] > 0.005]
    return ", ".join(f"{NAMES[i]} with {NAMES[j]} {nearest[i, j]:.2f}" for i, j in pairs)


def nearest_correlation(matrix: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """The correlation matrix nearest to a symmetric matrix in the Frobenius norm, with eigenvalues >= 1e-4.

    Alternating projections on the two convex sets with Dykstra's correction: Higham 2002, Computing the nearest
    correlation matrix, doi:10.1093/imanum/22.3.329.
    """
    y, correction = matrix.copy(), np.zeros_like(matrix)
    for _ in range(_PROJECTIONS):
        r = y - correction
        eigenvalues, vectors = np.linalg.eigh(r)
        x = (vectors * np.maximum(eigenvalues, _NEAREST_FLOOR)) @ vectors.T
        correction = x - r
        y = x.copy()
        np.fill_diagonal(y, 1)
    return y
