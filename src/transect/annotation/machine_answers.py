"""A machine's answers about a run's images as a table, with what recreates them in its metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.annotation.machine import AttributeRater, ClipRater, open_rater
from transect.annotation.pictures import Pictures
from transect.annotation.questions import RaterQuestion, load
from transect.annotation.sources import home_of, source_of
from transect.annotation.texts import is_texts
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
    place: str | Path, rater: str, questions: tuple[str, ...], out: Path | None = None, device: str = "cpu"
) -> dict[str, Any]:
    """Ask a machine about every image and write id, study where there are several, and a column per question.

    Values are in the units of each question's attribute, as `--perceived` takes them. Questions about pairs, and those
    that the machine cannot answer, are left out and named. Raises BadInput where none is left, UnknownName for another
    machine.
    """
    path = out or home_of(place) / "machine.parquet"
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise BadInput(f"--out {path}: expected a name that ends in .csv or .parquet; choose one")
    if is_texts(place):
        raise BadInput(f"{place}: expected images, got texts, which a judge model codes; see --judge of transect audit")
    asked_questions, pictures = load(questions).question, Pictures(source_of(place).sources)
    machine = open_rater(rater, asked_questions, device)
    answers: dict[str, list[np.ndarray]] = {}
    left_out = {question.name: "about pairs" for question in asked_questions if question.pairs}
    for batch in _batches(pictures):
        for question in asked_questions:
            if question.name not in left_out:
                _ask(machine, question, batch, answers, left_out)
    if not answers:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise BadInput(f"--rater {rater}: expected a question that it can answer, got none ({reasons})")
    columns: dict[str, list[str] | np.ndarray] = {"id": [picture.id for picture in pictures.all]}
    if len(pictures.sources) > 1:
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


def _batches(pictures: Pictures) -> Iterator[Images]:
    """All images in order, up to 64 of one size together."""
    held: list[np.ndarray] = []
    for picture in pictures.all:
        pixels = pixels_of_png(pictures.png(picture.study, picture.id))
        if held and (pixels.shape != held[0].shape or len(held) == _AT_ONCE):
            yield Images(np.stack(held))
            held = []
        held.append(pixels)
    yield Images(np.stack(held))


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
