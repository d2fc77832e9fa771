"""Two folders of one job compared, file by file: tables, numbers and tensors. Pages and pictures follow from these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from transect.errors import BadInput
from transect.jobs.reproduce import comparing
from transect.jobs.reproduce.numbers import ColumnCompared, TableCompared
from transect.runs import bounds, command_record
from transect.runs.json_records import read_json
from transect.runs.model_files import sha256

_PART: Final = re.compile(r"part-\d{5,}\.parquet")
_ARRAYS: Final = (".npz", ".npy", ".safetensors")
_COMPARED: Final = (".parquet", ".json", *_ARRAYS)
_OURS: Final = (command_record.FILE, "run.json", "reproduce.json")
"""What a comparison reads in another way, or writes itself."""
_OF_THE_MACHINE: Final = ("seconds", "peak_mb")
"""Keys that hold the time and memory that something took."""


def compared(was: Path, is_now: Path, tolerance: float) -> tuple[list[TableCompared], list[str]]:
    """Every table, file of numbers and file of tensors that the rerun wrote, and the names that one of both lacks."""
    first, second = _names(was), _names(is_now)
    tables = [_table(name, was, is_now, first[name], tolerance) for name in second if name in first]
    lacking = [
        f"{name}: only the {'run' if name in first else 'rerun'} has it" for name in sorted({*first} ^ {*second})
    ]
    return tables, lacking


def _names(folder: Path) -> dict[str, list[str]]:
    """Files of tables by the table's name, in the order of names; parts of a table are one."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in _COMPARED and path.is_file() and path.name not in _OURS and not name.startswith("."):
            table = name.rpartition("/")[0] if _PART.fullmatch(path.name) else name
            found.setdefault(table, []).append(name)
    return found


def _table(name: str, was: Path, is_now: Path, files: list[str], tolerance: float) -> TableCompared:
    missing = [file for file in files if not (is_now / file).is_file()]
    if missing:
        return TableCompared(
            "", name, len(files), False, (ColumnCompared("(parts)", len(missing), len(missing), None),)
        )
    try:
        return _of_files(name, [(was / file, is_now / file) for file in files], tolerance)
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            f"{was / files[0]}: expected a file that the run wrote, got a damaged one; put it back"
        ) from None


def _of_files(name: str, pairs: list[tuple[Path, Path]], tolerance: float) -> TableCompared:
    first, second = pairs[0]
    if first.suffix == ".parquet":
        same = [sha256(one) == sha256(other) for one, other in pairs]
        both = ((bounds.read_parquet(one), bounds.read_parquet(other)) for one, other in pairs)
        return comparing.several(name, both, same, tolerance)
    if first.suffix == ".json":
        found = comparing.numbers(name, _numbers(first), _numbers(second), tolerance, same_bytes=False)
        return replace(found, same_bytes=not found.columns)
    return comparing.arrays(name, _arrays(first), _arrays(second), tolerance)


def _numbers(path: Path) -> Any:
    value = read_json(path, "a file of numbers", "put back the file that the run wrote")
    return _of_the_job(value)


def _of_the_job(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _of_the_job(each) for key, each in value.items() if key not in _OF_THE_MACHINE}
    return [_of_the_job(each) for each in value] if isinstance(value, list) else value


def _arrays(path: Path) -> dict[str, np.ndarray]:
    bounds.check_holes(path)
    if path.suffix == ".npy":
        return {path.name: np.load(path, allow_pickle=False)}
    if path.suffix == ".npz":
        bounds.check_archive(path)
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no dictionary)
