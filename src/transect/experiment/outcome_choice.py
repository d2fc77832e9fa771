"""Which outcomes of a target's answers are counted, chosen and checked before anything is rendered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from transect.effects.outcomes import compute, offered
from transect.effects.truth import FACE, Truth
from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Attribute, Predictions, Task
from transect.targets.capabilities import labels_of, positive_of


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
            hint = "" if truth else "; give --truth to count errors"
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
    """Compute the outcomes of two made-up answers, so that an impossible one is refused before rendering.

    Raises BadInput or UnknownName: no positive class, a class that is not there, a truth that is no label.
    """
    task, positive = Task(target.task), positive_of(target)
    labels = labels_of(target)
    positive_text = "" if positive is None else str(positive)
    width = len(labels) or (int(positive_text) + 1 if positive_text.isdecimal() else 2)
    one_score = task in (Task.BINARY, Task.REGRESSION, Task.DETECTION)
    # A positive class that the target will name only in its predictions is accepted unchecked.
    known = labels or ((positive_text,) * width if positive_text and not positive_text.isdecimal() else ())
    boxes = (np.empty((0, 5)),) * 2 if task is Task.DETECTION else None
    answers = Predictions(task, np.full((2, 1 if one_score else width), 0.5), ("", ""), boxes, known)
    label = None if truth is None else truth.of({name: np.array(a.bounds) for name, a in attributes.items()})
    for name in outcomes:
        compute(name, answers, truth=label, positive=positive, reference=np.zeros(2, dtype=np.int64))
