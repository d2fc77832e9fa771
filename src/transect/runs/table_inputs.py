"""Tables that a user gives: a path, an Arrow table, any data frame that supports Arrow, or columns by name.

CSV is read strictly: one line a row, as many fields as the heading has, and quotes that close in their line. A
stray quote would otherwise swallow the rows up to the next one, in silence. Text that a spreadsheet would run as a
formula is written with a quote mark before it. Arrow IPC files are read by a process of their own (`arrow_child`),
which a damaged file may end.

Sources: RFC 4180, https://www.rfc-editor.org/rfc/rfc4180, less line breaks within fields; OWASP, CSV injection,
https://owasp.org/www-community/attacks/CSV_Injection.
"""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transect.errors import BadInput, UnknownName
from transect.runs import array_files, bounds
from transect.texts import encodable, say, shown, words_of

_FORMULA: Final = r"^[=+\-@\t\r\n]"
_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_LONGEST_FIELD: Final = 1 << 20
_QUOTES: Final = 'double the quotes within a field ("") and close those around it'


def rows_of(
    source: Path | str, name: str, *, breaks: Callable[[str], bool] = lambda _: False, spaces: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The line on which each row ends and its fields, the heading first; empty lines are left out.

    source: a file, or its text. name: what messages call it. breaks: whether fields of the column of that name may hold
    line breaks. spaces: those behind a comma are no part of the field.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    text = _text(source, name) if isinstance(source, Path) else source
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=spaces)
    head: list[str] | None = None
    before = 0
    try:
        for row in reader:
            start, before = before + 1, reader.line_num
            if not row:
                continue
            if head is None and len(row) == 1 and (mark := next((mark for mark in ";\t|" if mark in row[0]), "")):
                raise BadInput(f"{name}: expected commas between columns, got {mark!r}; save it with commas")
            _check(row, head, f"{name}, line {start}", before if before > start else 0, breaks)
            head = head or row
            yield before, row
    except csv.Error as error:
        raise BadInput(f"{name}, line {before + 1}: {_fault(str(error))}") from None


def _fault(reason: str) -> str:
    if "field limit" in reason:
        return f"expected fields of up to {_LONGEST_FIELD:,} characters, got a longer one; shorten it"
    if "expected after" in reason:
        return f"expected a comma after a closing quote, got more text; {_QUOTES}"
    if "end of data" in reason:
        return f"expected a closing quote, got the end of the file; {_QUOTES}"
    return f"expected a row of CSV, got one that no reader accepts; {_QUOTES}"


def records_of(
    source: Path | str, name: str, *, breaks: Callable[[str], bool] = lambda _: False, spaces: bool = False
) -> list[tuple[int, dict[str, str]]]:
    """The rows by the names in the heading, with their lines. Raises BadInput as `rows_of`, and for a name twice."""
    rows = list(rows_of(source, name, breaks=breaks, spaces=spaces))
    if not rows:
        return []
    head = rows[0][1]
    if len(set(head)) < len(head):
        raise BadInput(f"{name}: expected unique column names, got {', '.join(head)}; rename one")
    return [(line, dict(zip(head, row, strict=True))) for line, row in rows[1:]]


def csv_of(table: pa.Table) -> bytes:
    """A table as CSV in UTF-8 with a heading; text that a spreadsheet would run begins with a quote mark."""
    from pyarrow import csv

    columns = [_harmless(column) for column in table.columns]
    names = _harmless(pa.chunked_array([pa.array(table.column_names, pa.string())])).to_pylist()
    sink = io.BytesIO()
    csv.write_csv(pa.table(columns, names=names), sink)
    return sink.getvalue()


