"""Logistic, modified Poisson and GEE regressions with errors by subject, and separation by linear programs."""

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


def _logit_likelihood(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    return np.asarray(y * eta - np.logaddexp(0.0, eta))


def _poisson_likelihood(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    return np.asarray(y * eta - np.exp(np.minimum(eta, 700.0)))


LOGIT: Final = Family("logit", expit, lambda mu: mu * (1 - mu), _logit_likelihood)
POISSON: Final = Family("Poisson", lambda eta: np.exp(np.minimum(eta, 700.0)), lambda mu: mu, _poisson_likelihood)


def maximise(
    x: Float[np.ndarray, "n k"],
    y: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    family: Family,
    penalty: Float[np.ndarray, " k"] | None = None,
    start: Float[np.ndarray, " k"] | None = None,
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k k"]]:
    """Coefficients that maximise the weighted log-likelihood minus penalty * coefficient^2 / 2; inverse Hessian."""
    ridge = np.zeros(x.shape[1]) if penalty is None else penalty
    beta = np.zeros(x.shape[1]) if start is None else start.copy()

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


LOGIT_SOURCE: Final = "Cox 1958, The regression analysis of binary sequences, doi:10.1111/j.2517-6161.1958.tb00292.x"
FRACTIONAL_SOURCE: Final = (
    "Papke and Wooldridge 1996, Econometric methods for fractional response variables, "
    "doi:10.1002/(SICI)1099-1255(199611)11:6<619::AID-JAE418>3.0.CO;2-1"
)
POISSON_SOURCE: Final = (
    "Zou 2004, A modified Poisson regression approach to prospective studies with binary data, doi:10.1093/aje/kwh090"
)
GEE_SOURCE: Final = (
    "Liang and Zeger 1986, Longitudinal data analysis using generalized linear models, doi:10.1093/biomet/73.1.13"
)
SURE: Final = 12.0
"""Linear predictors beyond ∓12 (probabilities of 6 in a million) make the search for separation worth its time."""

_GEE_STEPS: Final = 200
_LEAST_VARIANCE: Final = 1e-12


def logit(
    y: ArrayLike,
    x: Columns,
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> tuple[Effect, ...]:
    """Logistic regression without penalty, of outcomes 0 and 1 or shares in [0, 1]: log odds per unit of each column.

    Where a combination of columns says the outcome without error no maximum exists: those effects are NaN, and their
    reason and spec["penalised"] give the L2-penalised answer (C = 1, as `logistic_bootstrap` has it).

    Returns one Effect per column, in order; exp(estimate) is an odds ratio.

    Raises BadInput where lengths differ, a column is text or an outcome lies outside [0, 1].

    >>> y, beard = np.repeat([0.0, 1.0, 0.0, 1.0], [3, 1, 1, 3]), np.repeat([0.0, 1.0], 4)
    >>> bool(np.isclose(logit(y, {"beard": beard})[0].estimate, np.log(9)))  # odds 1/3 and 3
    True
    """
    sample = complete(y, x, names=names, clusters=clusters, weights=weights)
    if len(sample) and not (sample.y.min() >= 0 and sample.y.max() <= 1):
        raise BadInput(f"logit: expected outcomes from 0 to 1, got {sample.y.min():g} to {sample.y.max():g}; see ols")
    fractional = bool(len(sample) and not np.isin(sample.y, (0.0, 1.0)).all())
    return _effects(
        sample,
        likelihood_fit(sample, LOGIT),
        labels,
        method="fractional logit" if fractional else "logit",
        per="log odds of",
        sources=(FRACTIONAL_SOURCE if fractional else LOGIT_SOURCE,),
        confidence=confidence,
    )


def poisson(
    y: ArrayLike,
    x: Columns,
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> tuple[Effect, ...]:
    """Poisson regression with errors by subject: log rate per unit of each column; exp(estimate) is a ratio of rates.

    Of 0/1 outcomes this is the modified Poisson regression, whose exp(estimate) is a risk ratio.

    Returns one Effect per column, in order; NaN with the reason where no maximum exists.

    Raises BadInput where lengths differ, a column is text or an outcome is negative.

    >>> effects = poisson([1.0, 3.0, 2.0, 6.0], {"beard": [0.0, 0.0, 1.0, 1.0]})
    >>> bool(np.isclose(effects[0].estimate, np.log(2)))  # mean 4 against mean 2
    True
    """
    sample = complete(y, x, names=names, clusters=clusters, weights=weights)
    if len(sample) and sample.y.min() < 0:
        raise BadInput(f"poisson: expected outcomes of 0 or more, got {sample.y.min():g}; see ols")
    fit = likelihood_fit(sample, POISSON)
    return _effects(
        sample, fit, labels, method="Poisson", per="log rate of", sources=(POISSON_SOURCE,), confidence=confidence
    )


def gee_logit(
    y: ArrayLike,
    x: Columns,
    clusters: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> tuple[Effect, ...]:
    """Logit by generalized estimating equations: images of a subject share one correlation, errors by subject.

    The effects are population-averaged log odds, as those of `logit`; the working correlation (in spec) saves width
    where subjects differ much, and the errors are right also where it is wrong.

    Returns one Effect per column, in order.

    Raises BadInput where lengths differ, a column is text or an outcome lies outside [0, 1].

    >>> y, beard = np.tile([0.0, 1.0, 0.0, 0.0, 1.0, 1.0], 2), np.tile([0.0, 1.0], 6)
    >>> effect = gee_logit(y, {"beard": beard}, np.repeat(np.arange(6), 2))[0]
    >>> bool(np.isclose(effect.estimate, 2 * np.log(2)))  # 1 of 3 against 2 of 3, in balanced pairs
    True
    """
    sample = complete(y, x, names=names, clusters=clusters)
    if len(sample) and not (sample.y.min() >= 0 and sample.y.max() <= 1):
        raise BadInput(f"gee_logit: expected outcomes from 0 to 1, got {sample.y.min():g} to {sample.y.max():g}")
    fit = likelihood_fit(sample, LOGIT)
    fit = (
        replace(fit, details={**fit.details, "working_correlation": 0.0})
        if any(fit.reasons)
        else _exchangeable(sample, fit)
    )
    return _effects(
        sample, fit, labels, method="GEE logit", per="log odds of", sources=(GEE_SOURCE,), confidence=confidence
    )


def likelihood_fit(sample: Sample, family: Family) -> Fit:
    """Maximum quasi-likelihood with an intercept first; NaN with the reason where there is no maximum."""
    x, names = regression.with_intercept(sample.x, sample.names)
    if sample.reason:
        return no_fit(len(names), sample.reason)
    if np.ptp(sample.y) == 0:
        return no_fit(len(names), constant_outcome(sample))
    reasons = why_undetermined(sample)
    fit = _maximum(x, sample, np.ones(len(sample), dtype=bool), family, reasons)
    if np.nanmax(np.abs(x @ np.nan_to_num(fit.coefficients))) <= SURE:
        return fit
    separated = separation(x, sample.y, names, _ceiling(family))
    if separated.overlapping.all():
        return fit
    notes, details = _separation_notes(sample, names, separated, reasons, family)
    return replace(_maximum(x, sample, separated.overlapping, family, notes), details=details)


def _maximum(
    x: Float[np.ndarray, "n k"],
    sample: Sample,
    rows: Bool[np.ndarray, " n"],
    family: Family,
    reasons: tuple[str, ...],
) -> Fit:
    """Coefficients on these rows; NaN for those that have a reason, or all where the rows say nothing."""
    if not rows.any() or np.ptp(sample.y[rows]) == 0:
        return replace(no_fit(len(reasons), ""), reasons=reasons)
    weights = sample.weights * rows
    determined = regression.independent(x[weights > 0])
    beta, bread = maximise(x[:, determined], sample.y, weights, family)
    mu = family.mean(x[:, determined] @ beta)
    scores = x[:, determined] * (weights * (sample.y - mu))[:, None]
    covariance = regression.clustered_covariance(scores, bread, sample, len(determined))
    # The last step of Newton is least squares of Pearson residuals on columns times the root of the variance.
    root = np.sqrt(np.maximum(family.variance(mu), _LEAST_VARIANCE))
    residual = np.sqrt(weights) * (sample.y - mu) / root
    freedom = reduce(covariance, (np.sqrt(weights) * root)[:, None] * x[:, determined], residual, sample.groups)
    return _expanded(beta, covariance, determined, reasons, freedom)


def constant_outcome(sample: Sample) -> str:
    """The one line for outcomes that are all equal."""
    value = sample.y[0]
    note = "; complete separation, the penalised coefficients are 0" if value in (0.0, 1.0) else ""
    return f"no variation: all {len(sample)} outcomes are {value:g}{note}"


def _separation_notes(
    sample: Sample, names: Sequence[str], separated: Separation, reasons: Sequence[str], family: Family
) -> tuple[tuple[str, ...], dict[str, object]]:
    """Why the infinite coefficients are NaN, with the penalised (L2, C = 1) answer where outcomes are shares."""
    shown = ", ".join(_by_themselves(sample, separated.infinite, family) or separated.infinite)
    text = f"complete separation by {shown}: no finite estimate"
    details: dict[str, object] = {"rows_without_error": int((~separated.overlapping).sum())}
    penalised: dict[str, float] = {}
    if family is LOGIT:
        x, _ = regression.with_intercept(sample.x, sample.names)
        beta, _ = maximise(x, sample.y, sample.weights, LOGIT, np.array([0.0, *np.ones(x.shape[1] - 1)]))
        penalised = dict(zip(names, beta.tolist(), strict=True))
        details["penalised"] = penalised
    answers = {name: f"; penalised (L2, C = 1) {value:.3g}" for name, value in penalised.items()}
    return tuple(
        reason or (text + answers.get(name, "") if name in separated.infinite else "")
        for reason, name in zip(reasons, names, strict=True)
    ), details


def _ceiling(family: Family) -> float | None:
    return 1.0 if family is LOGIT else None


def _by_themselves(sample: Sample, infinite: Sequence[str], family: Family) -> list[str]:
    """The columns that say some outcomes without error with no help from others."""
    ones = np.ones(len(sample))
    columns = {name: column for name, column in zip(sample.names, sample.x.T, strict=True) if name in infinite}
    return [
        name
        for name, column in columns.items()
        if separation(np.column_stack([ones, column]), sample.y, ("", name), _ceiling(family)).infinite
    ]


def _exchangeable(sample: Sample, start: Fit) -> Fit:
    """GEE with an exchangeable working correlation; its inverse is known in closed form."""
    x, _ = regression.with_intercept(sample.x, sample.names)
    beta, sizes = start.coefficients.copy(), np.bincount(sample.groups, minlength=sample.n_groups)
    for _ in range(_GEE_STEPS):
        mu = LOGIT.mean(x @ beta)
        root = np.sqrt(LOGIT.variance(mu))
        z, residual = x * root[:, None], (sample.y - mu) / root
        correlation = _correlation(residual, sample, sizes, x.shape[1])
        share = correlation / (1 + (sizes - 1) * correlation)
        sums = regression.group_sums(z, sample.groups, sample.n_groups)
        total = np.bincount(sample.groups, weights=residual, minlength=sample.n_groups)
        bread = np.linalg.inv(z.T @ z - (share[:, None] * sums).T @ sums)
        step = bread @ (z.T @ residual - sums.T @ (share * total))
        beta = beta + step
        if np.abs(step).max() <= 1e-10:
            break
    # Each row's own share of the estimating equation; only their sums by subject count.
    scores = z * residual[:, None] - sums[sample.groups] * (share * total / sizes)[sample.groups][:, None]
    covariance = regression.clustered_covariance(scores, bread, sample, x.shape[1])
    white = [_whitened(column, sample, sizes, correlation) for column in (*z.T, residual)]
    freedom = reduce(covariance, np.stack(white[:-1], axis=1), white[-1], sample.groups)
    return Fit(beta, covariance, start.reasons, {"working_correlation": float(correlation)}, freedom)


def _whitened(
    values: Float[np.ndarray, " n"], sample: Sample, sizes: np.ndarray, correlation: float
) -> Float[np.ndarray, " n"]:
    """Values times the inverse root of the exchangeable correlation of each subject's images."""
    mean = (np.bincount(sample.groups, weights=values, minlength=sample.n_groups) / sizes)[sample.groups]
    shared = np.sqrt(1 + (sizes - 1) * correlation)[sample.groups]
    return np.asarray((values - mean) / np.sqrt(1 - correlation) + mean / shared)


def _correlation(residual: Float[np.ndarray, " n"], sample: Sample, sizes: np.ndarray, k: int) -> float:
    """Moment estimate of the correlation between two images of a subject, held inside (-1 / (largest - 1), 1)."""
    n, pairs = len(residual), float((sizes * (sizes - 1)).sum()) / 2
    if pairs <= k or n <= k:
        return 0.0
    scale = (residual**2).sum() / (n - k)
    total = np.bincount(sample.groups, weights=residual, minlength=sample.n_groups)
    products = ((total**2).sum() - (residual**2).sum()) / 2
    return float(np.clip(products / scale / (pairs - k), -0.99 / max(sizes.max() - 1, 1), 0.99))


def _expanded(
    beta: np.ndarray,
    covariance: np.ndarray,
    determined: np.ndarray,
    reasons: tuple[str, ...],
    reduced: np.ndarray | None,
) -> Fit:
    """Back to all columns: NaN where one was dropped."""
    size = len(reasons)
    coefficients, full_covariance = np.full(size, np.nan), np.full((size, size), np.nan)
    coefficients[determined] = beta
    full_covariance[np.ix_(determined, determined)] = covariance
    if reduced is None:
        return Fit(coefficients, full_covariance, reasons)
    freedom = np.full(size, np.nan)
    freedom[determined] = reduced
    return Fit(coefficients, full_covariance, reasons, freedom=freedom)


def _effects(
    sample: Sample,
    fit: Fit,
    labels: Labels | None,
    *,
    method: str,
    per: str,
    sources: tuple[str, ...],
    confidence: float,
) -> tuple[Effect, ...]:
    names = labels or Labels()
    separated = (SEPARATION_SOURCE,) if "rows_without_error" in fit.details else ()
    return regression.coefficient_effects(
        fit,
        sample,
        names,
        method=method,
        per=lambda name: f"{per} {names.outcome} per unit of {name}",
        sources=(*sources, *separated),
        confidence=confidence,
    )
