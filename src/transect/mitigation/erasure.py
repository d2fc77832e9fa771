"""Least-squares concept erasure (LEACE): the smallest change of a representation after which no linear model can tell.

Source: Belrose et al. 2023, LEACE: Perfect linear concept erasure in closed form, arXiv:2306.03819, theorem 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput

_SMALLEST = 1e-10
"""Directions whose share of the largest variance is smaller count as none."""

_UNCORRELATED = 1e-7
"""Correlations with the classes that are smaller are of rounding."""


@final
@dataclass(frozen=True)
class Eraser:
    """x ► x - change (x - center). `rank`: how many directions are lost, at most the classes less one."""

    change: Float[np.ndarray, "d d"]
    center: Float[np.ndarray, " d"]
    rank: int

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The representation without the concept. Raises BadInput for another width."""
        if x.ndim != 2 or x.shape[1] != len(self.center):
            raise BadInput(f"expected a representation [n, {len(self.center)}], got {list(x.shape)}")
        return np.asarray(x - (x - self.center) @ self.change.T)


def fit_eraser(x: Float[np.ndarray, "n d"], protected: Int[np.ndarray, " n"]) -> Eraser:
    """The eraser of the protected classes from a representation.

    With W = Σ_xx^(-1/2) (pseudo-inverse) and P the projection on the columns of W Σ_xz, x becomes
    x - W⁺ P W (x - E x). Afterwards the classes have one mean, which is the same as that no linear model with any
    convex loss beats a constant; of all affine maps with that property it moves x least, in every norm. Held-out items
    differ by what the estimated covariances miss: with n near d, much.
    """
    classes = np.unique(protected)
    if len(classes) < 2:
        raise BadInput(f"protected: expected at least two classes, got {len(classes)}; there is nothing to erase")
    if len(x) != len(protected) or not np.isfinite(x).all():
        raise BadInput(f"expected {len(protected)} rows of finite numbers, got {list(x.shape)} or NaN; fix them")
    center = x.mean(axis=0)
    apart = x - center
    coded = (protected[:, None] == classes[None]).astype(np.float64)
    across = apart.T @ (coded - coded.mean(axis=0)) / len(x)
    variances, axes = np.linalg.eigh(apart.T @ apart / len(x))
    large = variances > _SMALLEST * variances.max()
    roots = np.sqrt(variances[large])
    whiten = (axes[:, large] / roots) @ axes[:, large].T
    back = (axes[:, large] * roots) @ axes[:, large].T
    left, sizes, _ = np.linalg.svd(whiten @ across, full_matrices=False)
    basis = left[:, sizes > _UNCORRELATED]
    return Eraser(back @ basis @ basis.T @ whiten, center, basis.shape[1])
