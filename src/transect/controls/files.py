"""Files of fitted directions, linear or local: arrays as tensors, the rest as JSON. Reading runs no code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from transect.controls.directions import Direction, labelled_by_a_model
from transect.controls.learned import LearnedControls
from transect.controls.local import AttributeModel, LocalControls
from transect.runs import model_files
from transect.runs.folder import write_atomically
from transect.runs.plain_json import loads, plain
from transect.runs.tensor_files import Arrays, Facts, content_of, read_content

LINEAR: Final = "transect.directions"
LOCAL: Final = "transect.attribute_models"
_ARRAYS: Final = ("slopes", "centers", "weights")
_NUMBERS: Final = {
    LINEAR: ("offset", "mean", "low", "high", "quality", "labels", "held_out"),
    LOCAL: ("constant", "gamma", "low", "high", "quality", "labels", "held_out"),
}
_TEXTS: Final = {LINEAR: ("name", "kind", "quality_measure"), LOCAL: ("name",)}
_MAY_BE_UNKNOWN: Final = ("slope", "shown_low", "shown_high")
_LONGEST_NAME: Final = 100
_UNIT: Final = 1e-6


@final
@dataclass(frozen=True, slots=True)
class FittedDirections:
    """Directions of one latent space, all linear or all local, and where they come from.

    origin: generator, labels, seeds. sha256: of the file they were read from, if any.
    """

    directions: tuple[Direction, ...] | tuple[AttributeModel, ...]
    space: str
    origin: Mapping[str, object] = field(default_factory=dict)
    sha256: str = ""

    @property
    def kind(self) -> str:
        """`LINEAR` or `LOCAL`."""
        return LOCAL if isinstance(self.directions[0], AttributeModel) else LINEAR

    @property
    def linear(self) -> tuple[Direction, ...]:
        """The directions where they are linear, else none."""
        return tuple(entry for entry in self.directions if isinstance(entry, Direction))

    @property
    def local(self) -> tuple[AttributeModel, ...]:
        """The attribute models whose gradients are the directions where these are local, else none."""
        return tuple(entry for entry in self.directions if isinstance(entry, AttributeModel))

    def controls(self) -> LearnedControls | LocalControls:
        """The controls that read and set along them. Raises BadInput where they are collinear."""
        if self.kind == LOCAL:
            return LocalControls(self.local, self.space)
        return LearnedControls(self.linear, self.space)

    def describe(self) -> dict[str, object]:
        """The description in a run's spec: numbers and texts, null for what is not a number."""
        return {
            "kind": self.kind,
            "sha256": self.sha256,
            "space": self.space,
            "origin": dict(self.origin),
            "attributes": [_description(entry) for entry in self.directions],
            "cosines": self._cosines(),
        }

    def _cosines(self) -> list[list[float]]:
        """Between the directions of every two attributes, to six decimals; none where they are local."""
        if not self.linear:
            return []
        normals = np.array([entry.normal for entry in self.linear])
        cosines: list[list[float]] = np.clip(normals @ normals.T, -1.0, 1.0).round(6).tolist()
        return cosines


def _description(entry: Direction | AttributeModel) -> dict[str, object]:
    description = {**_facts(entry), "of_a_model": labelled_by_a_model(entry.origin)}
    if isinstance(entry, AttributeModel):
        description |= {
            "kind": entry.kind, "quality_measure": entry.quality_measure, "centers": len(entry.centers)
        }  # fmt: skip
    return description


def _facts(entry: Direction | AttributeModel) -> dict[str, object]:
    """All but the arrays, in JSON's types."""
    facts = {
        name: value for name, value in asdict(entry).items() if name != "along" and not isinstance(value, np.ndarray)
    }
    return dict(plain(facts))


