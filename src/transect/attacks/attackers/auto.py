"""The best of several attackers, chosen by cross-fitting inside the training rows, never by rows that are scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.attacks.attackers.bayes import Bayes
from transect.attacks.attackers.logistic import Logistic
from transect.attacks.attackers.protocol import Attacker
from transect.attacks.attackers.trees import Trees
from transect.attacks.records import Evidence, Problem
from transect.attacks.scoring import balanced_accuracy, credit
from transect.attacks.splits import subject_folds

INNER_FOLDS: Final = 3


def candidates(evidence: Evidence) -> tuple[Attacker, ...]:
    """Who competes: the closed form and logistic for one category, logistic and trees for everything else."""
    if evidence.category is not None:
        return Bayes(), Logistic()
    return (Bayes(), Logistic()) if evidence.noisy_from is not None else (Logistic(), Trees())


@final
class Auto:
    """For each problem the candidate with the best balanced accuracy over three folds of its training rows.

    Of equals the first. `chosen` counts the choices of the last attack.
    """

    name = "auto"
    is_slow = True
    is_random = False
    knows_noise = False

    def __init__(self) -> None:
        self.chosen: Counter[str] = Counter()

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        fields = [candidates(problem.evidence) for problem in problems]
        best = [[-np.inf] * len(field) for field in fields]
        for place in range(max((len(field) for field in fields), default=0)):
            for number, score in _inner(problems, fields, place, stage and f"{stage}, choice of attacker"):
                best[number][place] = score
        chosen = [int(np.argmax(scores)) for scores in best]
        self.chosen = Counter(field[pick].name for field, pick in zip(fields, chosen, strict=True))
        answers: list[Float[np.ndarray, "_ _"]] = [np.empty((0, 0))] * len(problems)
        for name in self.chosen:
            numbers = [i for i, pick in enumerate(chosen) if fields[i][pick].name == name]
            attacker = fields[numbers[0]][chosen[numbers[0]]]
            for number, answer in zip(numbers, attacker.attack([problems[i] for i in numbers], stage), strict=True):
                answers[number] = answer
        return answers


def _inner(
    problems: Sequence[Problem], fields: Sequence[tuple[Attacker, ...]], place: int, stage: str
) -> list[tuple[int, float]]:
    """Balanced accuracy, over the folds of its training rows, of each problem's candidate at a place."""
    accuracies = []
    for name in sorted({field[place].name for field in fields if len(field) > place}):
        numbers = [i for i, field in enumerate(fields) if len(field) > place and field[place].name == name]
        inner = [fold for i in numbers for fold in _folds(problems[i])]
        answers = fields[numbers[0]][place].attack(inner, stage)
        for number, start in zip(numbers, range(0, len(inner), INNER_FOLDS), strict=True):
            folds = slice(start, start + INNER_FOLDS)
            accuracies.append((number, _score(list(zip(inner[folds], answers[folds], strict=True)))))
    return accuracies


def _folds(problem: Problem) -> list[Problem]:
    """Inner problems; folds deal out the rows of each class in turn, so that all have every class where they can.

    Where subjects repeat, whole subjects are dealt out.
    """
    fold = np.empty(len(problem.train), dtype=np.int64)
    groups = problem.protected[problem.train]
    for group in range(problem.n_classes):
        rows = np.flatnonzero(groups == group)
        fold[rows] = np.arange(len(rows)) % INNER_FOLDS
    if problem.subjects is not None:
        fold = subject_folds(problem.subjects[problem.train], groups, INNER_FOLDS)
    return [replace(problem, train=problem.train[fold != f], test=problem.train[fold == f]) for f in range(INNER_FOLDS)]


def _score(folds: Sequence[tuple[Problem, Float[np.ndarray, "_ _"]]]) -> float:
    truth: Int[np.ndarray, " m"] = np.concatenate([problem.protected[problem.test] for problem, _ in folds])
    credits = [credit(scores, problem.protected[problem.test]) for problem, scores in folds]
    return balanced_accuracy(np.concatenate(credits), truth)
