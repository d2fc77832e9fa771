"""Answers as tables: one row per answer, or as `--ratings` of audit and report takes them."""

from __future__ import annotations

import io
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
        [_row(one, project.questionnaire.named(one.question)) for one in rows(project.database)], SCHEMA
    )


def ratings_table(project: Project, scale: Scale = "attribute") -> pa.Table:
    """A row per image and rater and a column per question about one image, as `transect report --ratings` takes it.

    scale: values of the levels in the units of the question's attribute, or from 0 to 1 (as rules of pruning want
    them). Repeats, known answers and raters who were shut out are left out; the table's metadata says how many raters
    were, and how many answers, and of each column what was asked: attribute, scale, levels, and who could not tell.
    """
    asked = [one for one in project.questionnaire.question if not one.pairs]
    given = rows(project.database)
    said = [
        one for one in given if not (one.second or one.repeat or one.excluded or one.value is None) and one.gold is None
    ]
    values = {one.name: one.values if scale == "attribute" else one.places for one in asked}
    made: dict[tuple[str, str, str], dict[str, Any]] = {}
    for one in said:
        made.setdefault((one.first, one.study, one.rater), {})[one.question] = values[one.question][one.value or 0]
    columns: dict[str, Any] = {"id": [key[0] for key in made]}
    if any(key[1] for key in made):
        columns["study"] = [key[1] for key in made]
    columns["rater"] = [key[2] for key in made]
    for name in values:
        if any(name in row for row in made.values()):
            columns[name] = pa.array([row.get(name) for row in made.values()], pa.float64())
    out = [one.rater for one in given if one.excluded and not one.second]
    told = json.dumps([len(set(out)), len(out)]).encode()
    table = pa.table(columns).replace_schema_metadata({LEFT_OUT: told})
    return kept_in(table, {one.name: _question(one, values[one.name], given) for one in asked if one.name in columns})


def _question(asked: RaterQuestion, values: tuple[float, ...], given: list[Row]) -> RatedQuestion:
    """What a column of ratings is about. Unsure: repeats and known items count too, raters shut out do not."""
    mine = [one for one in given if one.question == asked.name and not one.excluded]
    unsure = dict.fromkeys({one.study for one in mine}, 0)
    for one in mine:
        unsure[one.study] += one.value is None
    levels = tuple(one.name for one in asked.levels)
    return RatedQuestion(asked.text, asked.attribute, asked.scale, levels, values, asked.places, unsure)


def as_csv(table: pa.Table) -> bytes:
    """The table as CSV with a header."""
    from pyarrow import csv

    sink = io.BytesIO()
    csv.write_csv(table, sink)
    return sink.getvalue()


def as_parquet(table: pa.Table) -> bytes:
    """The table as Parquet."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _row(one: Row, asked: RaterQuestion) -> dict[str, Any]:
    level = one.value
    return {
        "study": one.study,
        "id": one.first,
        "second": one.second,
        "question": one.question,
        "rater": one.rater,
        "answer": None if level is None else asked.levels[level].name,
        "level": level,
        "value": None if level is None else asked.values[level],
        "follow_up": asked.follow_up.levels[one.detail] if asked.follow_up and one.detail is not None else None,
        "repeat": one.repeat,
        "known": None if one.gold is None else asked.levels[one.gold].name,
        "excluded": one.excluded,
        "seconds": None if one.milliseconds is None else one.milliseconds / 1000,
        "given": round(one.given * 1000),
        "place": one.place,
    }


def level_of(asked: RaterQuestion, text: str) -> int | None:
    """The level that a text names: its name, or its index.

    Raises KeyError for another text; None for an empty one.
    """
    if not text:
        return None
    names = [one.name for one in asked.levels]
    if text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < len(names):
        return int(text)
    raise KeyError(text)
