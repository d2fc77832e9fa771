"""Modified Poisson regression with errors by subject, the logistic likelihood, and separation by linear programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike
from scipy.special import expit

from transect.effects import regression
from transect.effects.clusters import reduce
from transect.effects.regression import Fit, independent, no_fit, why_undetermined
from transect.effects.samples import Columns, Labels, Sample, complete
from transect.errors import BadInput
from transect.records import Effect

SEPARATION_SOURCE: Final = (
    "Albert and Anderson 1984, On the existence of maximum likelihood estimates in logistic regression models, "
    "doi:10.1093/biomet/71.1.1"
)

_LIKELIHOOD_STEP: Final = 1e-10
_MOST_STEPS: Final = 200
_INFINITE: Final = 1e-7
_LEVEL: Final = 1e-10


@final
@dataclass(frozen=True, slots=True)
class Family:
    """A likelihood with its canonical link: mean and variance of the outcome from the linear predictor."""

    name: str
    mean: Callable[[np.ndarray], np.ndarray]
    variance: Callable[[np.ndarray], np.ndarray]
    log_likelihood: Callable[[np.ndarray, np.ndarray], np.ndarray]


def _poisson_likelihood(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    return np.asarray(y * eta - np.exp(np.minimum(eta, 700.0)))


LOGIT: Final = Family("logit", expit, lambda mu: mu * (1 - mu), lambda y, eta: y * eta - np.logaddexp(0.0, eta))
POISSON: Final = Family("Poisson", lambda eta: np.exp(np.minimum(eta, 700.0)), lambda mu: mu, _poisson_likelihood)


def maximise(
    x: Float[np.ndarray, "n k"],
    y: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    family: Family,
    penalty: Float[np.ndarray, " k"] | None = None,
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k k"]]:
    """Coefficients that maximise the weighted log-likelihood minus penalty * coefficient^2 / 2; inverse Hessian."""
    ridge = np.zeros(x.shape[1]) if penalty is None else penalty
    beta = np.zeros(x.shape[1])

    def value(b: np.ndarray) -> float:
        return float(weights @ family.log_likelihood(y, x @ b) - ridge @ b**2 / 2)

    reached = value(beta)
    for _ in range(_MOST_STEPS):
        gradient, hessian = _derivatives(x, y, weights, family, ridge, beta)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        size = 1.0
        while (tried := value(beta + size * step)) < reached - 1e-12 * abs(reached) and size > 1e-8:
            size /= 2
        beta, reached = beta + size * step, tried
        if np.abs(size * step).max(initial=0.0) <= _LIKELIHOOD_STEP * max(1.0, np.abs(beta).max(initial=0.0)):
            break
    return beta, np.linalg.pinv(_derivatives(x, y, weights, family, ridge, beta)[1], hermitian=True)


def _derivatives(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, family: Family, ridge: np.ndarray, beta: np.ndarray
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k k"]]:
    mu = family.mean(x @ beta)
    gradient = x.T @ (weights * (y - mu)) - ridge * beta
    return gradient, x.T @ ((weights * family.variance(mu))[:, None] * x) + np.diag(ridge)


@final
@dataclass(frozen=True, slots=True)
class Separation:
    """infinite: names of the columns whose maximum-likelihood coefficients are infinite; none where a maximum exists.

    overlapping: bool [n], the rows that no such combination of columns predicts without error; the finite coefficients
    are those of these rows.
    """

    infinite: tuple[str, ...]
    overlapping: Bool[np.ndarray, " n"]


def separation(
    x: Float[np.ndarray, "n k"], y: Float[np.ndarray, " n"], names: Sequence[str], ceiling: float | None = 1.0
) -> Separation:
    """Which combinations of columns say the outcome without error."""
    determined = independent(x)
    top = np.zeros(len(y), dtype=bool) if ceiling is None else y == ceiling
    marked = np.column_stack([x[:, determined] / np.maximum(np.abs(x[:, determined]).max(axis=0), 1e-300), y > 0, top])
    pattern, place = np.unique(marked, axis=0, return_inverse=True)
    # Along a separating direction no likelihood falls: the predictor rises nowhere at 0, falls nowhere at the top.
    full, fixed = pattern[:, -1] > 0, (pattern[:, -2] > 0) & (pattern[:, -1] == 0)
    falls = np.where(full[:, None], -pattern[:, :-2], pattern[:, :-2])
    open_rows = np.ones(len(pattern), dtype=bool)
    while (separated := _separated(falls, open_rows, fixed)).any():
        open_rows &= ~separated
    infinite = np.zeros(len(determined), dtype=bool) if open_rows.all() else _unbounded(falls[open_rows])
    return Separation(
        tuple(names[column] for column, moves in zip(determined, infinite, strict=True) if moves),
        open_rows[place.reshape(-1)],
    )


def _separated(falls: np.ndarray, open_rows: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Open patterns whose outcome some direction predicts, at the direction that predicts most in sum."""
    if not open_rows.any():
        return np.zeros_like(open_rows)
    direction = _program(falls[open_rows].sum(axis=0), falls[open_rows & ~fixed], falls[open_rows & fixed])
    return np.asarray(open_rows & (falls @ direction < -_INFINITE))


def _unbounded(overlapping: np.ndarray) -> Bool[np.ndarray, " k"]:
    """Which coordinates differ from 0 in some separating direction, from the patterns that overlap."""
    _, sizes, directions = np.linalg.svd(np.linalg.qr(overlapping, mode="r"))
    level = directions[int((sizes > _LEVEL * sizes.max(initial=0.0)).sum()) :]
    return np.asarray(np.abs(level).max(axis=0, initial=0.0) > _INFINITE)


