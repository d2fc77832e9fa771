"""PyTorch modules and TorchScript files with their weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, final

import numpy as np

from transect.errors import BadInput
from transect.runs import model_files
from transect.runs.model_files import check_weights, read_weights
from transect.targets.hf.loading import on_device
from transect.targets.kinds import Kind
from transect.targets.model import ModelOptions, ModelTarget
from transect.targets.preprocess import Preprocess
from transect.targets.python_objects import fingerprint, import_object
from transect.targets.settings import DEVICE
from transect.texts import words_of

if TYPE_CHECKING:
    import torch

KIND: Final = Kind(
    prefix="torch",
    trust="code",
    listed=(
        ("torch:module:attribute@weights", "any", "a PyTorch module with its weights"),
        ("torch:model.pt", "any", "a TorchScript file (it runs with your permissions)"),
    ),
)
_SCRIPT_SUFFIXES = (".pt", ".pth", ".ts", ".torchscript")


@final
@dataclass(frozen=True, slots=True)
class Options(ModelOptions):
    """As of any model, and where it is computed."""

    device: Annotated[str, DEVICE] = "cpu"


def load(argument: str, options: Options) -> ModelTarget:
    """The target of `module:attribute@weights`, `module:attribute` or a TorchScript file.

    The attribute is an nn.Module, a subclass of it or a function that returns one (both called without arguments).
    Weights are a state_dict, read with `weights_only`, or safetensors: nothing is unpickled. A TorchScript file brings
    its own program, which PyTorch's interpreter runs with your rights: load only files that you trust.
    """
    source, at, weights = argument.rpartition("@")
    name, device = KIND.shown(argument), options.device
    if not at and argument.endswith(_SCRIPT_SUFFIXES):
        path = model_files.check_readable(Path(argument))
        facts = {"file": path.name, "sha256": model_files.sha256(path)}
        return of_module(_torch_script(path), name, options, device, facts)
    module = _instance(import_object(source if at else argument), argument)
    if not at:
        return of_module(module, name, options, device, {"code_sha256": fingerprint(module)})
    path = model_files.check_readable(Path(weights))
    _fit(module, read_weights(path, pytorch=True), path)
    facts = {"file": path.name, "sha256": model_files.sha256(path), "code_sha256": fingerprint(module)}
    return of_module(module, name, options, device, facts)


def of_module(
    module: torch.nn.Module, name: str, options: ModelOptions, device: str, facts: Mapping[str, object]
) -> ModelTarget:
    """A module as a target, in evaluation mode; without `preprocess` it gets RGB in [0, 1] as [n, 3, h, w]."""
    import torch

    facts = {"library": f"PyTorch {torch.__version__}", "device": device, **facts}
    module = on_device(module, device).eval()

    def run(inputs: np.ndarray) -> object:
        with torch.inference_mode():
            return _logits(module(torch.from_numpy(inputs).to(device)))

    return ModelTarget(name, run, options.output_spec(), options.preprocess or Preprocess(), facts)


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
        raise BadInput(
            f"torch:{argument}: expected an nn.Module or a function that returns one, got {type(value).__name__}"
        )
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
            raise BadInput(f"model file {path}: the TorchScript cannot be loaded: {words_of(error, 160)}") from None
    return module


def _fit(module: torch.nn.Module, state: dict[str, torch.Tensor], path: Path) -> None:
    if state and all(key.startswith("module.") for key in state):  # as DataParallel saves it
        state = {key.removeprefix("module."): value for key, value in state.items()}
    check_weights(state, module.state_dict(), str(path), finite=False)
    module.load_state_dict(state)
