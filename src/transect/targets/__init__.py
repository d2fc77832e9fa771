"""What is audited? A target answers about images and is never changed by an audit.

A target is named by a spec (`opencv:haarcascade_frontalface_default`, `torch:module:attribute@weights.safetensors`,
`onnx:file.onnx`, `module:attribute` ...; `resolve` lists them all) or made from a Python object (`as_target`).
The names here are loaded when they are first used, so that a table of targets costs no import of numpy or torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transect.targets.boxes import BoxConvention
    from transect.targets.catalogue import TargetInfo, available
    from transect.targets.description import describe
    from transect.targets.guard import FailureBudget, guarded
    from transect.targets.output import OutputSpec
    from transect.targets.preprocess import Preprocess
    from transect.targets.resolution import as_target, resolve

_HOME = {
    "BoxConvention": "boxes",
    "FailureBudget": "guard",
    "OutputSpec": "output",
    "Preprocess": "preprocess",
    "TargetInfo": "catalogue",
    "as_target": "resolution",
    "available": "catalogue",
    "describe": "description",
    "guarded": "guard",
    "resolve": "resolution",
}

__all__ = [
    "BoxConvention",
    "FailureBudget",
    "OutputSpec",
    "Preprocess",
    "TargetInfo",
    "as_target",
    "available",
    "describe",
    "guarded",
    "resolve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'transect.targets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"transect.targets.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
