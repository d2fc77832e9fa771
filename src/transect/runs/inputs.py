"""Tables that a user gives: a path, an Arrow table, any data frame that supports Arrow, or columns by name."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transect.errors import BadInput, UnknownName
from transect.runs import arrow_files, bounds, csv_files
from transect.texts import encodable, shown, words_of

TableLike: TypeAlias = str | Path | pa.Table | Mapping[str, object] | Any
"""A path, an Arrow table, an object with `__arrow_c_stream__`, or columns by name.

A path is that of a .parquet, .csv, .arrow or .npz file, or of a run's folder of parts.
"""

_Name = TypeVar("_Name", bound=str)

SUFFIXES: Final = (".parquet", ".pq", ".csv", ".arrow", ".feather", ".npz")


def choice(kind: str, name: str, names: Sequence[_Name]) -> _Name:
    """The one of `names` that the user chose. Raises UnknownName, with the nearest, for another.

    >>> choice("metric", "cosine", ("euclidean", "cosine"))
    'cosine'
    """
    for known in names:
        if known == name:
            return known
    raise UnknownName(kind, name, names)


def as_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names that a user gave; a single text is one name.

    >>> as_names("age"), as_names(["age", "hat"])
    (('age',), ('age', 'hat'))
    """
    return (given,) if isinstance(given, str) else tuple(given)


def parse_numbers(texts: str | Sequence[str] | None, option: str, example: str = "3,2,1") -> tuple[float, ...]:
    """Numbers of an option of the command line that is repeated, or has several between commas; none without a text."""
    given = as_names(texts or ())
    try:
        return tuple(float(part) for text in given for part in text.split(","))
    except ValueError:
        raise BadInput(
            f"{option}: expected numbers with commas between them, as {example}, got {','.join(given)}; change it"
        ) from None


def as_numbers(given: float | Sequence[float]) -> tuple[float, ...]:
    """Numbers that a user gave; a single number is one of them.

    >>> as_numbers(0.01), as_numbers([0.01, 0.001])
    ((0.01,), (0.01, 0.001))
    """
    return (given,) if isinstance(given, int | float) else tuple(given)


def check_file_names(files: Iterable[Path]) -> None:
    """Raise BadInput for a file whose name is not UTF-8: tables, pages and digests could not hold it as an id.

    >>> check_file_names([Path("face.png")])
    """
    for file in files:
        if encodable(file.name) != file.name:
            raise BadInput(f"{file}: expected a file name in UTF-8, got other bytes; rename the file")


def as_table(source: TableLike, role: str = "table", text: Sequence[str] = ()) -> pa.Table:
    """The table that a user gave. role: what messages call it, as "--table"; text: CSV columns that are texts.

    Data frames are taken through the Arrow PyCapsule interface, so pandas and Polars both work.
    """
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, str | Path):
        return read_table(Path(source), role, text)
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, Mapping):
        return _of_columns(source, role)
    kind = type(source).__name__
    raise BadInput(f"{role}: expected a path, an Arrow table, a data frame or columns by name, got {kind}")


_UNREADABLE: Final = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    SyntaxError,
    TypeError,
    tokenize.TokenError,  # of numpy, about a header
    zipfile.BadZipFile,
    zlib.error,
    pa.ArrowException,
)
"""What readers raise on files that are damaged, or of another program."""


def read_table(path: Path, role: str = "table", text: Sequence[str] = ()) -> pa.Table:
    """The table in a .parquet, .csv, .arrow, .feather or .npz file (one array a column; 2-D arrays as lists).

    Or that in the parts of a run's folder, such as images/ of a data set.

    CSV is read strictly: a row with another number of fields, or a quote that is not closed on its line, is refused.
    Empty CSV fields are missing values, and so are "NA", "null" and the like; in columns named in `text`, which are
    texts whatever they look like, only empty fields are.
    """
    try:
        table = _read(path, role, text)
    except FileNotFoundError:
        raise BadInput(f"{role} {path}: expected a file, found none; check the path") from None
    except _UNREADABLE as error:
        damaged = isinstance(error, OverflowError | SyntaxError | TypeError | tokenize.TokenError)
        reason = "a damaged header" if damaged else words_of(error)
        kind = path.suffix.removeprefix(".") or "table"
        raise BadInput(f"{role} {path}: expected a readable {kind} file, got: {reason}") from None
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise BadInput(
            f"{role} {path}: expected each column once, got {', '.join(map(shown, twice))} again; rename one"
        )
    return table


def _read(path: Path, role: str, text: Sequence[str]) -> pa.Table:
    suffix = path.suffix.lower()
    if path.is_dir() and (parts := sorted(path.glob("part-*.parquet"))):
        return pa.concat_tables([bounds.read_parquet(part) for part in parts])
    if suffix in (".parquet", ".pq"):
        return bounds.read_parquet(path)
    if suffix == ".csv":
        return _read_csv(path, f"{role} {path}", text)
    if suffix in (".arrow", ".feather"):
        return arrow_files.read_arrow(path)
    if suffix == ".npz":
        if not zipfile.is_zipfile(path):
            raise BadInput(f"{role} {path}: expected a file that numpy.savez wrote, got another kind; convert it")
        bounds.check_archive(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            columns = {name: arrays[name] for name in arrays.files}
        rows = max((len(values) for values in columns.values() if values.ndim), default=0)
        bounds.check_rows(str(path), bounds.size_of(path), rows)
        return _of_columns(columns, f"{role} {path}")
    raise BadInput(f"{role} {path}: expected one of {', '.join(SUFFIXES)}, got {path.suffix or 'no suffix'}")


def _read_csv(path: Path, name: str, text: Sequence[str]) -> pa.Table:
    from pyarrow import csv

    for _row in csv_files.rows_of(path, name):  # pyarrow itself lets a quoted field go on to the next line
        pass
    options = csv.ConvertOptions(column_types=dict.fromkeys(text, pa.string()))
    table = csv.read_csv(path, convert_options=options)
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = table.column(index)
            missing = pa.array([""] if field.name in text else options.null_values)
            filled = pc.if_else(pc.is_in(texts, value_set=missing), pa.scalar(None, pa.string()), texts)
            table = table.set_column(index, field, filled)
    return table


def _of_columns(columns: Mapping[str, object], role: str) -> pa.Table:
    try:
        return pa.table({name: _column(values) for name, values in columns.items()})
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = words_of(error, 200)
        raise BadInput(f"{role}: expected columns of equal length, got: {reason}") from None


def _column(values: object) -> pa.Array:
    if not isinstance(values, np.ndarray) or values.ndim < 2:
        return pa.array(values)
    if values.ndim > 2 or not values.shape[1]:
        raise ValueError(f"an array of shape {list(values.shape)}")
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
