"""A machine's answers about a run's images as a table, with what recreates them in its metadata."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from PIL import Image

from transect.annotation.machine import AttributeRater, open_rater
from transect.annotation.pictures import Pictures
from transect.annotation.questions import RaterQuestion, load
from transect.errors import BadInput
from transect.records import Images
from transect.runs.folder import write_atomically
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
    asked, pictures = load(questions).question, Pictures(run)
    machine = open_rater(rater, asked, device)
    found: dict[str, list[np.ndarray]] = {}
    left_out = {one.name: "about pairs" for one in asked if one.pairs}
    for start in range(0, len(pictures.all), _AT_ONCE):
        places = pictures.all[start : start + _AT_ONCE]
        batch = Images(np.stack([_pixels(pictures.png(one.study, one.id)) for one in places]))
        for one in asked:
            if one.name not in left_out:
                _ask(machine, one, batch, found, left_out)
    if not found:
        told = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise BadInput(f"--rater {rater}: expected a question that it can answer, got none ({told})")
    columns: dict[str, Any] = {"id": [one.id for one in pictures.all]}
    if len(pictures.runs) > 1:
        columns["study"] = [one.study for one in pictures.all]
    columns |= {name: np.concatenate(parts) for name, parts in found.items()}
    table = pa.table(columns).replace_schema_metadata({MACHINE: json.dumps(machine.facts).encode()})
    table = kept_in(table, {one.name: _question(one) for one in asked if one.name in found})
    _save(table, path)
    return {"out": str(path), "rows": len(table), "questions": ", ".join(found), "left_out": left_out, **machine.facts}


def _ask(
    machine: Any, one: RaterQuestion, batch: Images, found: dict[str, list[np.ndarray]], left_out: dict[str, str]
) -> None:
    try:
        said = machine.rate(batch, one.record)
    except BadInput as error:
        if not isinstance(machine, AttributeRater) or one.name in found:
            raise
        left_out[one.name] = str(error)
        return
    found.setdefault(one.name, []).append(np.asarray(one.values)[said.value.astype(int)])


def _question(one: RaterQuestion) -> RatedQuestion:
    levels = tuple(each.name for each in one.levels)
    return RatedQuestion(one.text, one.attribute, one.scale, levels, one.values, one.places)


def _pixels(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        return np.asarray(image.convert("RGB"))


def _save(table: pa.Table, path: Path) -> None:
    from pyarrow import csv, parquet

    sink = pa.BufferOutputStream()
    if path.suffix.lower() == ".csv":
        csv.write_csv(table, sink)
    else:
        parquet.write_table(table, sink, compression="zstd")
    write_atomically(path, bytes(sink.getvalue().to_pybytes()))
