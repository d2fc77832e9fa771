"""Classification by labels in words: the label whose sentence lies nearest to the image."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import expit, softmax

from transect.errors import BadInput
from transect.records import Task
from transect.targets.hf.dual import DualEncoder, dual_encoder
from transect.targets.hf.folder import ModelFolder
from transect.targets.hf.made import Made
from transect.targets.hf.options import PLACE, TEMPLATE, Options
from transect.targets.hf.reading import positive_column
from transect.targets.output import OutputSpec

_TASKS: Final = (None, Task.BINARY, Task.MULTICLASS, Task.MULTILABEL)


def zero_shot(folder: ModelFolder, options: Options, number: int | None = None) -> Made:
    """A classifier of the labels; of several templates, the mean of the scores in each.

    number: of the one template that is used, from 1; None for the mean over all. Labels are compared with each other
    (softmax), or, with the task multilabel and for a single label, each judged by itself (logistic; SigLIP alone).
    Raises BadInput for a task or a number that does not fit.
    """
    encoder = dual_encoder(folder, options)
    templates = _templates(options.templates or (TEMPLATE,), number)
    task = _task(options, encoder)
    texts = [template.replace(PLACE, label) for template in templates for label in options.labels]
    vectors = encoder.texts(texts)
    column = positive_column(options.labels, options) if task is Task.BINARY and len(options.labels) == 2 else None
    alone = task is Task.MULTILABEL or len(options.labels) == 1

    def run(inputs: np.ndarray) -> Float[np.ndarray, "n k"]:
        logits = encoder.logits(encoder.images(inputs), vectors)
        scores = by_template(logits, len(options.labels), alone=alone).mean(axis=1)
        return np.asarray(scores if column is None else scores[:, [column]])

    facts: dict[str, object] = {
        "templates": list(options.templates or (TEMPLATE,)),
        "template": number,
        "labels": list(options.labels),
    }
    facts |= {"classes": list(options.labels), "positive": options.positive}
    facts |= {"positive_class": None if column is None else options.labels[column]}
    return Made(run, _output(task, options), facts)


def by_template(
    logits: Float[np.ndarray, "n m"], labels: int, *, alone: bool = False
) -> Float[np.ndarray, "n templates labels"]:
    """The scores of each label in each template, from logits whose columns are templates, then labels.

    alone: each label by itself, logistic; else compared within a template, softmax.

    >>> by_template(np.log([[1.0, 3.0, 1.0, 1.0]]), 2).round(2).tolist()
    [[[0.25, 0.75], [0.5, 0.5]]]
    """
    shaped = logits.reshape(len(logits), -1, labels)
    return np.asarray(expit(shaped) if alone else softmax(shaped, axis=2))


def _templates(templates: tuple[str, ...], number: int | None) -> tuple[str, ...]:
    if number is not None and not 1 <= number <= len(templates):
        raise BadInput(
            f"template #{number}: expected a number from 1 to {len(templates)}; add --template, or change it"
        )
    return templates if number is None else (templates[number - 1],)


def _task(options: Options, encoder: DualEncoder) -> Task:
    count, task = len(options.labels), options.task
    if task not in _TASKS or (task is Task.BINARY and count > 2) or (task is Task.MULTICLASS and count == 1):
        raise BadInput(f"task: expected one that fits {count} labels in words, got {task}; leave --task out")
    if (task is Task.MULTILABEL or count == 1) and not encoder.pairwise:
        raise BadInput(
            "labels: this model compares texts with each other: expected two labels or more, of which one is right; "
            "give another label, as 'a face', and no --task"
        )
    if task is not None:
        return task
    return Task.BINARY if count <= 2 else Task.MULTICLASS


def _output(task: Task, options: Options) -> OutputSpec:
    if task is Task.BINARY:
        return OutputSpec(task, threshold=options.threshold)
    return OutputSpec(task, labels=options.labels, threshold=options.threshold, positive=options.positive)
