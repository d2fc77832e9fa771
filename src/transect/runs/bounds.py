"""How much memory a file may ask for: read off the archive's own directory or metadata, before anything is unpacked.

A few megabytes can unpack to many gigabytes: compressed zip entries, runs of one value, dictionaries of one long text.
Formats without compression (safetensors, .npy, stored zip entries) hold what they declare, which their readers check;
a sparse file holds more than it takes on the disk.
"""

from __future__ import annotations

import math
import os
import pickletools
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transect.errors import BadInput

if TYPE_CHECKING:
    from pyarrow import parquet

LEAST: Final = 2 << 30
"""Bytes that any file may take."""

FACTOR: Final = 4
"""Times its own size that a larger file may take."""

ROW: Final = 128
"""Bytes counted for each row of a table: Python's objects for an identifier, a number and a few levels."""

VARIABLE: Final = "TRANSECT_LARGEST_GIB"
"""The environment variable that raises the bound for files that are trusted, in GiB."""

MOST_OPERATIONS: Final = 2_000_000
"""Operations of a pickle of weights; a network of ten thousand tensors needs half a million."""

_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8}
_ENCRYPTED: Final = 0x1
_PICKLES_OF_A_STREAM: Final = 5
_MOST_ROWS: Final = 1 << 20
_PARTS: Final = 8
_REPEATING: Final = (
    pa.types.is_run_end_encoded,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
    pa.types.is_union,
)
"""Kinds of columns that no file of labels or features needs, and whose few bytes can stand for many values."""


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


def size_of(path: Path) -> int:
    """Bytes that a file takes on the disk: the holes of a sparse file count nothing."""
    status = path.stat()
    blocks = getattr(status, "st_blocks", None)  # Windows has none
    return status.st_size if blocks is None else min(status.st_size, blocks * 512)


def check_holes(path: Path) -> None:
    """Bound a file whose content is as long as itself, but may be holes that take memory alone. Raises BadInput."""
    check(str(path), size_of(path), path.stat().st_size)


def check(name: str, size: int, needed: int) -> None:
    """Raises BadInput where the content of a file of `size` bytes needs more memory than is allowed."""
    if needed > allowed(size):
        raise BadInput(
            f"{name}: expected content of at most {_shown(allowed(size))} in a file of {_shown(size)}, got "
            f"{_shown(needed)}: it may be a decompression bomb; if you trust it, set {VARIABLE} to more"
        )


def check_archive(path: Path, *, stored: bool = False) -> None:
    """Bound the entries of a zip archive by the sizes in its directory, which its readers do not exceed.

    Encrypted entries are refused, and those of methods whose readers unpack without a bound: bzip2 and LZMA make
    gigabytes of kilobytes, whatever the directory says. stored: also deflated ones, as no writer of the format makes
    them. What is no archive is left to its reader.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError):
        return
    check(str(path), size_of(path), sum(entry.file_size for entry in entries))
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise BadInput(f"{path}: expected entries without a password, found encrypted ones; remove the password")
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
        raise BadInput(f"{path}: expected entries stored or deflated, found others (zip bomb?): pack it again")
    if stored and any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise BadInput(f"{path}: expected entries as PyTorch stores them, found compressed ones; it may be a zip bomb")


def check_torch(path: Path) -> None:
    """Bound what PyTorch's loader of weights does with a file: memory of an archive, and operations of its pickle."""
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
    """Count the operations of a file's first pickles without running them; what is no pickle is left to its reader."""
    operations = 0
    try:
        for _ in range(pickles):
            for _operation in pickletools.genops(file):
                operations += 1
                if operations > MOST_OPERATIONS:
                    raise BadInput(
                        f"{name}: expected at most {MOST_OPERATIONS} operations in a pickle of weights, found more; "
                        "the file is malicious"
                    )
    except (ValueError, IndexError, OverflowError, MemoryError):
        return


