"""Gradient-boosted trees: an attacker that finds combinations of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.attacks.attackers.binning import MOST_ROWS, binned
from transect.attacks.attackers.protocol import watched
from transect.attacks.records import Problem

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
        """A score for each tested item and class; see `Attacker`."""
        return [self._scores(problem) for problem in watched(self.name, stage, problems)]

    def _scores(self, problem: Problem) -> Float[np.ndarray, "t c"]:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        model = HistGradientBoostingClassifier(
            max_iter=TREES, early_stopping=False, class_weight="balanced", random_state=problem.seed % _SEEDS
        )
        train, test = _inputs(problem)
        # Its threads wait in busy loops: on a machine with other work, more than one takes many times longer.
        with threadpool_limits(1, user_api="openmp"):
            model.fit(train, problem.protected[problem.train])
            probabilities = model.predict_proba(test)
        scores = np.zeros((len(problem.test), problem.n_classes))
        scores[:, model.classes_] = probabilities
        return scores


def _inputs(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Training and tested rows; scores as bins, which give the same trees in a fraction of the time."""
    from sklearn.utils.class_weight import compute_sample_weight

    train, test = problem.evidence.dense(problem.train), problem.evidence.dense(problem.test)
    if problem.evidence.format != "scores" or len(train) > MOST_ROWS:
        return train, test
    return binned(train, test, compute_sample_weight("balanced", problem.protected[problem.train]))
