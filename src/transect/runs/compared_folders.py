"""What a run and its rerun share and in which tables, columns and rows they differ."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput
from transect.runs import array_files, bounds, command_record
from transect.runs.folder import FinishedRun
from transect.runs.json_records import read_json
from transect.runs.model_files import sha256
from transect.runs.tables import decode

Outcome = Literal["same bytes", "within tolerance", "differs"]

VERSIONS: Final = "versions."
"""What the name of a changed version begins with."""
PIXELS: Final = 1
"""Levels of 255 by which a pixel may differ."""
TOLERANCE: Final = 1e-4
"""By how much another number may differ, relative to the larger of the two, or to 1 where both are below."""
_PICTURE: Final = "image"
_OF_BYTES: Final = "sha256"
"""A column that follows from the bytes of `image`, whose pixels are compared."""
_NOT_ALIKE: Final = math.inf
"""The difference of two values that are no numbers of one kind."""
_PART: Final = re.compile(r"part-\d{5,}\.parquet")
_COMPARED: Final = (".parquet", ".json", ".npz", ".npy", ".safetensors")
_OURS: Final = (command_record.FILE, "run.json", "reproduce.json")
"""What a comparison reads in another way, or writes itself."""
_OF_THE_MACHINE: Final = ("seconds", "peak_mb")
"""Keys that hold the time and memory that something took."""


@final
@dataclass(frozen=True, slots=True)
class Change:
    """A version, or what follows from versions, that the rerun has otherwise; "" for one that was not stated."""

    name: str
    was: str
    is_now: str


@final
@dataclass(frozen=True, slots=True)
class ColumnCompared:
    """One column of a table whose values differ; beyond: rows beyond `TOLERANCE`; largest: of numbers and pixels."""

    column: str
    differing: int
    beyond: int
    largest: float | None


@final
@dataclass(frozen=True, slots=True)
class TableCompared:
    """A table of a run; place: the study's folder, ""; same_bytes: of every part; columns: whose values differ."""

    place: str
    table: str
    rows: int
    same_bytes: bool
    columns: tuple[ColumnCompared, ...] = ()

    @property
    def name(self) -> str:
        """Place and table as one path."""
        return f"{self.place}/{self.table}".strip("/")


def outcome_of(tables: Sequence[TableCompared], tolerance: float) -> Outcome:
    """What all tables come to."""
    if all(table.same_bytes for table in tables):
        return "same bytes"
    columns = [column for table in tables for column in table.columns]
    return "differs" if any(column.beyond or not tolerance for column in columns) else "within tolerance"


def table_of_parts(was: FinishedRun, is_now: FinishedRun, table: str, parts: int, tolerance: float) -> TableCompared:
    """The parts of a table of two runs. Raises CorruptedPart where one does not read back as it was written."""
    same = [was.digest(table, part) == is_now.digest(table, part) for part in range(parts)]
    pairs = ((was.read_part(table, part), is_now.read_part(table, part)) for part in range(parts))
    return tables(table, pairs, same, tolerance)


def tables(
    name: str, pairs: Iterable[tuple[pa.Table, pa.Table]], same: Sequence[bool], tolerance: float
) -> TableCompared:
    """The parts of a table of two folders, in their order. same: whether the bytes of both files of a part are."""
    found, rows = _Found(tolerance), 0
    for (was, is_now), same_bytes in zip(pairs, same, strict=True):
        rows += len(was)
        if not same_bytes:
            found.add_tables(was, is_now)
    return TableCompared("", name, rows, all(same), found.columns())


def arrays(
    name: str, was: Mapping[str, np.ndarray], is_now: Mapping[str, np.ndarray], tolerance: float
) -> TableCompared:
    """Every value of two files of arrays: a row is a value, a column an array. Another shape or name differs whole."""
    found = _Found(tolerance)
    for key in dict.fromkeys([*was, *is_now]):
        first, second = was.get(key), is_now.get(key)
        if first is None or second is None or first.shape != second.shape or first.dtype != second.dtype:
            found.add_whole(key, max(1, *(array.size for array in (first, second) if array is not None)))
        else:
            found.add(key, _of_arrays(first.ravel(), second.ravel()))
    columns = found.columns()
    return TableCompared("", name, sum(array.size for array in was.values()), not columns, columns)


