"""A model under audit, whatever runs it: what goes in (Preprocess), what runs, what comes out (OutputSpec); also an
estimator of scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, final

import numpy as np

from transect.errors import BadInput
from transect.records import Images, Predictions, Task
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Aligner, Preprocess
from transect.targets.python_objects import fingerprint

Run = Callable[[np.ndarray], object]
"""A batch of model inputs to raw outputs."""


@final
class ModelTarget:
    """A Target made of a function, a PyTorch module or an ONNX session.

    run gets what `preprocess` makes of the pixels, or the uint8 pixels [n, h, w, 3] themselves where it is None;
    `output` says how its answer is read. facts: what else describes the model (file, hash, versions), as JSON values.
    processor: what makes the model's inputs in place of `preprocess`.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        output: OutputSpec | None = None,
        preprocess: Preprocess | None = None,
        facts: Mapping[str, object] | None = None,
        processor: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self._run, self._preprocess, self._facts = run, preprocess, dict(facts or {})
        self._processor = processor
        self._output = output or OutputSpec()
        self._aligner = None if preprocess is None or preprocess.align is None else Aligner(preprocess)
        if self._aligner is not None and self._output.task is Task.DETECTION:
            raise BadInput("align: a detector is shown whole images; leave align out of the preprocessing")
        self.name, self.task, self.labels = name, self._output.task, self._output.labels
        self.threshold, self.positive = self._output.threshold, self._output.positive_column

    def describe(self) -> dict[str, object]:
        """Settings, preprocessing, file and versions, as JSON values."""
        preprocess = {"text": "uint8 pixels as they are"} if self._preprocess is None else self._preprocess.describe()
        faces = {} if self._aligner is None else self._aligner.facts()
        return {**self._output.describe(), "preprocess": preprocess, **faces, **self._facts}

    @property
    def wants_landmarks(self) -> bool:
        """Whether the landmarks of faces must come with the images."""
        return self._aligner is not None and self._aligner.wants_landmarks

    def inputs(self, pixels: np.ndarray) -> np.ndarray:
        """What the model gets for uint8 pixels [n, h, w, 3]."""
        if self._preprocess is not None:
            return self._preprocess.apply(pixels)
        return pixels if self._processor is None else self._processor(pixels)

    def predict(self, images: Images) -> Predictions:
        """One answer per image, in order; none, with the reason, where a face cannot be aligned."""
        if self._aligner is None:
            return self._answers(images)
        crops, lost = self._aligner.crops(images)
        kept = np.flatnonzero([not reason for reason in lost])
        return _spread(self._answers(Images(crops[kept])) if len(kept) else None, kept, lost, self.task, self.labels)

    def _answers(self, images: Images) -> Predictions:
        inputs = self.inputs(images.pixels)
        predictions = self._output.read(self._run(inputs), len(images))
        if predictions.boxes is None:
            return predictions
        return replace(predictions, boxes=tuple(self._on_image(boxes, images, inputs) for boxes in predictions.boxes))

    def _on_image(self, boxes: np.ndarray, images: Images, inputs: np.ndarray) -> np.ndarray:
        """Boxes of the model's input, in pixels of the image; a processor shows the whole image, stretched."""
        height, width = images.pixels.shape[1:3]
        if self._preprocess is not None:
            return self._preprocess.boxes_to_image(boxes, (height, width))
        if self._processor is None:
            return boxes
        return Preprocess((inputs.shape[2], inputs.shape[3])).boxes_to_image(boxes, (height, width))


def _spread(
    answers: Predictions | None, kept: np.ndarray, lost: tuple[str, ...], task: Task, labels: tuple[str, ...]
) -> Predictions:
    """The answers about the images `kept` among those that are lost for a reason. answers: None where all are lost."""
    width = len(labels) or 1 if answers is None else answers.scores.shape[1]
    scores, failures = np.full((len(lost), width), np.nan), list(lost)
    if answers is not None:
        scores[kept] = answers.scores
        for row, reason in zip(kept.tolist(), answers.failures, strict=True):
            failures[row] = reason
    return Predictions(task, scores, tuple(failures), labels=labels)


METHODS: Final = ("predict_proba", "predict")