def csv_of_rows(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts, of any lengths, as CSV with lines that end in a newline; guarded as `csv_of`."""
    cells = pa.chunked_array([pa.array([cell for row in rows for cell in row], pa.string())])
    harmless = iter(_harmless(cells).to_pylist())
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows([[next(harmless) for _ in row] for row in rows])
    return sink.getvalue()


def without_mark(text: str) -> str:
    """A text as it was before `csv_of` wrote a quote mark before it.

    >>> without_mark("'=1+1"), without_mark("'tis"), without_mark("--")
    ('=1+1', "'tis", '--')
    """
    return text[1:] if text.startswith("'") and re.match(_FORMULA, text[1:]) else text


def _harmless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    runs = pc.and_(pc.match_substring_regex(column, _FORMULA), pc.invert(pc.match_substring_regex(column, _NUMBER)))
    return pc.if_else(runs, pc.binary_join_element_wise("'", column, ""), column)


def _check(row: list[str], head: list[str] | None, where: str, end: int, breaks: Callable[[str], bool]) -> None:
    """Raises BadInput for a row of the wrong width, or a field that goes on to line `end` and may not."""
    names = head or row
    broken = [name for name, field in zip(names, row, strict=False) if "\n" in field or "\r" in field]
    if end and not (head and len(row) == len(head) and all(map(breaks, broken))):
        raise BadInput(f"{where}: expected quotes that close in their line, got a field up to line {end}; {_QUOTES}")
    if len(row) != len(names):
        raise BadInput(f"{where}: expected {len(names)} columns, got {len(row)}; fix the line")


def _text(path: Path, name: str) -> str:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise BadInput(f"{name}: no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{name}: expected a CSV in UTF-8, got a different encoding ({error.reason}); save it again"
        ) from None
    except OSError as error:
        raise BadInput(f"{name}: expected a readable CSV, got {words_of(error)}; check path and permissions") from None


_CHILD: Final = Path(__file__).with_name("arrow_child.py")
_REFUSED: Final = 3
_SECONDS: Final = 600


def read_arrow(path: Path) -> pa.Table:
    """The table of an Arrow file or stream, validated in full within the memory that `bounds` allows."""
    size = bounds.size_of(path)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
    command = [sys.executable, "-P", str(_CHILD), str(path.resolve()), str(bounds.allowed(size))]
    try:
        child = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS, env=environment)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise ValueError(f"no end within {_SECONDS} s") from None
    if child.returncode == _REFUSED:
        raise ValueError(child.stderr.decode(errors="replace"))
    if child.returncode:
        raise ValueError(f"a damaged one, whose reader ended with status {child.returncode}")
    table = pa.ipc.open_stream(pa.BufferReader(child.stdout)).read_all()
    bounds.check_table(table, str(path), size)
    return table


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
            f"{option}: expected numbers with commas between them, as {example}, got {','.join(given)}"
        ) from None


def as_numbers(given: float | Sequence[float]) -> tuple[float, ...]:
    """Numbers that a user gave; a single number is one of them.

    >>> as_numbers(0.01), as_numbers([0.01, 0.001])
    ((0.01,), (0.01, 0.001))
    """
    return (given,) if isinstance(given, int | float) else tuple(given)


def check_file_names(files: Iterable[Path]) -> None:
    """Raise BadInput for a file whose name is not UTF-8: tables, pages and digests could not hold it as an id."""
    for file in files:
        if encodable(file.name) != file.name:
            raise BadInput(f"{file}: expected a file name in UTF-8, got other bytes; rename the file")


def as_table(source: TableLike, role: str = "table", text: Sequence[str] = ()) -> pa.Table:
    """The table that a user gave. role: what messages call it, as "--table"; text: CSV columns that are texts.

    Data frames are taken through the Arrow PyCapsule interface, so pandas and Polars both work. Blanks around texts
    are taken off; where two texts differ by them alone, a line on standard error says so.
    """
    if isinstance(source, str | Path):
        return _trimmed(read_table(Path(source), role, text), f"{role} {source}")
    if isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__"):
        return _trimmed(pa.table(source), role)
    if isinstance(source, Mapping):
        return _trimmed(_of_columns(source, role), role)
    kind = type(source).__name__
    raise BadInput(f"{role}: expected a path, an Arrow table, a data frame or columns by name, got {kind}")


def _trimmed(table: pa.Table, role: str) -> pa.Table:
    for index, field in enumerate(table.schema):
        column = table.column(index)
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        trimmed = pc.utf8_trim_whitespace(column)
        if pc.all(pc.equal(trimmed, column)).as_py() is not False:
            continue
        values = set(pc.unique(column).to_pylist())
        if twice := sorted(value for value in values - {None} if value != value.strip() and value.strip() in values):
            say(
                f"{role}, column {field.name}: {twice[0]!r} counts as {twice[0].strip()!r}, since they differ by "
                "blanks only",
                error=True,
            )
        table = table.set_column(index, field.name, trimmed)
    return table


_UNREADABLE: Final = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    TypeError,
    pa.ArrowException,
)
"""What readers raise on files that are damaged, or of another program."""


def read_table(path: Path, role: str = "table", text: Sequence[str] = ()) -> pa.Table:
    """The table in a .parquet, .csv, .arrow, .feather or .npz file (one array a column; 2-D arrays as lists).

    Or that in the parts of a run's folder, such as images/ of a data set.

    CSV is read strictly: a row with another number of fields, or a quote that is not closed on its line, is refused.
    Empty CSV fields are missing values, and so are "NA", "N/A", "null", "-" and the like; in columns named in `text`,
    which are texts whatever they look like, only empty fields are.
    """
    try:
        table = _read(path, role, text)
    except FileNotFoundError:
        raise BadInput(f"{role} {path}: no such file; check the path") from None
    except _UNREADABLE as error:
        kind = path.suffix.removeprefix(".") or "table"
        raise BadInput(f"{role} {path}: expected a readable {kind} file, got: {words_of(error)}") from None
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise BadInput(
            f"{role} {path}: expected unique column names, got {', '.join(map(shown, twice))} twice; rename one"
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
        return read_arrow(path)
    if suffix == ".npz":
        columns = array_files.arrays_in(path, f"{role} {path}")
        rows = max((len(values) for values in columns.values() if values.ndim), default=0)
        bounds.check_rows(str(path), bounds.size_of(path), rows)
        return _of_columns(columns, f"{role} {path}")
    raise BadInput(f"{role} {path}: expected one of {', '.join(SUFFIXES)}, got {path.suffix or 'no suffix'}")


def _read_csv(path: Path, name: str, text: Sequence[str]) -> pa.Table:
    from pyarrow import csv

    for _row in rows_of(path, name):  # pyarrow itself lets a quoted field go on to the next line
        pass
    options = csv.ConvertOptions(column_types=dict.fromkeys(text, pa.string()))
    options.null_values = [*options.null_values, "-"]
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
