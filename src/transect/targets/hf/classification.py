"""Image classifiers: labels and task from the config."""

from __future__ import annotations

from typing import Any

import numpy as np

from transect.errors import BadInput
from transect.targets.hf.folder import ModelFolder
from transect.targets.hf.loading import input_tensor, load_network
from transect.targets.hf.made import Made
from transect.targets.hf.options import Options
from transect.targets.hf.reading import reading


def classifier(folder: ModelFolder, options: Options) -> Made:
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
