"""Render a small data set to try matching, recognition, leakage and audits of photographs, in under a minute.

DIR/README.md describes each file. Nothing in it is a photograph.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated, ClassVar, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8
from PIL import Image

from transect.errors import BadInput
from transect.experiment.worlds import WorldSettings
from transect.job import Content, Job, Option, function
from transect.protocols import World
from transect.records import SUBJECTS_PER_SEED, Latents
from transect.reports import contact_sheet
from transect.reports.blocks import Part, Picture
from transect.reports.columns import Column, Table
from transect.runs import array_files
from transect.runs.folder import disk_errors, write_atomically, write_table
from transect.runs.json_records import hidden
from transect.runs.parts import Progress
from transect.runs.pictures import png, saved
from transect.runs.table_inputs import as_table, csv_of
from transect.runs.wording import counted

FEWEST: Final = 40
"""People below whom a tenth are too few to be recognized."""
_MANY: Final = 200
"""People among whom some are alike enough for a narrow caliper; of the fewest, no pair is."""
_SHOWN: Final = 32
_UNFINISHED: Final = ".sample-data.partial"
"""In it the files are made, within the folder of the user: one that is there is of an earlier call that did not end."""
SIZE: Final = 64
SHOTS: Final = 3
"""Pictures of each person for recognition."""
POPULATION: Final = "celebrity-like"
"""A confounded one: age, make-up and glasses go along with the shape of the face."""
_AT_ONCE: Final = 64
_LABELLED: Final = ("skin_tone", "age", "glasses", "smile")
_MOVED: Final = {"yaw": (-20.0, 20.0), "pitch": (-8.0, 8.0), "light_level": (-4.0, 0.0), "smile": (0.0, 1.0)}
"""What differs between two pictures of a person, and its range."""
LABELS: Final = ("smile", "lipstick", "hair_length", "hair_color")
"""What the model predicts; errors are counted of the first."""
FEATURES: Final = ("age", "skin_tone", "smile", "yaw", "pitch", "light_level")
"""By which people are matched."""
_SIDE: Final = 24
_PENALTY: Final = 0.03
"""The inverse strength of the penalty: 576 weights and a few hundred people."""


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
    """out: the folder. people: on one picture each. recognized: people on several pictures. sheet: some faces, PNG."""

    out: str
    people: int
    recognized: int
    seed: int
    files: tuple[SampleFile, ...]
    sheet: bytes = hidden(b"")


@final
@dataclass(frozen=True)
class SampleData(Job[SampleNumbers]):
    """Write small rendered data: labelled faces, features, persons on several pictures, labels and predictions.

    README.md in the folder says what each file holds. The same seed gives the same files. The result's table is
    people.parquet.

    Raises BadInput for fewer than 40 people, and for a folder that holds something.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False

    out: Annotated[str | Path, Option("A new or empty folder.", Path, metavar="DIR", argument=True, opens="write")]
    _: KW_ONLY
    people: Annotated[
        int,
        Option("Rendered people, one picture each; a tenth as many have three each, for recognition.", least=FEWEST),
    ] = 600
    seed: Annotated[int, Option("Random seed; the same seed gives the same subjects.")] = 0

    def place(self) -> None:
        """No page: the folder holds the user's data alone."""

    def compute(self) -> SampleNumbers:
        """The files, all or none."""
        folder, people = Path(self.out), self.people
        if folder.exists() and (not folder.is_dir() or any(path.name != _UNFINISHED for path in folder.iterdir())):
            raise BadInput(f"{folder} is not empty; choose another folder")
        recognized = people // 10
        with Progress("sample data", 2 * people + SHOTS * recognized, quiet=self.quiet) as progress:
            shown = people_of(people, self.seed, progress)
            taught = people_of(people, self.seed + 1, progress)
            several = shots_of(recognized, self.seed, progress)
        with _whole(folder) as unfinished:
            _write_people(unfinished, shown, taught)
            _write_recognition(unfinished, several)
            write_atomically(unfinished / "README.md", _readme(people, self.seed))
        sheet = saved(contact_sheet(shown.pixels[:_SHOWN], columns=8))
        return SampleNumbers(str(folder), people, recognized, self.seed, _files(people), sheet)

    def content(self, numbers: SampleNumbers) -> Content:
        """What was written, and where it is explained."""
        faces = Picture(numbers.sheet, "Rendered people: nobody is on these pictures.")
        people = counted(numbers.people, "rendered person", "rendered people")
        return Content(
            title="Sample data",
            answer=[f"{people} in {numbers.out}: see README.md there"],
            table=Table("Files", numbers.files, FILES),
            rows=as_table(Path(numbers.out) / "people.parquet"),
            parts=[Part("pictures", "Pictures", (faces,))],
        )


sample_data = function(SampleData)

FILES: Final[Sequence[Column[SampleFile]]] = (
    Column("file", "name"),
    Column("rows", "rows", "count"),
    Column("for", "use"),
)


