"""Saved image classifiers and detectors: how their outputs are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from transect.errors import BadInput, UnknownName
from transect.records import Task
from transect.targets.hf.loading import ModelFolder, NetworkOptions, input_tensor, load_network, load_processor
from transect.targets.output import OutputSpec


@final
@dataclass(frozen=True, slots=True)
class Made:
    """run: a batch of the network's inputs to raw outputs. facts: JSON values that describe it."""

    run: Callable[[np.ndarray], object]
    output: OutputSpec
    facts: Mapping[str, Any]


_OTHER = (Task.DETECTION, Task.EMBEDDING)


def reading(labels: tuple[str, ...], problem: str | None, options: NetworkOptions) -> tuple[OutputSpec, int | None]:
    """The output of logits, and the column of yes where two classes make a binary target.

    problem: the config's problem_type. Two classes are binary and score `positive`, by default the second class; one
    output is binary too, or a regression where the config says so.
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


def positive_column(labels: tuple[str, ...], options: NetworkOptions) -> int:
    """Of two classes the number of the one that counts as yes: the second, unless the user names one."""
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


def classifier(folder: ModelFolder, options: NetworkOptions) -> Made:
    """A network of one, two or more classes, or of several labels. Raises BadInput for labels of the user's own."""
    if options.labels:
        raise BadInput(
            f"model folder {folder.path}: an image classifier has the labels of its config; leave --labels out, or "
            "give a model of images and texts (CLIP, SigLIP)"
        )
    network, _ = load_network(folder, "AutoModelForImageClassification", "an image classifier", options)
    labels = labels_of(network)
    output, column = reading(labels, network.config.problem_type, options)

    def run(inputs: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            logits = network(pixel_values=input_tensor(inputs, options)).logits.double()
            chosen = logits if column is None else torch.softmax(logits, dim=1)[:, column]
        return np.asarray(chosen.cpu().numpy())

    facts: dict[str, object] = {"classes": list(labels)}
    facts |= {"positive": options.positive, "positive_class": None if column is None else labels[column]}
    return Made(run, output, facts)


def labels_of(network: Any) -> tuple[str, ...]:
    """The names of a network's classes, in the order of its outputs."""
    names = network.config.id2label
    return tuple(str(names[number]) for number in sorted(names))


def detector(folder: ModelFolder, options: NetworkOptions) -> Made:
    """A detector whose boxes of the class `positive` count; Transformers' own `post_process_…` makes the boxes."""
    if options.task not in (None, Task.DETECTION) or options.labels:
        raise BadInput(f"model folder {folder.path}: an object detector has boxes and no labels of yours: leave --task "
                       "and --labels out, and name the class that counts with --positive")  # fmt: skip
    ready = load_processor(folder)
    network, _ = load_network(folder, "AutoModelForObjectDetection", "an object detector", options)
    labels = labels_of(network)
    kind = _kind(labels, options.positive)
    output = OutputSpec(Task.DETECTION, threshold=options.threshold)
    wanted = labels.index(kind)

    def run(inputs: np.ndarray) -> list[np.ndarray]:
        import torch

        with torch.inference_mode():
            answer = network(pixel_values=input_tensor(inputs, options))
            sizes = [(inputs.shape[2], inputs.shape[3])] * len(inputs)
            answer.logits, answer.pred_boxes = answer.logits.float(), answer.pred_boxes.float()
            found = ready.post_process_object_detection(answer, threshold=output.threshold, target_sizes=sizes)
        return [_boxes(image, wanted) for image in found]

    return Made(run, output, {"classes": list(labels), "kind": kind, "positive": options.positive})


def _kind(labels: tuple[str, ...], positive: str | None) -> str:
    if positive is not None and positive not in labels:
        raise UnknownName("positive label", positive, labels)
    if positive is None and len(labels) > 1:
        raise BadInput(
            f"positive: expected the class whose boxes count ({', '.join(labels[:4])}, …), got none; name it with "
            "--positive"
        )
    return positive or labels[0]


def _boxes(found: dict[str, Any], wanted: int) -> np.ndarray:
    """Boxes [m, 5] of the class, the most certain first."""
    mine = (found["labels"] == wanted).cpu().numpy()
    boxes = found["boxes"].double().cpu().numpy()[mine]
    scores = found["scores"].double().cpu().numpy()[mine]
    order = np.argsort(-scores, kind="stable")
    return np.column_stack([boxes, scores])[order]
