"""Python objects as targets: functions, fitted estimators as scikit-learn has them, modules of PyTorch, and Targets."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Task
from transect.spoken_answers import Speaker
from transect.targets.kinds import Kind
from transect.targets.model import ModelOptions, ModelTarget, options_of
from transect.targets.output import OutputSpec
from transect.targets.python_objects import fingerprint, import_object
from transect.targets.words.speakers import no_questions

KIND: Final = Kind(
    prefix="callable",
    trust="code",
    listed=(("callable:module:attribute", "any", "a function, a scikit-learn estimator, a Target"),),
)
Options = ModelOptions


def load(spec: str, options: Options) -> Target:
    """The target of `module:attribute`, with or without its prefix, by which it is called. Raises as `as_target`."""
    return _target_of(import_object(spec.removeprefix(f"{KIND.prefix}:")), spec, options)


def as_target(
    model: object, *, name: str = "", preprocess: object = None, isolate: bool | None = None, **options: object
) -> Target:
    """A target made of a Python object.

    A Target comes back as it is; its `predict` may return Predictions or plain arrays, which are read by its own task,
    labels and threshold. A class of targets is instantiated. An nn.Module is run in evaluation mode on what
    `preprocess` makes (by default RGB in [0, 1], [n, 3, h, w]). Any other callable, and an object with `predict` or
    `predict_proba` as scikit-learn's estimators have them, gets the uint8 pixels [n, h, w, 3], or what `preprocess`
    makes of them. options: task (binary by default; estimators know theirs), labels, output, threshold, positive; see
    OutputSpec. Raises BadInput for anything else, and for options on a Target, which has its own settings.

    >>> as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255, name="brightness").task
    <Task.BINARY: 'binary'>
    """
    if isolate:
        raise BadInput(
            "--isolate: expected the spec of a target, got an object of this process; write it as module:attribute"
        )
    named = name or str(getattr(model, "name", "")) or getattr(model, "__name__", type(model).__name__)
    return _target_of(model, name, options_of(Options, {"preprocess": preprocess, **options}, named))


def _target_of(model: Any, name: str, options: Options) -> Target:
    model = model() if inspect.isclass(model) and (hasattr(model, "predict") or _is_module(model)) else model
    if isinstance(model, Target):
        return _unchanged(model, options)
    if isinstance(model, Speaker) and not is_estimator(model):
        raise no_questions(model.name)
    if not callable(model) and not is_estimator(model):
        missing = ", ".join(part for part in ("name", "task", "predict") if not hasattr(model, part))
        kind = type(model).__name__
        raise BadInput(f"expected a function, an object with predict, or a Target, got {kind} (it lacks {missing})")
    name = name or getattr(model, "__name__", type(model).__name__)
    if _is_module(type(model)):
        from transect.targets.torch_model import of_module

        facts = {"class": type(model).__qualname__, "code_sha256": fingerprint(model)}
        return of_module(model, name, options, "cpu", facts)
    if is_estimator(model) and (hasattr(model, "predict_proba") or not callable(model)):
        return of_estimator(model, name, options)
    return ModelTarget(name, model, options.output_spec(), options.preprocess, _code_facts(model))


def _unchanged(target: Target, options: Options) -> Target:
    stated = [field.name for field in fields(options) if getattr(options, field.name) not in (None, ())]
    if stated:
        raise BadInput(f"{target.name} is a Target and has its own settings: it takes no {', '.join(stated)}")
    return target


def _is_module(kind: type) -> bool:
    """Whether the class is an nn.Module. No import of PyTorch: a module's class has imported it already."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.nn.Module)


def _code_facts(obj: Callable[..., object]) -> dict[str, object]:
    """Where a function comes from, and a digest of its code, so that changed code is another target."""
    module, name = getattr(obj, "__module__", ""), getattr(obj, "__qualname__", type(obj).__qualname__)
    return {"function": f"{module}:{name}", "code_sha256": fingerprint(obj)}


METHODS: Final = ("predict_proba", "predict")


def is_estimator(model: object) -> bool:
    """Whether an object answers as an estimator does: it has `predict` or `predict_proba`."""
    return any(callable(getattr(model, method, None)) for method in METHODS)


def of_estimator(model: object, name: str, options: Options) -> ModelTarget:
    """The target of a fitted estimator; without a task of the user's, of that which the estimator shows.

    It gets the uint8 pixels [n, h, w, 3], or what `preprocess` makes of them, flattened where it was fitted on rows
    (`n_features_in_`). With two classes the target is binary and scores the second class, with more it is multiclass.
    Without `predict_proba` the predicted class scores 1 and the others 0. Any other output is read by `output`.
    """
    classes = tuple(str(label) for label in getattr(model, "classes_", ()))
    output, task = options.output_spec(), options.task
    output = _output(output, classes, task, name) if classes else _without_classes(output, model, task)
    method = "predict_proba" if callable(getattr(model, "predict_proba", None)) else "predict"

    def run(inputs: np.ndarray) -> object:
        answers = getattr(model, method)(_features(inputs, getattr(model, "n_features_in_", None)))
        return _scores(answers, classes, output.task) if classes else _positive_column(answers, output.task)

    facts = {**_facts(model), "method": method, "classes": list(classes)}
    return ModelTarget(name, run, output, options.preprocess, facts)


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
            f"expected inputs of {expected} features, got {shape} = {features}: set preprocess to the size "
            "and channels of its training"
        )
    return inputs.reshape(len(inputs), features)


def _scores(answers: object, classes: tuple[str, ...], task: Task) -> np.ndarray:
    """One column of the second class, or a column per class, from probabilities or from predicted classes."""
    array = np.asarray(answers)
    if array.ndim == 1:
        array = (array.astype(str)[:, None] == np.array(classes)[None]).astype(np.float64)
    return array[:, 1] if task is Task.BINARY and array.shape[1:] == (2,) else array


def _positive_column(answers: Any, task: Task) -> object:
    """Two columns of probabilities of a binary target: the second is that of yes, as scikit-learn orders classes."""
    array = np.asarray(answers) if isinstance(answers, list) else answers
    return array[:, 1] if task is Task.BINARY and getattr(array, "shape", ())[1:] == (2,) else answers


def _facts(model: object) -> dict[str, object]:
    """The class and a digest of everything that the estimator holds, so that a refitted one is another target."""
    kind = type(model)
    facts: dict[str, object] = {"class": f"{kind.__module__}:{kind.__qualname__}"}
    if kind.__module__.split(".")[0] == "sklearn":
        import joblib
        import sklearn

        return {**facts, "library": f"scikit-learn {sklearn.__version__}", "state_sha1": joblib.hash(model, "sha1")}
    return {**facts, "code_sha256": fingerprint(model)}
