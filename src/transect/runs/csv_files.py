"""CSV read strictly: one line a row, as many fields as the heading has, and quotes that close in their line.

A stray quote would otherwise swallow the rows up to the next one, in silence. Text that a spreadsheet would run as a
formula is written with a quote mark before it.

Sources: RFC 4180, https://www.rfc-editor.org/rfc/rfc4180, less line breaks within fields; OWASP, CSV injection,
https://owasp.org/www-community/attacks/CSV_Injection.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from transect.errors import BadInput
from transect.texts import words_of

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
    return f"expected a row of CSV, got one that no reader takes; {_QUOTES}"


def records_of(
    source: Path | str, name: str, *, breaks: Callable[[str], bool] = lambda _: False, spaces: bool = False
) -> list[tuple[int, dict[str, str]]]:
    """The rows by the names in the heading, with their lines. Raises BadInput as `rows_of`, and for a name twice."""
    rows = list(rows_of(source, name, breaks=breaks, spaces=spaces))
    if not rows:
        return []
    head = rows[0][1]
    if len(set(head)) < len(head):
        raise BadInput(f"{name}: expected every column once, got {', '.join(head)}; rename one")
    return [(line, dict(zip(head, row, strict=True))) for line, row in rows[1:]]


def csv_of(table: pa.Table) -> bytes:
    """A table as CSV in UTF-8 with a heading; text that a spreadsheet would run as a formula begins with a quote mark.

    Numbers stay as they are, in columns of text too.
    """
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
        raise BadInput(
            f"{where}: expected quotes that close in their line, got a field that goes on to line {end}; {_QUOTES}"
        )
    if len(row) != len(names):
        raise BadInput(f"{where}: expected {len(names)} columns, got {len(row)}; fix the line")


def _text(path: Path, name: str) -> str:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise BadInput(f"{name}: expected a file, found none; check the path") from None
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{name}: expected a CSV in UTF-8, got another encoding ({error.reason}); save it again"
        ) from None
    except OSError as error:
        raise BadInput(f"{name}: expected a readable CSV, got {words_of(error)}; check path and permissions") from None
