"""Object detectors: the boxes of one class."""

from __future__ import annotations

from typing import Any

import numpy as np

from transect.errors import BadInput, UnknownName
from transect.records import Task
from transect.targets.hf.classification import labels_of
from transect.targets.hf.folder import ModelFolder
from transect.targets.hf.loading import input_tensor, load_network, load_processor
from transect.targets.hf.made import Made
from transect.targets.hf.options import Options
from transect.targets.output import OutputSpec


def detector(folder: ModelFolder, options: Options) -> Made:
    """A detector whose boxes of the class `positive` count; of one class it need not be named.

    Boxes are those of Transformers' own `post_process_object_detection`, in pixels of the network's input. Raises
    BadInput where several classes could be meant, UnknownName for another class.
    """
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
