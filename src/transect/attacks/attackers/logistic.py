"""Multinomial logistic regression with equal class weights and an L2 penalty, many targets at a time.

It is separate from scikit-learn's because one factorisation here fits 200 permutations of the targets at once.
Minimises sum of w_i * cross-entropy_i + |B|^2 / 2 (intercepts free) by the minorise-maximise step of Böhning 1992
(doi:10.1007/BF00048682), B <- B - H^-1 gradient with the fixed bound H = X'WX / 2 + I, accelerated with restarts. One
factorisation then serves every attack on the same rows, so that a permutation costs two matrix products a step.
Equal rows of bits or categories are merged beforehand, which changes nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax

from transect.attacks.attackers.distinct import distinct_rows
from transect.attacks.records import Problem
from transect.runs.progress import Progress

PENALTY: Final = 1.0
_STEPS: Final = 2000
_TOLERANCE: Final = 1e-4
_INTERCEPT_PENALTY: Final = 1e-6
_NUMBERS_AT_ONCE: Final = 1 << 25


@final
class Logistic:
    """Linear in the evidence; scores are standardized first."""

    name = "logistic"
    is_slow = False
    is_random = False
    knows_noise = False

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        answers: list[Float[np.ndarray, "_ _"]] = [np.empty((0, 0))] * len(problems)
        with Progress(f"{stage}: {self.name}", len(problems), quiet=not stage) as progress:
            for group in _sharing_rows(problems):
                together = _together([problems[i] for i in group], progress.advance)
                for number, answer in zip(group, together, strict=True):
                    answers[number] = answer
        return answers


def fit(
    x: Float[np.ndarray, "m k"], targets: Float[np.ndarray, "m p c"], penalty: float = PENALTY
) -> Float[np.ndarray, "k p c"]:
    """Coefficients of p regressions on the same x; targets hold the weight of each row under each class.

    The last column of x is the intercept, which is not penalised. Stops when the largest move of a coefficient in a
    step is below 1e-4, or after 2,000 steps.

    >>> x = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> targets = np.array([[[30.0, 10.0]], [[10.0, 30.0]]])  # odds of 3 against 1, either way
    >>> b = fit(x, targets, penalty=0.0)[:, 0, 1] - fit(x, targets, penalty=0.0)[:, 0, 0]
    >>> np.exp(x @ b).round(2)
    array([0.33, 3.  ])
    """
    (m, k), (p, c) = x.shape, targets.shape[1:]
    weights = targets.sum(axis=2)
    ridge = np.full(k, penalty)
    ridge[-1] = _INTERCEPT_PENALTY
    bound = 0.5 * (x.T * weights.max(axis=1)) @ x + np.diag(ridge + _INTERCEPT_PENALTY)
    factor = cho_factor(bound)
    at = leading = np.zeros((k, p, c))
    momentum = np.ones(p)
    for _ in range(_STEPS):
        residual = weights[:, :, None] * softmax((x @ leading.reshape(k, -1)).reshape(m, p, c), axis=2) - targets
        gradient = (x.T @ residual.reshape(m, -1)).reshape(k, p, c) + ridge[:, None, None] * leading
        moved = leading - cho_solve(factor, gradient.reshape(k, -1)).reshape(k, p, c)
        step = moved - at
        uphill = (gradient * step).sum(axis=(0, 2)) > 0
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        pace = np.where(uphill, 0.0, (momentum - 1) / grown)
        momentum = np.where(uphill, 1.0, grown)
        at, leading = moved, moved + pace[:, None] * step
        if np.abs(step).max() < _TOLERANCE:
            break
    return at


def _sharing_rows(problems: Sequence[Problem]) -> list[list[int]]:
    """Positions of problems that have their evidence and training rows in common."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    for number, problem in enumerate(problems):
        groups.setdefault((id(problem.evidence), problem.train.tobytes()), []).append(number)
    return list(groups.values())


def _together(problems: Sequence[Problem], advance: Callable[[int], None]) -> list[Float[np.ndarray, "_ _"]]:
    first = problems[0]
    rows, merged = distinct_rows(first.evidence, first.train)
    x = _design(first, rows, first.train)
    size = max(1, _NUMBERS_AT_ONCE // (len(rows) * first.n_classes))
    answers = []
    for start in range(0, len(problems), size):
        some = problems[start : start + size]
        targets = np.stack([_targets(problem, merged, len(rows)) for problem in some], axis=1)
        coefficients = fit(x, targets)
        answers += _scores(some, coefficients)
        advance(len(some))
    return answers


def _scores(problems: Sequence[Problem], coefficients: Float[np.ndarray, "k p c"]) -> list[Float[np.ndarray, "_ _"]]:
    """What each problem's coefficients say of its tested rows; problems that test the same rows share one product."""
    k, _, c = coefficients.shape
    sharing: dict[bytes, list[int]] = {}
    for number, problem in enumerate(problems):
        sharing.setdefault(problem.test.tobytes(), []).append(number)
    scores: list[Float[np.ndarray, "_ _"]] = [np.empty((0, 0))] * len(problems)
    for numbers in sharing.values():
        first = problems[numbers[0]]
        product = _design(first, first.test, first.train) @ coefficients[:, numbers].reshape(k, -1)
        for place, number in enumerate(numbers):
            scores[number] = product[:, place * c : (place + 1) * c]
    return scores


def _design(problem: Problem, rows: Int[np.ndarray, " m"], train: Int[np.ndarray, " a"]) -> Float[np.ndarray, "m k"]:
    """The evidence with a column of ones; scores standardized by the training rows."""
    x = problem.evidence.dense(rows).astype(np.float64)
    if problem.evidence.format == "scores":
        known = problem.evidence.dense(train).astype(np.float64)
        spread = known.std(axis=0)
        x = (x - known.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def _targets(problem: Problem, merged: Int[np.ndarray, " a"], m: int) -> Float[np.ndarray, "m c"]:
    """Weight of each distinct row under each class; classes weigh the same in all."""
    groups, c = problem.protected[problem.train], problem.n_classes
    counts = np.bincount(merged * c + groups, minlength=m * c).reshape(m, c)
    return np.asarray(counts * (len(groups) / c / np.maximum(counts.sum(axis=0), 1)))