def numbers(name: str, was: object, is_now: object, tolerance: float, *, same_bytes: bool) -> TableCompared:
    """Every number of two JSON values, by its place; a list of another length or a missing key is one difference."""
    apart: dict[str, list[float]] = {}
    for place, first, second in () if same_bytes else _pairs(was, is_now):
        apart.setdefault(place.partition("/")[0], []).append(_difference(first, second))
    found = _Found(tolerance)
    for place, differences in apart.items():
        found.add(place, np.array(differences))
    return TableCompared("", name, _count(was), same_bytes, found.columns())


def _pairs(was: object, is_now: object, place: str = "") -> Iterator[tuple[str, object, object]]:
    """Place and both values of each number, and of each list or object whose shape differs."""
    if isinstance(was, Mapping) and isinstance(is_now, Mapping) and was.keys() == is_now.keys():
        for key in was:
            yield from _pairs(was[key], is_now[key], f"{place}/{key}".strip("/"))
    elif isinstance(was, list) and isinstance(is_now, list) and len(was) == len(is_now):
        for index, (first, second) in enumerate(zip(was, is_now, strict=True)):
            yield from _pairs(first, second, f"{place}/{index}".strip("/"))
    elif isinstance(was, str) and isinstance(is_now, str):
        return
    elif was != is_now or _is_number(was):
        yield place, was, is_now


