"""Small rendered data to try the commands on: `transect.sample_data`."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from string import Template
from typing import ClassVar, Final, final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput
from transect.jobs.sample_data.faces import POPULATION, SHOTS, SIZE, Faces, people_of, shots_of
from transect.jobs.sample_data.model import FEATURES, LABELS, features_of, predictions_of
from transect.reports import contact_sheet
from transect.reports.blocks import Picture
from transect.reports.builder import ShortPageResult
from transect.runs.folder import disk_errors, write_atomically, write_table
from transect.runs.parts import Progress
from transect.runs.pictures import png
from transect.runs.table_inputs import csv_of
from transect.runs.wording import counted

_MANY: Final = 200
"""People among whom some are alike enough for a narrow caliper; of the fewest, no pair is."""


def text(people: int, recognized: int, seed: int) -> str:
    """What each file holds, how it was made, and the commands that read it."""
    template = resources.files(__package__).joinpath("README.template.md").read_text(encoding="utf-8")
    return Template(template).substitute(
        people=people,
        recognized=recognized,
        seed=seed,
        population=POPULATION,
        shots=SHOTS,
        size=SIZE,
        caliper=1 if people >= _MANY else 2,
        features=", ".join(f"`{name}`" for name in FEATURES),
        labels=", ".join(f"`{name}`" for name in LABELS),
        scores=", ".join(f"`score_{name}`" for name in LABELS),
        options=" ".join(f"--label {name}" for name in LABELS),
    )


FEWEST: Final = 40
"""People below whom a tenth are too few to be recognized."""
_SHOWN: Final = 32
_UNFINISHED: Final = ".sample-data.partial"
"""In it the files are made, within the folder of the user: one that is there is of an earlier call that did not end."""


@final
@dataclass(frozen=True, slots=True)
class SampleFile:
    """One file or folder of the data: how many rows or pictures it has, and what it is for."""

    name: str
    rows: int
    use: str


@final
@dataclass(frozen=True, slots=True)
class SampleNumbers:
    """out: the folder. people: on one picture each. recognized: people on several pictures."""

    out: str
    people: int
    recognized: int
    seed: int
    files: tuple[SampleFile, ...]


@final
@dataclass(frozen=True, slots=True)
class SampleDataResult(ShortPageResult[SampleNumbers]):
    """The result of `transect.sample_data`. table: people.parquet; sheet: some faces as PNG."""

    JOB: ClassVar[str] = "sample-data"
    TITLE: ClassVar[str] = "Sample data"
    TABLE: ClassVar[str] = "Files"

    table: pa.Table = field(repr=False)
    sheet: bytes = field(repr=False)

    def pictures(self) -> Sequence[Picture]:
        """Some of the faces."""
        return [Picture(self.sheet, "Rendered people: nobody is on these pictures.")]

    def headline(self) -> str:
        """What was written, and where it is explained."""
        numbers = self.numbers
        return f"{counted(numbers.people, 'rendered person', 'rendered people')} in {numbers.out}: see README.md there"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per file."""
        return ("file", "rows", "for"), [(each.name, f"{each.rows:,}", each.use) for each in self.numbers.files]


def sample_data(out: str | Path, *, people: int = 600, seed: int = 0, quiet: bool = False) -> SampleDataResult:
    """Write small rendered data: labelled faces, features, persons on several pictures, labels and predictions.

    out: a new or empty folder. people: on one picture each; a tenth as many are on three pictures. seed: the same seed
    gives the same files. quiet: no progress on standard error. README.md in the folder says what each file holds.

    Raises BadInput for fewer than 40 people, and for a folder that holds something.
    """
    folder = Path(out)
    if people < FEWEST:
        raise BadInput(f"--people: expected {FEWEST} or more, got {people}; give more")
    if folder.exists() and (not folder.is_dir() or any(path.name != _UNFINISHED for path in folder.iterdir())):
        raise BadInput(f"{folder}: expected a new or empty folder, found something in it; choose another")
    with Progress("sample data", 2 * people + SHOTS * (people // 10), quiet=quiet) as progress:
        shown = people_of(people, seed, progress)
        taught = people_of(people, seed + 1, progress)
        several = shots_of(people // 10, seed, progress)
    with _whole(folder) as unfinished:
        table = _write_people(unfinished, shown, taught)
        _write_recognition(unfinished, several)
        write_atomically(unfinished / "README.md", text(people, people // 10, seed))
    numbers = SampleNumbers(str(folder), people, people // 10, seed, _files(people))
    return SampleDataResult(numbers, table, _sheet(shown))


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder to write into, whose files are moved to `folder` at the end, so that one that holds any holds all."""
    unfinished = folder / _UNFINISHED
    with disk_errors(unfinished):
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(parents=True)
    yield unfinished
    with disk_errors(folder):
        for path in sorted(unfinished.iterdir()):
            path.rename(folder / path.name)
        unfinished.rmdir()


def _write_people(folder: Path, shown: Faces, taught: Faces) -> pa.Table:
    """The pictures with labels, and the tables for matching and leakage; returns people.parquet."""
    _write_pictures(folder / "faces", shown)
    write_atomically(folder / "faces" / "labels.csv", csv_of(shown.labels()))
    scores = predictions_of(taught, shown)
    labels = {name: shown.bits(name) for name in LABELS}
    split = np.where(np.arange(len(shown.ids)) % 2, "test", "train")
    known = {"id": shown.ids, "face": shown.face()}
    write_table(folder / "labels.parquet", pa.table({**known, **labels, "split": split}))
    columns = {f"score_{name}": scores[:, place] for place, name in enumerate(LABELS)}
    write_table(folder / "predictions.parquet", pa.table({"id": shown.ids, **columns}))
    wrong = ((scores[:, 0] >= 0.5) != labels[LABELS[0]]).astype(np.float64)
    people = pa.table({**known, "picture": shown.files("faces"), **shown.numbers(FEATURES), "error": wrong})
    write_table(folder / "people.parquet", people)
    sink = io.BytesIO()
    np.save(sink, features_of(shown))
    write_atomically(folder / "features.npy", sink.getvalue())
    return people


def _write_recognition(folder: Path, several: Faces) -> None:
    _write_pictures(folder / "recognition", several)
    columns = {
        "id": several.ids,
        "person": [f"p{number}" for number in several.persons],
        "skin": several.skin(),
        "picture": several.files("recognition"),
        **several.numbers(("skin_tone", "light_level", "yaw")),
    }
    write_table(folder / "recognition.parquet", pa.table(columns))


def _write_pictures(folder: Path, faces: Faces) -> None:
    for name, pixels in zip(faces.ids, faces.pixels, strict=True):
        write_atomically(folder / f"{name}.png", png(pixels))


def _files(people: int) -> tuple[SampleFile, ...]:
    shots = SHOTS * (people // 10)
    return (
        SampleFile("faces/", people, "transect audit --dataset, targets check"),
        SampleFile("people.parquet", people, "transect match"),
        SampleFile("features.npy", people, "transect match"),
        SampleFile("recognition/", shots, "transect recognition"),
        SampleFile("recognition.parquet", shots, "transect recognition"),
        SampleFile("labels.parquet", people, "transect leakage"),
        SampleFile("predictions.parquet", people, "transect leakage"),
    )


def _sheet(faces: Faces) -> bytes:
    sink = io.BytesIO()
    contact_sheet(faces.pixels[:_SHOWN], columns=8).save(sink, "PNG")
    return sink.getvalue()
