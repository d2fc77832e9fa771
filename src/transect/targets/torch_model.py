"""PyTorch modules and TorchScript files with their weights, and classifiers that `transect train classifier` wrote."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from transect.errors import BadInput
from transect.records import Task
from transect.runs import model_files, toml_files
from transect.runs.model_files import check_weights, read_weights
from transect.targets.hf.loading import on_device
from transect.targets.model import ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess
from transect.targets.python_objects import fingerprint, import_object
from transect.texts import words_of
from transect.training.classifier import ResNet, start_from

if TYPE_CHECKING:
    import torch


_SCRIPT_SUFFIXES = (".pt", ".pth", ".ts", ".torchscript")


def load(
    argument: str, *, name: str, output: OutputSpec, preprocess: Preprocess | None = None, device: str = "cpu"
) -> ModelTarget:
    """The target of `module:attribute@weights`, `module:attribute` or a TorchScript file.

    The attribute is an nn.Module, a subclass of it or a function that returns one (both called without arguments).
    Weights are a state_dict, read with `weights_only`, or safetensors: nothing is unpickled. A TorchScript file brings
    its own program, which PyTorch's interpreter runs with your rights: load only files that you trust.
    """
    source, at, weights = argument.rpartition("@")
    if not at and argument.endswith(_SCRIPT_SUFFIXES):
        path = model_files.check_readable(Path(argument))
        return of_module(_torch_script(path), name, output, preprocess, device, _file_facts(path))
    module = _instance(import_object(source if at else argument), argument)
    if not at:
        return of_module(module, name, output, preprocess, device, {"code_sha256": fingerprint(module)})
    path = model_files.check_readable(Path(weights))
    _fit(module, read_weights(path, pytorch=True), path)
    facts = {**_file_facts(path), "code_sha256": fingerprint(module)}
    return of_module(module, name, output, preprocess, device, facts)


def of_module(
    module: torch.nn.Module,
    name: str,
    output: OutputSpec,
    preprocess: Preprocess | None = None,
    device: str = "cpu",
    facts: Mapping[str, object] | None = None,
) -> ModelTarget:
    """A module as a target, in evaluation mode; without `preprocess` it gets RGB in [0, 1] as [n, 3, h, w]."""
    import torch

    facts = {"library": f"PyTorch {torch.__version__}", "device": device, **(facts or {})}
    module = on_device(module, device).eval()

    def run(inputs: np.ndarray) -> object:
        with torch.inference_mode():
            return _logits(module(torch.from_numpy(inputs).to(device)))

    return ModelTarget(name, run, output, preprocess or Preprocess(), facts)


def _logits(raw: object) -> object:
    """What transformers' image classifiers wrap in an object with `logits`; anything else as it is."""
    if isinstance(raw, Mapping) and "logits" in raw:
        return raw["logits"]
    return getattr(raw, "logits", raw)


def _instance(value: object, argument: str) -> torch.nn.Module:
    import torch

    if not isinstance(value, torch.nn.Module) and callable(value):
        try:
            value = value()
        except Exception as error:
            raise BadInput(
                f"torch:{argument}: calling it without arguments raised {type(error).__name__}: {words_of(error)}"
            ) from error
    if not isinstance(value, torch.nn.Module):
        raise BadInput(f"torch:{argument}: expected an nn.Module or what makes one, got {type(value).__name__}")
    return value


def _torch_script(path: Path) -> torch.nn.Module:
    import torch

    kind = model_files.kind_of(path)
    if kind != "a TorchScript archive":
        raise BadInput(
            f"model file {path}: expected a TorchScript archive, found {kind}: "
            "for weights, name the module: torch:module:attribute@weights"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch deprecates the format; files of it remain
        try:
            module: torch.nn.Module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
        except (RuntimeError, ValueError) as error:
            raise BadInput(f"model file {path}: TorchScript that does not load: {words_of(error, 160)}") from None
    return module


def _fit(module: torch.nn.Module, state: dict[str, torch.Tensor], path: Path) -> None:
    if state and all(key.startswith("module.") for key in state):  # as DataParallel saves it
        state = {key.removeprefix("module."): value for key, value in state.items()}
    check_weights(state, module.state_dict(), str(path), finite=False)
    module.load_state_dict(state)


def _file_facts(path: Path) -> dict[str, object]:
    return {"file": path.name, "sha256": model_files.sha256(path)}


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


def load_classifier(path: str, *, name: str, threshold: float | None = None, device: str = "cpu") -> ModelTarget:
    """The target of a folder that holds classifier.toml, or of that file. threshold: instead of the card's."""
    place = Path(path) / model_files.CARD if Path(path).is_dir() else Path(path)
    card = toml_files.checked(Card, toml_files.read(place, "a classifier's card or its folder"), str(place))
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
