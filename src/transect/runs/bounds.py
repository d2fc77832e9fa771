"""How much memory a file may ask for: read off the archive's own directory or metadata, before anything is unpacked.

A few megabytes can unpack to many gigabytes: compressed zip entries, runs of one value, dictionaries of one long text.
Formats without compression (safetensors, .npy, stored zip entries) hold what they declare, which their readers check.
"""

from __future__ import annotations

import math
import os
import pickletools
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from transect.errors import BadInput

LEAST: Final = 2 << 30
"""Bytes that any file may take."""

FACTOR: Final = 4
"""Times its own size that a larger file may take."""

VARIABLE: Final = "TRANSECT_LARGEST_GIB"
"""The environment variable that raises the bound for files that are trusted, in GiB."""

MOST_OPERATIONS: Final = 2_000_000
"""Operations of a pickle of weights; a network of ten thousand tensors needs half a million."""

_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8}
_PICKLES_OF_A_STREAM: Final = 5
_MOST_ROWS: Final = 1 << 20


def allowed(size: int) -> int:
    """Bytes of memory for the content of a file of `size` bytes. Raises BadInput where the variable is no number.

    >>> allowed(1000) >> 30, allowed(4 << 30) >> 30
    (2, 16)
    """
    stated = os.environ.get(VARIABLE, "0")
    try:
        gib = float(stated)
        most = int(gib * (1 << 30))
    except (ValueError, OverflowError):
        raise BadInput(f"{VARIABLE}: expected a number of GiB, got {stated!r}; correct or unset it") from None
    return max(LEAST, FACTOR * size, most)


def check(name: str, size: int, needed: int) -> None:
    """Raises BadInput where the content of a file of `size` bytes needs more memory than is allowed."""
    if needed > allowed(size):
        raise BadInput(
            f"{name}: expected content of at most {_shown(allowed(size))} in a file of {_shown(size)}, got "
            f"{_shown(needed)}: it may be a bomb; if you trust it, set {VARIABLE} to more"
        )


def check_archive(path: Path, *, stored: bool = False) -> None:
    """Bound the entries of a zip archive by the sizes in its directory, which its readers do not exceed.

    stored: also refuse compressed entries, as no writer of the format makes them. What is no archive is left to its
    reader. Raises BadInput.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError):
        return
    check(str(path), path.stat().st_size, sum(entry.file_size for entry in entries))
    if stored and any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise BadInput(f"{path}: expected entries as PyTorch stores them, found compressed ones; it may be a zip bomb")


def check_torch(path: Path) -> None:
    """Bound what PyTorch's loader of weights does with a file: memory of an archive, and operations of its pickle.

    Raises BadInput.
    """
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            check_operations(str(path), file, pickles=_PICKLES_OF_A_STREAM)
        return
    check_archive(path, stored=True)
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.endswith("data.pkl"):
                    with archive.open(entry) as file:
                        check_operations(str(path), file)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise BadInput(f"{path}: expected a PyTorch checkpoint, found a damaged archive ({error})") from None


def check_operations(name: str, file: Any, pickles: int = 1) -> None:
    """Count the operations of the first pickles of a file without running them. Raises BadInput for too many.

    file: has read and readline. A stream that is no pickle is left to its reader, which fails at the same place.
    """
    operations = 0
    try:
        for _ in range(pickles):
            for _operation in pickletools.genops(file):
                operations += 1
                if operations > MOST_OPERATIONS:
                    raise BadInput(f"{name}: {too_many_operations()}")
    except (ValueError, IndexError, OverflowError, MemoryError):
        return


def too_many_operations() -> str:
    """The refusal in words."""
    return f"expected at most {MOST_OPERATIONS} operations in a pickle of weights, found more; the file is hostile"


def parquet_table(
    file: Any, name: str, size: int, *, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> pa.Table:
    """The rows of an opened `ParquetFile`, or of some row groups, within the bound.

    Values of fixed width are counted in the metadata. Texts and bytes may stand once in a dictionary and be repeated by
    every row, so that files that could exceed the bound are read in batches, and left where their sum exceeds it.

    The table is valid in full: its texts are UTF-8. Raises BadInput beyond the bound, and what pyarrow raises.
    """
    table = _table(file, name, size, columns, range(file.metadata.num_row_groups) if groups is None else groups)
    table.validate(full=True)
    return table


def _table(file: Any, name: str, size: int, columns: Sequence[str] | None, groups: Sequence[int]) -> pa.Table:
    fixed, varying, longest = _worst(file.metadata, groups, columns)
    check(name, size, fixed)
    if fixed + varying <= allowed(size):
        return file.read_row_groups(list(groups), columns=columns)
    batches, total = [], 0
    rows = max(1, min(_MOST_ROWS, allowed(size) // max(1, longest)))
    for batch in file.iter_batches(rows, row_groups=list(groups), columns=columns):
        total += batch.nbytes
        check(name, size, total)
        batches.append(batch)
    return pa.Table.from_batches(batches) if batches else file.read_row_groups([], columns=columns)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The table of one file, or some columns, within the bound. Raises BadInput beyond it, and what pyarrow raises."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return parquet_table(file, str(path), path.stat().st_size, columns=columns)


def _worst(metadata: Any, groups: Sequence[int], columns: Sequence[str] | None) -> tuple[int, int, int]:
    """Bytes of values of fixed width; the most that texts can take; the most that the texts of a row can."""
    fixed = varying = longest = 0
    for group in map(metadata.row_group, groups):
        texts = 0
        for chunk in map(group.column, range(group.num_columns)):
            if columns is not None and chunk.path_in_schema.split(".")[0] not in columns:
                continue
            if chunk.physical_type == "BYTE_ARRAY":
                texts += chunk.total_uncompressed_size
                varying += chunk.num_values * chunk.total_uncompressed_size
            else:
                fixed += chunk.num_values * (_WIDTHS.get(chunk.physical_type) or _length(metadata, chunk))
        longest = max(longest, texts)
    return fixed, varying, longest


def _length(metadata: Any, chunk: Any) -> int:
    """Bytes of one value of a fixed length that the schema states."""
    columns = map(metadata.schema.column, range(metadata.num_columns))
    return next((max(1, column.length) for column in columns if column.path == chunk.path_in_schema), 1)


def _shown(size: int) -> str:
    """Bytes in the unit that fits.

    >>> _shown(2_000_000), _shown(16 << 30)
    ('1.91 MiB', '16 GiB')
    """
    power = min(4, int(math.log2(size) // 10)) if size > 0 else 0
    return f"{size / 1024**power:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
