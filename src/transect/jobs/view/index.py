"""All images of a folder as one table of columns: the runs one after another, attributes and targets by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from transect.errors import BadInput, TransectError, UnknownName
from transect.jobs.view.columns import NOT_ASKED, Answers, RunColumns, read_run
from transect.jobs.view.places import runs_at
from transect.records import Attribute
from transect.runs.progress import stage

MOST_LEVELS: Final = 12
"""Values of an attribute that are listed one by one; of more, a range is asked for."""
_ELSEWHERE: Final = "not a target of this run"
UNASKED: Final = (NOT_ASKED, _ELSEWHERE)
"""Reasons of images that a target was never shown."""


@final
@dataclass(frozen=True, slots=True)
class Level:
    """A value that images have, how people read it, and how many images have it."""

    value: float
    label: str
    images: int


@final
@dataclass(frozen=True, slots=True)
class Facet:
    """How images are filtered by an attribute: by its levels, or, where there are none, by a range."""

    attribute: Attribute
    levels: tuple[Level, ...]
    low: float
    high: float
    set: bool


@final
@dataclass(frozen=True)
class Index:
    """The images of all runs, n rows; row i lies in run `run[i]` at row `i - starts[run[i]]`.

    folder: as the user named it. left_out: by name, why a run is not shown.
    """

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
        return {name: _joined([run.answers.get(name) or _nothing(len(run)) for run in self.runs]) for name in names}

    @cached_property
    def facets(self) -> tuple[Facet, ...]:
        """How images can be filtered by attributes; those that were set come first."""
        facets = [_facet(self._attribute(name), values, self._sets(name)) for name, values in self.values.items()]
        return tuple(sorted((facet for facet in facets if facet), key=lambda facet: not facet.set))

    def place(self, row: int) -> tuple[RunColumns, int]:
        """The run of a row, and its row there. Raises BadInput beyond the rows."""
        if not 0 <= row < len(self):
            raise BadInput(f"expected a row below {len(self)}, got {row}; load the page again")
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
            raise BadInput(f"{run}: expected the id of an image, got {image!r}; it may not be made yet")
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

    def _attribute(self, name: str) -> Attribute:
        return next(run.attributes[name] for run in self.runs if name in run.attributes)

    def _sets(self, name: str) -> bool:
        return any(name in run.design.levels for run in self.runs)


def read_folder(folder: Path) -> Index:
    """The index of a folder. A run whose tables do not read back is left out with its reason."""
    place = runs_at(folder)
    runs: list[RunColumns] = []
    left_out = dict(place.left_out)
    for name, run in place.runs.items():
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


def _nothing(n: int) -> Answers:
    nothing = np.full(n, np.nan)
    return Answers(nothing, nothing, nothing, np.full(n, _ELSEWHERE, dtype=object))


def asked(answers: Answers) -> np.ndarray:
    """Which images a target was shown."""
    return ~np.isin(answers.reasons, UNASKED)


def _facet(attribute: Attribute, values: Float[np.ndarray, " n"], is_set: bool) -> Facet | None:
    """Levels where there are few, else the range; None where no image has a value."""
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if not len(found):
        return None
    levels = zip(found.tolist(), counts.tolist(), strict=True) if len(found) <= MOST_LEVELS else ()
    listed = tuple(Level(value, attribute.label(value), count) for value, count in levels)
    return Facet(attribute, listed, float(found[0]), float(found[-1]), is_set)