def _count(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(map(_count, value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else int(_is_number(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _difference(was: Any, is_now: Any) -> float:
    """How far two numbers are apart, relative to the larger, or to 1; 0 where both are missing, infinite if one is.

    >>> _difference(200.0, 100.0), _difference(0.25, 0.5), _difference(None, None), _difference(1.0, None)
    (0.5, 0.25, 0.0, inf)
    """
    if was == is_now or (was != was and is_now != is_now):
        return 0.0
    if not (_is_number(was) and _is_number(is_now)):
        return _NOT_ALIKE
    apart = abs(was - is_now) / max(abs(was), abs(is_now), 1.0)
    return float(apart) if math.isfinite(apart) else _NOT_ALIKE


def _of_arrays(was: np.ndarray, is_now: np.ndarray) -> np.ndarray:
    """As `_difference`, of each value of two arrays of one shape; whole numbers are the same or not."""
    if not np.issubdtype(was.dtype, np.floating):
        return np.where(was == is_now, 0.0, _NOT_ALIKE)
    first, second = was.astype(np.float64), is_now.astype(np.float64)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(first - second) / np.maximum(np.maximum(np.abs(first), np.abs(second)), 1.0)
    return np.where(same, 0.0, np.where(np.isfinite(apart), apart, _NOT_ALIKE))


class _Found:
    """What was found of a table's columns, over its parts."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._counts: dict[str, tuple[int, int, float | None]] = {}

    def add_tables(self, was: pa.Table, is_now: pa.Table) -> None:
        """Compare two tables, row by row."""
        if len(was) != len(is_now):
            self.add_whole("(rows)", abs(len(was) - len(is_now)))
            return
        for name in dict.fromkeys([*was.column_names, *is_now.column_names]):
            if name == _OF_BYTES and _PICTURE in was.column_names:
                continue
            if name not in was.column_names or name not in is_now.column_names:
                self.add_whole(name, len(was))
                continue
            apart = _of_pictures if name == _PICTURE else _of_values
            pairs = zip(was[name].to_pylist(), is_now[name].to_pylist(), strict=True)
            most = PIXELS if name == _PICTURE else self._tolerance
            self.add(name, np.array([apart(first, second) for first, second in pairs]), most)

    def add_whole(self, name: str, rows: int) -> None:
        """Count a column that only one of both has, or has in this form."""
        self.add(name, np.full(rows, _NOT_ALIKE))

    def add(self, name: str, apart: np.ndarray, most: float | None = None) -> None:
        """Count the rows of a column that differ, and by more than `most`, by default the tolerance."""
        if not (apart > 0).any():
            return
        differing, beyond, largest = self._counts.get(name, (0, 0, None))
        if (numbers := apart[np.isfinite(apart) & (apart > 0)]).size:
            largest = max(largest or 0.0, float(numbers.max()))
        beyond += int((apart > (self._tolerance if most is None else most)).sum())
        self._counts[name] = differing + int((apart > 0).sum()), beyond, largest

    def columns(self) -> tuple[ColumnCompared, ...]:
        """The columns that differ, in the order of the table."""
        return tuple(ColumnCompared(name, *counts) for name, counts in self._counts.items())


def _of_pictures(was: bytes | None, is_now: bytes | None) -> float:
    """The largest difference of a pixel, in levels of 255; infinite where one picture is missing or of another size."""
    if was == is_now:
        return 0.0
    if was is None or is_now is None:
        return _NOT_ALIKE
    first, second = (decode([png])[0].astype(np.int16) for png in (was, is_now))
    return float(np.abs(first - second).max()) if first.shape == second.shape else _NOT_ALIKE


def _of_values(was: object, is_now: object) -> float:
    """The largest difference within a value: of numbers as `_difference` has it; infinite between other kinds."""
    if isinstance(was, Mapping) and isinstance(is_now, Mapping):
        return max((_of_values(was.get(key), is_now.get(key)) for key in {*was, *is_now}), default=0.0)
    if isinstance(was, list) and isinstance(is_now, list) and len(was) == len(is_now):
        return max(map(_of_values, was, is_now), default=0.0)
    if isinstance(was, float) and isinstance(is_now, float):
        return _difference(was, is_now)
    return 0.0 if was == is_now else _NOT_ALIKE


def compared_folders(was: Path, is_now: Path, tolerance: float) -> tuple[list[TableCompared], list[str]]:
    """Every table, file of numbers and file of tensors that the rerun wrote, and the names that one of both lacks."""
    first, second = _names(was), _names(is_now)
    found = [_table(name, was, is_now, first[name], tolerance) for name in second if name in first]
    lacking = [
        f"{name}: only the {'run' if name in first else 'rerun'} has it" for name in sorted({*first} ^ {*second})
    ]
    return found, lacking


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
    if missing := sum(not (is_now / file).is_file() for file in files):
        return TableCompared("", name, len(files), False, (ColumnCompared("(parts)", missing, missing, None),))
    pairs = [(was / file, is_now / file) for file in files]
    first, second = pairs[0]
    try:
        if first.suffix == ".parquet":
            same = [sha256(one) == sha256(other) for one, other in pairs]
            both = ((bounds.read_parquet(one), bounds.read_parquet(other)) for one, other in pairs)
            return tables(name, both, same, tolerance)
        if first.suffix == ".json":
            found = numbers(name, _numbers(first), _numbers(second), tolerance, same_bytes=False)
            return replace(found, same_bytes=not found.columns)
        return arrays(name, _arrays(first), _arrays(second), tolerance)
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{first}: expected a file that the run wrote, got a damaged one; restore it") from None


def _numbers(path: Path) -> object:
    return _of_the_job(read_json(path, "a file of numbers", "restore the file that the run wrote"))


def _of_the_job(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _of_the_job(each) for key, each in value.items() if key not in _OF_THE_MACHINE}
    return [_of_the_job(each) for each in value] if isinstance(value, list) else value


def _arrays(path: Path) -> dict[str, np.ndarray]:
    if path.suffix != ".safetensors":
        return array_files.arrays_in(path)
    from safetensors import safe_open

    bounds.check_holes(path)
    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no dictionary)
