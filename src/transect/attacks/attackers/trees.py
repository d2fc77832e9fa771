"""Gradient-boosted trees: an attacker that finds combinations of labels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Float

from transect.attacks.attackers.binning import MOST_ROWS, binned
from transect.attacks.attackers.protocol import watched
from transect.attacks.records import Problem

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

TREES: Final = 100
_SEEDS: Final = 1 << 32


@final
class Trees:
    """scikit-learn's histogram gradient boosting: 100 trees of at most 31 leaves, equal class weights."""

    name = "trees"
    is_slow = True
    is_random = False
    knows_noise = False

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`. Equal training rows share their trees."""
        alike: dict[bytes, list[int]] = {}
        for number, problem in enumerate(problems):
            alike.setdefault(_training(problem), []).append(number)
        order = [number for group in alike.values() for number in group]
        answers: dict[int, Float[np.ndarray, "_ _"]] = {}
        known, model = b"", None
        for number, problem in zip(order, watched(self.name, stage, [problems[i] for i in order]), strict=True):
            train, test = _inputs(problem)
            if model is None or _training(problem) != known:
                known, model = _training(problem), self._fitted(problem, train)
            answers[number] = _scores(model, problem, test)
        return [answers[number] for number in range(len(problems))]

    def _fitted(self, problem: Problem, train: np.ndarray) -> HistGradientBoostingClassifier:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        model = HistGradientBoostingClassifier(
            max_iter=TREES, early_stopping=False, class_weight="balanced", random_state=problem.seed % _SEEDS
        )
        # Its threads wait in busy loops: on a machine with other work, more than one takes many times longer.
        with threadpool_limits(1, user_api="openmp"):
            return model.fit(train, problem.protected[problem.train])


def _scores(model: HistGradientBoostingClassifier, problem: Problem, test: np.ndarray) -> Float[np.ndarray, "t c"]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        probabilities = model.predict_proba(test)
    scores = np.zeros((len(problem.test), problem.n_classes))
    scores[:, model.classes_] = probabilities
    return scores


def _training(problem: Problem) -> bytes:
    """A digest of what the trees are learned from; the seed chooses rows for bins where there are many."""
    rows = np.ascontiguousarray(problem.evidence.dense(problem.train))
    seed = problem.seed % _SEEDS if len(rows) > MOST_ROWS else 0
    content = hashlib.sha256(f"{rows.shape} {rows.dtype} {problem.evidence.format} {seed} ".encode())
    content.update(rows.tobytes())
    content.update(np.ascontiguousarray(problem.protected[problem.train]).tobytes())
    return content.digest()


def _inputs(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Training and tested rows; scores as bins, which give the same trees in a fraction of the time."""
    from sklearn.utils.class_weight import compute_sample_weight

    train, test = problem.evidence.dense(problem.train), problem.evidence.dense(problem.test)
    if problem.evidence.format != "scores" or len(train) > MOST_ROWS:
        return train, test
    return binned(train, test, compute_sample_weight("balanced", problem.protected[problem.train]))