def parquet_table(
    source: Path | pa.Buffer,
    name: str,
    size: int,
    *,
    columns: Sequence[str] | None = None,
    wanted: Callable[[str], bool] | None = None,
    groups: Sequence[int] | None = None,
    checksums: bool = False,
) -> pa.Table:
    """The rows of a Parquet file, or of some row groups, within the bound.

    columns: those that are read, or wanted: whether a column of that name is; by default all are.

    Values of fixed width are counted in the metadata. Texts and bytes may stand once in a dictionary and be repeated by
    every row: where they could exceed the bound, they are first read as numbers of their dictionary, which has no more
    bytes than the file's pages, and their lengths are added up. checksums: compare those of the pages that are read,
    where the file has them.

    The table is valid in full: its texts are UTF-8.
    """
    with _opened(source, checksums=checksums) as file:
        chosen = list(range(file.metadata.num_row_groups) if groups is None else groups)
        if wanted is not None:
            columns = [name for name in file.schema_arrow.names if wanted(name)]
        fixed, varying, longest = _worst(file, chosen, columns)
        check_rows(name, size, sum(file.metadata.row_group(group).num_rows for group in chosen))
        check(name, size, fixed + longest)
        if fixed + varying <= allowed(size) or _measured(source, file.metadata, name, size, columns, chosen):
            table = file.read_row_groups(chosen, columns=columns)
        else:
            table = _in_batches(file, name, size, columns, chosen, longest)
    check_table(table, name, size)
    table.validate(full=True)
    return table


def _opened(source: Path | pa.Buffer, texts: Sequence[str] = (), *, checksums: bool = False) -> parquet.ParquetFile:
    """The file. texts: leaves that are read as a dictionary and its numbers."""
    from pyarrow import parquet

    stream = pa.BufferReader(source) if isinstance(source, pa.Buffer) else source
    return parquet.ParquetFile(stream, read_dictionary=list(texts), page_checksum_verification=checksums)


def _measured(
    source: Path | pa.Buffer,
    metadata: parquet.FileMetaData,
    name: str,
    size: int,
    columns: Sequence[str] | None,
    groups: Sequence[int],
) -> bool:
    """Whether the content could be measured without being unpacked; encodings without a dictionary cannot."""
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    total = 0
    try:
        with _opened(source, texts) as file:
            for group in groups:
                total += _unpacked_size(file.read_row_group(group, columns=columns), name)
                check(name, size, total)
    except (OSError, pa.ArrowException):
        return False
    return True


