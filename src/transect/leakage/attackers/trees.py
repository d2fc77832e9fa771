"""Gradient-boosted trees: an attacker that finds combinations of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.leakage.records import Problem

TREES: Final = 100
_SEEDS: Final = 1 << 32


@final
class Trees:
    """scikit-learn's histogram gradient boosting: 100 trees of at most 31 leaves, equal class weights."""

    name = "trees"
    is_slow = True
    is_random = False
    knows_noise = False

    def attack(self, problems: Sequence[Problem]) -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        return [self._one(problem) for problem in problems]

    def _one(self, problem: Problem) -> Float[np.ndarray, "t c"]:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        model = HistGradientBoostingClassifier(
            max_iter=TREES, early_stopping=False, class_weight="balanced", random_state=problem.seed % _SEEDS
        )
        # Its threads wait in busy loops: on a machine with other work, more than one takes many times longer.
        with threadpool_limits(1, user_api="openmp"):
            model.fit(problem.evidence.dense(problem.train), problem.protected[problem.train])
            found = model.predict_proba(problem.evidence.dense(problem.test))
        scores = np.zeros((len(problem.test), problem.n_classes))
        scores[:, model.classes_] = found
        return scores
