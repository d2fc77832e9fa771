"""Attribute models of local directions in a file, as `direction_file` keeps directions; nothing in it is ever run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from transect.controls.direction_file import FittedDirections, read_directions
from transect.controls.directions import labelled_by_a_model
from transect.controls.local import AttributeModel, LocalControls
from transect.errors import BadInput
from transect.runs import model_files

KIND: Final = "transect.attribute_models"
_TENSORS: Final = ("slopes", "centers", "weights")
_NUMBERS: Final = ("constant", "gamma", "low", "high", "quality", "labels", "held_out")
_SHOWN: Final = ("shown_low", "shown_high")
_LONGEST_NAME: Final = 100


@final
@dataclass(frozen=True, slots=True)
class FittedModels:
    """Attribute models of one latent space and where they come from, as `FittedDirections` has it."""

    models: tuple[AttributeModel, ...]
    space: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""

    def controls(self) -> LocalControls:
        """What reads and sets along their gradients."""
        return LocalControls(self.models, self.space)

    def describe(self) -> dict[str, Any]:
        """What a run's spec keeps: numbers and texts, null for what is not a number."""
        return {
            "kind": KIND,
            "sha256": self.sha256,
            "space": self.space,
            "origin": dict(self.origin),
            "attributes": [_facts(one) for one in self.models],
        }


def _kept(one: AttributeModel) -> dict[str, Any]:
    kept = {name: value for name, value in asdict(one).items() if name not in _TENSORS}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in kept.items()}


def _facts(one: AttributeModel) -> dict[str, Any]:
    of_all = {"kind": "continuous", "quality_measure": "R2", "centers": len(one.centers)}
    return {**_kept(one), **of_all, "of_a_model": labelled_by_a_model(one.origin)}


def save_models(
    path: Path, models: Sequence[AttributeModel], space: str, origin: Mapping[str, Any] | None = None
) -> None:
    """Write models of that latent space as safetensors; arrays in tensors, the rest in the metadata."""
    from safetensors.numpy import save_file

    metadata = {
        "kind": KIND,
        "space": space,
        "models": json.dumps([_kept(one) for one in models], sort_keys=True),
        "origin": json.dumps(dict(origin or {}), sort_keys=True),
    }
    tensors = {f"{name}.{i}": np.array(getattr(one, name)) for i, one in enumerate(models) for name in _TENSORS}
    save_file(tensors, path, metadata)


def read_fitted(path: Path) -> FittedDirections | FittedModels:
    """What a file of `transect directions fit` holds, of either kind. Raises BadInput for other files."""
    if model_files.metadata_of(path).get("kind") == KIND:
        return read_models(path)
    return read_directions(path)


def read_models(path: Path) -> FittedModels:
    """The models of a file. Raises BadInput for other files, and for numbers that are no models."""
    from safetensors import SafetensorError, safe_open

    model_files.check_readable(path)
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            facts, origin = json.loads(metadata["models"]), json.loads(metadata.get("origin", "{}"))
            if not (isinstance(origin, dict) and isinstance(facts, list) and facts):
                raise ValueError("its origin is no object, or it has no models")
            made = tuple(
                _model(kept, {name: file.get_tensor(f"{name}.{i}") for name in _TENSORS})
                for i, kept in enumerate(facts)
            )
        if len({one.centers.shape[1] for one in made}) > 1:
            raise ValueError("its models have several numbers of coordinates")
        return FittedModels(made, str(metadata["space"]), origin, model_files.sha256(path))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"{path}: expected a file of local directions, found another ({type(error).__name__}: {error});"
            " make one: transect directions fit --local"
        ) from None


def _model(kept: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> AttributeModel:
    """One model, checked; raises ValueError, KeyError or TypeError for what is none."""
    name = kept["name"]
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        raise ValueError("name is no short text")
    numbers: dict[str, Any] = {}
    for key in (*_NUMBERS, *_SHOWN):
        value = math.nan if key in _SHOWN and kept[key] is None else kept[key]
        fit = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fit or not (math.isfinite(value) or (key in _SHOWN and math.isnan(value))):
            raise ValueError(f"{key} of {name} is no number")
        numbers[key] = value
    arrays = {key: np.asarray(value, dtype=np.float64) for key, value in tensors.items()}
    shapes = {key: value.shape for key, value in arrays.items()}
    if any(len(shapes[key]) != 1 for key in ("slopes", "weights")) or (
        shapes["centers"] != shapes["weights"] + shapes["slopes"]
    ):
        raise ValueError(f"the shapes of {name} do not fit together")
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise ValueError(f"{name} has tensors that are not finite")
    if not numbers["low"] < numbers["high"] or not numbers["gamma"] > 0:
        raise ValueError(f"{name} has no range")
    origin = kept["origin"]
    if not isinstance(origin, dict):
        raise ValueError(f"the origin of {name} is no object")
    numbers |= arrays
    return AttributeModel(name=name, origin=origin, **numbers)
