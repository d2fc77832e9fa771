"""PyTorch models under audit: a module with its weights, or a TorchScript file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from transect.errors import BadInput
from transect.runs import model_files
from transect.runs.weights import check_weights, read_weights
from transect.targets.fingerprint import fingerprint
from transect.targets.model import ModelTarget, Run
from transect.targets.objects import import_object
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess
from transect.texts import words_of

if TYPE_CHECKING:
    import torch

_SCRIPT_SUFFIXES = (".pt", ".pth", ".ts", ".torchscript")


def load(
    argument: str, *, name: str, output: OutputSpec, preprocess: Preprocess | None = None, device: str = "cpu"
) -> ModelTarget:
    """The target of `module:attribute@weights`, `module:attribute` or a TorchScript file.

    The attribute is an nn.Module, a subclass of it or a function that returns one (both called without arguments).
    Weights are a state_dict, read with `weights_only`, or safetensors. Nothing is unpickled. A TorchScript file brings
    its own program, which PyTorch's interpreter runs with your rights: it can read and write files. Load only files
    that you trust.

    Raises BadInput for a file that is missing, unreadable, of another kind or that does not fit the module.
    """
    _check_device(device)
    source, at, weights = argument.rpartition("@")
    if not at and argument.endswith(_SCRIPT_SUFFIXES):
        path = model_files.check_readable(Path(argument))
        return of_module(_torch_script(path, device), name, output, preprocess, device, _file_facts(path))
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
    return ModelTarget(name, _runner(module.to(device).eval(), device), output, preprocess or Preprocess(), facts)


def _runner(module: torch.nn.Module, device: str) -> Run:
    import torch

    def run(inputs: np.ndarray) -> object:
        with torch.inference_mode():
            return _logits(module(torch.from_numpy(inputs).to(device)))

    return run


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


def _torch_script(path: Path, device: str) -> torch.nn.Module:
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
            module: torch.nn.Module = torch.jit.load(path, map_location=device)  # type: ignore[no-untyped-call]
        except (RuntimeError, ValueError) as error:
            raise BadInput(f"model file {path}: TorchScript that does not load: {_first_line(error)}") from None
    return module


def _fit(module: torch.nn.Module, state: dict[str, torch.Tensor], path: Path) -> None:
    if state and all(key.startswith("module.") for key in state):  # as DataParallel saves it
        state = {key.removeprefix("module."): value for key, value in state.items()}
    check_weights(state, module.state_dict(), str(path), finite=False)
    module.load_state_dict(state)


def _file_facts(path: Path) -> dict[str, object]:
    return {"file": path.name, "sha256": model_files.sha256(path)}


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device: expected one that PyTorch has here, got {device!r} ({_first_line(error)})") from None


def _first_line(error: BaseException) -> str:
    return words_of(error, 160)
