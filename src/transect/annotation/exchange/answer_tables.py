"""The one table of people's answers, a row each: its columns, and how such a table is read, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from transect.errors import BadInput
from transect.runs.table_inputs import TableLike, as_table, without_mark
from transect.runs.tables import LEFT_OUT
from transect.texts import words_of

SCHEMA: Final = pa.schema(
    [
        ("study", pa.string()), ("id", pa.string()), ("second", pa.string()), ("question", pa.string()),
        ("rater", pa.string()), ("answer", pa.string()), ("level", pa.int32()), ("value", pa.float64()),
        ("follow_up", pa.string()), ("repeat", pa.bool_()), ("known", pa.string()), ("excluded", pa.bool_()),
        ("seconds", pa.float64()), ("given", pa.timestamp("ms", tz="UTC")), ("place", pa.int32()),
    ]
)  # fmt: skip
"""What `transect annotate export` writes."""
_READ: Final = SCHEMA.set(SCHEMA.get_field_index("level"), pa.field("level", pa.float64()))
"""Other programs write a number that may be missing with a decimal point."""
_CALLED: Final = {
    pa.string(): "text",
    pa.bool_(): "true or false",
    pa.float64(): "numbers",
    pa.int32(): "whole numbers",
    pa.timestamp("ms", tz="UTC"): "dates and times",
}


def read_answers(
    source: TableLike, needed: Sequence[str], unused: Collection[str] = ()
) -> tuple[list[dict[str, Any]], str]:
    """Rows of answers, and what messages call their table; columns cast to their types, times without a zone in UTC.

    unused: columns that are left as they are. Raises BadInput where a needed one is missing, or cannot be cast.
    """
    called = str(source) if isinstance(source, str | Path) else "answers"
    known = [name for name in SCHEMA.names if name not in unused]
    table = as_table(source, "answers", known)  # read as texts: `_cast` names the column that cannot be read
    if missing := [name for name in needed if name not in table.column_names]:
        raise BadInput(f"{called}: expected columns {', '.join(needed)}, got no {', '.join(missing)}; fix the file")
    for place, name in enumerate(table.column_names):
        if name in known:
            table = table.set_column(place, name, _cast(table.column(place), _READ.field(name), called))
    marked = called.lower().endswith(".csv")
    rows = [
        {name: without_mark(v) if marked and isinstance(v, str) else v for name, v in row.items()}
        for row in table.to_pylist()
    ]
    return rows, called


def by_rater(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A row per image and rater, and a column per question about one image, with the values of answers.

    Repeats, known answers, excluded raters and who could not tell are left out; the metadata counts the excluded.
    """
    answers: dict[tuple[str, str, str], dict[str, float]] = {}
    alone = [row for row in rows if not row.get("second")]
    for row in alone:
        unused = row.get("repeat") or row.get("excluded") or row.get("known") is not None
        if row["value"] is not None and not unused:
            of_rater = answers.setdefault((str(row["id"]), row.get("study") or "", str(row["rater"])), {})
            of_rater[row["question"]] = row["value"]
    images, studies, raters = zip(*answers, strict=True) if answers else ((), (), ())
    columns: dict[str, object] = {"id": images, **({"study": studies} if any(studies) else {}), "rater": raters}
    for name in dict.fromkeys(name for of_rater in answers.values() for name in of_rater):
        columns[name] = pa.array([of_rater.get(name) for of_rater in answers.values()], pa.float64())
    out = [row["rater"] for row in alone if row.get("excluded")]
    counts = json.dumps([len(set(out)), len(out)]).encode()
    return pa.table(columns).replace_schema_metadata({LEFT_OUT: counts})


def seconds_of(text: str, where: str) -> float:
    """Seconds since 1970 of a date and time in ISO 8601; without a zone it is in UTC. Raises BadInput for another text.

    >>> seconds_of("1970-01-01T01:00:00+01:00", "x"), seconds_of("1970-01-02", "x")
    (0.0, 86400.0)
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"{where}: given: expected a date and time such as 2026-01-31T12:00:00Z, got {text!r:.40}"
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
            raise pa.ArrowInvalid("numbers other than 0 and 1")
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
