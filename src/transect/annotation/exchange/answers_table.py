"""Answers as tables: one row per answer, or as `--ratings` of audit and report takes them."""

from __future__ import annotations

import json
from typing import Any, Final, Literal

import pyarrow as pa

from transect.annotation.project import Project
from transect.annotation.questions import RaterQuestion
from transect.annotation.reading import Row, rows
from transect.runs.rated_questions import RatedQuestion, kept_in
from transect.runs.tables import LEFT_OUT

SCHEMA: Final = pa.schema(
    [
        ("study", pa.string()), ("id", pa.string()), ("second", pa.string()), ("question", pa.string()),
        ("rater", pa.string()), ("answer", pa.string()), ("level", pa.int32()), ("value", pa.float64()),
        ("follow_up", pa.string()), ("repeat", pa.bool_()), ("known", pa.string()), ("excluded", pa.bool_()),
        ("seconds", pa.float64()), ("given", pa.timestamp("ms", tz="UTC")), ("place", pa.int32()),
    ]
)  # fmt: skip
Scale = Literal["attribute", "unit"]


def answers_table(project: Project) -> pa.Table:
    """All answers in force, one row each; nulls where a rater could not tell. given: when, in UTC."""
    return pa.Table.from_pylist(
        [_row(row, project.questionnaire.named(row.question)) for row in rows(project.database)], SCHEMA
    )


def ratings_table(project: Project, scale: Scale = "attribute") -> pa.Table:
    """A row per image and rater and a column per question about one image, as `transect report --ratings` takes it.

    scale: values of the levels in the units of the question's attribute, or from 0 to 1 (as rules of pruning want
    them). Repeats, known answers and excluded raters are left out; the table's metadata says how many raters
    were, and how many answers, and of each column the question: attribute, scale, levels, and how many could not tell.
    """
    questions = [question for question in project.questionnaire.question if not question.pairs]
    all_rows = rows(project.database)
    used = [
        row
        for row in all_rows
        if not (row.second or row.repeat or row.excluded or row.value is None) and row.gold is None
    ]
    values = {question.name: question.values if scale == "attribute" else question.places for question in questions}
    answers: dict[tuple[str, str, str], dict[str, object]] = {}
    for answer in used:
        answers.setdefault((answer.first, answer.study, answer.rater), {})[answer.question] = values[answer.question][
            answer.value or 0
        ]
    columns: dict[str, Any] = {"id": [key[0] for key in answers]}
    if any(key[1] for key in answers):
        columns["study"] = [key[1] for key in answers]
    columns["rater"] = [key[2] for key in answers]
    for name in values:
        if any(name in row for row in answers.values()):
            columns[name] = pa.array([row.get(name) for row in answers.values()], pa.float64())
    out = [row.rater for row in all_rows if row.excluded and not row.second]
    counts = json.dumps([len(set(out)), len(out)]).encode()
    table = pa.table(columns).replace_schema_metadata({LEFT_OUT: counts})
    return kept_in(
        table,
        {
            question.name: _question(question, values[question.name], all_rows)
            for question in questions
            if question.name in columns
        },
    )


def _question(question: RaterQuestion, values: tuple[float, ...], all_rows: list[Row]) -> RatedQuestion:
    """What a column of ratings is about. Unsure: repeats and known items count too, excluded raters do not."""
    mine = [row for row in all_rows if row.question == question.name and not row.excluded]
    unsure = dict.fromkeys({row.study for row in mine}, 0)
    for row in mine:
        unsure[row.study] += row.value is None
    levels = tuple(level.name for level in question.levels)
    return RatedQuestion(question.text, question.attribute, question.scale, levels, values, question.places, unsure)


def as_parquet(table: pa.Table) -> bytes:
    """The table as Parquet."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _row(row: Row, question: RaterQuestion) -> dict[str, object]:
    level = row.value
    return {
        "study": row.study,
        "id": row.first,
        "second": row.second,
        "question": row.question,
        "rater": row.rater,
        "answer": None if level is None else question.levels[level].name,
        "level": level,
        "value": None if level is None else question.values[level],
        "follow_up": question.follow_up.levels[row.detail] if question.follow_up and row.detail is not None else None,
        "repeat": row.repeat,
        "known": None if row.gold is None else question.levels[row.gold].name,
        "excluded": row.excluded,
        "seconds": None if row.milliseconds is None else row.milliseconds / 1000,
        "given": round(row.given * 1000),
        "place": row.place,
    }


def level_of(question: RaterQuestion, text: str) -> int | None:
    """The level that a text names: its name, or its index.

    Raises KeyError for another text; None for an empty one.
    """
    if not text:
        return None
    names = [level.name for level in question.levels]
    if text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < len(names):
        return int(text)
    raise KeyError(text)
