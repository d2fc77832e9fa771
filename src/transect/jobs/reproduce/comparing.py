"""Two tables compared, value by value: which columns differ, by how much, in how many rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.jobs.reproduce.numbers import PIXELS, ColumnCompared, TableCompared
from transect.runs.folder import FinishedRun
from transect.runs.tables import decode

_PICTURE: Final = "image"
_OF_BYTES: Final = "sha256"
"""A column that follows from the bytes of `image`, whose pixels are compared."""
_NOT_ALIKE: Final = math.inf
_Differences = tuple[np.ndarray, bool]
"""A difference for each row, and whether it is a number, or only tells same (0) from other (infinite)."""


def table_of_parts(was: FinishedRun, is_now: FinishedRun, table: str, parts: int, tolerance: float) -> TableCompared:
    """The parts of a table of two runs. Raises CorruptedPart where one does not read back as it was written."""
    found, rows, same = _Found(tolerance), 0, True
    for part in range(parts):
        before = was.read_part(table, part)
        rows += len(before)
        after = is_now.read_part(table, part)
        if was.digest(table, part) != is_now.digest(table, part):
            same = False
            found.add(before, after)
    return TableCompared("", table, rows, same, found.columns())


def tables(name: str, was: pa.Table, is_now: pa.Table, tolerance: float, *, same_bytes: bool) -> TableCompared:
    """Two tables in memory. same_bytes: whether their files are the same."""
    found = _Found(tolerance)
    if not same_bytes:
        found.add(was, is_now)
    return TableCompared("", name, len(was), same_bytes, found.columns())


def several(
    name: str, pairs: Iterable[tuple[pa.Table, pa.Table]], same: Sequence[bool], tolerance: float
) -> TableCompared:
    """The parts of a table of two folders, in their order. same: whether the bytes of both files of a part are."""
    found, rows = _Found(tolerance), 0
    for (was, is_now), same_bytes in zip(pairs, same, strict=True):
        rows += len(was)
        if not same_bytes:
            found.add(was, is_now)
    return TableCompared("", name, rows, all(same), found.columns())


def arrays(
    name: str, was: Mapping[str, np.ndarray], is_now: Mapping[str, np.ndarray], tolerance: float
) -> TableCompared:
    """Every value of two files of arrays: a row is a value, a column an array. Another shape or name differs whole."""
    found = _Found(tolerance)
    for key in dict.fromkeys([*was, *is_now]):
        first, second = was.get(key), is_now.get(key)
        if first is None or second is None or first.shape != second.shape or first.dtype != second.dtype:
            most = max(1, *(array.size for array in (first, second) if array is not None))
            found.add_differences(key, np.full(most, _NOT_ALIKE), 0.0, number=False)
            continue
        apart, number = _of_arrays(first.ravel(), second.ravel())
        found.add_differences(key, apart, tolerance, number=number)
    columns = found.columns()
    return TableCompared("", name, sum(array.size for array in was.values()), not columns, columns)


def _of_arrays(was: np.ndarray, is_now: np.ndarray) -> _Differences:
    """The differences of two arrays of one shape, as `_difference` has them."""
    if not np.issubdtype(was.dtype, np.floating):
        return np.where(was == is_now, 0.0, _NOT_ALIKE), False
    first, second = was.astype(np.float64), is_now.astype(np.float64)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(first - second) / np.maximum(np.maximum(np.abs(first), np.abs(second)), 1.0)
    return np.where(same, 0.0, np.where(np.isfinite(apart), apart, _NOT_ALIKE)), True


def numbers(name: str, was: object, is_now: object, tolerance: float, *, same_bytes: bool) -> TableCompared:
    """Every number of two JSON values, by its place: a row is a number, a column the first key of its place.

    A list of another length, or a key that one of them lacks, is one difference beyond the tolerance. Texts are not
    compared: they say the numbers again, rounded.
    """
    pairs = [] if same_bytes else list(_pairs(was, is_now))
    places = dict.fromkeys(place.partition("/")[0] for place, _, _ in pairs)
    found = _Found(tolerance)
    for place in places:
        of_place = [(a, b) for where, a, b in pairs if where.partition("/")[0] == place]
        found.add_differences(place, np.array([_difference(a, b) for a, b in of_place]), tolerance)
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
    if isinstance(value, list):
        return sum(map(_count, value))
    return int(_is_number(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _difference(was: Any, is_now: Any) -> float:
    """How far two numbers are apart, relative to the larger, or to 1; 0 where both are missing, infinite if one is.

    >>> _difference(200.0, 100.0), _difference(0.25, 0.5), _difference(None, None), _difference(1.0, None)
    (0.5, 0.25, 0.0, inf)
    """
    if not (_is_number(was) and _is_number(is_now)):
        return 0.0 if was == is_now else _NOT_ALIKE
    if was == is_now or (was != was and is_now != is_now):
        return 0.0
    apart = abs(was - is_now) / max(abs(was), abs(is_now), 1.0)
    return float(apart) if math.isfinite(apart) else _NOT_ALIKE


class _Found:
    """What was found of a table's columns, over its parts."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._counts: dict[str, tuple[int, int, float | None]] = {}

    def add(self, was: pa.Table, is_now: pa.Table) -> None:
        """Compare two tables, row by row."""
        if len(was) != len(is_now):
            self.add_differences("(rows)", np.full(abs(len(was) - len(is_now)), _NOT_ALIKE), 0.0, number=False)
            return
        for name in dict.fromkeys([*was.column_names, *is_now.column_names]):
            if name == _OF_BYTES and _PICTURE in was.column_names:
                continue
            if name not in was.column_names or name not in is_now.column_names:
                self.add_differences(name, np.full(len(was), _NOT_ALIKE), 0.0, number=False)
                continue
            apart, number = _apart(name, was[name], is_now[name])
            self.add_differences(name, apart, PIXELS if name == _PICTURE else self._tolerance, number=number)

    def add_differences(self, name: str, apart: np.ndarray, most: float, *, number: bool = True) -> None:
        """Count the rows of a column that differ, and by more than `most`."""
        if not (apart > 0).any():
            return
        differing, beyond, largest = self._counts.get(name, (0, 0, None))
        finite = apart[np.isfinite(apart) & (apart > 0)]
        if number and finite.size:
            largest = max(largest or 0.0, float(finite.max()))
        self._counts[name] = differing + int((apart > 0).sum()), beyond + int((apart > most).sum()), largest

    def columns(self) -> tuple[ColumnCompared, ...]:
        """The columns that differ, in the order of the table."""
        return tuple(ColumnCompared(name, *counts) for name, counts in self._counts.items())


def _apart(name: str, was: pa.ChunkedArray, is_now: pa.ChunkedArray) -> _Differences:
    before, after = was.to_pylist(), is_now.to_pylist()
    if name == _PICTURE:
        return np.array([_of_pictures(*pair) for pair in zip(before, after, strict=True)]), True
    numeric = all(map(_numeric, (was.type, is_now.type)))
    return np.array([_of_values(*pair) for pair in zip(before, after, strict=True)]), numeric


def _numeric(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _numeric(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_numeric(field.type) for field in kind)
    return bool(pa.types.is_floating(kind))


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
        return _most(_of_values(was.get(key), is_now.get(key)) for key in {*was, *is_now})
    if isinstance(was, list) and isinstance(is_now, list):
        pairs = zip(was, is_now, strict=True) if len(was) == len(is_now) else [(None, 1.0)]
        return _most(_of_values(*pair) for pair in pairs)
    if isinstance(was, float) and isinstance(is_now, float):
        return _difference(was, is_now)
    return 0.0 if was == is_now else _NOT_ALIKE


def _most(values: Iterable[float]) -> float:
    return max(values, default=0.0)
