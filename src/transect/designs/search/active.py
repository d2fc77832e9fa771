"""How likely is a failure at a point? A Gaussian process for answers of yes or no, small enough for one core.

Laplace's approximation with the logistic likelihood: Rasmussen and Williams 2006, Gaussian Processes for Machine
Learning, algorithms 3.1 (mode), 3.2 (prediction) and 5.1 (marginal likelihood and its gradient). scikit-learn's
GaussianProcessClassifier has neither a mean other than 0 nor a prior of the length scales.

The kernel is a product of rational quadratics, one per attribute: k(x, x') = s² Π_j 1 / (1 + (x_j - x'_j)² / (2
l_j²)). Each is a squared exponential whose length scale is uncertain, so that a long step along one attribute,
which most often does not matter, is thought to leave the answer as it was sooner than short steps along all.

Active search: explore evenly, and follow up failures where a new one is likely.

Active search asks where a yes is most likely (Garnett et al. 2012, arXiv:1206.6406), here under a hard constraint:
no follow-up lies within a tenth of the cube's diagonal of a failure that is known, as in constraint active search
(Malkomes et al. 2021, ICML), so that diversity is a guarantee and not a weight. Candidates come from trust regions
round the failures: sparse steps from them (Eriksson et al. 2019, arXiv:1910.01739), some within the length scales.

Exploration continues to the end as one Sobol sequence. Follow-ups are earned: each failure that exploration finds
pays for some, up to a share of all calls; a failure without neighbours (a mislabelled one, say) is soon given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from transect.designs.search.history import (
    APART,
    History,
    Suggestions,
    as_points,
    diagonal,
    distances,
    sobol_points,
    stream,
)
from transect.errors import BadInput

SIGNAL: Final = 4.0
"""Standard deviation of the log odds of a failure over the cube: from almost never to almost always."""
NUGGET: Final = 0.3
"""Variance of the log odds between images at one point: one odd answer is not believed against its neighbours."""
USUAL_LENGTH: Final = 0.4
LENGTH_SPREAD: Final = 1.0
"""Length scales are a priori log-normal around 0.4 of an attribute's range, with this standard deviation of the log."""
_NEWTON_STEPS: Final = 20
_FIT_STEPS: Final = 15


