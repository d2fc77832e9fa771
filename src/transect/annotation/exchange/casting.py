"""Tables that others wrote, read with the types that their columns are documented to have."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from transect.errors import BadInput
from transect.runs.table_inputs import TableLike, as_table
from transect.texts import words_of

_CALLED: Final = {
    pa.string(): "text",
    pa.bool_(): "true or false",
    pa.float64(): "numbers",
    pa.int32(): "whole numbers",
    pa.timestamp("ms", tz="UTC"): "dates and times",
}


def read_typed(source: TableLike, schema: pa.Schema, role: str) -> tuple[pa.Table, str]:
    """A table and its name; columns of the schema cast to their types, times without a zone in UTC."""
    called = str(source) if isinstance(source, str | Path) else role
    table = as_table(source, role, schema.names)  # read as texts: `_cast` names the column that cannot be read
    for place, name in enumerate(table.column_names):
        if name in schema.names:
            table = table.set_column(place, name, _cast(table.column(place), schema.field(name), called))
    return table, called


def seconds_of(text: str, where: str) -> float:
    """Seconds since 1970 of a date and time in ISO 8601; without a zone it is in UTC. Raises BadInput for another text.

    >>> seconds_of("1970-01-01T01:00:00+01:00", "x"), seconds_of("1970-01-02", "x")
    (0.0, 86400.0)
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"{where}: given: expected a date and time such as 2026-01-31T12:00:00Z, got {text!r:.40}; fix it"
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _cast(column: pa.ChunkedArray, field: pa.Field, path: str) -> pa.ChunkedArray:
    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        if pa.types.is_timestamp(field.type):
            return _times(column)
        if pa.types.is_boolean(field.type) and not _is_yes_or_no(column):
            raise pa.ArrowInvalid("other numbers than 0 and 1")
        return column.cast(field.type)
    except (pa.ArrowException, OverflowError) as error:
        reason = words_of(error)
        raise BadInput(
            f"{path}: {field.name}: expected {_CALLED[field.type]}, got {kind} ({reason:.100}); fix the column"
        ) from None


def _is_yes_or_no(column: pa.ChunkedArray) -> bool:
    """Whether numbers are 0 and 1 alone; other types are for the cast to judge."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return True
    allowed: object = pc.is_in(column, value_set=pa.array([0, 1, None]).cast(kind))
    return bool(pc.all(allowed).as_py() is not False)


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return column.cast(pa.string())
    if not pa.types.is_temporal(kind):
        raise pa.ArrowInvalid("neither a date nor a text")
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    times = column.cast(pa.timestamp("ms", tz=zone), safe=False)
    if pc.any(pc.or_(pc.less(pc.year(times), 1), pc.greater(pc.year(times), 9999))).as_py():
        raise pa.ArrowInvalid("outside the years 1 to 9999")
    return times.cast(pa.timestamp("ms", tz="UTC")) if zone else pc.assume_timezone(times, "UTC")
