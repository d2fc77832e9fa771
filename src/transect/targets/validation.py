"""Is an answer a valid answer? One set of rules for models' raw outputs, the guard and the conformance suite.

Reasons carry no numbers of the single image, so that equal faults can be counted together.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from transect.records import Predictions, Task

ONE_COLUMN = (Task.BINARY, Task.REGRESSION, Task.DETECTION)
PROBABILITIES = (Task.BINARY, Task.MULTICLASS, Task.MULTILABEL)

SUM_TOLERANCE = 0.01
"""How far the sum of class probabilities may be from 1; half-precision softmax over 1,000 classes stays within it."""
ROUNDING = 1e-6
"""How far a probability may lie outside [0, 1] by float32 rounding."""


def structure_fault(answer: object, task: Task, n: int) -> str:
    """What makes the whole answer unusable for n images, "" if nothing."""
    if not isinstance(answer, Predictions):
        return f"wrong type: expected Predictions, got {type(answer).__name__}"
    if answer.task != task:
        return f"wrong task: expected {task}, got {answer.task}"
    return _score_matrix_fault(answer, n) or _companion_fault(answer, n)


def row_fault(answer: Predictions, row: int) -> str:
    """Why one image of a sound answer has no valid one: the target's own reason, or what is wrong with its numbers."""
    if answer.failures[row]:
        return answer.failures[row]
    fault = score_fault(_known_scores(answer, row), answer.task)
    return fault or (box_fault(answer.boxes[row]) if answer.boxes is not None else "")


def score_fault(scores: Float[np.ndarray, " k"], task: Task) -> str:
    """What is wrong with the scores of one image, "" if nothing. A detection may lack a confidence (NaN).

    >>> score_fault(np.array([1.5]), Task.BINARY)
    'score outside [0, 1]: is it a logit?'
    """
    if np.isnan(scores).any() and task != Task.DETECTION:
        return "score is NaN"
    if np.isinf(scores).any():
        return "score is infinite"
    if task in PROBABILITIES and len(scores) and (scores.min() < -ROUNDING or scores.max() > 1 + ROUNDING):
        return "score outside [0, 1]: is it a logit?"
    if task == Task.MULTICLASS and abs(scores.sum() - 1) > SUM_TOLERANCE:
        return "class probabilities do not sum to 1"
    return ""


def _known_scores(answer: Predictions, row: int) -> Float[np.ndarray, " k"]:
    """The scores of an image; of texts that a judge was to code without those that it did not give, which are NaN."""
    scores, said = answer.scores[row], () if answer.said is None else answer.said[row]
    judged = answer.task is Task.MULTILABEL and any(one.judged for one in said)
    return np.asarray(scores[~np.isnan(scores)]) if judged else scores


def box_fault(boxes: object) -> str:
    """What is wrong with the boxes [m, 5] of one image, "" if nothing."""
    if not isinstance(boxes, np.ndarray) or boxes.ndim != 2 or boxes.shape[1] != 5 or boxes.dtype.kind != "f":
        return "boxes of a wrong shape: expected floats [m, 5]"
    if not np.isfinite(boxes[:, :4]).all():
        return "box with NaN or infinite corners"
    if (boxes[:, 2:4] < boxes[:, :2]).any():
        return "box with x1 < x0 or y1 < y0: expected x0, y0, x1, y1"
    return ""


def _score_matrix_fault(answer: Predictions, n: int) -> str:
    scores = answer.scores
    if not isinstance(scores, np.ndarray) or scores.dtype.kind != "f":
        return f"wrong type: expected scores as an array of floats, got {_kind(scores)}"
    if scores.ndim != 2 or scores.shape[1] == 0:
        return "wrong shape: expected scores [n, k]"
    if len(scores) != n:
        return "wrong count: expected one row of scores per image"
    if answer.task in ONE_COLUMN and scores.shape[1] != 1:
        return f"wrong shape: expected one {answer.task} score per image"
    return "wrong shape: expected a label for each column" if len(answer.labels) not in (0, scores.shape[1]) else ""


def _companion_fault(answer: Predictions, n: int) -> str:
    if not isinstance(answer.failures, tuple) or not all(isinstance(reason, str) for reason in answer.failures):
        return "wrong type: expected failures as a tuple of texts"
    if len(answer.failures) != n:
        return "wrong count: expected one failure text per image"
    if answer.task == Task.DETECTION and (answer.boxes is None or len(answer.boxes) != n):
        return "wrong count: expected boxes for each image"
    if answer.said is not None and len(answer.said) != n:
        return "wrong count: expected what was said about each image"
    return ""


def _kind(value: object) -> str:
    return f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