def write_directions(path: Path, fitted: FittedDirections) -> None:
    """Write directions as a safetensors file. Raises RunFolderError where the disk refuses."""
    facts = [_facts(entry) for entry in fitted.directions]
    if fitted.kind == LOCAL:
        tensors = {
            f"{name}.{i}": np.array(getattr(entry, name)) for i, entry in enumerate(fitted.local) for name in _ARRAYS
        }
        content = content_of(LOCAL, tensors, space=fitted.space, models=facts, origin=dict(fitted.origin))
    else:
        tensors = {
            "normals": np.array([entry.normal for entry in fitted.linear]),
            "along": np.array([entry.way for entry in fitted.linear]),
        }
        content = content_of(LINEAR, tensors, space=fitted.space, directions=facts, origin=dict(fitted.origin))
    write_atomically(path, content)


def read_directions(path: Path) -> FittedDirections:
    """The directions of a file of `transect directions fit`, of either kind.

    Raises BadInput for other files, and for invalid directions.
    """
    parsers = {LINEAR: _linear, LOCAL: _local}
    remedy = "make one: transect directions fit"
    fitted = read_content(path, parsers, expected="a file of directions", remedy=remedy)
    return replace(fitted, sha256=model_files.sha256(path))


def _linear(tensors: Arrays, facts: Facts) -> FittedDirections:
    rows = zip(_entries(facts["directions"]), tensors["normals"], tensors["along"], strict=True)
    return FittedDirections(tuple(_direction(*row) for row in rows), facts["space"], _origin(facts))


def _local(tensors: Arrays, facts: Facts) -> FittedDirections:
    models = tuple(
        _model(entry, {name: tensors[f"{name}.{i}"] for name in _ARRAYS})
        for i, entry in enumerate(_entries(facts["models"]))
    )
    if len({model.centers.shape[1] for model in models}) > 1:
        raise ValueError("its models have several numbers of coordinates")
    return FittedDirections(models, facts["space"], _origin(facts))


def _origin(facts: Facts) -> dict[str, object]:
    origin = loads(facts.get("origin", "{}"))
    if not isinstance(origin, dict):
        raise ValueError("its origin must be an object")
    return origin


def _entries(text: str) -> list[dict[str, object]]:
    entries = loads(text)
    if not (isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries)):
        raise ValueError("it has no list of directions")
    return entries


def _check_entry(entry: Mapping[str, object], kind: str) -> dict[str, Any]:
    """The entry with NaN for numbers that are unknown; raises ValueError for names and numbers that are none."""
    for key in _TEXTS[kind]:
        text = entry[key]
        if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= _LONGEST_NAME:
            raise ValueError(f"{key} must be a short text")
    if not isinstance(entry["origin"], dict):
        raise ValueError(f"the origin of {entry['name']} must be an object")
    unknown = {key: math.nan for key in _MAY_BE_UNKNOWN if key in entry and entry[key] is None}
    for key in (*_NUMBERS[kind], *(key for key in _MAY_BE_UNKNOWN if key in entry and key not in unknown)):
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
    direction = Direction(normal=row, along=way, **_check_entry(entry, LINEAR))
    if not direction.low < direction.high or (direction.kind != "binary" and not abs(direction.slope) > 0):
        raise ValueError(f"{direction.name} has no range")
    return direction


def _is_unit(vector: np.ndarray) -> bool:
    return abs(float(np.linalg.norm(vector)) - 1) <= _UNIT


def _model(entry: Mapping[str, object], tensors: Arrays) -> AttributeModel:
    """One model of a local direction; raises ValueError, KeyError or TypeError for what is none."""
    facts, name = _check_entry(entry, LOCAL), entry["name"]
    arrays = {key: np.asarray(value, dtype=np.float64) for key, value in tensors.items()}
    shapes = {key: value.shape for key, value in arrays.items()}
    if any(len(shapes[key]) != 1 for key in ("slopes", "weights")) or (
        shapes["centers"] != shapes["weights"] + shapes["slopes"]
    ):
        raise ValueError(f"the shapes of {name} do not fit together")
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise ValueError(f"{name} has tensors that are not finite")
    if not facts["low"] < facts["high"] or not facts["gamma"] > 0:
        raise ValueError(f"{name} has no range")
    facts |= arrays
    return AttributeModel(**facts)
