"""The images on which the targets of a finished run are wrong or have no answer, with their pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.analysis.finished_run import Run, TargetOutcomes, image_table, read
from transect.errors import UnknownName
from transect.experiment.outcome_choice import NON_MATCH
from transect.records import Task
from transect.runs.layout import runs_of
from transect.runs.tables import PICTURE

FAILED: Final = "failed"
"""The outcome of an image without a valid answer."""
_WRONG: Final = ("miss", "false_alarm", NON_MATCH)
_HALF: Final = 0.5


def failed_images(folder: Path, target: str = "", outcome: str = "") -> pa.Table:
    """The rows of `FolderResult.failures`."""
    tables = []
    for place in runs_of(folder):
        run = read(place)
        rows = [row for row in _rows(run, target) if outcome in ("", row["outcome"])]
        tables.append(_with_images(place, run, rows))
    _check_known(folder, target, outcome)
    return pa.concat_tables(tables, promote_options="permissive")


def _check_known(folder: Path, target: str, outcome: str) -> None:
    names = [each.name for place in runs_of(folder) for each in read(place).spec.targets]
    if target and target not in names:
        raise UnknownName("target", target, names)
    known = (*_WRONG, "error", FAILED)
    if outcome and outcome not in known:
        raise UnknownName("outcome of failures", outcome, known)


def _rows(run: Run, wanted: str) -> Iterator[dict[str, Any]]:
    """Place of the image, target, outcome, score and reason, target by target in the order of the images."""
    for target in run.spec.targets:
        if wanted and wanted != target.name:
            continue
        answers = TargetOutcomes(run, target)
        scores = answers.predictions.scores
        for name, images, reasons in _of_target(answers):
            for image in images:
                score = float(scores[image, 0]) if scores.shape[1] == 1 else None
                shown = None if score is None or np.isnan(score) else score
                yield {"at": image, "target": target.name, "outcome": name, "score": shown, "reason": reasons[image]}


def _of_target(answers: TargetOutcomes) -> Iterator[tuple[str, list[int], Any]]:
    """What went wrong, on which images, and the reasons of all; an error that is a miss or a false alarm is one row."""
    failures = np.array(answers.predictions.failures, dtype=object)
    nothing = np.full(len(failures), "", dtype=object)
    named = [name for name in _WRONG if name in answers.possible]
    wrong = named or (["error"] if answers.target.task is not Task.REGRESSION else [])
    for name in wrong:
        if name in answers.possible and name in answers.run.outcomes(answers.target):
            yield name, np.flatnonzero(answers.outcome(name).values >= _HALF).tolist(), nothing
    yield FAILED, np.flatnonzero(failures != "").tolist(), failures


def _with_images(place: Path, run: Run, rows: list[dict[str, Any]]) -> pa.Table:
    """The rows with the attributes and the pictures of their images."""
    at = [row.pop("at") for row in rows]
    schema = pa.schema([(name, pa.string()) for name in ("study", "target", "outcome")])
    schema = schema.append(pa.field("score", pa.float64())).append(pa.field("reason", pa.string()))
    table = pa.Table.from_pylist([{"study": run.spec.name, **row} for row in rows], schema)
    of_images = image_table(place).select(["id", "subject", *run.spec.design.levels]).take(pa.array(at, pa.int64()))
    for name in of_images.column_names:
        table = table.append_column(name, of_images[name])
    return table.append_column(
        "image", pa.array(_pictures(run, sorted(set(at)), at, of_images["id"].to_pylist()), PICTURE)
    )


def _pictures(run: Run, wanted: list[int], at: list[int], ids: list[str]) -> list[dict[str, object]]:
    """The pictures of the places `at`, of which `wanted` are the different ones, read part by part."""
    found: dict[int, bytes] = {}
    start = 0
    for part in range(run.parts):
        rows = run.folder.read_part("images", part, only=("id", "image"))
        inside = [place for place in wanted if start <= place < start + len(rows)]
        column = rows["image"]
        found |= {place: column[place - start].as_py() for place in inside}
        start += len(rows)
    return [{"bytes": found[place], "path": f"{name}.png"} for place, name in zip(at, ids, strict=True)]