def _program(objective: np.ndarray, falls: np.ndarray, level: np.ndarray) -> Float[np.ndarray, " k"]:
    """The direction in [-1, 1]^k with falls @ b <= 0 and level @ b = 0 at which the objective is least."""
    from scipy.optimize import linprog

    some = {"A_ub": falls, "b_ub": np.zeros(len(falls))} if len(falls) else {}
    equal = {"A_eq": level, "b_eq": np.zeros(len(level))} if len(level) else {}
    return np.asarray(linprog(objective, **some, **equal, bounds=(-1.0, 1.0), method="highs").x)


POISSON_SOURCE: Final = (
    "Zou 2004, A modified Poisson regression approach to prospective studies with binary data, doi:10.1093/aje/kwh090"
)
SURE: Final = 12.0
"""Linear predictors beyond ∓12 (probabilities of 6 in a million) make the search for separation worth its time."""

_LEAST_VARIANCE: Final = 1e-12


def poisson(y: ArrayLike, x: Columns, *, clusters: ArrayLike | None = None) -> tuple[Effect, ...]:
    """Poisson regression with errors by subject: log rate per unit of each column; exp(estimate) is a ratio of rates.

    Of 0/1 outcomes this is the modified Poisson regression, whose exp(estimate) is a risk ratio.

    Returns one Effect per column, in order; NaN with the reason where no maximum exists.

    Raises BadInput where lengths differ, a column is text or an outcome is negative.

    >>> effects = poisson([1.0, 3.0, 2.0, 6.0], {"beard": [0.0, 0.0, 1.0, 1.0]})
    >>> bool(np.isclose(effects[0].estimate, np.log(2)))  # mean 4 against mean 2
    True
    """
    sample = complete(y, x, clusters=clusters)
    if len(sample) and sample.y.min() < 0:
        raise BadInput(f"poisson: expected outcomes of 0 or more, got {sample.y.min():g}; see ols")
    fit = _fit(sample)
    separated = (SEPARATION_SOURCE,) if "rows_without_error" in fit.details else ()
    return regression.coefficient_effects(
        fit,
        sample,
        Labels(),
        method="Poisson",
        per=lambda name: f"log rate per unit of {name}",
        sources=(POISSON_SOURCE, *separated),
        confidence=0.95,
    )


def _fit(sample: Sample) -> Fit:
    """Maximum quasi-likelihood with an intercept first; NaN with the reason where there is no maximum."""
    x, names = regression.with_intercept(sample.x, sample.names)
    if sample.reason:
        return no_fit(len(names), sample.reason)
    if np.ptp(sample.y) == 0:
        return no_fit(len(names), constant_outcome(sample))
    reasons = why_undetermined(sample)
    fit = _maximum(x, sample, np.ones(len(sample), dtype=bool), reasons)
    if np.nanmax(np.abs(x @ np.nan_to_num(fit.coefficients))) <= SURE:
        return fit
    separated = separation(x, sample.y, names, None)
    if separated.overlapping.all():
        return fit
    # Why the infinite coefficients are NaN.
    shown = ", ".join(_by_themselves(sample, separated.infinite) or separated.infinite)
    text = f"complete separation by {shown}: no finite estimate"
    notes = tuple(
        reason or (text if name in separated.infinite else "") for reason, name in zip(reasons, names, strict=True)
    )
    details = {"rows_without_error": int((~separated.overlapping).sum())}
    return replace(_maximum(x, sample, separated.overlapping, notes), details=details)


def _maximum(
    x: Float[np.ndarray, "n k"], sample: Sample, rows: Bool[np.ndarray, " n"], reasons: tuple[str, ...]
) -> Fit:
    """Coefficients on these rows; NaN for those that have a reason, or all where the rows say nothing."""
    if not rows.any() or np.ptp(sample.y[rows]) == 0:
        return replace(no_fit(len(reasons), ""), reasons=reasons)
    determined = regression.independent(x[rows])
    beta, bread = maximise(x[:, determined], sample.y, rows.astype(np.float64), POISSON)
    mu = POISSON.mean(x[:, determined] @ beta)
    scores = x[:, determined] * (rows * (sample.y - mu))[:, None]
    covariance = regression.clustered_covariance(scores, bread, sample, len(determined))
    # The last step of Newton is least squares of Pearson residuals on columns times the root of the variance.
    root = np.sqrt(np.maximum(POISSON.variance(mu), _LEAST_VARIANCE))
    residual = rows * (sample.y - mu) / root
    freedom = reduce(covariance, (rows * root)[:, None] * x[:, determined], residual, sample.groups)
    return Fit.expanded(beta, covariance, determined, reasons, freedom)


def constant_outcome(sample: Sample) -> str:
    """The one line for outcomes that are all equal."""
    value = sample.y[0]
    note = "; complete separation, the penalised coefficients are 0" if value in (0.0, 1.0) else ""
    return f"no variation: all {len(sample)} outcomes are {value:g}{note}"


def _by_themselves(sample: Sample, infinite: Sequence[str]) -> list[str]:
    """The columns that say some outcomes without error with no help from others."""
    ones = np.ones(len(sample))
    columns = {name: column for name, column in zip(sample.names, sample.x.T, strict=True) if name in infinite}
    return [
        name
        for name, column in columns.items()
        if separation(np.column_stack([ones, column]), sample.y, ("", name), None).infinite
    ]
