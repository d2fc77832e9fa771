"""The files of the parts of a run's tables, and their digests; those on object storage are fetched when first read.

A part of another schema than its table has is as good as damaged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from transect.errors import CorruptedPart
from transect.runs import bounds, layout, working_folders
from transect.runs.tables import ANSWERS, CODED, PREDICTIONS

_Check = Callable[[pa.DataType], bool]


def _is(kind: pa.DataType) -> _Check:
    return lambda found: bool(found.equals(kind))


_CHECKS: Final[Mapping[str, Mapping[str, _Check]]] = {
    "images": {
        "id": pa.types.is_string,
        "subject": pa.types.is_integer,
        "cell": pa.types.is_integer,
        "face_box": _is(pa.list_(pa.float64())),
        "image": pa.types.is_binary,
    },
    "predictions/": {field.name: _is(field.type) for field in PREDICTIONS},
    "answers/": {field.name: _is(field.type) for field in ANSWERS},
    "coded/": {field.name: _is(field.type) for field in CODED},
}
"""By the table, or the folder of tables, what the type of a column must be."""
_NUMBERS: Final = ("intended.", "true.")
_COMPLETE: Final = (
    *("id", "subject", "cell", "image", "failed", "reason"),
    *("paraphrase", "repeat", "system", "prompt", "text", "status", "by", "name"),
)


def check_part(table: str, rows: pa.Table, wanted: Callable[[str], bool] = lambda _: True) -> None:
    """Raises CorruptedPart for rows of another schema than the table has; wanted: whether a column was read."""
    folder, slash, _ = table.partition("/")
    checks = _CHECKS.get(folder + slash, {})
    for name, check in checks.items():
        if not wanted(name):
            continue
        if rows.column_names.count(name) != 1:
            raise CorruptedPart(f"no column {name}")
        if not check(rows.schema.field(name).type):
            raise CorruptedPart(f"values of another type in {name}")
        if name in _COMPLETE and rows[name].null_count:
            raise CorruptedPart(f"no value in {name}")
    numbers = [field.type for field in rows.schema if checks and field.name.startswith(_NUMBERS)]
    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
    if not all(any(is_of_kind(kind) for is_of_kind in kinds) for kind in numbers):
        raise CorruptedPart("an attribute that is not a number")


def part_of(folder: Path, table: str, index: int) -> Path:
    """The file of a part."""
    return folder / layout.part_name(table, index)


def digest_of(folder: Path, table: str, index: int) -> Path:
    """The file of the SHA-256 of a part."""
    return folder / layout.digest_name(layout.part_name(table, index))


def part_exists(folder: Path, table: str, index: int) -> bool:
    """Whether a part is finished."""
    return working_folders.exists(part_of(folder, table, index))


def fetch_parts(folder: Path, table: str, indices: Iterable[int]) -> None:
    """Fetch the parts that lie on object storage alone, several at once."""
    working_folders.fetch(place(folder, table, index) for index in indices for place in (part_of, digest_of))


def part_digest(folder: Path, table: str, index: int) -> str:
    """The SHA-256 of a part, as it was written; "" where there is none."""
    try:
        working_folders.fetch([digest_of(folder, table, index)])
        return digest_of(folder, table, index).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""


def read_part(
    folder: Path, table: str, index: int, *, only: Collection[str] = (), without: Collection[str] = ()
) -> pa.Table:
    """Rows of a finished part, as `narrowed`. Raises CorruptedPart, naming it, if its bytes are not those written."""

    def wanted(name: str) -> bool:
        return name in only if only else name not in without

    path = part_of(folder, table, index)
    fetch_parts(folder, table, [index])
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest_of(folder, table, index).read_text(errors="replace"):
            raise CorruptedPart("its SHA-256 differs")
        chosen = wanted if only or without else None
        rows = bounds.parquet_table(pa.py_buffer(content), str(path), len(content), wanted=chosen)
        check_part(table, rows, wanted)
        return rows
    except (OSError, pa.ArrowException, CorruptedPart) as error:
        raise _corrupted(path) from error


def read_columns(folder: Path, table: str, index: int, without: Sequence[str]) -> pa.Table:
    """As `FinishedRun.read_columns`."""
    path = part_of(folder, table, index)
    working_folders.fetch([path])
    try:
        names = [name for name in pq.read_schema(path).names if name not in without]
        rows = bounds.read_parquet(path, columns=names, checksums=True)
        check_part(table, rows, lambda name: name not in without)
        return rows
    except (OSError, pa.ArrowException, CorruptedPart) as error:
        raise _corrupted(path) from error


def narrowed(rows: pa.Table, *, only: Collection[str] = (), without: Collection[str] = ()) -> pa.Table:
    """Of the columns that are there those named `only`, where some are, or all but those `without`.

    >>> rows = pa.table({"id": [1], "image": [b""]})
    >>> narrowed(rows, without=("image", "score")).column_names
    ['id']
    """
    names = [name for name in rows.column_names if (name in only if only else name not in without)]
    return rows if names == rows.column_names else rows.select(names)


def _corrupted(path: Path) -> CorruptedPart:
    advice = "delete that file and rerun the command; only this part is made again"
    return CorruptedPart(f"{working_folders.name_of(path)} is damaged: {advice}")
