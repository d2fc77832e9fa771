"""The runs of a folder as arrays: which there are, what was asked and answered, and the levels of each image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int

from transect.analysis import finished_run
from transect.analysis.finished_run import TargetOutcomes
from transect.effects.outcomes import whys
from transect.errors import BadInput, TransectError, UnknownName
from transect.records import Attribute, Design, Task
from transect.runs import tables
from transect.runs.folder import FinishedRun
from transect.runs.layout import STUDIES, beside
from transect.runs.parts import stage
from transect.runs.spec import TargetEntry
from transect.texts import one_line

_PLACES: Final = ("", f"{STUDIES}/*/", "*/", f"*/{STUDIES}/*/")
"""Where run.json may lie: a run, its studies, a folder of runs, and their studies."""


def _runs_at(folder: Path) -> tuple[dict[str, FinishedRun], dict[str, str]]:
    """The runs in a folder by name, and why others are not shown; what stands beside a run has to be named itself."""
    found: dict[str, FinishedRun] = {}
    left_out: dict[str, str] = {}
    held = {record.parent for place in _PLACES for record in folder.glob(f"{place}run.json")}
    for path in sorted(held.difference(beside(folder))):
        # What a run is called on the page: the folders that lead to it, without `studies`.
        parts = [part for part in path.relative_to(folder).parts if part != STUDIES]
        name = one_line("/".join(parts) or folder.resolve().name)
        try:
            run = FinishedRun(path)
            if not run.finished_parts("images", run.spec.parts):
                raise BadInput("it has no finished image yet; try again later")
            found[name] = run
        except TransectError as error:
            left_out[name] = str(error)
    if not found:
        said = "".join(f" ({name}: {reason})" for name, reason in list(left_out.items())[:3])
        raise BadInput(
            f"{folder}: expected a run folder, a folder of studies, or a folder that contains runs, found "
            f"none with images{said}; give the --out of an audit"
        )
    return found, left_out


NOT_ASKED: Final = "not asked yet"
_PIXELS: Final = ("image",)


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """What one target said of n images: float64 [n] each, NaN where there is no such number.

    answer: 1 yes, 0 no. score: of embeddings the distance to the subject's reference image. right: 1 right, 0 wrong.
    reasons [n]: why an image has neither answer nor score, "" where it has one.
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
    """The images of one run, by part and row, with what was set, else is true. expected: how many there will be."""

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
            return f"{len(self):,} of {self.expected:,} images finished"
        waiting = {name: int((answers.reasons == NOT_ASKED).sum()) for name, answers in self.answers.items()}
        return "; ".join(
            f"{name} has not been asked about {count:,} images" for name, count in waiting.items() if count
        )


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
        raise BadInput(f"{run.path}: its images are not in the order of the design; run it again")


def _values(images: pa.Table, attributes: Mapping[str, Attribute]) -> dict[str, Float[np.ndarray, " n"]]:
    """By attribute: the value that was set, else the true one."""
    found = {}
    for name in attributes:
        columns = [each for each in (f"intended.{name}", f"true.{name}") if each in images.column_names]
        if columns:
            found[name] = images[columns[0]].to_numpy().astype(np.float64)
    return found


def _answers(run: finished_run.Run, target: TargetEntry) -> Answers:
    """The answers of one target, as far as it was asked."""
    asked = _asked(run, target)
    if asked is None:
        return _nothing(len(run.images), NOT_ASKED)
    part = run if len(asked) == len(run.images) else finished_run.of_images(run.folder, run.images.slice(0, len(asked)))
    if asked["id"].to_pylist() != part.images["id"].to_pylist():
        raise BadInput(
            f"{run.folder.path}: predictions of {target.name} do not belong to these images; rerun the audit"
        )
    outcomes = TargetOutcomes(part, target, tables.predictions_of(asked, target.task))
    return _joined([_counted(outcomes), _nothing(len(run.images) - len(asked), NOT_ASKED)])


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


_ELSEWHERE: Final = "not a target of this run"
UNASKED: Final = (NOT_ASKED, _ELSEWHERE)
"""Reasons of images that a target was never shown."""


