"""A search of a model that answers in words: which question it is asked, and which of its outcomes is a failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.effects.outcomes import offered
from transect.effects.said_outcomes import LENGTH, LIKELIHOOD, LIST, OF_OPTION, asked_in
from transect.errors import BadInput
from transect.experiment.outcome_choice import choose_outcomes
from transect.protocols import Target, TargetLike
from transect.records import Predictions, Task
from transect.runs.answer_tables import said_of
from transect.runs.folder import RunFolder, slug
from transect.said import AskedSpec
from transect.targets.capabilities import answers_in_words
from transect.targets.description import describe
from transect.targets.words.speakers import question_set

HALF: Final = 0.5
"""An image fails where this share of its wordings, or more, has the outcome."""
USUAL: Final = "refusal"
"""What counts as a failure where no truth is stated."""
_NOT_YES_OR_NO: Final = ("score", "loss", LENGTH, LIKELIHOOD)


def question_of(target: TargetLike, questions: str | Path | None, question: str = "") -> TargetLike:
    """The target that asks the model one question; the target itself without questions.

    Raises BadInput for several questions of which none is named, or a name without a file; UnknownName for another
    name; and what reading the file raises.
    """
    if questions is None:
        if question:
            raise BadInput("--question: expected --questions with it, got none; add --questions FILE")
        return target
    names = [each.name for each in question_set(questions)]
    if not question and len(names) > 1:
        raise BadInput(
            f"--questions {questions}: expected one question to search by, got {len(names)} ({', '.join(names)}); "
            "choose one with --question NAME"
        )
    chosen = question_set(questions).named(question or names[0]).name
    return AskedSpec(target, str(questions), chosen)


def outcome_of(target: Target, truth: str | None, wanted: str = "") -> str:
    """What counts as a failure of a question: the outcome wanted, by default an error where a truth is stated, else a
    refusal.

    Raises BadInput for an outcome that the question has not, that is no yes or no, or that no truth enters although one
    is stated.
    """
    task, asked = Task(target.task), asked_in(describe(target))
    name = wanted or ("error" if truth is not None and task is Task.BINARY else USUAL)
    choose_outcomes(task, truth, (name,), asked=asked)
    possible = [each for each in offered(task, truth is not None, asked) if _is_yes_or_no(each, task)]
    if name not in possible:
        raise BadInput(
            f"--outcome {name}: expected one that an image has or has not, got a number; choose from "
            f"{', '.join(possible)}"
        )
    if truth is not None and name not in ("miss", "false_alarm", "error"):
        raise BadInput(f"--truth {truth}: expected an outcome that it enters, got {name}; leave --truth out")
    return name


def _is_yes_or_no(outcome: str, task: Task) -> bool:
    if outcome in _NOT_YES_OR_NO or outcome.startswith((LIST, OF_OPTION)):
        return False
    return not (task is Task.REGRESSION and outcome == "error")


def failed(values: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """1 for an image of whose wordings half or more have the outcome, else 0; NaN without a value.

    >>> failed(np.array([0.0, 1 / 3, 0.5, 1.0, np.nan]))
    array([ 0.,  0.,  1.,  1., nan])
    """
    return np.where(np.isfinite(values), (values >= HALF).astype(np.float64), np.nan)


def answers_table_of(target: Target) -> str:
    """The table of what a model said."""
    return f"answers/{slug(target.name)}"


def with_texts(target: Target, answers: Predictions, folder: RunFolder, part: int, ids: list[str]) -> Predictions:
    """The predictions with what was said, where the target answers in words."""
    if not answers_in_words(target):
        return answers
    return replace(answers, said=said_of(folder.read_part(answers_table_of(target), part), ids))
