"""How often does a target fail where? An additive logistic model, for failures that occur with some probability.

The log odds of a failure are a sum of one smooth curve per attribute: logit p(x) = mean + w_0 + Σ_j f_j(x_j), with
f_j(x) = Σ_k w_jk √2 cos(π k x) / k, k = 1 to 5 (a generalized additive model: Hastie and Tibshirani 1986,
doi:10.1214/ss/1177013604). Each attribute has its own variance of w_jk, which expectation-maximization fits to the data
(Tipping 2001, Sparse Bayesian Learning): the curve of an attribute that does not matter shrinks to 0. The posterior of
w is Laplace's approximation. The model never takes an answer for certain, so a point may fail once and pass once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_expit

WAVES: Final = 5
"""Cosines per attribute."""
START_VARIANCE: Final = 0.5
PRIOR_SHAPE: Final = 1.0
PRIOR_SCALE: Final = 0.1
"""Inverse gamma prior of each attribute's variance."""
_ROUNDS: Final = 6
_NEWTON_STEPS: Final = 30
_GRID: Final = (np.arange(64) + 0.5) / 64


@final
@dataclass(frozen=True, slots=True)
class Additive:
    """A fitted model. weights float64 [1 + 5 d]: w_0, then five of each attribute.

    factor: Cholesky factor of their posterior covariance.
    """

    mean: float
    weights: Float[np.ndarray, " k"]
    factor: Float[np.ndarray, "k k"]

    def probability(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Chance of a failure at each point, in [0, 1], at the mode of the weights."""
        return np.asarray(expit(self.mean + _features(points) @ self.weights))

    def draw(self, random: np.random.Generator, n: int, *, doubt: float, focus: float) -> Float[np.ndarray, "n d"]:
        """Points of the cube, n of them, where failures are likely.

        For each point the weights are drawn from the posterior, their spread multiplied by `doubt` (0: the mode;
        1: Thompson sampling). Each coordinate then has a density proportional to exp(focus * f_j), so an attribute that
        does not matter is uniform, and points spread along it.
        """
        return np.array([self._draw(random, doubt, focus) for _ in range(n)]).reshape(n, len(self.weights) // WAVES)

    def _draw(self, random: np.random.Generator, doubt: float, focus: float) -> Float[np.ndarray, " d"]:
        weights = self.weights + doubt * (self.factor @ random.standard_normal(len(self.weights)))
        curves = weights[1:].reshape(-1, WAVES) @ _waves(_GRID).T
        density = np.exp(focus * (curves - curves.max(axis=1, keepdims=True)))
        below = np.cumsum(density, axis=1) / density.sum(axis=1, keepdims=True)
        cell = (below < random.random((len(below), 1))).sum(axis=1).clip(0, len(_GRID) - 1)
        return np.asarray((cell + random.random(len(below))) / len(_GRID))


def fit_additive(points: Float[np.ndarray, "n d"], failures: Float[np.ndarray, " n"], mean: float) -> Additive:
    """The model of answers 0 or 1 at points in [0, 1]; mean: prior log odds of a failure.

    Without points the prior comes back.
    """
    features, dimensions = _features(points), points.shape[1]
    variances = np.full(dimensions, START_VARIANCE)
    weights = np.zeros(features.shape[1])
    covariance = np.eye(len(weights))
    for _ in range(_ROUNDS):
        precision = np.concatenate([[1.0], np.repeat(1 / variances, WAVES)])
        weights, covariance = _posterior(features, failures, mean, precision, weights)
        squares = (weights**2 + np.diag(covariance))[1:].reshape(dimensions, WAVES)
        variances = (squares.sum(axis=1) + 2 * PRIOR_SCALE) / (WAVES + 2 * PRIOR_SHAPE + 2)
    return Additive(mean, weights, np.linalg.cholesky(covariance))


def _waves(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n w"]:
    k = np.arange(1, WAVES + 1)
    return np.asarray(np.sqrt(2) * np.cos(np.pi * values[:, None] * k) / k)


def _features(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
    return np.column_stack([np.ones(len(points)), *(_waves(column) for column in points.T)])


def _posterior(
    features: Float[np.ndarray, "n k"],
    failures: Float[np.ndarray, " n"],
    mean: float,
    precision: Float[np.ndarray, " k"],
    weights: Float[np.ndarray, " k"],
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k k"]]:
    """Mode and covariance of the weights, by Newton's method with halved steps."""
    sign = 2 * failures - 1

    def height(at: Float[np.ndarray, " k"]) -> float:
        return float(log_expit(sign * (mean + features @ at)).sum() - 0.5 * precision @ at**2)

    for _ in range(_NEWTON_STEPS):
        chance = expit(mean + features @ weights)
        step = cho_solve(
            _curvature(features, chance, precision), features.T @ (failures - chance) - precision * weights
        )
        before, size = height(weights), 1.0
        while size > 1e-3 and height(weights + size * step) < before:
            size /= 2
        weights = weights + size * step
        if float(np.abs(step).max()) < 1e-4:
            break
    chance = expit(mean + features @ weights)
    return weights, cho_solve(_curvature(features, chance, precision), np.eye(len(weights)))


def _curvature(
    features: Float[np.ndarray, "n k"], chance: Float[np.ndarray, " n"], precision: Float[np.ndarray, " k"]
) -> tuple[Float[np.ndarray, "k k"], bool]:
    hessian = (features * (chance * (1 - chance))[:, None]).T @ features + np.diag(precision)
    factor, lower = cho_factor(hessian)
    return factor, bool(lower)
