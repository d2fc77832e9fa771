"""How often does a target fail where? An additive logistic model, for failures that occur with some probability.

The log odds of a failure are a sum of one smooth curve per attribute: logit p(x) = mean + w_0 + Σ_j f_j(x_j), with
f_j(x) = Σ_k w_jk √2 cos(π k x) / k, k = 1 to 5 (a generalized additive model: Hastie and Tibshirani 1986,
doi:10.1214/ss/1177013604). Each attribute has its own variance of w_jk, which expectation-maximization fits to the
data (Tipping 2001, Sparse Bayesian Learning): the curve of an attribute that does not matter shrinks to 0. The
posterior of w is Laplace's approximation. The model never takes an answer for certain, so a point may fail once and
pass once.

Search for as many failures as possible, whether a region fails always or only sometimes.

Calls come in blocks of eight, in three parts:

1. Follow-ups near known failures, as in the active search. They pay where a region has hard edges.
2. At least two points of the exploration's Sobol sequence.
3. Draws from an additive logistic model of the failure probability. They pay where failures are soft: a share of .1 to
   .5 in a region, because attributes outside the search also matter.

Follow-ups and draws must be earned, and each has its own account. Follow-ups stand before the exploration of a
block and draws after it, so the history tells which is which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_expit, logit

from transect.designs.search.active import ActiveSearch, eager
from transect.designs.search.history import History, Suggestions, sobol_points, stream

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
    """A fitted model: w_0, then five weights of each attribute; factor: Cholesky's of their posterior covariance."""

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
    """The model of answers 0 or 1 at points in [0, 1]; mean: prior log odds of a failure. Without points the prior."""
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


BLOCK: Final = 8
EXPLORING: Final = 2
"""Calls of each block that explore, at least."""
AT_ONCE: Final = 2.0
"""Follow-ups that each failure pays for at once. With one, a search of a thin region often never got going."""
TRIAL: Final = 12
EACH: Final = 4
"""Draws that one failure of the exploration pays for, and draws that all of them pay for at most."""
LIFT: Final = 1.5
MOST_PAID: Final = 16.0
"""Draws go on while they find failures at least 1.5 times as often as the exploration, and one in 16 or more."""
LEAST_FAILURES: Final = 2
"""Failures of the exploration before the first draw."""
DOUBT: Final = 0.5
FOCUS: Final = 6.0
"""How widely, and how near to the most likely point, failures are drawn; see `Additive.draw`."""


@final
@dataclass(frozen=True, slots=True)
class Harvest:
    """Finds many failures: follow-ups, exploration and draws from a model; each call shows a new subject."""

    seed: int = 0
    name: str = "active search, then draws where failures are likely"

    def exploring(self, budget: int) -> int:
        """How many of so many calls explore whatever the answers are: two of each block, the last ones of it.

        >>> Harvest().exploring(400), Harvest().exploring(406), Harvest().exploring(407)
        (100, 100, 101)
        """
        blocks, rest = divmod(budget, BLOCK)
        return EXPLORING * blocks + max(0, rest - (BLOCK - EXPLORING))

    def suggest(self, history: History, n: int) -> Suggestions:
        """The next points; a batch ends where a block does."""
        place = len(history) % BLOCK
        n = min(n, BLOCK - place)
        explored = int(history.explored[len(history) - place :].sum())
        follow_ups = self._follow_ups(history, 0 if explored else min(n, BLOCK - EXPLORING - place))
        left = n - len(follow_ups)
        draws = self._draws(history, left - min(left, max(0, EXPLORING - explored)))
        start, even = int(history.explored.sum()), left - len(draws)
        points = sobol_points(history.dimensions, self.seed, start, start + even)
        kinds = np.repeat([False, True, False], [len(follow_ups), even, len(draws)])
        return Suggestions(np.concatenate([follow_ups, points, draws]), kinds)

    def _follow_ups(self, history: History, room: int) -> Float[np.ndarray, "m d"]:
        search: ActiveSearch = eager(self.seed)
        following = followed_up(history)
        explored = float((history.failed & history.explored).sum())
        trusted = AT_ONCE * (explored + float((history.failed & following).sum()))
        paid = min(search.earned * explored, trusted, search.most * (len(history) + room))
        return search.follow_ups(history, int(np.clip(paid - following.sum(), 0, max(room, 0))))

    def _draws(self, history: History, room: int) -> Float[np.ndarray, "m d"]:
        answered = np.isfinite(history.failures)
        explored = history.explored & answered
        failures = float(history.failed[explored].sum())
        rate = (failures + 0.5) / (float(explored.sum()) + 1)
        n = min(room, _drawable(history, failures, rate))
        if n <= 0 or failures < LEAST_FAILURES:
            return np.empty((0, history.dimensions))
        mean = float(logit(np.clip(rate, 0.003, 0.5)))
        model = fit_additive(history.points[answered], history.failures[answered], mean)
        return model.draw(stream(self.seed, 9, len(history)), n, doubt=DOUBT, focus=FOCUS)


def followed_up(history: History) -> Bool[np.ndarray, " n"]:
    """Which calls followed up a failure: those before the first exploring call of their block of eight."""
    n = len(history)
    blocks = np.concatenate([history.explored, np.ones(-n % BLOCK, dtype=np.bool_)]).reshape(-1, BLOCK)
    return np.asarray(~np.maximum.accumulate(blocks, axis=1).ravel()[:n])


def _drawable(history: History, failures: float, rate: float) -> int:
    """Draws that are paid for and not yet spent; rate: of the exploration."""
    drawn = ~history.explored & ~followed_up(history)
    each = min(MOST_PAID, 1 / (LIFT * rate))
    return int(min(EACH * failures, TRIAL) + each * float((history.failed & drawn).sum()) - drawn.sum())