@final
@dataclass(frozen=True, slots=True)
class Surrogate:
    """A fitted surrogate. lengths: the distance along each attribute over which answers are similar. points, gradient:
    what the mode of the log odds is made of. root, factor: W½ and the Cholesky factor of B = I + W½ K W½. evidence: log
    marginal likelihood.
    """

    lengths: Float[np.ndarray, " d"]
    mean: float
    points: Float[np.ndarray, "n d"]
    gradient: Float[np.ndarray, " n"]
    root: Float[np.ndarray, " n"]
    factor: Float[np.ndarray, "n n"]
    evidence: float

    def probability(self, points: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Chance of a failure at each point (algorithm 3.2, averaged as in doi:10.1162/neco.1992.4.5.720)."""
        across = kernel(points, self.points, self.lengths)
        center = self.mean + across @ self.gradient
        v = solve_triangular(self.factor, self.root[:, None] * across.T, lower=True, check_finite=False)
        variance = np.maximum(SIGNAL**2 - (v**2).sum(axis=0), 0.0)
        return np.asarray(expit(center / np.sqrt(1 + np.pi * variance / 8)))


def kernel(
    points: Float[np.ndarray, "n d"], others: Float[np.ndarray, "m d"], lengths: Float[np.ndarray, " d"]
) -> Float[np.ndarray, "n m"]:
    """Covariance of the log odds of all pairs."""
    product = np.ones((len(points), len(others)))
    for j, length in enumerate(lengths):
        product *= 1 + (points[:, j, None] - others[:, j]) ** 2 / (2 * length**2)
    return np.asarray(SIGNAL**2 / product)


def fit(points: Float[np.ndarray, "n d"], failures: Float[np.ndarray, " n"], mean: float) -> Surrogate:
    """The surrogate with the length scales of the highest marginal likelihood (times their prior).

    points in [0, 1]; failures 0 or 1; mean: prior log odds of a failure. It starts from the same length scales each
    time, so that the fit depends on the data alone. Without points the prior comes back.
    """
    squares = (points[:, None, :] - points[None, :, :]) ** 2
    sign = np.where(failures == 1, 1.0, -1.0)
    start = np.full(points.shape[1], np.log(USUAL_LENGTH))

    def objective(logs: Float[np.ndarray, " d"]) -> tuple[float, Float[np.ndarray, " d"]]:
        mode = _mode(_covariance(squares, logs), sign, mean)
        away = (logs - np.log(USUAL_LENGTH)) / LENGTH_SPREAD
        value = mode.evidence - 0.5 * float(away @ away)
        return -value, -(_slopes(mode, squares, logs) - away / LENGTH_SPREAD)

    best = start
    if len(points):
        bounds = [(np.log(0.03), np.log(10.0))] * len(start)
        best = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _FIT_STEPS}).x
    mode = _mode(_covariance(squares, best), sign, mean)
    return Surrogate(np.exp(best), mean, points, mode.gradient, mode.root, mode.factor, mode.evidence)


@final
@dataclass(frozen=True, slots=True)
class _Mode:
    """The mode of the posterior and what algorithm 5.1 needs of it."""

    covariance: Float[np.ndarray, "n n"]
    f: Float[np.ndarray, " n"]
    gradient: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    root: Float[np.ndarray, " n"]
    factor: Float[np.ndarray, "n n"]
    evidence: float


def _covariance(squares: Float[np.ndarray, "n n d"], logs: Float[np.ndarray, " d"]) -> Float[np.ndarray, "n n"]:
    bent = np.prod(1 + squares * (0.5 * np.exp(-2 * logs)), axis=2)
    return np.asarray(SIGNAL**2 / bent + NUGGET * np.eye(len(squares)))


def _mode(covariance: Float[np.ndarray, "n n"], sign: Float[np.ndarray, " n"], mean: float) -> _Mode:
    """Algorithm 3.1: Newton's steps to the mode of the log odds f."""
    K, yes = covariance, (sign + 1) / 2
    a = np.zeros(len(sign))
    f, value = np.full(len(sign), mean), _height(a, np.full(len(sign), mean), sign, mean)
    for _ in range(_NEWTON_STEPS):
        root, L = _curvature(K, f)
        b = root**2 * (f - mean) + yes - expit(f)
        step = b - root * cho_solve((L, True), root * (K @ b), check_finite=False) - a
        before, size = value, 1.0
        while size > 1e-3:  # far from the mode a whole step can overshoot
            trial = a + size * step
            f = K @ trial + mean
            value = _height(trial, f, sign, mean)
            if value >= before:
                break
            size /= 2
        a = trial
        if value - before < 1e-6:
            break
    root, L = _curvature(K, f)
    evidence = value - float(np.log(np.diag(L)).sum())
    return _Mode(K, f, yes - expit(f), root**2, root, L, evidence)


def _height(
    a: Float[np.ndarray, " n"], f: Float[np.ndarray, " n"], sign: Float[np.ndarray, " n"], mean: float
) -> float:
    """Log posterior of the log odds f = mean + K a, but for what does not depend on f."""
    return float(-0.5 * a @ (f - mean) + log_expit(sign * f).sum())


def _curvature(
    K: Float[np.ndarray, "n n"], f: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """W½ and the Cholesky factor of B = I + W½ K W½."""
    p = expit(f)
    root = np.sqrt(p * (1 - p))
    return root, cholesky(np.eye(len(f)) + root[:, None] * K * root, lower=True, check_finite=False)


def _slopes(mode: _Mode, squares: Float[np.ndarray, "n n d"], logs: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
    """Algorithm 5.1: the gradient of the log marginal likelihood in the logs of the length scales.

    s2 has the sign of the derivation, ½ diag((K⁻¹ + W)⁻¹) ∇³ log p: with the printed minus finite differences disagree.
    """
    K, root, L = mode.covariance, mode.root, mode.factor
    R = root[:, None] * cho_solve((L, True), np.diag(root), check_finite=False)
    C = solve_triangular(L, root[:, None] * K, lower=True, check_finite=False)
    p = expit(mode.f)
    third = -mode.weights * (1 - 2 * p)
    s2 = 0.5 * (np.diag(K) - (C**2).sum(axis=0)) * third
    smooth = K - NUGGET * np.eye(len(K))
    a, slopes = mode.gradient, np.empty(len(logs))
    outer = 0.5 * (np.outer(a, a) - R) * smooth
    pulled = s2 - R @ (K @ s2)  # s2ᵀ (I - K R), as one row
    for j, log in enumerate(logs):
        scaled = squares[:, :, j] * np.exp(-2 * log)
        change = scaled / (1 + 0.5 * scaled)
        slopes[j] = (outer * change).sum() + pulled @ ((smooth * change) @ a)
    return slopes


CENTERS: Final = 32
CANDIDATES: Final = 96
"""Failures that candidates start from, and candidates from each."""
FIRST: Final = 1.0
MORE: Final = 2.0
"""Follow-ups that a failure pays for at once: one found by exploration (a single one may be a mislabelled image), and
one found by following up, which has company."""
FIT_FAILURES: Final = 50
FIT_NEAREST: Final = 60
FIT_OTHERS: Final = 30
"""What the surrogate is fitted to: failures, the non-failures nearest to them, and others spread over the cube."""


@final
@dataclass(frozen=True, slots=True)
class ActiveSearch:
    """Explores with Sobol points, follows up failures.

    earned: follow-ups that each failure found by exploration pays for in all, one at once and two for each follow-up
    that finds another. most: the largest share of calls that are follow-ups. least: the chance of a failure below which
    nothing is followed up. Raises BadInput for shares outside [0, 1] or less than nothing earned.
    """

    seed: int = 0
    earned: float = 8.0
    most: float = 0.3
    least: float = 0.4
    name: str = "active search"

    def __post_init__(self) -> None:
        if not (self.earned >= 0 and 0 <= self.most <= 1 and 0 <= self.least <= 1):
            raise BadInput("expected follow-ups earned of 0 or more, and shares from 0 to 1")

    def suggest(self, history: History, n: int) -> Suggestions:
        """Follow-ups first, as many as are earned and promising; then the next points of the exploration."""
        by_exploration = float((history.failed & history.explored).sum())
        by_following = float((history.failed & ~history.explored).sum())
        trusted = FIRST * by_exploration + MORE * by_following
        paid = min(self.earned * by_exploration, trusted, self.most * (len(history) + n))
        chosen = self.follow_ups(history, int(np.clip(paid - (~history.explored).sum(), 0, n)))
        start = int(history.explored.sum())
        even = sobol_points(history.dimensions, self.seed, start, start + n - len(chosen))
        return Suggestions(np.concatenate([chosen, even]), np.arange(n) >= len(chosen))

    def follow_ups(self, history: History, n: int) -> Float[np.ndarray, "m d"]:
        """At most n points near known failures that are likely to fail, each far from every known failure."""
        chosen: list[Float[np.ndarray, " d"]] = []
        if not n:
            return as_points(chosen, history.dimensions)
        surrogate = surrogate_of(history)
        candidates = candidates_near(history, surrogate, stream(self.seed, 2, len(history)))
        far = APART * diagonal(history.dimensions)
        promise = surrogate.probability(candidates)
        while len(chosen) < n and len(candidates):
            best = int(promise.argmax())
            if promise[best] < self.least:
                break
            chosen.append(candidates[best])
            left = np.linalg.norm(candidates - candidates[best], axis=1) >= far
            candidates, promise = candidates[left], promise[left]
        return as_points(chosen, history.dimensions)


def eager(seed: int) -> ActiveSearch:
    """The search where only failures count: more follow-ups, and less promising ones."""
    return ActiveSearch(seed, earned=50.0, most=0.6, least=0.3)


def surrogate_of(history: History) -> Surrogate:
    """The surrogate fitted to what matters most of the history."""
    rows = _fitted_rows(history)
    explored = history.failures[history.explored & np.isfinite(history.failures)]
    rate = (explored.sum() + 0.5) / (len(explored) + 1)
    return fit(history.points[rows], history.failures[rows], float(logit(np.clip(rate, 0.003, 0.3))))


def _fitted_rows(history: History) -> Int[np.ndarray, " m"]:
    failed = np.flatnonzero(history.failed)[-FIT_FAILURES:]
    passed = np.flatnonzero(history.failures == 0)
    if not len(failed):
        return passed[-FIT_OTHERS:]
    nearest = distances(history.points[passed], history.points[failed]).min(axis=1)
    order = np.argsort(nearest, kind="stable")
    others = order[FIT_NEAREST:]
    spread = others[:: max(1, len(others) // FIT_OTHERS)][:FIT_OTHERS]
    return np.sort(np.concatenate([failed, passed[order[:FIT_NEAREST]], passed[spread]]))


def candidates_near(history: History, surrogate: Surrogate, random: np.random.Generator) -> Float[np.ndarray, "m d"]:
    """Sparse steps from failures, anywhere or within two length scales, a tenth of the diagonal from every failure."""
    failures, d = history.found, history.dimensions
    centers = failures[random.permutation(len(failures))[:CENTERS]].repeat(CANDIDATES, axis=0)
    shape = centers.shape
    moved = 1 + np.floor(d ** random.random(shape[0]) - 1e-9).astype(int)  # few attributes as often as many
    step = np.argsort(random.random(shape), axis=1) < moved[:, None]
    near = centers + 2 * surrogate.lengths * random.uniform(-1, 1, shape)
    anywhere = random.random(shape)
    value = np.where(random.random((shape[0], 1)) < 0.5, np.clip(near, 0, 1), anywhere)
    candidates = np.where(step, value, centers)
    far = APART * diagonal(d)
    return np.asarray(candidates[distances(candidates, failures).min(axis=1, initial=np.inf) >= far])
