"""The attacker that no other beats where the label is one category: the class that is most frequent under it.

With equal classes, P(class | category) is largest where P(category | class) is. Bit flips of a category are solved
too: with flip probability p, a row whose set bits are S has P(row | g) proportional to
1 + (((1 - p) / p)^2 - 1) * sum of P(v | g) over v in S, so that the class with the largest sum wins for every p < 1/2.
A label that is at times replaced, whatever the class, by another leaves the order of P(category | class) as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from jaxtyping import Float, Int

from transect.attacks.attackers.protocol import watched
from transect.attacks.records import Problem
from transect.errors import BadInput


@final
class Bayes:
    """The closed form; frequencies are those of the training rows. A category never seen in training is a tie.

    Raises BadInput where the label is not one category, or a copy of one with known bit flips.
    """

    name = "bayes"
    is_slow = False
    is_random = False
    knows_noise = True

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        return [self._scores(problem) for problem in watched(self.name, stage, problems)]

    def _scores(self, problem: Problem) -> Float[np.ndarray, "t c"]:
        evidence = problem.evidence
        known = evidence.category if evidence.noisy_from is None else evidence.noisy_from
        if known is None:
            raise BadInput(
                "attacker bayes: expected one category for each item, got several label columns or scores; use "
                "--attacker logistic, mlp or auto"
            )
        frequencies = conditional_frequencies(known, problem)
        if evidence.category is not None:
            return np.asarray(frequencies[evidence.category[problem.test]])
        return np.asarray(evidence.dense(problem.test) @ frequencies)


def conditional_frequencies(category: Int[np.ndarray, " n"], problem: Problem) -> Float[np.ndarray, "k c"]:
    """P(category | class) among the training rows, float64; columns sum to 1."""
    k, c = len(problem.evidence.names), problem.n_classes
    cells = category[problem.train] * c + problem.protected[problem.train]
    counts = np.bincount(cells, minlength=k * c).reshape(k, c)
    return np.asarray(counts / np.maximum(counts.sum(axis=0), 1))
