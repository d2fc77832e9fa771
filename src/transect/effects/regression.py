"""What all regressions share: which coefficients the data determine, errors by subject, and the way to `Effect`.

A coefficient is determined when no linear combination of the columns that contains it is 0 on every row; those that
are not become NaN with the columns named, and the others keep their (unique) values. Liang and Zeger 1986; the
small-sample factor G / (G - 1) * (n - 1) / (n - k) and Student's t with G - 1 degrees of freedom are those of Cameron
and Miller 2015. Where a coefficient rests on few subjects, least squares and likelihoods have bias-reduced errors with
Satterthwaite's degrees of freedom. Other estimators have the smaller arm's subjects less 1 where an arm of a column of
two values has fewer than 10; with one subject in an arm there is no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtr, stdtrit

from transect.effects import few_subjects
from transect.effects.samples import Labels, Sample
from transect.records import Effect

INTERCEPT: Final = "intercept"
CLUSTERED: Final = "Student t on errors clustered by subject"
WALD: Final = "Wald test on errors clustered by subject"
CLUSTER_SOURCE: Final = (
    "Cameron and Miller 2015, A practitioner's guide to cluster-robust inference, doi:10.3368/jhr.50.2.317"
)
ONE_SUBJECT: Final = "one subject: no interval"

_DEPENDENT: Final = 1e-9
_LOADING: Final = 1e-6


@final
@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients [k], their covariance [k, k] and whether each is determined; reasons: why one is NaN, "" else.

    freedom: degrees of freedom [k] of bias-reduced errors, None where errors are the usual ones.
    """

    coefficients: Float[np.ndarray, " k"]
    covariance: Float[np.ndarray, "k k"]
    reasons: tuple[str, ...]
    details: Mapping[str, object] = field(default_factory=dict)
    freedom: Float[np.ndarray, " k"] | None = None


@final
@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient of a fit: estimate, variance, why it is NaN ("" else), degrees of freedom if bias-reduced."""

    name: str
    estimate: float
    variance: float
    reason: str = ""
    freedom: float | None = None

    @classmethod
    def of(cls, fit: Fit, place: int, name: str) -> Coefficient:
        """The coefficient at one place of a fit."""
        return cls(
            name,
            float(fit.coefficients[place]),
            float(fit.covariance[place, place]),
            fit.reasons[place],
            None if fit.freedom is None else float(fit.freedom[place]),
        )


def undetermined(x: Float[np.ndarray, "n k"], names: Sequence[str]) -> tuple[str, ...]:
    """For each column why its coefficient is not determined by the rows, "" where it is."""
    null = _null_space(x)
    reasons = [""] * x.shape[1]
    for place in np.flatnonzero((np.abs(null) > _LOADING).any(axis=0)).tolist():
        # Columns that move with this one inside the null space share a dependence with it.
        shared = np.flatnonzero(np.abs(null.T @ null[:, place]) > _LOADING**2).tolist()
        reasons[place] = _dependence([names[partner] for partner in shared])
    return tuple(reasons)


def independent(x: Float[np.ndarray, "n k"]) -> Int[np.ndarray, " r"]:
    """Places of a largest set of linearly independent columns, earlier ones first."""
    chosen: list[int] = []
    basis = np.empty(x.shape[::-1])
    for place, column in enumerate(x.T):
        known = basis[: len(chosen)]
        rest = column - (known @ column) @ known
        rest -= (known @ rest) @ known
        if float(np.linalg.norm(rest)) > _DEPENDENT * max(float(np.linalg.norm(column)), 1e-300):
            basis[len(chosen)] = rest / np.linalg.norm(rest)
            chosen.append(place)
    return np.array(chosen, dtype=np.int64)


def _null_space(x: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "d k"]:
    """Orthonormal rows that span the combinations of the (scaled) columns that are 0 in every row."""
    size = np.linalg.norm(x, axis=0)
    scaled = x / np.where(size > 0, size, 1.0)
    _, singular, right = np.linalg.svd(scaled, full_matrices=len(x) < x.shape[1])
    return np.asarray(right[int((singular > _DEPENDENT * singular.max(initial=1e-300)).sum()) :])


def _dependence(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"not determined: {names[0]} is 0 in every row"
    return f"not determined: {', '.join(names[:-1])} and {names[-1]} are linearly dependent"


def with_intercept(x: Float[np.ndarray, "n k"], names: Sequence[str]) -> tuple[Float[np.ndarray, "n p"], list[str]]:
    """The columns with a first column of ones."""
    return np.column_stack([np.ones(len(x)), x]), [INTERCEPT, *names]


def group_sums(
    values: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"], n_groups: int
) -> Float[np.ndarray, "g k"]:
    """Sum of the rows of each group."""
    return np.stack([np.bincount(groups, weights=column, minlength=n_groups) for column in values.T], axis=1)


def clustered_covariance(
    scores: Float[np.ndarray, "n k"], bread: Float[np.ndarray, "k k"], sample: Sample, rank: int
) -> Float[np.ndarray, "k k"]:
    """Sandwich covariance of estimates whose estimating functions are `scores`, summed by subject; NaN with one."""
    n, g = len(sample), sample.n_groups
    if g < 2 or n <= rank:
        return np.full(bread.shape, np.nan)
    sums = group_sums(scores, sample.groups, g)
    factor = g / (g - 1) * (n - 1) / (n - rank)
    return np.asarray(factor * bread @ (sums.T @ sums) @ bread.T)


def interval(estimate: float, error: float, freedom: float, confidence: float) -> tuple[float, float, float]:
    """Low, high and two-sided p of estimate / error by Student's t; NaN where there is no error."""
    if not (error > 0 and freedom >= 1):
        return np.nan, np.nan, np.nan
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return estimate - half, estimate + half, float(2 * stdtr(freedom, -abs(estimate / error)))


