"""What to count of a target's answers, chosen and tried before anything is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from transect.effects.outcomes import compute, offered
from transect.effects.truth import FACE, Truth
from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Attribute, Predictions, Task


def choose_outcomes(task: Task, truth: str | None, wanted: Sequence[str], *, verifies: bool = False) -> list[str]:
    """The outcomes to count: those wanted, or the usual ones of the task. verifies: whether there is a threshold, from
    which two embeddings are no match.

    Raises BadInput for an outcome that the task, the truth or the threshold do not offer.

    >>> choose_outcomes(Task.DETECTION, None, ())
    ['answer']
    """
    possible = offered(task, truth is not None)
    for outcome in wanted:
        if outcome not in possible:
            hint = "" if truth else "; give --truth to count what needs to know what is right"
            raise BadInput(
                f"outcome {outcome!r} is not offered for a {task} target: choose from {', '.join(possible)}{hint}"
            )
    if "non_match" in wanted and not verifies:
        raise BadInput("outcome non_match needs --vary and a threshold: give --threshold or --false-match-rate")
    return list(dict.fromkeys(wanted)) or [
        *_usual_outcomes(task, truth),
        *(["non_match"] if verifies and task is Task.EMBEDDING else []),
    ]


def _usual_outcomes(task: Task, truth: str | None) -> list[str]:
    if task is Task.EMBEDDING:
        return ["distance"]
    if task is Task.REGRESSION:
        return ["score", "error"] if truth else ["score"]
    if task is Task.DETECTION:
        return ["answer"] if truth is None else ["miss"] if truth.strip() == FACE else ["answer", "error"]
    return ["answer", "error"] if truth else ["answer", "score"]


def rehearse(target: Target, outcomes: Sequence[str], truth: Truth | None, attributes: Mapping[str, Attribute]) -> None:
    """Compute the outcomes of two made-up answers, so that what cannot be counted is refused before anything is made.

    Raises BadInput or UnknownName: no positive class, a class that is not there, a truth that is no label.
    """
    task, positive = Task(target.task), getattr(target, "positive", None)
    labels = tuple(getattr(target, "labels", ()) or ())
    asked = "" if positive is None else str(positive)
    width = len(labels) or (int(asked) + 1 if asked.isdecimal() else 2)
    one_score = task in (Task.BINARY, Task.REGRESSION, Task.DETECTION)
    # A positive class that the target will name only in its predictions is taken as it is.
    known = labels or ((asked,) * width if asked and not asked.isdecimal() else ())
    boxes = (np.empty((0, 5)),) * 2 if task is Task.DETECTION else None
    answers = Predictions(task, np.full((2, 1 if one_score else width), 0.5), ("", ""), boxes, known)
    label = None if truth is None else truth.of({name: np.array(a.bounds) for name, a in attributes.items()})
    for name in outcomes:
        compute(name, answers, truth=label, positive=positive, reference=np.zeros(2, dtype=np.int64))
