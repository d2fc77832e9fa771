"""How a model's raw output is read, and whether an answer is a valid one: one set of rules for functions, PyTorch,
ONNX, the guard and the conformance suite.

Reasons carry no numbers of the single image, so that equal faults can be counted together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput, UnknownName
from transect.protocols import Target
from transect.records import Predictions, Task
from transect.targets.capabilities import labels_of, threshold_of

Boxes = Float[np.ndarray, "_ 5"]
AUTOMATIC = "automatic"
"""The head of a detector whose outputs show which it is."""


@final
@dataclass(frozen=True, slots=True)
class OutputSpec:
    """What a raw output means.

    task: what is answered. scale: "logit" puts binary and multilabel outputs through the logistic function and
    multiclass ones through softmax; "probability" takes them as they are and fails what lies outside [0, 1].
    labels: names of the columns, in order; empty for none. threshold: yes from this score on; a detection with a
    lower confidence is no box; default 0.5, and none for embeddings, whose distances have no usual one. positive: the
    column (by label or number) that counts as yes for multiclass and multilabel, or the classes whose boxes count,
    separated by commas, of a network's head. head: which numbers a detector's network gives, "" for boxes, AUTOMATIC
    for what its outputs show; it is resolved before answers are read.

    Raises BadInput for settings that contradict each other.
    """

    task: Task = Task.BINARY
    scale: Literal["probability", "logit"] = "probability"
    labels: tuple[str, ...] = ()
    threshold: float | None = None
    positive: str | int | None = None
    head: str = ""

    def __post_init__(self) -> None:
        if self.scale == "logit" and self.task not in PROBABILITIES:
            raise BadInput(f"output: {self.task.value} has no logits; leave output at probability")
        if self.threshold is None and self.task is not Task.EMBEDDING:
            object.__setattr__(self, "threshold", 0.5)
        stated = self.threshold is not None
        if stated and not (isinstance(self.threshold, int | float) and math.isfinite(self.threshold)):
            raise BadInput(f"threshold: expected a finite number, got {self.threshold!r}")
        if self.head:
            return
        if isinstance(self.positive, str) and self.positive not in self.labels:
            raise UnknownName("positive label", self.positive, self.labels, "name the columns with labels")
        if isinstance(self.positive, int) and not 0 <= self.positive < (len(self.labels) or self.positive + 1):
            raise BadInput(f"positive: expected a column from 0 to {len(self.labels) - 1}, got {self.positive}")

    @property
    def positive_column(self) -> int | None:
        """Number of the column that counts as yes; None where none is stated."""
        if self.head:
            return None
        return self.labels.index(self.positive) if isinstance(self.positive, str) else self.positive

    def describe(self) -> dict[str, object]:
        """Every setting, in JSON's types."""
        return {
            "task": self.task.value,
            "output": self.head or self.scale,
            "labels": list(self.labels),
            "threshold": self.threshold,
            "positive": self.positive,
        }

    def read(self, raw: object, n: int) -> Predictions:
        """Predictions for n images from an array, a tensor or a list; detection: a list of boxes per image.

        Boxes are [m, 4] or [m, 5] arrays (x0, y0, x1, y1 and confidence) or mappings with "boxes" and "scores".
        An image whose own numbers are unusable (NaN, infinite, no probability, a malformed box) fails with the
        reason. Raises BadInput where the whole output is of a wrong type, count or shape.

        >>> OutputSpec(scale="logit").read([0.0, float("nan")], 2).scores[0, 0]
        np.float64(0.5)
        """
        return self._detections(raw, n) if self.task is Task.DETECTION else self._scores(raw, n)

    def _scores(self, raw: object, n: int) -> Predictions:
        matrix = self._matrix(raw, n)
        faults = [score_fault(row, Task.EMBEDDING) for row in matrix]  # an infinite logit is no certainty, but a fault
        matrix[[bool(fault) for fault in faults]] = 0.0
        scores = self._probabilities(matrix)
        failures = tuple(fault or score_fault(row, self.task) for fault, row in zip(faults, scores, strict=True))
        scores = np.clip(scores, 0.0, 1.0) if self.task in PROBABILITIES else scores
        scores[[bool(reason) for reason in failures]] = np.nan
        return Predictions(self.task, scores, failures, labels=self.labels)

    def _matrix(self, raw: object, n: int) -> Float[np.ndarray, "n k"]:
        array = to_array(raw)
        wide = [size for size in array.shape[1:] if size != 1]
        array = array.reshape(len(array), *(wide or [1])) if array.ndim and len(wide) < array.ndim - 1 else array
        raw_has_rows = array.ndim > 0
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or len(array) != n or array.shape[1] == 0:
            got = f"an array {list(array.shape)}" if raw_has_rows else "one number for all; return one for each"
            raise BadInput(f"expected one row of scores for each of {n} images, got {got}")
        columns = array.shape[1]
        if self.task in (Task.BINARY, Task.REGRESSION) and columns != 1:
            raise BadInput(f"expected one {self.task.value} score per image, got {columns}: set the task")
        if self.task is Task.MULTICLASS and columns < 2:
            raise BadInput("expected a score for each of two or more classes, got one per image: set the task")
        if self.labels and columns != len(self.labels):
            raise BadInput(f"expected {len(self.labels)} columns, one per label, got {columns}")
        return array

    def _probabilities(self, scores: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        if self.scale == "logit":
            from scipy.special import expit, softmax  # half of what `transect audit --help` would load

            return np.asarray(softmax(scores, axis=1) if self.task is Task.MULTICLASS else expit(scores))
        return scores

    def _detections(self, raw: object, n: int) -> Predictions:
        if not isinstance(raw, Sequence | np.ndarray) or isinstance(raw, str) or len(raw) != n:
            length = f"{len(raw)} entries" if hasattr(raw, "__len__") else type(raw).__name__
            raise BadInput(f"expected a list of boxes for each of {n} images, got {length}")
        answers = [_boxes_or_reason(answer) for answer in raw]
        least = 0.5 if self.threshold is None else self.threshold
        confident = [boxes[~(boxes[:, 4] < least)] for boxes, _ in answers]
        return detections(confident, tuple(reason for _, reason in answers))


def as_predictions(answer: object, target: Target, n: int) -> object:
    """The answer of a target's `predict` about n images, where it is an array, a tensor or a list, as Predictions.

    The target's own task, labels and threshold state how it is read; two columns of a binary target are the
    probabilities of no and yes, as scikit-learn orders them. Any other answer comes back as it is. Raises BadInput for
    an array that does not fit the task.
    """
    if isinstance(answer, Predictions) or not (isinstance(answer, list | np.ndarray) or hasattr(answer, "detach")):
        return answer
    task, labels = Task(target.task), labels_of(target)
    if task is Task.BINARY and isinstance(answer, np.ndarray) and answer.shape == (n, 2):
        answer, labels = answer[:, 1], ()
    return OutputSpec(task, labels=labels, threshold=threshold_of(target)).read(answer, n)


def detections(boxes: Sequence[Boxes], failures: tuple[str, ...] = ()) -> Predictions:
    """Predictions of a detector: the score is the best confidence, 0 without a box, NaN for boxes that have none."""
    failures = failures or ("",) * len(boxes)
    scores = [np.nan if reason else _best(image_boxes) for image_boxes, reason in zip(boxes, failures, strict=True)]
    return Predictions(Task.DETECTION, np.array(scores, dtype=np.float64).reshape(-1, 1), failures, tuple(boxes))


def to_array(raw: object) -> Float[np.ndarray, ...]:
    """float64 from a tensor, array or list of numbers. Raises BadInput for anything else."""
    if hasattr(raw, "detach"):
        tensor: Any = raw.detach().cpu()
        raw = (tensor.double() if tensor.is_floating_point() else tensor).numpy()  # NumPy has no bfloat16
    try:
        array = np.asarray(raw)
    except ValueError:
        raise BadInput("expected one array, got rows of different lengths") from None
    if array.dtype.kind == "c":
        raise BadInput("expected real numbers, got complex ones")
    if array.dtype.kind not in "biuf":
        raise BadInput(f"expected numbers, got {_kind_of(raw, array)}; return one score for each image")
    return array.astype(np.float64)


def _kind_of(raw: object, array: np.ndarray) -> str:
    """What an answer is in place of numbers."""
    if isinstance(raw, Mapping):
        return f"a dict with {', '.join(sorted(map(str, raw))[:4])}"
    if raw is None:
        return "None"
    inner = next(iter(array.ravel().tolist()), None) if array.ndim else raw
    return f"texts, as {inner!r}"[:60] if isinstance(inner, str) else f"{type(raw).__name__} of {type(inner).__name__}"


def _boxes_or_reason(raw: object) -> tuple[Boxes, str]:
    nothing = np.zeros((0, 5))
    try:
        boxes = _boxes(raw)
    except BadInput as error:
        return nothing, str(error)
    fault = box_fault(boxes)
    return (nothing, fault) if fault else (boxes, "")


def _boxes(raw: Any) -> np.ndarray:
    scores = None
    if isinstance(raw, Mapping):
        raw, scores = raw.get("boxes"), raw.get("scores")
    boxes = to_array(raw)
    boxes = boxes.reshape(0, 5) if boxes.size == 0 else boxes
    if boxes.ndim == 2 and boxes.shape[1] == 4:
        confidence = np.full(len(boxes), np.nan) if scores is None else to_array(scores)
        if confidence.shape != (len(boxes),):
            raise BadInput("expected one score per box")
        boxes = np.column_stack([boxes, confidence])
    return boxes


def _best(boxes: Boxes) -> float:
    """Best confidence among the boxes that have one."""
    known = boxes[~np.isnan(boxes[:, 4]), 4]
    if len(boxes) and not len(known):
        return math.nan
    return float(known.max(initial=0.0))


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
    # The scores of an image; of texts that a judge was to code without those that it did not give, which are NaN.
    scores, said = answer.scores[row], () if answer.said is None else answer.said[row]
    judged = answer.task is Task.MULTILABEL and any(one.judged for one in said)
    fault = score_fault(np.asarray(scores[~np.isnan(scores)] if judged else scores), answer.task)
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
        got = f"{scores.dtype} array" if isinstance(scores, np.ndarray) else type(scores).__name__
        return f"wrong type: expected scores as an array of floats, got {got}"
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
        return "wrong count: expected one spoken answer per image"
    return ""
