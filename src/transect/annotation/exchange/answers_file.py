"""The table of answers read back from CSV or Parquet."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from transect.annotation.exchange.answers_table import SCHEMA, level_of
from transect.annotation.exchange.casting import read_typed, seconds_of
from transect.annotation.exchange.incoming import Incoming
from transect.annotation.questions import Questionnaire
from transect.errors import BadInput, UnknownName
from transect.runs.csv_files import without_mark
from transect.runs.inputs import TableLike

_NEEDED: Final = ("id", "question", "rater", "answer")
_UNUSED: Final = ("level", "value", "known", "place")
"""Columns that follow from the answer or are assigned again on import."""
_READ: Final = pa.schema([field for field in SCHEMA if field.name not in _UNUSED])


def read_answers(source: TableLike, questionnaire: Questionnaire) -> list[Incoming]:
    """Answers in a file or table as `export` writes it: columns id, question, rater, answer, the others where they are
    known.

    Raises BadInput in one line with the row for a file that cannot be read, a column that is missing, or an answer that
    is no level; UnknownName for a question that is not asked. Answers of excluded raters (column `excluded`)
    are marked as left out. Columns have the types that `export` gives them, or such as can be cast to these; times
    without a zone are in UTC.
    """
    table, path = read_typed(source, _READ, "answers")
    if missing := [name for name in _NEEDED if name not in table.column_names]:
        raise BadInput(f"{path}: expected columns {', '.join(_NEEDED)}, got no {', '.join(missing)}; fix the file")
    rows = table.to_pylist()
    if path.lower().endswith(".csv"):
        rows = [{key: without_mark(v) if isinstance(v, str) else v for key, v in row.items()} for row in rows]
    return [_incoming(row, f"{path}, row {number}", questionnaire) for number, row in enumerate(rows, start=1)]


def _incoming(row: dict[str, Any], where: str, questionnaire: Questionnaire) -> Incoming:
    try:
        question = questionnaire.named(str(row["question"]))
    except UnknownName as error:
        raise BadInput(f"{where}: {error}") from None
    text = "" if row["answer"] is None else str(row["answer"])
    try:
        level = level_of(question, text)
    except KeyError:
        levels = ", ".join(level.name for level in question.levels)
        raise BadInput(f"{where}: answer: expected one of {levels}, got {text!r}; fix it") from None
    if level is None and not question.skip:
        raise BadInput(f"{where}: answer: {question.name} has to be answered, got none; take the row out")
    follow = question.follow_up.levels if question.follow_up else ()
    detail = row.get("follow_up") or ""
    if detail and detail not in follow:
        raise BadInput(f"{where}: follow_up: expected one of {', '.join(follow) or 'none'}, got {detail!r}; fix it")
    return Incoming(
        where,
        str(row.get("study") or ""),
        str(row["id"] or ""),
        str(row.get("second") or ""),
        question.name,
        str(row["rater"] or ""),
        level,
        follow.index(detail) if detail else None,
        row.get("seconds"),
        _given(row.get("given"), where),
        bool(row.get("repeat")),
        "of raters who were shut out" if row.get("excluded") else "",
    )


def _given(time: datetime | str | None, where: str) -> float | None:
    if time is None or isinstance(time, str):
        return seconds_of(time, where) if time else None
    return time.timestamp()