def _in_batches(
    file: parquet.ParquetFile, name: str, size: int, columns: Sequence[str] | None, groups: Sequence[int], longest: int
) -> pa.Table:
    """The rows of texts that have no dictionary, in batches of a small part of the bound, left where they exceed it."""
    batches, total = [], 0
    rows = max(1, min(_MOST_ROWS, allowed(size) // _PARTS // max(1, longest)))
    for batch in file.iter_batches(rows, row_groups=groups, columns=columns):
        total += batch.nbytes
        check(name, size, total)
        batches.append(batch)
    return pa.Table.from_batches(batches) if batches else file.read_row_groups([], columns=columns)


def read_parquet(
    path: Path,
    columns: Sequence[str] | None = None,
    groups: Sequence[int] | None = None,
    *,
    checksums: bool = False,
) -> pa.Table:
    """As `parquet_table`, of a file. Raises BadInput beyond the bound, and what pyarrow raises."""
    size = size_of(path)
    return parquet_table(path, str(path), size, columns=columns, groups=groups, checksums=checksums)


def check_table(table: pa.Table, name: str, size: int) -> None:
    """Bound a table's rows and their values unpacked: dictionaries, views row by row; runs are refused."""
    check_rows(name, size, table.num_rows)
    check(name, size, _unpacked_size(table, name))


def check_rows(name: str, size: int, rows: int) -> None:
    """Raises BadInput where a table has more rows than Python's objects for them may take."""
    most = allowed(size) // ROW
    if rows > most:
        raise BadInput(
            f"{name}: expected at most {most} rows in a file of {_shown(size)}, got {rows}: it may be a "
            f"decompression bomb; if you trust it, set {VARIABLE} to more"
        )


def _unpacked_size(table: pa.Table, name: str) -> int:
    return sum(_unpacked(chunk, name) for column in table.columns for chunk in column.chunks)


def _unpacked(array: pa.Array, name: str) -> int:
    """Bytes of an array's values where each row has its own."""
    kind = array.type
    if pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):  # most are
        return int(array.nbytes)
    if isinstance(array, pa.ExtensionArray):
        return _unpacked(array.storage, name)
    if any(check_kind(kind) for check_kind in _REPEATING):
        raise BadInput(f"{name}: expected plain columns, got {kind}; save the file with its values written out")
    if pa.types.is_dictionary(kind):
        return _of_dictionary(array, name)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # The sum of the lengths, which views of 16 bytes begin with; a view may be of bytes that others have too.
        views = np.frombuffer(array.buffers()[1], np.int32).reshape(-1, 4)[array.offset : array.offset + len(array), 0]
        return 16 * len(array) + int(views[array.is_valid().to_numpy(zero_copy_only=False)].sum(dtype=np.int64))
    if pa.types.is_struct(kind):
        return sum(_unpacked(part, name) for part in array.flatten())
    if pa.types.is_map(kind):
        return _unpacked(array.keys, name) + _unpacked(array.items, name)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _unpacked(array.flatten(), name)
    return int(array.nbytes)


def _of_dictionary(array: pa.DictionaryArray, name: str) -> int:
    values = array.dictionary
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)) and not (
        pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
    ):
        return len(array) * max(8, _unpacked(values, name) if pa.types.is_nested(values.type) else 8)
    used = pc.value_counts(array.indices.drop_null())
    lengths = pc.binary_length(values).cast(pa.int64()).take(used.field("values"))
    return int(pc.sum(pc.multiply(lengths, used.field("counts"))).as_py() or 0)


def _worst(file: parquet.ParquetFile, groups: Sequence[int], columns: Sequence[str] | None) -> tuple[int, int, int]:
    """Bytes of values of fixed width; the most that texts can take; the most that the texts of a row can."""
    schema = file.metadata.schema
    leaves = [(place, schema.column(place)) for place in range(file.metadata.num_columns)]
    below = None if columns is None else tuple(f"{name}." for name in columns)
    wanted = [(place, leaf) for place, leaf in leaves if below is None or f"{leaf.path}.".startswith(below)]
    fixed = varying = longest = 0
    for group in groups:
        texts = 0
        for place, leaf in wanted:
            chunk = _chunk(file, group, place)
            if leaf.physical_type == "BYTE_ARRAY":
                texts += chunk.total_uncompressed_size
                varying += chunk.num_values * chunk.total_uncompressed_size
            else:
                fixed += chunk.num_values * (_WIDTHS.get(leaf.physical_type) or max(1, leaf.length))
        longest = max(longest, texts)
    return fixed, varying, longest


def _chunk(file: parquet.ParquetFile, group: int, place: int) -> parquet.ColumnChunkMetaData:
    """What the metadata say of a column of a row group.

    pyarrow ends the process where such an entry contradicts itself, but its reader raises: so a row is read first,
    which needs one page of at most 2 GiB. By its place, since several columns may have one name.
    """
    next(file.reader.iter_batches(1, [group], column_indices=[place], use_threads=False), None)
    return file.metadata.row_group(group).column(place)


def _shown(size: int) -> str:
    """Bytes in the unit that fits.

    >>> _shown(2_000_000), _shown(16 << 30)
    ('1.91 MiB', '16 GiB')
    """
    power = min(4, int(math.log2(size) // 10)) if size > 0 else 0
    return f"{size / 1024**power:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
