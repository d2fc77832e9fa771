"""Directions in a file: normals as tensors, and what is known of them as JSON beside; nothing in it is ever run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from transect.controls.directions import Direction, from_a_model
from transect.controls.learned import LearnedControls
from transect.errors import BadInput
from transect.runs import model_files

KIND: Final = "transect.directions"
_NUMBERS: Final = ("offset", "mean", "low", "high", "quality")
_COUNTS: Final = ("labels", "held_out")
_TEXTS: Final = ("name", "kind", "quality_measure")
_LONGEST_NAME: Final = 100
_UNIT: Final = 1e-6


@final
@dataclass(frozen=True, slots=True)
class FittedDirections:
    """Directions of one latent space and where they come from: generator, labels, seeds; sha256 of the file, if any."""

    directions: tuple[Direction, ...]
    space: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""

    def controls(self) -> LearnedControls:
        """What reads and sets along them. Raises BadInput where they are collinear."""
        return LearnedControls(self.directions, self.space)

    def describe(self) -> dict[str, Any]:
        """What a run's spec keeps: numbers and texts, null for what is not a number."""
        return {
            "sha256": self.sha256,
            "space": self.space,
            "origin": dict(self.origin),
            "attributes": [_facts(one) for one in self.directions],
        }


def _facts(one: Direction) -> dict[str, Any]:
    kept = asdict(one)
    del kept["normal"]
    plain = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in kept.items()}
    return {**plain, "of_a_model": from_a_model(one)}


def save_directions(
    path: Path, directions: Sequence[Direction], space: str, origin: Mapping[str, Any] | None = None
) -> None:
    """Write directions of that latent space as safetensors; numbers in tensors, the rest in the metadata."""
    from safetensors.numpy import save_file

    facts = [{name: value for name, value in _facts(one).items() if name != "of_a_model"} for one in directions]
    metadata = {
        "kind": KIND,
        "space": space,
        "directions": json.dumps(facts, sort_keys=True),
        "origin": json.dumps(dict(origin or {}), sort_keys=True),
    }
    save_file({"normals": np.array([one.normal for one in directions])}, path, metadata)


def read_directions(path: Path) -> FittedDirections:
    """The directions of a file. Raises BadInput for other files, and for numbers that are no directions."""
    from safetensors import SafetensorError, safe_open

    model_files.check_readable(path)
    try:
        with safe_open(path, "numpy") as file:
            metadata, normals = file.metadata() or {}, file.get_tensor("normals")
        facts, origin = json.loads(metadata["directions"]), json.loads(metadata.get("origin", "{}"))
        if not isinstance(origin, dict):
            raise ValueError("its origin is no object")
        made = tuple(_direction(kept, row) for kept, row in zip(facts, np.asarray(normals), strict=True))
        return FittedDirections(made, str(metadata["space"]), origin, model_files.sha256(path))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"{path}: expected a file of directions, found another ({type(error).__name__}: {error});"
            " make one: transect directions fit"
        ) from None


def load_directions(path: Path) -> tuple[list[Direction], str]:
    """Directions and their latent space. Raises BadInput for other files."""
    found = read_directions(path)
    return list(found.directions), found.space


def _direction(kept: Mapping[str, Any], normal: np.ndarray) -> Direction:
    """One direction, checked; raises ValueError, KeyError or TypeError for what is none."""
    for name in _TEXTS:
        if not isinstance(kept[name], str) or not kept[name].isprintable() or not 0 < len(kept[name]) <= _LONGEST_NAME:
            raise ValueError(f"{name} is no short text")
    for name in (*_NUMBERS, *_COUNTS):
        value = kept[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{name} of {kept['name']} is no number")
    given: dict[str, Any] = {
        name: math.nan if value is None and name != "origin" else value for name, value in kept.items()
    }
    row = np.asarray(normal, dtype=np.float64)
    if row.ndim != 1 or not abs(float(np.linalg.norm(row)) - 1) <= _UNIT:
        raise ValueError(f"the normal of {kept['name']} has not length 1")
    made = Direction(normal=row, **given)
    if not made.low < made.high or (made.kind != "binary" and not abs(made.slope) > 0):
        raise ValueError(f"{made.name} has no range")
    return made
