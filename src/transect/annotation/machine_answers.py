"""A machine's answers about a run's images as a table, with what recreates them in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.annotation.machine import AttributeRater, ClipRater, open_rater
from transect.annotation.pictures import Pictures
from transect.annotation.questions import RaterQuestion, load
from transect.errors import BadInput
from transect.records import Images
from transect.runs.csv_files import csv_of
from transect.runs.folder import write_atomically, write_table
from transect.runs.picture_files import pixels_of_png
from transect.runs.rated_questions import RatedQuestion, kept_in

MACHINE: Final = b"transect.machine"
"""Metadata of the table: which machine answered, and its weights."""
_AT_ONCE: Final = 64


def write(
    run: Path, rater: str, questions: tuple[str, ...], out: Path | None = None, device: str = "cpu"
) -> dict[str, Any]:
    """Ask a machine about every image and write id, study where there are several, and a column per question.

    Values are in the units of each question's attribute, as `--perceived` takes them. Questions about pairs, and those
    that the machine cannot answer, are left out and named. Raises BadInput where none is left, UnknownName for another
    machine.
    """
    path = out or run / "annotations" / "machine.parquet"
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise BadInput(f"--out {path}: expected a name that ends in .csv or .parquet; choose one")
    asked_questions, pictures = load(questions).question, Pictures(run)
    machine = open_rater(rater, asked_questions, device)
    answers: dict[str, list[np.ndarray]] = {}
    left_out = {question.name: "about pairs" for question in asked_questions if question.pairs}
    for start in range(0, len(pictures.all), _AT_ONCE):
        places = pictures.all[start : start + _AT_ONCE]
        batch = Images(np.stack([pixels_of_png(pictures.png(picture.study, picture.id)) for picture in places]))
        for question in asked_questions:
            if question.name not in left_out:
                _ask(machine, question, batch, answers, left_out)
    if not answers:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise BadInput(f"--rater {rater}: expected a question that it can answer, got none ({reasons})")
    columns: dict[str, list[str] | np.ndarray] = {"id": [picture.id for picture in pictures.all]}
    if len(pictures.runs) > 1:
        columns["study"] = [picture.study for picture in pictures.all]
    columns |= {name: np.concatenate(parts) for name, parts in answers.items()}
    table = pa.table(columns).replace_schema_metadata({MACHINE: json.dumps(machine.facts).encode()})
    table = kept_in(
        table, {question.name: _question(question) for question in asked_questions if question.name in answers}
    )
    _save(table, path)
    return {
        "out": str(path),
        "rows": len(table),
        "questions": ", ".join(answers),
        "left_out": left_out,
        **machine.facts,
    }


def _ask(
    machine: AttributeRater | ClipRater,
    question: RaterQuestion,
    batch: Images,
    answers: dict[str, list[np.ndarray]],
    left_out: dict[str, str],
) -> None:
    try:
        ratings = machine.rate(batch, question.record)
    except BadInput as error:
        if not isinstance(machine, AttributeRater) or question.name in answers:
            raise
        left_out[question.name] = str(error)
        return
    answers.setdefault(question.name, []).append(np.asarray(question.values)[ratings.value.astype(int)])


def _question(question: RaterQuestion) -> RatedQuestion:
    levels = tuple(each.name for each in question.levels)
    return RatedQuestion(question.text, question.attribute, question.scale, levels, question.values, question.places)


def _save(table: pa.Table, path: Path) -> None:
    if path.suffix.lower() == ".csv":
        write_atomically(path, csv_of(table))
    else:
        write_table(path, table)
