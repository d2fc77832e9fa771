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

FAILED: Final = "failed"
"""The outcome of an image without a valid answer."""
_WRONG: Final[tuple[str, ...]] = ("miss", "false_alarm", NON_MATCH)
_HALF: Final = 0.5


def failed_images(folder: Path, target: str = "", outcome: str = "") -> pa.Table:
    """The rows of `FolderResult.failures`."""
    runs = {place: read(place) for place in runs_of(folder)}
    names = [each.name for run in runs.values() for each in run.spec.targets]
    if target and target not in names:
        raise UnknownName("target", target, names)
    if outcome and outcome not in (*_WRONG, "error", FAILED):
        raise UnknownName("outcome of failures", outcome, (*_WRONG, "error", FAILED))
    tables = []
    for place, run in runs.items():
        rows = [row for row in _rows(run, target) if outcome in ("", row["outcome"])]
        tables.append(_with_images(place, run, rows))
    return pa.concat_tables(tables, promote_options="permissive")


def _rows(run: Run, wanted: str) -> Iterator[dict[str, object]]:
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
        counted = name != NON_MATCH or name in answers.run.outcomes(answers.target)
        if name in answers.possible and counted:
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
    return table.append_column("image", pa.array(_pictures(run, at), pa.binary()))


def _pictures(run: Run, at: list[int]) -> list[bytes]:
    """The pictures of these places, read part by part."""
    found: dict[int, bytes] = {}
    wanted, start = set(at), 0
    for part in range(run.parts):
        column = run.folder.read_part("images", part, only=("image",))["image"]
        found |= {place: column[place - start].as_py() for place in wanted & {*range(start, start + len(column))}}
        start += len(column)
    return [found[place] for place in at]
