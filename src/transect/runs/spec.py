"""What a run's spec says of where it comes from: versions, the world, and how well its attributes are read back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from transect import __version__


def versions() -> dict[str, str]:
    """What pixels and answers may depend on; a run goes on only with the same."""
    import platform

    import numpy as np
    import PIL
    import torch

    return {
        "transect": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "pillow": PIL.__version__,
        "pyarrow": pa.__version__,
    }


def described(world: Any) -> dict[str, Any]:
    """The generator's own description, or name, size and class where it gives none."""
    if hasattr(world, "describe"):
        return dict(world.describe())
    return {"name": world.name, "image_size": world.image_size, "class": type(world).__qualname__}


def world_entry(world: Any) -> dict[str, Any]:
    """What the report says of the world; a generator that states no validity is not validated."""
    stated = _validity(world)
    return {
        "name": world.name,
        **{name: stated.get(name) for name in ("photometry_validated", "statement", "photometry", "identity")},
        "maximum_gain_stops": described(world).get("camera", {}).get("maximum_gain", 0.0),
    }


def _validity(world: Any) -> dict[str, Any]:
    unstated = {"photometry_validated": False, "statement": f"The generator {world.name} states no validity figures."}
    return dict(world.validity()) if hasattr(world, "validity") else unstated


def readings(world: Any, names: Iterable[str]) -> list[dict[str, Any]]:
    """How well each of these attributes is read back from the world's pictures; the reason where that is not known."""
    stated = _validity(world)
    nothing = {"figure": None, "value": None, "low": None, "high": None, "n": 0, "gate": None, "met": None, "seen": ""}
    nothing["reason"] = stated.get("not_measured") or "not measured"
    kept = {name: stated.get("readings", {}).get(name, nothing) for name in names}
    return [{"attribute": name, **{key: row[key] for key in nothing}} for name, row in kept.items()]
