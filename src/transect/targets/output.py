"""How a model's raw output is read: the same way for functions, PyTorch and ONNX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float
from scipy.special import expit, softmax

from transect.errors import BadInput, UnknownName
from transect.protocols import Target
from transect.records import Predictions, Task
from transect.targets.capabilities import labels_of, threshold_of
from transect.targets.validation import PROBABILITIES, box_fault, score_fault

Boxes = Float[np.ndarray, "_ 5"]


@final
@dataclass(frozen=True, slots=True)
class OutputSpec:
    """What a raw output means.

    task: what is answered. scale: "logit" puts binary and multilabel outputs through the logistic function and
    multiclass ones through softmax; "probability" takes them as they are and fails what lies outside [0, 1].
    labels: names of the columns, in order; empty for none. threshold: yes from this score on; a detection with a
    lower confidence is no box; default 0.5, and none for embeddings, whose distances have no usual one. positive: the
    column (by label or number) that counts as yes for multiclass and multilabel.

    Raises BadInput for settings that contradict each other.
    """

    task: Task = Task.BINARY
    scale: Literal["probability", "logit"] = "probability"
    labels: tuple[str, ...] = ()
    threshold: float | None = None
    positive: str | int | None = None

    def __post_init__(self) -> None:
        if self.scale == "logit" and self.task not in PROBABILITIES:
            raise BadInput(f"output: {self.task.value} has no logits; leave output at probability")
        if self.threshold is None and self.task is not Task.EMBEDDING:
            object.__setattr__(self, "threshold", 0.5)
        stated = self.threshold is not None
        if stated and not (isinstance(self.threshold, int | float) and math.isfinite(self.threshold)):
            raise BadInput(f"threshold: expected a finite number, got {self.threshold!r}")
        if isinstance(self.positive, str) and self.positive not in self.labels:
            raise UnknownName("positive label", self.positive, self.labels, "name the columns with labels")
        if isinstance(self.positive, int) and not 0 <= self.positive < (len(self.labels) or self.positive + 1):
            raise BadInput(f"positive: expected a column from 0 to {len(self.labels) - 1}, got {self.positive}")

    @property
    def positive_column(self) -> int | None:
        """Number of the column that counts as yes; None where none is stated."""
        return self.labels.index(self.positive) if isinstance(self.positive, str) else self.positive

    def describe(self) -> dict[str, object]:
        """Every setting, in JSON's types."""
        return {
            "task": self.task.value,
            "output": self.scale,
            "labels": list(self.labels),
            "threshold": self.threshold,
            "positive": self.positive,
        }

    def read(self, raw: Any, n: int) -> Predictions:
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

    def _matrix(self, raw: Any, n: int) -> Float[np.ndarray, "n k"]:
        array = to_array(raw)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or len(array) != n or array.shape[1] == 0:
            raise BadInput(f"expected one row of scores for each of {n} images, got an array {list(array.shape)}")
        columns = array.shape[1]
        if self.task in (Task.BINARY, Task.REGRESSION) and columns != 1:
            raise BadInput(f"expected one {self.task.value} score per image, got {columns}: set the task")
        if self.task is Task.MULTICLASS and columns < 2:
            raise BadInput("expected a score for each of two or more classes, got one per image: set the task")
        if self.labels and columns != len(self.labels):
            raise BadInput(f"expected {len(self.labels)} columns as there are labels, got {columns}")
        return array

    def _probabilities(self, scores: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        if self.scale == "logit":
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
        raw = raw.detach().cpu().double().numpy()
    try:
        array = np.asarray(raw)
    except ValueError:
        raise BadInput("expected one array, got rows of different lengths") from None
    if array.dtype.kind not in "biuf":
        raise BadInput(f"expected numbers, got {type(raw).__name__}")
    return array.astype(np.float64)


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
