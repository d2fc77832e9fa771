"""Newton's method for logit and Poisson likelihoods, and whether a finite maximum exists at all.

Where some combination of the columns says the outcome without error ("separation"), the likelihood keeps growing and
no estimate exists; a linear program finds such combinations (Albert and Anderson 1984; Konis 2007).

scikit-learn has neither: its logistic regression takes no shares as outcomes and gives no inverse Hessian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

from transect.effects.regression import independent

SEPARATION_SOURCE: Final = (
    "Albert and Anderson 1984, On the existence of maximum likelihood estimates in logistic regression models, "
    "doi:10.1093/biomet/71.1.1"
)

_STEP: Final = 1e-10
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
        if np.abs(size * step).max(initial=0.0) <= _STEP * max(1.0, np.abs(beta).max(initial=0.0)):
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
