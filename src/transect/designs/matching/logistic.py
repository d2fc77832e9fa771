"""Logistic regression with a ridge penalty, and its cross-fitted scores: the propensity of being treated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

FOLDS: Final = 5
_STEPS = 100


@final
@dataclass(frozen=True, slots=True)
class Logistic:
    """weights: float64 [d], intercept: of log odds. converged: whether the Newton steps came to rest."""

    weights: Float[np.ndarray, " d"]
    intercept: float
    converged: bool

    def log_odds(self, features: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Linear predictor of each row."""
        return np.asarray(features @ self.weights + self.intercept)


def fit(features: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], *, penalty: float = 1.0) -> Logistic:
    """Minimises the sum of logistic losses + penalty / 2 |weights|², the intercept free, by damped Newton steps.

    penalty = 1 is what scikit-learn's LogisticRegression() minimises. y: 0 or 1, both present.

    >>> made = fit(np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([0.0, 1.0, 1.0, 0.0]))
    >>> bool(abs(made.weights[0]) < 1e-9), made.converged
    (True, True)
    """
    x = np.column_stack([features, np.ones(len(features))]).astype(np.float64)
    ridge = np.append(np.full(features.shape[1], penalty), 0.0)
    beta = np.zeros(x.shape[1])
    loss = _loss(x, y, ridge, beta)
    for _ in range(_STEPS):
        p = expit(x @ beta)
        gradient = x.T @ (p - y) + ridge * beta
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(ridge + 1e-10)
        step = np.linalg.solve(hessian, gradient)
        size, new = 1.0, _loss(x, y, ridge, beta - step)
        while new > loss and size > 1e-8:
            size /= 2
            new = _loss(x, y, ridge, beta - size * step)
        if loss - new <= 1e-12 * max(1.0, abs(loss)) and float(gradient @ step) < 1e-8:
            return Logistic(beta[:-1], float(beta[-1]), True)
        beta, loss = beta - size * step, new
    return Logistic(beta[:-1], float(beta[-1]), False)


def _loss(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    ridge: Float[np.ndarray, " d"],
    beta: Float[np.ndarray, " d"],
) -> float:
    z = x @ beta
    return float(np.logaddexp(0.0, z).sum() - y @ z + ridge @ beta**2 / 2)


def folds(
    y: Float[np.ndarray, " n"], identity: Int[np.ndarray, " n"], seed: int, count: int = FOLDS
) -> Int[np.ndarray, " n"]:
    """A fold for each row, equal within an identity, groups spread evenly; fewer folds where identities are few.

    >>> folds(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 1, 2, 3]), seed=0, count=2).tolist().count(0)
    2
    """
    rng = np.random.Generator(np.random.Philox(seed))
    fold = np.empty(len(y), dtype=np.int64)
    shuffled = rng.permutation(int(identity.max()) + 1)
    people, person = np.unique(identity, return_inverse=True)
    treated = np.zeros(len(people))
    np.maximum.at(treated, person, y)
    for group in (0.0, 1.0):
        members = np.flatnonzero(treated == group)
        order = members[np.argsort(shuffled[people[members]])]
        of_person = np.empty(len(people), dtype=np.int64)
        of_person[order] = np.arange(len(order)) % count
        inside = np.isin(person, members)
        fold[inside] = of_person[person[inside]]
    return fold


def cross_fitted(
    features: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], fold: Int[np.ndarray, " n"], *, penalty: float = 1.0
) -> Float[np.ndarray, " n"]:
    """Log odds of each row from the model fitted to the other folds; NaN where those lack a group."""
    scores = np.full(len(y), np.nan)
    for part in np.unique(fold):
        inside = fold == part
        if 0 < y[~inside].sum() < (~inside).sum():
            scores[inside] = fit(features[~inside], y[~inside], penalty=penalty).log_odds(features[inside])
    return scores


def area_under_curve(scores: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> float:
    """Probability that a treated row scores above a control, ties counted half; NaN without both groups.

    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]))
    0.875
    """
    from scipy.stats import rankdata

    treated = int((y == 1).sum())
    control = len(y) - treated
    if not treated or not control:
        return float("nan")
    ranks = rankdata(scores)
    return float((ranks[y == 1].sum() - treated * (treated + 1) / 2) / (treated * control))
