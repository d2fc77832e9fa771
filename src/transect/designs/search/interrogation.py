"""The search of McDuff et al. 2019, Characterizing Bias in Classifiers using Generative Models, section 3.

Each round maximises, by expected improvement under a Gaussian process with an RBF kernel,

    L = (1 - α) L_c + α min_i ||Θ_i - θ||        (Eq. 4)

where L_c is 1 for a failure and Θ_i are the failures found before: the objective adapts in every round. At α = 1 Eq. 4
drops the classification loss altogether, although their Fig. 4a is captioned α = 1; their Fig. 4b has its best at 0.6,
which is the default here.

What the paper leaves open: ten points at random come first; length scale and noise are those of the highest marginal
likelihood on a grid; expected improvement is maximised over 500 points at random and 100 near the best.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import ndtr

from transect.designs.search.history import History, Suggestions, distances, stream
from transect.designs.search.spread import Random
from transect.errors import BadInput

FIRST: Final = 10
ANYWHERE: Final = 500
NEAR: Final = 100
REFIT: Final = 10
"""Length scale and noise are chosen anew after so many points."""
LENGTHS: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
NOISES: Final = (1e-4, 1e-1)
"""Variances of the noise, as shares of the signal's."""


@final
@dataclass(frozen=True, slots=True)
class Interrogation:
    """Bayesian optimisation of Eq. 4. Raises BadInput unless α lies from 0 to 1.

    >>> Interrogation(seed=1).suggest(History.empty(2), 2).points.shape
    (2, 2)
    """

    seed: int = 0
    alpha: float = 0.6
    name: str = "McDuff et al. 2019"

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise BadInput(f"expected α from 0 to 1, got {self.alpha:g}")

    def suggest(self, history: History, n: int) -> Suggestions:
        """The n points of the highest expected improvement; the paper asks for one at a time."""
        if len(history) < FIRST:
            return Random(self.seed).suggest(history, n)
        answered = np.isfinite(history.failures)
        points, objective = history.points[answered], composite(history, self.alpha)[answered]
        if not len(points) or objective.std() == 0:
            return Random(self.seed).suggest(history, n)
        candidates = self._candidates(history, points[objective.argmax()])
        best = np.argsort(-expected_improvement(points, objective, candidates), kind="stable")[:n]
        return Suggestions(candidates[best], np.zeros(n, dtype=np.bool_))

    def _candidates(self, history: History, best: Float[np.ndarray, " d"]) -> Float[np.ndarray, "m d"]:
        random = stream(self.seed, 3, len(history))
        anywhere = random.random((ANYWHERE, history.dimensions))
        near = np.clip(best + 0.05 * random.standard_normal((NEAR, history.dimensions)), 0, 1)
        return np.concatenate([anywhere, near])


def composite(history: History, alpha: float) -> Float[np.ndarray, " n"]:
    """Eq. 4 at every point asked; NaN without an answer. Before a failure is found there is no distance term.

    >>> line = History(np.array([[0.0], [0.5]]), np.array([1.0, 0.0]), np.array([True, True]))
    >>> composite(line, 0.6).tolist()
    [0.4, 0.3]
    """
    loss = (1 - alpha) * history.failures
    if not history.failed.any():
        return np.asarray(loss)
    return np.asarray(loss + alpha * distances(history.points, history.found).min(axis=1))


def expected_improvement(
    points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"], candidates: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, " m"]:
    """Expected improvement on the best value at each candidate, in standard deviations of the values.

    Snoek et al. 2012, arXiv:1206.2944, section 2; the process is that of Rasmussen and Williams 2006, algorithm 2.1.
    """
    y = (values - values.mean()) / values.std()
    told = max(FIRST, len(y) // REFIT * REFIT)
    length, noise = _chosen(points[:told].tobytes(), y[:told].tobytes(), points.shape[1])
    L, scale, _ = _evidence(distances(points, points), y, length, noise)
    across = _rbf(distances(candidates, points), length)
    mean = across @ cho_solve((L, True), y, check_finite=False)
    explained = (solve_triangular(L, across.T, lower=True, check_finite=False) ** 2).sum(axis=0)
    deviation = np.sqrt(scale * np.maximum(1 - explained, 1e-12))
    z = (mean - y.max()) / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)))


def _rbf(between: Float[np.ndarray, "n m"], length: float) -> Float[np.ndarray, "n m"]:
    return np.asarray(np.exp(-0.5 * (between / length) ** 2))


@functools.lru_cache(maxsize=4)
def _chosen(points: bytes, values: bytes, dimensions: int) -> tuple[float, float]:
    """Length scale and noise of the highest marginal likelihood; kept, since it serves the next points too."""
    between, y = np.frombuffer(points).reshape(-1, dimensions), np.frombuffer(values)
    between = distances(between, between)
    grid = [(length, noise) for length in LENGTHS for noise in NOISES]
    return max(grid, key=lambda pair: _evidence(between, y, *pair)[2])


def _evidence(
    between: Float[np.ndarray, "n n"], y: Float[np.ndarray, " n"], length: float, noise: float
) -> tuple[Float[np.ndarray, "n n"], float, float]:
    """Cholesky factor, signal variance in closed form, and log marginal likelihood at it."""
    n = len(y)
    L = cholesky(_rbf(between, length) + (noise + 1e-8) * np.eye(n), lower=True, check_finite=False)
    scale = float((solve_triangular(L, y, lower=True, check_finite=False) ** 2).mean())
    return L, scale, -0.5 * n * np.log(max(scale, 1e-300)) - float(np.log(np.diag(L)).sum())