@final
@dataclass(frozen=True)
class Index:
    """The images of all runs; row i lies in run `run[i]` at row `i - starts[run[i]]`. left_out: why, by name."""

    folder: Path
    runs: tuple[RunColumns, ...]
    left_out: Mapping[str, str]

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> Int[np.ndarray, " k"]:
        """Where each run begins, and the number of rows."""
        return np.cumsum([0, *(len(run) for run in self.runs)])

    @cached_property
    def run(self) -> Int[np.ndarray, " n"]:
        """The run of each row."""
        return np.repeat(np.arange(len(self.runs), dtype=np.int32), np.diff(self.starts))

    @cached_property
    def people(self) -> Int[np.ndarray, " n"]:
        """Who is on each image."""
        return np.concatenate([run.people for run in self.runs])

    @cached_property
    def ids(self) -> pa.ChunkedArray:
        """The identifier of each image, which is its own within a run."""
        return pa.chunked_array([chunk for run in self.runs for chunk in run.ids.chunks], pa.string())

    @cached_property
    def values(self) -> Mapping[str, Float[np.ndarray, " n"]]:
        """By attribute, NaN where a run does not have it."""
        names = dict.fromkeys(name for run in self.runs for name in run.values)
        return {
            name: np.concatenate([run.values.get(name, np.full(len(run), np.nan)) for run in self.runs])
            for name in names
        }

    @cached_property
    def answers(self) -> Mapping[str, Answers]:
        """By target, with no answer where a run does not have it."""
        names = dict.fromkeys(name for run in self.runs for name in run.answers)
        return {
            name: _joined([run.answers.get(name) or _nothing(len(run), _ELSEWHERE) for run in self.runs])
            for name in names
        }

    def place(self, row: int) -> tuple[RunColumns, int]:
        """The run of a row, and its row there. Raises BadInput beyond the rows."""
        if not 0 <= row < len(self):
            raise BadInput(f"expected a row below {len(self)}, got {row}; reload the page")
        run = int(self.run[row])
        return self.runs[run], row - int(self.starts[run])

    def named(self, name: str) -> int:
        """The number of a run. Raises UnknownName."""
        names = [run.name for run in self.runs]
        if name not in names:
            raise UnknownName("run", name, names)
        return names.index(name)

    def row_of(self, run: str, image: str) -> int:
        """The row of an image by the name of its run and its id. Raises UnknownName for another run, BadInput."""
        number = self.named(run)
        found = pc.index(self.runs[number].ids, pa.scalar(image, pa.string())).as_py()
        if found < 0:
            raise BadInput(f"{run}: expected the id of an image, got {image!r}; it may not exist yet")
        return int(self.starts[number]) + int(found)

    def target(self, name: str) -> Answers:
        """The answers of a target by name. Raises UnknownName."""
        if name not in self.answers:
            raise UnknownName("target", name, self.answers)
        return self.answers[name]

    def asks_same(self, name: str) -> tuple[str, ...]:
        """The targets whose stated truth is that of a target, itself included. Raises UnknownName."""
        self.target(name)
        truths = {each: entry.truth for run in self.runs for each, entry in run.targets.items()}
        return tuple(each for each, truth in truths.items() if truth == truths[name])


def read_folder(folder: Path) -> Index:
    """The index of a folder. A run whose tables do not read back is left out with its reason."""
    found, left_out = _runs_at(folder)
    runs: list[RunColumns] = []
    for name, run in found.items():
        stage(f"reading {name}: {run.spec.design.n_images:,} images")
        try:
            runs.append(read_run(name, run))
        except TransectError as error:
            left_out[name] = str(error)
    if not runs:
        raise BadInput(next(iter(left_out.values())))
    return Index(folder, tuple(runs), left_out)


def _joined(parts: Sequence[Answers]) -> Answers:
    columns = ([getattr(part, name) for part in parts] for name in ("answer", "score", "right", "reasons"))
    return Answers(*(np.concatenate(column) for column in columns))


def _nothing(n: int, reason: str) -> Answers:
    nothing = np.full(n, np.nan)
    return Answers(nothing, nothing, nothing, np.full(n, reason, dtype=object))


def asked(answers: Answers) -> np.ndarray:
    """Which images a target was shown."""
    return ~np.isin(answers.reasons, UNASKED)