def _readme(people: int, seed: int) -> str:
    """What each file holds, how it was made, and the commands that read it."""
    template = resources.files("transect.jobs").joinpath("datasets_sample.md").read_text(encoding="utf-8")
    return Template(template).substitute(
        people=people,
        recognized=people // 10,
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


def _write_people(folder: Path, shown: Faces, taught: Faces) -> None:
    """The pictures with labels, and the tables for matching and leakage."""
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
    array_files.write(folder / "features.npy", features_of(shown))


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


@final
@dataclass(frozen=True, slots=True)
class Faces:
    """Rendered pictures, a row each: ids, numbers of the persons, uint8 pixels [n, h, w, 3], and FaceWorld's values."""

    ids: list[str]
    persons: Int[np.ndarray, " n"]
    pixels: UInt8[np.ndarray, "n h w 3"]
    values: pa.Table

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """The values of one attribute, as FaceWorld has them."""
        return np.asarray(self.values[name].to_numpy(), dtype=np.float64)

    def bits(self, name: str) -> Int[np.ndarray, " n"]:
        """1 where the attribute is above one half, as a label says it."""
        return (self.column(name) > 0.5).astype(np.int64)

    def face(self) -> Sequence[str]:
        """How the shape of the face looks: the protected attribute of the tables."""
        return ["masculine" if value > 0.5 else "feminine" for value in self.column("face_shape")]

    def skin(self) -> Sequence[str]:
        """Light up to the middle of the Monk scale, else dark."""
        return ["light" if value <= 5.5 else "dark" for value in self.column("skin_tone")]

    def files(self, folder: str) -> list[str]:
        """Where each picture is."""
        return [f"{folder}/{name}.png" for name in self.ids]

    def numbers(self, names: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
        """Attributes by name, to four decimals."""
        return {name: np.round(self.column(name), 4) for name in names}

    def labels(self) -> pa.Table:
        """What `--dataset folder:` reads: file, and a column per attribute."""
        values = self.numbers(_LABELLED)
        values["glasses"], values["smile"] = (self.bits(name) for name in ("glasses", "smile"))
        return pa.table({"file": [f"{name}.png" for name in self.ids], **values})


def people_of(count: int, seed: int, progress: Progress) -> Faces:
    """As many people, each on one picture."""
    world = WorldSettings("faceworld", POPULATION, SIZE).open()
    people = np.arange(count)
    latents = world.sample(people + seed * SUBJECTS_PER_SEED)
    return Faces([f"{person:04d}" for person in people], people, _pixels(world, latents, progress), world.read(latents))


def shots_of(count: int, seed: int, progress: Progress) -> Faces:
    """As many people on three pictures each, which differ in pose, light and smile; half of them have dark skin."""
    world = WorldSettings("faceworld", "balanced", SIZE).open()
    persons = np.repeat(np.arange(count), SHOTS)
    drawn = np.random.Generator(np.random.Philox(seed))
    settings = {name: drawn.uniform(low, high, len(persons)) for name, (low, high) in _MOVED.items()}
    tone = drawn.uniform(1, 5.5, count) + 4.5 * (np.arange(count) % 2)
    settings["skin_tone"] = tone[persons]
    latents = world.set(world.sample(persons + seed * SUBJECTS_PER_SEED), settings)
    ids = [f"{person:04d}-{shot}" for person, shot in zip(persons, np.tile(np.arange(SHOTS), count), strict=True)]
    return Faces(ids, persons, _pixels(world, latents, progress), world.read(latents))


def _pixels(world: World, latents: Latents, progress: Progress) -> UInt8[np.ndarray, "n h w 3"]:
    parts = []
    for start in range(0, len(latents), _AT_ONCE):
        parts.append(world.render(latents.take(slice(start, start + _AT_ONCE))).pixels)
        progress.advance(len(parts[-1]))
    return np.concatenate(parts)


def predictions_of(taught: Faces, shown: Faces) -> Float[np.ndarray, "n k"]:
    """Probabilities of each label for the people shown, by a model that learned from the others; to four decimals."""
    from sklearn.linear_model import LogisticRegression

    learned, asked = _thumbnails(taught), _thumbnails(shown)
    middle, spread = learned.mean(axis=0), learned.std(axis=0) + 1e-6
    columns = []
    for name in LABELS:
        model = LogisticRegression(C=_PENALTY, max_iter=500)
        model.fit((learned - middle) / spread, taught.bits(name))
        columns.append(model.predict_proba((asked - middle) / spread)[:, 1])
    return np.asarray(np.round(np.stack(columns, axis=1), 4))


def features_of(faces: Faces) -> Float[np.ndarray, "n d"]:
    """The attributes by which people are matched, each with mean 0 and standard deviation 1."""
    values = np.stack([faces.column(name) for name in FEATURES], axis=1)
    return np.asarray(np.round((values - values.mean(axis=0)) / values.std(axis=0), 4))


def _thumbnails(faces: Faces) -> Float[np.ndarray, "n d"]:
    gray = [Image.fromarray(picture).convert("L") for picture in faces.pixels]
    small = [picture.resize((_SIDE, _SIDE), Image.Resampling.BOX) for picture in gray]
    return np.stack([np.asarray(picture, dtype=np.float64).ravel() for picture in small])