def is_estimator(model: object) -> bool:
    """Whether an object answers as an estimator does: it has `predict` or `predict_proba`."""
    return any(callable(getattr(model, method, None)) for method in METHODS)


def of_estimator(
    model: object, name: str, output: OutputSpec, preprocess: Preprocess | None = None, task: Task | None = None
) -> ModelTarget:
    """The target of a fitted estimator. task: as the user states it, None for what the estimator shows.

    It gets the uint8 pixels [n, h, w, 3], or what `preprocess` makes of them, flattened where it was fitted on rows
    (`n_features_in_`). With two classes the target is binary and scores the second class, with more it is multiclass.
    Without `predict_proba` the predicted class scores 1 and the others 0. Any other output is read by `output`.
    """
    classes = tuple(str(label) for label in getattr(model, "classes_", ()))
    output = _output(output, classes, task, name) if classes else _without_classes(output, model, task)
    method = "predict_proba" if callable(getattr(model, "predict_proba", None)) else "predict"

    def run(inputs: np.ndarray) -> object:
        answers = getattr(model, method)(_features(inputs, getattr(model, "n_features_in_", None)))
        return _scores(answers, classes, output.task) if classes else _positive_column(answers, output.task)

    return ModelTarget(name, run, output, preprocess, {**_facts(model), "method": method, "classes": list(classes)})


def _output(output: OutputSpec, classes: tuple[str, ...], task: Task | None, name: str) -> OutputSpec:
    task = task or (Task.BINARY if len(classes) == 2 else Task.MULTICLASS)
    if task not in (Task.BINARY, Task.MULTICLASS) or (task is Task.BINARY and len(classes) != 2):
        raise BadInput(f"{name}: expected a task for {len(classes)} classes, got {task.value}; leave the task out")
    if task is Task.BINARY:
        return replace(output, task=task)
    return replace(output, task=task, labels=output.labels or classes)


def _without_classes(output: OutputSpec, model: object, task: Task | None) -> OutputSpec:
    regressor = getattr(model, "_estimator_type", "") == "regressor" or _tagged_regressor(model)
    return replace(output, task=Task.REGRESSION) if task is None and regressor else output


def _tagged_regressor(model: object) -> bool:
    tags = getattr(model, "__sklearn_tags__", None)
    return callable(tags) and getattr(tags(), "estimator_type", None) == "regressor"


def _features(inputs: np.ndarray, expected: int | None) -> np.ndarray:
    """The inputs, flattened to rows for an estimator that was fitted on rows of that many features."""
    features = math.prod(inputs.shape[1:])
    if expected is None or (features != expected and inputs.shape[1] == expected):
        return inputs
    if features != expected:
        shape = " × ".join(map(str, inputs.shape[1:]))
        raise BadInput(
            f"expected inputs of {expected} features, got {shape} = {features}: "
            "set preprocess to the size and channels that the model was fitted on"
        )
    return inputs.reshape(len(inputs), features)


def _scores(answers: object, classes: tuple[str, ...], task: Task) -> np.ndarray:
    """One column of the second class, or a column per class, from probabilities or from predicted classes."""
    array = np.asarray(answers)
    if array.ndim == 1:
        array = (array.astype(str)[:, None] == np.array(classes)[None]).astype(np.float64)
    return array[:, 1] if task is Task.BINARY and array.shape[1:] == (2,) else array


def _positive_column(answers: Any, task: Task) -> Any:
    """Two columns of probabilities of a binary target: the second is that of yes, as scikit-learn orders classes."""
    array = np.asarray(answers) if isinstance(answers, list) else answers
    return array[:, 1] if task is Task.BINARY and getattr(array, "shape", ())[1:] == (2,) else answers


def _facts(model: object) -> dict[str, object]:
    """The class and a digest of everything that the estimator holds, so that a refitted one is another target."""
    kind = type(model)
    facts: dict[str, Any] = {"class": f"{kind.__module__}:{kind.__qualname__}"}
    if kind.__module__.split(".")[0] == "sklearn":
        import joblib
        import sklearn

        return {**facts, "library": f"scikit-learn {sklearn.__version__}", "state_sha1": joblib.hash(model, "sha1")}
    return {**facts, "code_sha256": fingerprint(model)}
