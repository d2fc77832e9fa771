"""Files of fitted directions: arrays as tensors, the rest as JSON. Reading runs no code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from transect.controls.directions import Direction, labelled_by_a_model
from transect.controls.learned import LearnedControls
from transect.runs import model_files
from transect.runs.folder import write_atomically
from transect.runs.plain_json import loads, plain
from transect.runs.tensor_files import Arrays, Facts, content_of, read_content

LINEAR: Final = "transect.directions"
_NUMBERS: Final = ("offset", "mean", "low", "high", "quality", "labels", "held_out")
_TEXTS: Final = ("name", "kind", "quality_measure")
_MAY_BE_UNKNOWN: Final = ("slope", "shown_low", "shown_high")
_LONGEST_NAME: Final = 100
_UNIT: Final = 1e-6


@final
@dataclass(frozen=True, slots=True)
class FittedDirections:
    """Directions of one latent space, and where they come from.

    origin: generator, labels, seeds. sha256: of the file they were read from, if any.
    """

    directions: tuple[Direction, ...]
    space: str
    origin: Mapping[str, object] = field(default_factory=dict)
    sha256: str = ""

    def controls(self) -> LearnedControls:
        """The controls that read and set along them. Raises BadInput where they are collinear."""
        return LearnedControls(self.directions, self.space)

    def describe(self) -> dict[str, object]:
        """The description in a run's spec: numbers and texts, null for what is not a number."""
        normals = np.array([entry.normal for entry in self.directions])
        return {
            "kind": LINEAR,
            "sha256": self.sha256,
            "space": self.space,
            "origin": dict(self.origin),
            "attributes": [
                {**_facts(entry), "of_a_model": labelled_by_a_model(entry.origin)} for entry in self.directions
            ],
            "cosines": np.clip(normals @ normals.T, -1.0, 1.0).round(6).tolist(),
        }


def _facts(entry: Direction) -> dict[str, object]:
    """All but the arrays, in JSON's types."""
    facts = {
        name: value for name, value in asdict(entry).items() if name != "along" and not isinstance(value, np.ndarray)
    }
    return dict(plain(facts))


def write_directions(path: Path, fitted: FittedDirections) -> None:
    """Write directions as a safetensors file. Raises RunFolderError where the disk refuses."""
    facts = [_facts(entry) for entry in fitted.directions]
    tensors = {
        "normals": np.array([entry.normal for entry in fitted.directions]),
        "along": np.array([entry.way for entry in fitted.directions]),
    }
    content = content_of(LINEAR, tensors, space=fitted.space, directions=facts, origin=dict(fitted.origin))
    write_atomically(path, content)


def read_directions(path: Path) -> FittedDirections:
    """The directions of a file of `transect directions fit`.

    Raises BadInput for other files, and for invalid directions.
    """
    remedy = "make one: transect directions fit"
    fitted = read_content(path, {LINEAR: _parsed}, expected="a file of directions", remedy=remedy)
    return replace(fitted, sha256=model_files.sha256(path))


def _parsed(tensors: Arrays, facts: Facts) -> FittedDirections:
    rows = zip(_entries(facts["directions"]), tensors["normals"], tensors["along"], strict=True)
    origin = loads(facts.get("origin", "{}"))
    if not isinstance(origin, dict):
        raise ValueError("its origin must be an object")
    return FittedDirections(tuple(_direction(*row) for row in rows), facts["space"], origin)


def _entries(text: str) -> list[dict[str, object]]:
    entries = loads(text)
    if not (isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries)):
        raise ValueError("it has no list of directions")
    return entries


def _check_entry(entry: Mapping[str, object]) -> dict[str, Any]:
    """The entry with NaN for numbers that are unknown; raises ValueError for names and numbers that are none."""
    for key in _TEXTS:
        text = entry[key]
        if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= _LONGEST_NAME:
            raise ValueError(f"{key} must be a short text")
    if not isinstance(entry["origin"], dict):
        raise ValueError(f"the origin of {entry['name']} must be an object")
    unknown = {key: math.nan for key in _MAY_BE_UNKNOWN if key in entry and entry[key] is None}
    for key in (*_NUMBERS, *(key for key in _MAY_BE_UNKNOWN if key in entry and key not in unknown)):
        value = entry[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{key} of {entry['name']} must be a number")
    return {**entry, **unknown}


def _direction(entry: Mapping[str, object], normal: np.ndarray, along: np.ndarray) -> Direction:
    """One linear direction; raises ValueError, KeyError or TypeError for what is none."""
    row, way = np.asarray(normal, dtype=np.float64), np.asarray(along, dtype=np.float64)
    if row.ndim != 1 or row.shape != way.shape or not all(_is_unit(vector) for vector in (row, way)):
        raise ValueError(f"the normal of {entry['name']}, and the way along it, must have length 1")
    if not row @ way > 0:
        raise ValueError(f"the way along {entry['name']} must lead across its hyperplane")
    direction = Direction(normal=row, along=way, **_check_entry(entry))
    if not direction.low < direction.high or (direction.kind != "binary" and not abs(direction.slope) > 0):
        raise ValueError(f"{direction.name} has no range")
    return direction


def _is_unit(vector: np.ndarray) -> bool:
    return abs(float(np.linalg.norm(vector)) - 1) <= _UNIT
