"""Generators: z ► image, and how an attribute is set. `load` makes one by its name and imports nothing heavy before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from transect.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from transect.generators.faceworld.world import FaceWorld
    from transect.protocols import Generator

__all__ = ["FaceWorld", "available", "load"]

_AVAILABLE = {"faceworld": "rendered faces with exact controls: a structural causal model, nothing to download"}
_CHECKPOINTS = (".safetensors", ".pt", ".pth", ".pkl")


def available() -> dict[str, str]:
    """The generators that `load` knows: name -> meaning in one line.

    >>> list(available())
    ['faceworld']
    """
    return dict(_AVAILABLE)


def load(name_or_path: str | Path, *, image_size: int = 128, population: str | Path = "balanced") -> Generator:
    """The generator of that name. image_size: pixels. population: a shipped name or the path of a TOML file.

    Raises UnknownName (generator, population) and BadInput (a learned generator, size, population's file).

    >>> load("faceworld", image_size=64).image_size
    64
    """
    name = str(name_or_path)
    if name == "reference" or Path(name).suffix.lower() in _CHECKPOINTS:
        raise BadInput(
            f"expected a generator of this version ({', '.join(_AVAILABLE)}), got {name!r}:"
            " learned generators are not in this version; use faceworld"
        )
    if name not in _AVAILABLE:
        raise UnknownName("generator", name, _AVAILABLE)
    from transect.generators.faceworld.world import FaceWorld

    return FaceWorld(image_size=image_size, population=population)


def __getattr__(name: str) -> Any:
    if name != "FaceWorld":
        raise AttributeError(f"module 'transect.generators' has no attribute {name!r}")
    from transect.generators.faceworld.world import FaceWorld

    return FaceWorld
