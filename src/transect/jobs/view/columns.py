"""One run as columns in memory: who is on which image, what was set, and what each target answered. No pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.analysis import finished_run
from transect.analysis.target_outcomes import TargetOutcomes
from transect.effects.said_outcomes import whys
from transect.errors import BadInput
from transect.records import Attribute, Design, Task
from transect.runs import tables
from transect.runs.folder import FinishedRun
from transect.runs.spec import TargetEntry
from transect.texts import one_line

NOT_ASKED: Final = "not asked yet"
_PIXELS: Final = ("image",)


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """What one target said of n images: float64 [n] each, NaN where there is no such number.

    answer: 1 yes, 0 no. score: as the target gave it; for embeddings the distance to the subject's reference image.
    right: 1 right, 0 wrong. reasons [n]: why an image has neither answer nor score, "" where it has one.
    """

    answer: Float[np.ndarray, " n"]
    score: Float[np.ndarray, " n"]
    right: Float[np.ndarray, " n"]
    reasons: np.ndarray

    @property
    def answered(self) -> Bool[np.ndarray, " n"]:
        """Which images have an answer or a score."""
        return np.asarray(np.isfinite(self.answer) | np.isfinite(self.score))


@final
@dataclass(frozen=True, slots=True)
class RunColumns:
    """The images of one run, in the order of its parts.

    design: with the subjects that are there. part, row: where each picture is stored. digests: SHA-256 of the stored
    pictures. values: by attribute, as it was set, else as it is. expected: images of the finished run.
    """

    name: str
    run: FinishedRun
    design: Design
    attributes: Mapping[str, Attribute]
    ids: pa.ChunkedArray
    subjects: Int[np.ndarray, " n"]
    people: Int[np.ndarray, " n"]
    cells: Int[np.ndarray, " n"]
    part: Int[np.ndarray, " n"]
    row: Int[np.ndarray, " n"]
    digests: pa.ChunkedArray
    values: Mapping[str, Float[np.ndarray, " n"]]
    answers: Mapping[str, Answers]
    targets: Mapping[str, TargetEntry]
    expected: int

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def unfinished(self) -> str:
        """What the run lacks, in words; "" for a finished one."""
        if len(self) < self.expected:
            return f"{len(self):,} of {self.expected:,} images are there"
        waiting = {name: int((answers.reasons == NOT_ASKED).sum()) for name, answers in self.answers.items()}
        return "; ".join(f"{name} is not asked yet about {count:,} images" for name, count in waiting.items() if count)


def read_run(name: str, run: FinishedRun) -> RunColumns:
    """The columns of a run's finished parts. Raises CorruptedPart or BadInput for tables that do not read back."""
    spec = run.spec
    parts = [run.read_columns("images", part, _PIXELS) for part in range(run.finished_parts("images", spec.parts))]
    images = pa.concat_tables(parts)
    whole = finished_run.of_images(run, images)
    _check_order(run, images, whole.design)
    lengths = [len(part) for part in parts]
    attributes = {each.name: each for each in (*spec.nominal, *spec.held, *spec.attributes)}
    return RunColumns(
        name=name,
        run=run,
        design=whole.design,
        attributes=attributes,
        ids=images["id"],
        subjects=images["subject"].to_numpy().astype(np.int64),
        people=whole.people,
        cells=images["cell"].to_numpy().astype(np.int32),
        part=np.repeat(np.arange(len(parts), dtype=np.int32), lengths),
        row=np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]),
        digests=images["sha256"],
        values=_values(images, attributes),
        answers={one_line(target.name): _answers(whole, target) for target in spec.targets},
        targets={one_line(target.name): target for target in spec.targets},
        expected=spec.design.n_images,
    )


def _check_order(run: FinishedRun, images: pa.Table, design: Design) -> None:
    """Raises BadInput where the images are not whole subjects in the order of the design."""
    cells = np.tile(np.arange(design.n_cells), design.subjects)
    if len(images) != len(cells) or (images["cell"].to_numpy() != cells).any():
        raise BadInput(
            f"{run.path}: expected whole subjects in the order of the design, got other cells; make it again"
        )


def _values(images: pa.Table, attributes: Mapping[str, Attribute]) -> dict[str, Float[np.ndarray, " n"]]:
    """By attribute: the value that was set, else the true one."""
    return {
        name: images[column].to_numpy().astype(np.float64)
        for name in attributes
        for column in [_column(images, name)]
        if column
    }


def _column(images: pa.Table, name: str) -> str:
    return next((each for each in (f"intended.{name}", f"true.{name}") if each in images.column_names), "")


def _answers(run: finished_run.Run, target: TargetEntry) -> Answers:
    """The answers of one target, as far as it was asked."""
    asked = _asked(run, target)
    if asked is None:
        nothing = np.full(len(run.images), np.nan)
        return Answers(nothing, nothing, nothing, np.full(len(nothing), NOT_ASKED, dtype=object))
    part = run if len(asked) == len(run.images) else finished_run.of_images(run.folder, run.images.slice(0, len(asked)))
    if asked["id"].to_pylist() != part.images["id"].to_pylist():
        raise BadInput(f"{run.folder.path}: predictions of {target.name} are not of these images; rerun the audit")
    outcomes = TargetOutcomes(part, target, tables.predictions_of(asked, target.task))
    return _padded(_counted(outcomes), len(run.images))


def _asked(run: finished_run.Run, target: TargetEntry) -> pa.Table | None:
    table = f"predictions/{target.slug}"
    parts = run.folder.finished_parts(table, run.parts)
    if not parts:
        return None
    rows = pa.concat_tables([run.folder.read_part(table, part) for part in range(parts)], promote_options="permissive")
    return rows.slice(0, len(run.images))


def _counted(outcomes: TargetOutcomes) -> Answers:
    """What one target said, by task: a regression has no yes or no, an embedding is right where it matches."""
    task, labels = outcomes.target.task, outcomes.labels
    if task is Task.EMBEDDING:
        distance, other = outcomes.outcome("distance"), outcomes.outcome("non_match")
        return Answers(1 - other.values, distance.values, 1 - other.values, distance.reasons)
    nothing = np.full(len(outcomes.predictions), np.nan)
    if "score" not in outcomes.possible:  # of several options or codes, none of which is a yes
        return Answers(nothing, nothing, nothing, whys(outcomes.predictions))
    score = outcomes.outcome("score")
    if task is Task.REGRESSION:
        return Answers(nothing, score.values, nothing, score.reasons)
    answer = outcomes.outcome("answer")
    right = nothing if labels is None else 1 - outcomes.outcome("error").values
    return Answers(answer.values, score.values, right, answer.reasons)


def _padded(answers: Answers, n: int) -> Answers:
    """The answers with images behind them that nobody asked about yet."""
    more = n - len(answers.answer)
    if not more:
        return answers
    nothing = np.full(more, np.nan)
    answer, score, right = (np.concatenate([each, nothing]) for each in (answers.answer, answers.score, answers.right))
    return Answers(answer, score, right, np.concatenate([answers.reasons, np.full(more, NOT_ASKED, dtype=object)]))
