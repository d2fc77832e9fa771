"""The rows of `answers/<target>`: what was asked in words about each image, and what the model said.

id, paraphrase, order, repeat, system, prompt, text, status, value, codes, likelihood, tokens_sent, tokens_received,
reason: the fields of `transect.said.Said`, whose images stand in the order of `predictions/<target>`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.said import Said, Status
from transect.texts import encodable

ANSWERS: Final = pa.schema(
    [
        ("id", pa.string()),
        ("paraphrase", pa.int32()),
        ("order", pa.list_(pa.int32())),
        ("repeat", pa.int32()),
        ("system", pa.string()),
        ("prompt", pa.string()),
        ("text", pa.string()),
        ("status", pa.string()),
        ("value", pa.float64()),
        ("codes", pa.list_(pa.float64())),
        ("likelihood", pa.list_(pa.float64())),
        ("tokens_sent", pa.int64()),
        ("tokens_received", pa.int64()),
        ("reason", pa.string()),
    ]
)

PAIRS: Final = pa.schema(
    [("subject", pa.int64()), ("first", pa.int32()), ("second", pa.int32()), *((f.name, f.type) for f in ANSWERS)]
)
"""The rows of `pairs/<target>`: a subject's two cells, and what was said about their images. id names all three."""


def pair_id(subject: int, first: int, second: int) -> str:
    """Identifier of two images of a subject, by their cells.

    >>> pair_id(17, 0, 3)
    '17-0000-0003'
    """
    return f"{subject}-{first:04d}-{second:04d}"


def pairs_table(pairs: Sequence[tuple[int, int, int]], said: Sequence[Sequence[Said]]) -> pa.Table:
    """A row for each answer, pair by pair. pairs: subject and two cells of each.

    >>> one = Said(0, (0, 1), 0, "", "Who?", "First.", Status.ANSWERED, 0.0)
    >>> pairs_table([(17, 0, 3)], [[one]]).select(["subject", "second", "id"]).to_pylist()
    [{'subject': 17, 'second': 3, 'id': '17-0000-0003'}]
    """
    rows = [
        {"subject": pair[0], "first": pair[1], "second": pair[2], **_row(pair_id(*pair), one)}
        for pair, of_pair in zip(pairs, said, strict=True)
        for one in of_pair
    ]
    return pa.Table.from_pylist(rows, schema=PAIRS)


def answers_table(ids: Sequence[str], said: Sequence[Sequence[Said]]) -> pa.Table:
    """A row for each answer, image by image; a value that is none is null."""
    rows = [_row(name, one) for name, of_image in zip(ids, said, strict=True) for one in of_image]
    return pa.Table.from_pylist(rows, schema=ANSWERS)


def said_of(table: pa.Table, ids: Sequence[str]) -> tuple[tuple[Said, ...], ...]:
    """What was said about each image of `ids`, () of one without rows."""
    found: dict[str, list[Said]] = {name: [] for name in ids}
    for row in _rows(table):
        if row["id"] not in found:
            raise ValueError(f"expected answers about the run's images, got one about {row['id']}")
        found[row["id"]].append(_said(row))
    return tuple(tuple(found[name]) for name in ids)


def said_by_pair(table: pa.Table) -> list[tuple[Said, ...]]:
    """What was said about each pair of a table of pairs, in its order."""
    found: dict[str, list[Said]] = {}
    for row in _rows(table):
        found.setdefault(row["id"], []).append(_said(row))
    return [tuple(said) for said in found.values()]


def pairs_of(table: pa.Table) -> list[tuple[int, int, int]]:
    """The subject and the two cells of each pair of a table of pairs, in its order."""
    columns = (table[name].to_pylist() for name in ("subject", "first", "second"))
    return list(dict.fromkeys(zip(*columns, strict=True)))


def _row(name: str, said: Said) -> dict[str, object]:
    return {"id": name, **{field: stored(getattr(said, field)) for field in ANSWERS.names[1:]}}


def stored(value: object) -> object:
    """A value of an answer as tables hold it: texts that UTF-8 can hold, null for what is no number, lists."""
    if isinstance(value, str):
        return encodable(str(value))
    if isinstance(value, float | np.floating):
        return value if math.isfinite(value) else None
    return list(value) if isinstance(value, tuple) else value


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    columns = {name: table[name].to_pylist() for name in ANSWERS.names}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _said(row: dict[str, Any]) -> Said:
    lists = {field: tuple(row[field] or ()) for field in ("order", "codes", "likelihood")}
    value = math.nan if row["value"] is None else row["value"]
    fields = {**row, **lists, "status": Status(row["status"]), "value": value}
    return Said(**{field: fields[field] for field in ANSWERS.names[1:]})
