"""Published directions: files of normals, each the vector of a linear model in the latent space of a generator.

InterFaceGAN's boundaries [1, d] are such normals (Shen et al. 2020, arXiv:1907.10786), with or without the model's
intercept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.controls.directions import MIDDLE, Direction, Hyperplanes
from transect.errors import BadInput, UnknownName
from transect.runs import array_files, model_files
from transect.runs.wording import counted

IMPORTED: Final = "imported"
"""The label source and the method of directions that others fitted."""
_NORMALS, _OFFSETS, _NAMES = ("coef", "normals"), ("intercept", "offsets"), ("name", "names")


@final
@dataclass(frozen=True, slots=True)
class Normals:
    """What a file holds: normals [k, d], offsets [k], and the name of each, "" where the file has none."""

    names: tuple[str, ...]
    normals: Float[np.ndarray, "k d"]
    offsets: Float[np.ndarray, " k"]


def imported_directions(chosen: Normals, rows: Float[np.ndarray, "n d"], source: str) -> tuple[Direction, ...]:
    """Signed distances from the hyperplanes; the range of each is the middle 99 % of the rows. source: who labelled."""
    planes = Hyperplanes.of(chosen.names, chosen.normals, chosen.offsets)
    ends = np.percentile(planes.decisions(rows), MIDDLE, axis=0)
    origin = {"labels": source, "method": IMPORTED, "balanced_on": []}
    unknown = float("nan")
    return tuple(
        Direction(
            name=name, kind="binary", normal=normal, offset=float(offset), low=float(low), high=float(high),
            slope=unknown, mean=0.0, quality=unknown, quality_measure="unknown", labels=0, held_out=0, origin=origin,
        )
        for name, normal, offset, low, high in zip(chosen.names, planes.normals, planes.offsets, *ends, strict=True)
    )  # fmt: skip


def chosen_normals(found: Normals, attributes: Sequence[str], path: Path) -> Normals:
    """The wanted normals under the wanted names. Raises BadInput and UnknownName."""
    if not attributes:
        known = f" of {', '.join(found.names[:8])}" if any(found.names) else f" for each of {len(found.names)} normals"
        raise BadInput(f"{path}: needs --attribute NAME{known}; give the attribute of each normal")
    if not any(found.names):
        if len(attributes) != len(found.names):
            raise BadInput(
                f"{path}: expected a name for each of {counted(len(found.names), 'normal')}, got {len(attributes)} "
                f"({', '.join(attributes)}); give --attribute NAME once for each, in their order"
            )
        return Normals(tuple(attributes), found.normals, found.offsets)
    pairs = [(each.partition("=")[0], each.partition("=")[2] or each) for each in attributes]
    for _, member in pairs:
        if member not in found.names:
            raise UnknownName("attribute", member, found.names, f"in {path}")
    places = [found.names.index(member) for _, member in pairs]
    return Normals(tuple(name for name, _ in pairs), found.normals[places], found.offsets[places])


def read_normals(path: Path) -> Normals:
    """The normals of a file. Raises BadInput for one that holds something else; no code in it is run."""
    held = _arrays(model_files.check_readable(path))
    if isinstance(held, Mapping):
        normals = next((held[key] for key in _NORMALS if key in held), None)
        if normals is None:
            return _one_in_each(held, path)
        normals = _rows(normals, path, "coef")
        named = next((held[key] for key in _NAMES if key in held), [""] * len(normals))
        names = [named] if isinstance(named, str) else np.atleast_1d(named).tolist()
        offsets = next((held[key] for key in _OFFSETS if key in held), np.zeros(len(normals)))
        offsets = _numbers(offsets, path, "the intercepts").reshape(-1)
        if not len(normals) == len(names) == len(offsets):
            raise BadInput(
                f"{path}: expected a name and an intercept for each of {len(normals)} normals, got {len(names)} and "
                f"{len(offsets)}; write one of each"
            )
        return Normals(tuple(map(str, names)), normals, offsets)
    rows = _rows(held, path, "the array")
    return Normals(("",) * len(rows), rows, np.zeros(len(rows)))


def _one_in_each(held: Mapping[str, Any], path: Path) -> Normals:
    """A normal of each array, by its name."""
    rows = [_rows(array, path, name) for name, array in held.items()]
    if not rows or any(len(row) != 1 or row.shape != rows[0].shape for row in rows):
        shapes = ", ".join(f"{name} {list(np.shape(array))}" for name, array in list(held.items())[:4])
        raise BadInput(f"{path}: expected one normal of the same length in each array, got {shapes or 'none'}")
    return Normals(tuple(held), np.concatenate(rows), np.zeros(len(rows)))


def _rows(array: object, path: Path, name: str) -> Float[np.ndarray, "k d"]:
    values = _numbers(array, path, name)
    rows = np.atleast_2d(values)
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise BadInput(
            f"{path}: expected normals as numbers [d] or [k, d], got {name} {list(values.shape)}; save only the vectors"
        )
    return rows


def _numbers(array: object, path: Path, name: str) -> Float[np.ndarray, ...]:
    """float64 of a tensor or an array. Raises BadInput for anything but finite real numbers."""
    values = array.detach().double().cpu().numpy() if hasattr(array, "detach") else np.asarray(array)
    if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        got = "NaN or infinity" if values.dtype.kind == "f" else str(values.dtype)
        raise BadInput(f"{path}: expected finite numbers, got {got} in {name}; save only the vectors")
    return np.asarray(values, dtype=np.float64)


def _arrays(path: Path) -> Any:
    """An array, or arrays by name."""
    if path.suffix == ".npy":
        return array_files.mapped(path)
    if path.suffix == ".npz":
        return array_files.arrays_in(path)
    if path.suffix in (".pt", ".pth"):
        return model_files.read_tensors(path)
    raise BadInput(f"{path}: expected .npy, .npz or .pt, got {path.suffix or 'no ending'}; save the normals as .npy")
