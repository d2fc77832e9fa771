"""Classifiers that `transect train classifier` made: safetensors and a TOML card, from a folder or the card itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from transect.errors import BadInput
from transect.records import Task
from transect.runs import model_files, toml_files
from transect.runs.weights import read_weights
from transect.targets.model import ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess
from transect.training.resnet import ResNet, start_from


class Card(BaseModel):
    """What classifier.toml says: how the network is built, asked and read; [training] is for readers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    format: Literal[1]
    architecture: Literal["resnet18", "resnet34", "resnet50"]
    weights: str
    weights_sha256: str
    label: str
    classes: list[str]
    threshold: float
    preprocess: dict[str, object]
    training: dict[str, object]


def load(path: str, *, name: str, threshold: float | None = None, device: str = "cpu") -> ModelTarget:
    """The target of a folder that holds classifier.toml, or of that file; two classes are binary, more multiclass.

    threshold: instead of the card's. Raises BadInput for a file that is missing, changed after it was written, or does
    not fit.
    """
    from transect.targets.torch_model import of_module

    place = Path(path) / model_files.CARD if Path(path).is_dir() else Path(path)
    card = _card(place)
    file = place.parent / card.weights
    if Path(card.weights).name != card.weights:
        raise BadInput(f"{place}: weights: expected a file next to the card, got {card.weights!r}; put it there")
    weights = read_weights(file)
    if (sha256 := model_files.sha256(file)) != card.weights_sha256:
        raise BadInput(
            f"{file}: expected the weights that {place.name} names, found others ({sha256[:12]}…); train again"
        )
    binary = len(card.classes) == 2
    network = ResNet(card.architecture, 1 if binary else len(card.classes))
    if any(
        weights.get(name, value).shape != value.shape for name, value in network.fc.state_dict(prefix="fc.").items()
    ):
        raise BadInput(f"{file}: expected a last layer of {len(card.classes)} classes; the card is of other weights")
    start_from(network, weights, file)
    output = OutputSpec(
        Task.BINARY if binary else Task.MULTICLASS, "logit", () if binary else tuple(card.classes), card.threshold
    )
    output = output if threshold is None else replace(output, threshold=threshold)
    facts = {
        "file": file.name,
        "sha256": sha256,
        "label": card.label,
        "classes": card.classes,
        "training": card.training,
    }
    return of_module(network, name, output, Preprocess.from_mapping(card.preprocess, str(place)), device, facts)


def _card(path: Path) -> Card:
    return toml_files.checked(Card, toml_files.read(path, "a classifier's card or its folder"), str(path))
