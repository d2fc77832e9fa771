"""The rows of `coded/<target>`: what a judge model and a user's functions made of each free text.

id, paraphrase, repeat: the answer, as in `answers/<target>`. by: judge or scorer. name: of the code, or the function.
system, prompt, text: exactly what the judge was sent, and what it said; empty of a function. status, value, reason,
tokens_sent, tokens_received: as of `transect.said.Judged`; a value that is none is null.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from transect.runs.answer_tables import stored
from transect.said import Judged, Said, Scored, Status
from transect.texts import encodable

JUDGE: Final = "judge"
SCORER: Final = "scorer"
CODED: Final = pa.schema(
    [
        ("id", pa.string()),
        ("paraphrase", pa.int32()),
        ("repeat", pa.int32()),
        ("by", pa.string()),
        ("name", pa.string()),
        ("system", pa.string()),
        ("prompt", pa.string()),
        ("text", pa.string()),
        ("status", pa.string()),
        ("value", pa.float64()),
        ("reason", pa.string()),
        ("tokens_sent", pa.int64()),
        ("tokens_received", pa.int64()),
    ]
)
_JUDGED: Final = ("system", "prompt", "text", "status", "value", "reason", "tokens_sent", "tokens_received")
"""The columns that are a judge's, named as the fields of `transect.said.Judged`."""
Answer = tuple[str, int, int]
"""The image, the paraphrase and the repeat of an answer."""


def coded_table(ids: Sequence[str], said: Sequence[Sequence[Said]]) -> pa.Table:
    """A row for each code that a judge gave and each number of a function, answer by answer."""
    rows = [
        row
        for name, of_image in zip(ids, said, strict=True)
        for one in of_image
        for row in _rows((name, one.paraphrase, one.repeat), one)
    ]
    return pa.Table.from_pylist(rows, schema=CODED)


def with_coded(said: Sequence[Sequence[Said]], ids: Sequence[str], table: pa.Table) -> tuple[tuple[Said, ...], ...]:
    """What was said, with what a judge and functions made of it. Raises ValueError for rows of another answer."""
    judged: dict[Answer, list[Judged]] = {}
    scored: dict[Answer, list[Scored]] = {}
    known = {(name, one.paraphrase, one.repeat) for name, some in zip(ids, said, strict=True) for one in some}
    for row in table.select(CODED.names).to_pylist():
        place = (row["id"], row["paraphrase"], row["repeat"])
        if place not in known:
            raise ValueError(f"expected codes of the run's answers, got one of {row['id']}")
        if row["by"] == JUDGE:
            judged.setdefault(place, []).append(_judged(row))
        else:
            scored.setdefault(place, []).append(Scored(row["name"], _number(row["value"]), row["reason"]))
    return tuple(
        tuple(
            replace(one, judged=tuple(judged.get(place, ())), scored=tuple(scored.get(place, ())))
            for one in of_image
            for place in [(name, one.paraphrase, one.repeat)]
        )
        for name, of_image in zip(ids, said, strict=True)
    )


def _rows(place: Answer, said: Said) -> Iterator[dict[str, object]]:
    answer = dict(zip(("id", "paraphrase", "repeat"), place, strict=True))
    for one in said.judged:
        yield {**answer, "by": JUDGE, "name": one.code, **{name: stored(getattr(one, name)) for name in _JUDGED}}
    for each in said.scored:
        value, reason = stored(each.value), encodable(each.reason)
        status = str(Status.FAILED if value is None else Status.ANSWERED)
        unsent = dict.fromkeys(("system", "prompt", "text"), "")
        yield {
            **answer,
            "by": SCORER,
            "name": each.scorer,
            **unsent,
            "status": status,
            "value": value,
            "reason": reason,
        }


def _judged(row: dict[str, Any]) -> Judged:
    fields = {name: row[name] for name in _JUDGED}
    return Judged(row["name"], **{**fields, "status": Status(row["status"]), "value": _number(row["value"])})


def _number(value: float | None) -> float:
    return math.nan if value is None else value
