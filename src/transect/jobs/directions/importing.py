"""`transect.import_directions`: published directions, from a file of normals, as directions of a generator.

A normal is the vector of a linear model in the latent space, as InterFaceGAN's boundaries [1, d] are (Shen et al.
2020, arXiv:1907.10786), with or without the model's intercept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.controls.directions import MIDDLE, Direction, Hyperplanes
from transect.controls.learned import FittedDirections, in_space
from transect.errors import BadInput, UnknownName
from transect.jobs.directions.result import DirectionsResult, result_of
from transect.jobs.directions.run import origin_of
from transect.protocols import Generator
from transect.runs import array_files, model_files
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted

IMPORTED: Final = "imported"
"""The label source and the method of directions that others fitted."""
SAMPLED: Final = 1000
"""Latents of the generator whose middle 99 % gives the range of each attribute."""
_NORMALS, _OFFSETS, _NAMES = ("coef", "normals"), ("intercept", "offsets"), ("name", "names")


@final
@dataclass(frozen=True, slots=True)
class Normals:
    """What a file holds: normals [k, d], offsets [k], and the name of each, "" where the file has none."""

    names: tuple[str, ...]
    normals: Float[np.ndarray, "k d"]
    offsets: Float[np.ndarray, " k"]


def import_directions(
    file: str | Path,
    attributes: str | Sequence[str],
    *,
    generator: str | Path | Generator = "faceworld",
    space: str = "",
    source: str = "",
) -> DirectionsResult:
    """Directions that others fitted, from a file of normals, for audits of the generator that they belong to.

    file: .npy with one normal [d], [1, d] or several [k, d]; .npz with an array for each attribute, or coef [k, d],
    intercept [k] and name [k]; .pt with a tensor or a dictionary of tensors, of the same forms. attributes: a name for
    each normal in order, or of arrays with names those to take, as "smile" or "smile=stylegan_ffhq_smile_w". generator,
    space: whose latents they are of; the number of coordinates must fit. source: who labelled, as "people" or
    "model:NAME" (reports then warn).

    Returns DirectionsResult. An attribute's value is the signed distance from the hyperplane, in units of the latent
    space, and through the origin where the file has no intercept; its range is the middle 99 % of 1,000 of the
    generator's latents. No label is known, so that quality is unknown.

    Raises BadInput for a file that holds something else, another number of coordinates or of names, or collinear
    directions; UnknownName for a name that the file does not have. Nothing that the file holds is run.

    Sources: Shen et al. 2020, arXiv:1907.10786; Balakrishnan et al. 2020, arXiv:2007.06570, §4.1.1.
    """
    from transect.experiment import worlds

    path = Path(file)
    name = str(generator) if isinstance(generator, str | Path) else generator
    network: Generator = worlds.generator_of(name, None, None, None, learned=True)
    chosen = _chosen(read_normals(path), as_names(attributes), path)
    latents = in_space(network, network.sample(np.arange(SAMPLED)), space or network.sample([0]).space)
    rows = np.asarray(latents.values, dtype=np.float64).reshape(SAMPLED, -1)
    if rows.shape[1] != chosen.normals.shape[1]:
        raise BadInput(
            f"{path}: expected normals of {rows.shape[1]} numbers for space {latents.space} of {network.name}, got "
            f"{chosen.normals.shape[1]}; give the generator that they were made for, or --space"
        )
    labelled = source or IMPORTED
    facts = {"file": path.name, "file_sha256": model_files.sha256(path)}
    fitted = FittedDirections(
        _directions(chosen, rows, labelled), latents.space, origin_of(network, latents, labelled, 0, facts)
    )
    fitted.controls()  # refuses collinear attributes
    return result_of(fitted, (f"ranges are those of {SAMPLED:,} latents of {network.name}; no label is known",))


def _directions(chosen: Normals, rows: Float[np.ndarray, "n d"], source: str) -> tuple[Direction, ...]:
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


def _chosen(found: Normals, attributes: Sequence[str], path: Path) -> Normals:
    """The wanted normals under the wanted names. Raises as `import_directions`."""
    if not attributes:
        known = f" of {', '.join(found.names[:8])}" if any(found.names) else f" for each of {len(found.names)} normals"
        raise BadInput(f"{path}: expected --attribute NAME{known}, got none; name what each normal is of")
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
        raise BadInput(f"{path}: expected one normal of the same length in each array, got {shapes or 'none'}; cut it")
    return Normals(tuple(held), np.concatenate(rows), np.zeros(len(rows)))


def _rows(array: Any, path: Path, name: str) -> Float[np.ndarray, "k d"]:
    values = _numbers(array, path, name)
    rows = np.atleast_2d(values)
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise BadInput(
            f"{path}: expected normals as numbers [d] or [k, d], got {name} {list(values.shape)}; save the vectors "
            "alone"
        )
    return rows


def _numbers(array: Any, path: Path, name: str) -> Float[np.ndarray, ...]:
    """float64 of a tensor or an array. Raises BadInput for anything but finite real numbers."""
    values = array.detach().double().cpu().numpy() if hasattr(array, "detach") else np.asarray(array)
    if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        got = "NaN or infinity" if values.dtype.kind == "f" else str(values.dtype)
        raise BadInput(f"{path}: expected finite numbers, got {got} in {name}; save the vectors alone")
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
