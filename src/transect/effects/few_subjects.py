"""How certain is a coefficient that rests on few subjects? Bias-reduced errors with Satterthwaite's degrees of freedom.

The sandwich by subject is too small where one arm of a treatment has few subjects: their residuals are near 0 because
the fit follows them. CR2 scales each subject's residuals by what the fit took from them (Bell and McCaffrey 2002).
The same holds of a skewed attribute: degrees of freedom go by leverage, not by the number of subjects (Pustejovsky and
Tipton 2018, Small-sample methods for cluster-robust variance estimation, doi:10.1080/07350015.2016.1247004).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

FEW: Final = 10
"""Least subjects in an arm for degrees of freedom by all subjects, where errors are not bias-reduced."""
MANY: Final = 50
"""Errors are bias-reduced where a coefficient rests on fewer subjects than this, counted as equally telling ones."""
CLUSTERED: Final = "Student t on bias-reduced errors clustered by subject"
WALD: Final = "Wald test on bias-reduced errors clustered by subject"
SOURCE: Final = (
    "Bell and McCaffrey 2002, Bias reduction in standard errors for linear regression with multi-stage samples, "
    "Survey Methodology 28(2)"
)
_TAKEN: Final = 1e-9


def smaller_arm(column: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]) -> tuple[int, float] | None:
    """Subjects of the arm of a two-valued column that has fewer of them, and the arm's value; None for others."""
    arms = _arms(column)
    if arms is None:
        return None
    return min((int(np.count_nonzero(np.bincount(groups[arm]))), float(column[arm][0])) for arm in arms)


def telling_subjects(x: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"]) -> float:
    """How many equally telling subjects the least supported slope rests on, (sum of s)² / sum of s² (Kish 1965)."""
    q, r = np.linalg.qr(x)
    weights = (q @ np.linalg.inv(r).T)[:, min(1, x.shape[1] - 1) :]
    shares = sums_by(weights**2, groups)
    return float((shares.sum(axis=0) ** 2 / (shares**2).sum(axis=0)).min())


def _arms(column: Float[np.ndarray, " n"]) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]] | None:
    """The rows of the lower and of the higher value of a column of two values; None for other columns."""
    if not len(column):
        return None
    low = column == column.min()
    high = column == column.max()
    return (low, high) if bool((low ^ high).all()) else None


def reduce(
    covariance: Float[np.ndarray, "k k"],
    x: Float[np.ndarray, "n k"],
    residual: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " k"] | None:
    """Puts `bias_reduced` in place of a covariance where few subjects carry a coefficient; its degrees of freedom."""
    if not np.isfinite(covariance).all() or telling_subjects(x, groups) >= MANY:
        return None
    covariance[:], freedom = bias_reduced(x, residual, groups)
    return freedom


def bias_reduced(
    x: Float[np.ndarray, "n k"], residual: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, " k"]]:
    """CR2 covariance of least-squares coefficients and the degrees of freedom of each, errors by subject."""
    q, r = np.linalg.qr(x)
    inverse = np.linalg.inv(r)
    moments = np.stack([sums_by(q * q[:, [place]], groups) for place in range(q.shape[1])], axis=1)
    eigenvalues, vectors = np.linalg.eigh(moments)
    remainder = 1 - eigenvalues
    scale = np.where(remainder > _TAKEN, np.maximum(remainder, _TAKEN) ** -0.5, 0.0)
    # On a subject's rows (I - QQ')^(-1/2) acts within the span of its Q alone: k by k, however many images it has.
    turned = np.einsum("gij,gj,gkj->gik", vectors, scale, vectors)
    scores = np.einsum("gij,gj->gi", turned, sums_by(q * residual[:, None], groups))
    covariance = inverse @ (scores.T @ scores) @ inverse.T
    return covariance, np.array([_freedom(turned @ row, moments) for row in inverse])


def _freedom(direction: Float[np.ndarray, "g k"], moments: Float[np.ndarray, "g k k"]) -> float:
    """(sum of λ)² / sum of λ², λ the eigenvalues of diag(size) - BB' whose quadratic form the variance is."""
    b = np.einsum("gij,gj->gi", moments, direction)
    size = (direction * b).sum(axis=1)
    squared_norms = (b**2).sum(axis=1)
    squares = float((size**2).sum() - 2 * (size * squared_norms).sum() + ((b.T @ b) ** 2).sum())
    trace = float((size - squared_norms).sum())
    return trace**2 / squares if squares > 0 else np.nan


def sums_by(values: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"]) -> Float[np.ndarray, "g k"]:
    """Sums of the rows of each group, groups numbered 0 to G - 1."""
    return np.stack([np.bincount(groups, weights=column) for column in values.T], axis=1)
