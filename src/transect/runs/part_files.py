"""The files of the parts of a run's tables, and their digests; those on object storage are fetched when first read."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from transect.errors import CorruptedPart
from transect.runs import bounds, mounts, part_names
from transect.runs.part_schemas import check_part


def part_of(folder: Path, table: str, index: int) -> Path:
    """The file of a part."""
    return folder / part_names.part(table, index)


def digest_of(folder: Path, table: str, index: int) -> Path:
    """The file of the SHA-256 of a part."""
    return folder / part_names.digest(part_names.part(table, index))


def exists(folder: Path, table: str, index: int) -> bool:
    """Whether a part is finished."""
    return mounts.exists(part_of(folder, table, index))


def fetch(folder: Path, table: str, indices: Iterable[int]) -> None:
    """Fetch the parts that lie on object storage alone, several at once."""
    mounts.fetch(place(folder, table, index) for index in indices for place in (part_of, digest_of))


def digest(folder: Path, table: str, index: int) -> str:
    """The SHA-256 of a part, as it was written; "" where there is none."""
    try:
        mounts.fetch([digest_of(folder, table, index)])
        return digest_of(folder, table, index).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""


def read_part(
    folder: Path, table: str, index: int, *, only: Collection[str] = (), without: Collection[str] = ()
) -> pa.Table:
    """Rows of a finished part. Raises CorruptedPart, naming it, if its bytes are not those written.

    only: the columns that are unpacked, or without: those that are not; by default all are.
    """

    def wanted(name: str) -> bool:
        return name in only if only else name not in without

    path = part_of(folder, table, index)
    fetch(folder, table, [index])
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
    mounts.fetch([path])
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
    return CorruptedPart(f"{mounts.name_of(path)} does not read back as it was written: {advice}")
