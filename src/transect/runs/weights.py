"""Weights in files: read without running what is in them, and compared with the network that they are for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from transect.errors import BadInput
from transect.runs import bounds, model_files
from transect.texts import one_line

if TYPE_CHECKING:
    from torch import Tensor


def read_weights(path: Path, *, pytorch: bool = False) -> dict[str, Tensor]:
    """The tensors of a safetensors file; with `pytorch` also of a state_dict, by PyTorch's loader of weights alone."""
    kind = model_files.kind_of(model_files.check_readable(path))
    if kind == "a safetensors file":
        return model_files.read_safetensors(path)[0]
    if not pytorch:
        advice = "load it where you trust it, and save its state_dict with safetensors.torch.save_file"
        raise BadInput(f"{path}: expected safetensors, found {kind}; {advice}")
    if kind not in ("a PyTorch checkpoint (state_dict or pickled module)", "a Python pickle"):
        raise BadInput(f"{path}: expected a state_dict or safetensors, found {kind}")
    return _read_state(path)


def _read_state(path: Path) -> dict[str, Tensor]:
    import torch

    bounds.check_torch(path)
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickle protocols, before it refuses them
            state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile file makes the reader fail in any way
        raise BadInput(
            f"{path}: holds more than tensors, or is damaged ({refused_by_torch(error)}): save model.state_dict(), or "
            "use safetensors"
        ) from None
    state = state.get("state_dict", state) if isinstance(state, Mapping) else state
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise BadInput(f"{path}: expected a state_dict of tensors, found {type(state).__name__}")
    return {str(name): value for name, value in state.items()}


def refused_by_torch(error: Exception) -> str:
    """What PyTorch's loader of weights refused, without its own words: they advise to load the file unsafely.

    >>> refused_by_torch(ValueError("Unsupported global: GLOBAL os.system was not an allowed global by default."))
    'a call of os.system, which is not run'
    >>> refused_by_torch(ValueError("In PyTorch 2.6, we changed the default value"))
    'no reader understands it'
    """
    named = re.search(r"(?:GLOBAL|global:?|class:?) ([\w.]*\.\w+)", one_line(str(error)))
    return f"a call of {named[1]}, which is not run" if named else "no reader understands it"


def check_weights(
    tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor], source: str, *, finite: bool = True
) -> None:
    """Raise BadInput for weights that are missing, of no network of this shape, of another shape, or not finite.

    source: what messages call the file; finite: also refuse NaN, infinity, and whole numbers for floating-point ones.

    >>> import torch
    >>> check_weights({"bias": torch.zeros(3)}, {"bias": torch.zeros(4)}, "a.safetensors")
    Traceback (most recent call last):
    transect.errors.BadInput: a.safetensors: expected the weights of this network, but it...
    """
    faults = [f"lacks {name}" for name in expected if name not in tensors]
    faults += [f"has an unexpected {name:.200}" for name in tensors if name not in expected]
    common = {name: (tensors[name], place) for name, place in expected.items() if name in tensors}
    faults += [
        f"has {name} of shape {list(value.shape)} instead of {list(place.shape)}"
        for name, (value, place) in common.items()
        if value.shape != place.shape
    ]
    if finite:
        faults += [
            f"has numbers of type {value.dtype} in {name}"
            for name, (value, place) in common.items()
            if value.is_floating_point() != place.is_floating_point()
        ]
        faults += [
            f"has NaN or infinity in {name}" for name, (value, _) in common.items() if not value.isfinite().all()
        ]
    if faults:
        more = f" and has {len(faults) - 1} more differences" if len(faults) > 1 else ""
        raise BadInput(f"{source}: expected the weights of this network, but it {faults[0]}{more}; give another file")
