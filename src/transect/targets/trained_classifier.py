"""Classifiers that `transect train classifier` wrote: weights, and a card that says how they are asked and read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, final

from pydantic import BaseModel, ConfigDict

from transect.errors import BadInput
from transect.records import Task
from transect.runs import model_files, toml_files
from transect.runs.model_files import read_weights
from transect.targets.kinds import Kind
from transect.targets.model import ModelOptions, ModelTarget
from transect.targets.preprocess import Preprocess
from transect.targets.settings import DEVICE, THRESHOLD
from transect.targets.torch_model import of_module
from transect.training.classifier import ResNet, start_from

KIND: Final = Kind(
    prefix="classifier",
    trust="data",
    listed=(("classifier:folder", "binary, multiclass", "a model from transect train classifier"),),
    named=("classifier.toml",),
    holds=("classifier.toml",),
)


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


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What may be stated in place of what the card says, and where the network is computed."""

    threshold: Annotated[float | None, THRESHOLD] = None
    device: Annotated[str, DEVICE] = "cpu"


def load(path: str, options: Options) -> ModelTarget:
    """The target of a folder that holds classifier.toml, or of that file."""
    place = Path(path) / model_files.CARD if Path(path).is_dir() else Path(path)
    card = toml_files.checked(Card, toml_files.read(place, "a classifier's card or its folder"), str(place))
    file = place.parent / card.weights
    if Path(card.weights).name != card.weights:
        raise BadInput(f"{place}: weights: expected a file next to the card, got {card.weights!r}; put it there")
    weights = read_weights(file)
    if (sha256 := model_files.sha256(file)) != card.weights_sha256:
        raise BadInput(
            f"{file}: expected the weights that {place.name} names, found different ones ({sha256[:12]}…); train again"
        )
    binary = len(card.classes) == 2
    network = ResNet(card.architecture, 1 if binary else len(card.classes))
    if any(
        weights.get(name, value).shape != value.shape for name, value in network.fc.state_dict(prefix="fc.").items()
    ):
        raise BadInput(f"{file}: expected a last layer of {len(card.classes)} classes, as in its card")
    start_from(network, weights, file)
    task, labels = (Task.BINARY, ()) if binary else (Task.MULTICLASS, tuple(card.classes))
    threshold = card.threshold if options.threshold is None else options.threshold
    preprocess = Preprocess.from_mapping(card.preprocess, str(place))
    stated = ModelOptions(task, labels, "logit", threshold, preprocess=preprocess)
    facts = {
        "file": file.name,
        "sha256": sha256,
        "label": card.label,
        "classes": card.classes,
        "training": card.training,
    }
    return of_module(network, KIND.shown(path), stated, options.device, facts)
