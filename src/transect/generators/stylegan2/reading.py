"""Checkpoint files ► weights: pickles, `.pt` and safetensors, read without running what is in them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from transect.errors import BadInput
from transect.generators.checkpoints.pickles import is_legacy, read_pickle
from transect.generators.stylegan2.layouts import Weights, check_clamp, of_names, of_pickle
from transect.runs import bounds, model_files
from transect.runs.plain_json import loads
from transect.runs.weights import refused_by_torch

_PREFERRED = ("g_ema", "G_ema", "generator", "g", "G", "state_dict")


def read_checkpoint(path: Path) -> Weights:
    """The generator in an official pickle, a `.pt` of the community port, or safetensors. Raises BadInput otherwise."""
    model_files.check_readable(path)
    kind = model_files.kind_of(path)
    if kind == "a safetensors file":
        return read_safetensors(path)
    if kind == "a PyTorch checkpoint (state_dict or pickled module)":
        return _read_torch(path)
    if kind == "a Python pickle" and is_legacy(path):
        return _read_torch(path)
    if kind == "a Python pickle":
        content = read_pickle(path)
        return _weights_of(content, str(path)) if _is_state(content) else of_pickle(content, str(path))
    raise BadInput(f"{path}: expected an official pickle, a .pt or a safetensors file, found {kind}")


def read_safetensors(path: Path) -> Weights:
    """The generator in a safetensors file, in official or community names."""
    tensors, metadata = model_files.read_safetensors(path)
    weights = of_names(tensors, str(path))
    return Weights(weights.tensors, _clamp(metadata.get("clamp"), path))


def _clamp(text: str | None, path: Path) -> float | None:
    try:
        clamp = loads(text or "null")
    except (ValueError, RecursionError):
        clamp = text
    return check_clamp(clamp, f"{path}: metadata clamp")


def _read_torch(path: Path) -> Weights:
    """Through PyTorch's loader of weights alone. The community's training keeps its options in a namespace."""
    bounds.check_torch(path)
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # PyTorch's own unpickler fails with any exception on damaged or hostile files.
        raise BadInput(
            f"{path}: expected weights alone, found what is not read safely ({refused_by_torch(error)})"
        ) from None
    return _weights_of(content, str(path))


def _is_state(content: object) -> bool:
    return isinstance(content, Mapping) and any(
        isinstance(value, Tensor) or (isinstance(value, Mapping) and any(isinstance(v, Tensor) for v in value.values()))
        for value in content.values()
    )


def _weights_of(content: object, source: str) -> Weights:
    if not isinstance(content, Mapping) or not _is_state(content):
        raise BadInput(f"{source}: expected a dictionary of weights, found {type(content).__name__}")
    for name in _PREFERRED:
        if isinstance(content.get(name), Mapping):
            return of_names(content[name], source, content)
    return of_names(content, source, content)
