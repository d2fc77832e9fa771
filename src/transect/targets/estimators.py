"""Objects that answer as scikit-learn's estimators do: `predict`, `predict_proba` and `classes_`, arrays in and out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np

from transect.errors import BadInput
from transect.records import Task
from transect.targets.fingerprint import fingerprint
from transect.targets.model import ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess

METHODS: Final = ("predict_proba", "predict")


def is_estimator(model: object) -> bool:
    """Whether an object answers as an estimator does: it has `predict` or `predict_proba`."""
    return any(callable(getattr(model, method, None)) for method in METHODS)


def of_estimator(
    model: object, name: str, output: OutputSpec, preprocess: Preprocess | None = None, task: Task | None = None
) -> ModelTarget:
    """The target of a fitted estimator.

    It gets the uint8 pixels [n, h, w, 3], or what `preprocess` makes of them; where it was fitted on rows
    (`n_features_in_`), each image is flattened to one row. `predict_proba` is used where the object has it. With two
    classes the target is binary and scores the second class, with more it is multiclass and `classes_` are its labels.
    Without `predict_proba` the predicted class scores 1 and the others 0. Any other output is read by `output`.

    task: as the user states it, None for what the estimator shows.

    Raises BadInput where the labels or the task contradict the estimator's classes.
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
