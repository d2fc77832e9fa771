"""Answers as tables, one row each or as `--ratings` of audit and report takes them, and all formats of export."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa

from transect.annotation.exchange.answer_tables import SCHEMA, by_rater
from transect.annotation.exchange.crowd import ground_truth, label_studio, mturk
from transect.annotation.project import Project, Row, rows
from transect.annotation.questions import RaterQuestion
from transect.annotation.sources import home_of
from transect.errors import BadInput, UnknownName
from transect.runs.folder import parquet_of, write_atomically
from transect.runs.human_answers import with_questions
from transect.runs.table_inputs import csv_of


def answers_table(project: Project) -> pa.Table:
    """All answers in force, one row each; nulls where a rater could not tell. given: when, in UTC."""
    return pa.Table.from_pylist(
        [_row(row, project.questionnaire.named(row.question)) for row in rows(project.database)], SCHEMA
    )


def ratings_table(project: Project, scale: str = "attribute") -> pa.Table:
    """A row per image and rater and a column per question about one image, as `transect report --ratings` takes it.

    scale: values in the units of the question's attribute, or from 0 to 1 (as rules of pruning want them). Repeats,
    known answers and excluded raters are left out; the metadata counts the latter, and says what each column was asked.
    """
    questions = [question for question in project.questionnaire.question if not question.pairs]
    values = {question.name: question.values if scale == "attribute" else question.places for question in questions}
    told = answers_table(project).to_pylist()
    for row in told:
        if row["question"] in values and row["level"] is not None:
            row["value"] = values[row["question"]][row["level"]]
    table = by_rater(told)
    columns = [name for name in table.column_names if name not in values]
    table = table.select([*columns, *(name for name in values if name in table.column_names)])
    all_rows = rows(project.database)
    return with_questions(
        table,
        {
            question.name: question.asked(values[question.name], _unsure(question, all_rows))
            for question in questions
            if question.name in table.column_names
        },
    )


def _unsure(question: RaterQuestion, all_rows: list[Row]) -> dict[str, int]:
    """Who could not tell, by study: repeats and known items count too, excluded raters do not."""
    mine = [row for row in all_rows if row.question == question.name and not row.excluded]
    unsure = dict.fromkeys({row.study for row in mine}, 0)
    for row in mine:
        unsure[row.study] += row.value is None
    return unsure


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
        "follow_up": None if row.detail is None else question.details[row.detail],
        "repeat": row.repeat,
        "known": None if row.gold is None else question.levels[row.gold].name,
        "excluded": row.excluded,
        "seconds": None if row.milliseconds is None else row.milliseconds / 1000,
        "given": round(row.given * 1000),
        "place": row.place,
    }


_DEFAULT: Final = {
    "answers": "answers.parquet",
    "ratings": "ratings.parquet",
    "pairs": "pairs.csv",
    "mturk": "mturk",
    "ground-truth": "ground-truth",
    "label-studio": "label-studio",
}


def default(place: str | Path, kind: str) -> Path:
    """The default destination of a kind of export. Raises UnknownName for another kind."""
    if kind not in _DEFAULT:
        raise UnknownName("format", kind, _DEFAULT)
    return home_of(place) / _DEFAULT[kind]


def write(project: Project, kind: str, out: Path, scale: str, image_url: str) -> dict[str, object]:
    """Write one kind of export; returns what was written."""
    if kind not in _DEFAULT:
        raise UnknownName("format", kind, _DEFAULT)
    if kind != "answers" and project.pictures.are_texts:
        raise BadInput(f"--format {kind}: answers about texts have only the format answers; use that")
    if kind in ("answers", "ratings"):
        return _table(project, kind, out, scale)
    if kind == "pairs":
        # The pairs of an inversion and its photographs, as `annotate same-person` reads them: first, second, kind.
        rows = [{"study": study, **pair._asdict()} for study, pair in project.pictures.pairs]
        if not rows:
            raise BadInput("--format pairs applies to an inversion served with --photographs")
        table = pa.Table.from_pylist(rows)
        write_atomically(out, csv_of(table.drop_columns(["study"]) if not any(table["study"].to_pylist()) else table))
        return {"out": str(out), "rows": len(rows)}
    makers = {"mturk": mturk, "ground-truth": ground_truth, "label-studio": label_studio}
    return makers[kind](project, out, image_url)


def _table(project: Project, kind: str, out: Path, scale: str) -> dict[str, object]:
    if scale not in ("attribute", "unit"):
        raise UnknownName("scale", scale, ("attribute", "unit"))
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise BadInput(f"--out {out}: expected a name that ends in .csv or .parquet")
    table = answers_table(project) if kind == "answers" else ratings_table(project, scale)
    write_atomically(out, csv_of(table) if out.suffix.lower() == ".csv" else parquet_of(table, compression="zstd"))
    summary: dict[str, object] = {"out": str(out), "rows": len(table)}
    if kind == "ratings" and out.suffix.lower() == ".csv":
        summary["only_in_parquet"] = "attributes, scales and levels of questions, who could not tell, who was shut out"
    return summary
