"""Weights that an ONNX model keeps in files beside it: which they are, where they may lie, and their digests.

Answers depend on these files as much as on the model's own, and the model names them: a stranger's model may name any.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transect.errors import BadInput, MissingExtra
from transect.runs import model_files


def external_digests(path: Path) -> dict[str, str]:
    """SHA-256 of each file of weights that the model at `path` names, by its name relative to the model's folder.

    Empty where the model holds all its weights.

    Source: https://onnx.ai/onnx/repo-docs/ExternalData.html.
    """
    return {name: model_files.sha256(file) for name, file in external_files(path).items()}


def external_files(path: Path) -> dict[str, Path]:
    """The files that `external_digests` reads, by name. Raises as it does."""
    return {name: _inside(path, name) for name in sorted(set(_locations(path)))}


def _locations(path: Path) -> Iterator[str]:
    try:
        import onnx
    except ModuleNotFoundError:
        raise MissingExtra("onnx", f"onnx:{path}") from None
    from google.protobuf.message import DecodeError
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    try:
        model = onnx.load(str(path), load_external_data=False)
    except DecodeError:
        kind = model_files.kind_of(path)
        raise BadInput(f"model file {path}: expected an ONNX model, found {kind}") from None
    for tensor in _tensors(model):
        if uses_external_data(tensor):
            yield str(ExternalDataInfo(tensor).location)


def _tensors(message: Any) -> Iterator[Any]:
    """Every tensor of a model: initializers, sparse ones, and those of attributes of nodes, subgraphs and functions."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in [value] if hasattr(value, "DESCRIPTOR") else value:
            if part.DESCRIPTOR.name == "TensorProto":
                yield part
            else:
                yield from _tensors(part)


def _inside(path: Path, name: str) -> Path:
    """The file, which must lie in the model's folder also once links are followed."""
    folder, file = path.resolve().parent, path.parent / name
    if Path(name).is_absolute() or not file.resolve().is_relative_to(folder):
        raise BadInput(f"model file {path}: expected weights in its folder, got {name!r}; move them and save it again")
    return model_files.check_readable(file)
