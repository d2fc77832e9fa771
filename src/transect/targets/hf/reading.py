"""How the numbers of a network with labels are read, from its labels and what the user states."""

from __future__ import annotations

from typing import Literal

from transect.errors import BadInput
from transect.records import Task
from transect.targets.hf.options import Options
from transect.targets.output import OutputSpec

_OTHER = (Task.DETECTION, Task.EMBEDDING)


def reading(labels: tuple[str, ...], problem: str | None, options: Options) -> tuple[OutputSpec, int | None]:
    """The output of logits, and the column of yes where two classes make a binary target.

    problem: the config's problem_type. Two classes are binary and score `positive`, by default the second class; one
    output is binary too, or a regression where the config says so. Raises BadInput for a task that does not fit.
    """
    task = options.task or _task(labels, problem)
    if task is Task.BINARY and len(labels) == 2:
        return OutputSpec(task, threshold=options.threshold), positive_column(labels, options)
    if (task in (Task.BINARY, Task.REGRESSION)) != (len(labels) == 1) or task in _OTHER:
        raise BadInput(f"task: the model has {len(labels)} outputs ({', '.join(labels[:4])} …), got {task.value}")
    if len(labels) == 1:
        scale: Literal["logit", "probability"] = "logit" if task is Task.BINARY else "probability"
        return OutputSpec(task, scale, threshold=options.threshold), None
    return OutputSpec(task, "logit", labels, options.threshold, options.positive), None


def positive_column(labels: tuple[str, ...], options: Options) -> int:
    """Of two classes the number of the one that counts as yes: the second, unless the user names one.

    >>> positive_column(("smile", "no smile"), Options(positive="smile")), positive_column(("no", "yes"), Options())
    (0, 1)
    """
    if options.positive is None:
        return 1
    column = OutputSpec(Task.MULTICLASS, labels=labels, positive=options.positive).positive_column
    return 1 if column is None else column


def _task(labels: tuple[str, ...], problem: str | None) -> Task:
    if problem == "multi_label_classification":
        return Task.MULTILABEL
    if len(labels) == 1:
        return Task.REGRESSION if problem == "regression" else Task.BINARY
    return Task.BINARY if len(labels) == 2 else Task.MULTICLASS