def coefficient_effects(
    fit: Fit,
    sample: Sample,
    labels: Labels,
    *,
    method: str,
    per: Callable[[str], str],
    sources: Sequence[str],
    confidence: float,
    names: Sequence[str] | None = None,
) -> tuple[Effect, ...]:
    """One effect per name (default: the sample's), whose coefficients are the fit's last ones in that order."""
    called = tuple(sample.names if names is None else names)
    first = len(fit.coefficients) - len(called)
    return tuple(
        coefficient_effect(
            Coefficient.of(fit, first + place, name),
            sample,
            labels,
            method=method,
            unit=per(name),
            sources=sources,
            confidence=confidence,
            details=fit.details,
        )
        for place, name in enumerate(called)
    )


def coefficient_effect(
    coefficient: Coefficient,
    sample: Sample,
    labels: Labels,
    *,
    method: str,
    unit: str,
    sources: Sequence[str],
    confidence: float,
    details: Mapping[str, object],
    kind: str = "slope",
) -> Effect:
    """The effect of one coefficient; its numbers are NaN where a reason says that it, or its error, is missing."""
    name, estimate, variance, freedom = (
        coefficient.name,
        coefficient.estimate,
        coefficient.variance,
        coefficient.freedom,
    )
    stated = coefficient.reason or sample.reason
    error = float(np.sqrt(variance)) if variance > 0 else np.nan
    few, most = _few(sample, name)
    reduced = freedom is not None
    low, high, p = interval(estimate, np.nan if few else error, freedom if freedom is not None else most, confidence)
    if stated:
        estimate = low = high = p = np.nan
    alone = ONE_SUBJECT if sample.n_groups == 1 else "" if np.isfinite(low) else "the errors cannot be estimated"
    return Effect(
        name=f"{name}: {method}",
        attribute=name,
        target=labels.target,
        outcome=labels.outcome,
        estimate=estimate,
        low=low,
        high=high,
        p=p,
        unit=unit,
        n_subjects=sample.n_groups,
        n_images=len(sample),
        kind=kind,
        origin=0.0 if kind == "contrast" else np.nan,
        to=1.0 if kind == "contrast" else np.nan,
        basis=labels.basis,
        excluded=dict(sample.excluded),
        reason=stated or few or alone,
        interval_method=(few_subjects.CLUSTERED if reduced else CLUSTERED) if np.isfinite(low) else "",
        test_method=(few_subjects.WALD if reduced else WALD) if np.isfinite(p) else "",
        spec={"estimator": method, "confidence": confidence, "standard_error": error, **details},
        sources=(*sources, few_subjects.SOURCE if reduced else CLUSTER_SOURCE),
    )


def _few(sample: Sample, name: str) -> tuple[str, int]:
    """Why a column's coefficient has no interval ("" where it has), and its degrees of freedom by subjects."""
    freedom = sample.n_groups - 1
    arm = (
        few_subjects.smaller_arm(sample.x[:, sample.names.index(name)], sample.groups) if name in sample.names else None
    )
    if arm is None or freedom < 1:
        return "", freedom
    subjects, level = arm
    alone = f"one subject where {name} is {level:g}: no interval" if subjects < 2 else ""
    return alone, subjects - 1 if subjects < few_subjects.FEW else freedom
