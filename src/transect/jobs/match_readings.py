"""Read pose, background and light of photographs into a table, for match, neighbours and recognition.
Rerun the command to resume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final, TypeAlias, final

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from transect.datasets import is_dataset, open_dataset
from transect.datasets.features import ID
from transect.datasets.files import Crop, Encoded, pixels_of
from transect.errors import BadInput, MissingExtra
from transect.experiment.picture_embeddings import stored_in
from transect.inversion.pictures import Pictures, digest_of
from transect.job import Content, Job, Option, function
from transect.records import Images
from transect.reports.blocks import Part
from transect.reports.columns import Column, Table
from transect.runs.environment import versions
from transect.runs.folder import RunFolder, write_table
from transect.runs.json_records import hidden
from transect.runs.parts import fill_table
from transect.runs.pictures import content_of
from transect.runs.table_inputs import TableLike, as_table
from transect.runs.wording import counted
from transect.targets.face_readers import DETECTOR, FaceFinder, FaceLandmarks
from transect.targets.pose_and_scene import ANGLES, CHANNELS, background, light, pose

FILE: Final = "readings.parquet"
TABLE: Final = "readings"
ROWS_OF_A_PART: Final = 64
LARGEST: Final = 512
"""Pixels of the longer side to which larger photographs are reduced by area averaging."""
Stored: TypeAlias = "Encoded | np.ndarray | None"
TONE: Final = (
    "face_light contains the tone of the skin and the exposure of the camera: it cannot show that one group was lit "
    "worse than another"
)
NO_LANDMARKS: Final = (
    "yaw, pitch and roll are left out: give --landmarks FILE, dlib's shape predictor of 68 points (or of 5, for a "
    "rough yaw and roll)"
)
FIVE: Final = "pitch is left out, and yaw is rough: 5 points lie nearly in a plane; 68 points give both"
PITCH: Final = (
    "pitch follows from the proportions of the face as much as from its pose: compare it over many images only"
)


@final
@dataclass(frozen=True, slots=True)
class ReadingSummary:
    """One reading over the images that have it. low, high: the 5 % and 95 % quantiles; None where no image has it."""

    name: str
    unit: str
    images: int
    mean: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, name: str, unit: str, values: np.ndarray) -> ReadingSummary:
        """Of a column [n] with NaN where nothing was read."""
        known = values[np.isfinite(values)]
        if not len(known):
            return cls(name, unit, 0, None, None, None)
        low, high = np.quantile(known, (0.05, 0.95)).tolist()
        return cls(name, unit, len(known), float(known.mean()), low, high)


READINGS: Final[Sequence[Column[ReadingSummary]]] = (
    Column("reading", "name"),
    Column("unit", "unit"),
    Column("images", "images", "count"),
    Column("mean", "mean", "number"),
    Column("5 % quantile", "low", "number"),
    Column("95 % quantile", "high", "number"),
)
LACKING: Final[Sequence[Column[tuple[str, int]]]] = (
    Column("reason", lambda row: row[0]),
    Column("images", lambda row: row[1], "count"),
)


@final
@dataclass(frozen=True, slots=True)
class ReadingsNumbers:
    """The summary of `transect match readings`.

    out: the table. whole: images of which everything was read. lacking: how many lack something, by reason (an image
    may have several). several_faces: images on which several faces were found. landmarks: points of the file, 0 without
    one. notes: what the readings cannot show, and what a data set left out.
    """

    out: str
    images: int
    whole: int
    lacking: Mapping[str, int]
    several_faces: int
    detector: str
    landmarks: int
    readings: tuple[ReadingSummary, ...]
    notes: tuple[str, ...] = ()
    rows: pa.Table | None = hidden(None)
    """A row per image."""


@final
@dataclass(frozen=True)
class Readings(Job[ReadingsNumbers]):
    """Pose, background and light of photographs, a row per image, for `match`, `neighbours` and `recognition`.

    images: also pixels uint8 [n, h, w, 3], and with `pictures` a table in memory (Arrow, data frame, columns by name);
    paths in its column lie below its folder, and its other columns go into the result. Call again to resume.

    Columns, float64: yaw, pitch, roll [degrees], background_red, background_green, background_blue and their mean
    background [sRGB, 0..255], background_share [0..1], face_light [stops, 0 for white], side_light [stops, + from the
    viewer's right]; then faces (how many were found) and reason. What could not be read is NaN with its reason.

    Raises MissingExtra without OpenCV, or without dlib for landmarks; BadInput for images, a detector or a file that do
    not fit, or a column of the same name; FolderOfAnotherSpec for a folder of other readings; Interrupted.

    Source: Singh et al. 2021, section 4.2 and Table 2.
    """

    OUT: ClassVar = None
    RESUMES_FROM: ClassVar = "finished parts"

    images: Annotated[
        str | Path | TableLike | np.ndarray | Images,
        Option(
            "A folder of image files, a run folder, READER:PATH, or a table with --pictures.",
            str,
            metavar="IMAGES",
            argument=True,
            opens="data",
        ),
    ]
    out: Annotated[str | Path, Option("The folder of readings.parquet and the page.", opens="write")]
    _: KW_ONLY
    pictures: Annotated[
        str | None,
        Option("Column of the table with pictures (bytes or paths); its other columns are kept.", opens="value"),
    ] = None
    detector: Annotated[
        str, Option("Finds the faces, such as dlib:hog-face; the most certain face is read.", opens="model")
    ] = DETECTOR
    landmarks: Annotated[
        str | Path | None,
        Option(
            "dlib's shape predictor of 68 points, for yaw, pitch and roll, or of 5, for yaw and roll.", opens="model"
        ),
    ] = None
    prefix: Annotated[
        str,
        Option("Text that the readings' names begin with, where the table has columns of these names.", opens="value"),
    ] = ""

    def compute(self) -> ReadingsNumbers:
        """The readings of all photographs; parts that the folder has are not read again."""
        photographs, reader = Photographs.open(self.images, self.pictures), self._reader()
        names = [*reader.names, "faces", "reason"]
        if taken := [self.prefix + name for name in names if self.prefix + name in photographs.rows.column_names]:
            raise BadInput(
                f"images: the table already has a column {taken[0]!r}; give --prefix TEXT for the names of the readings"
            )
        answers, table = self._answers(photographs, reader), photographs.rows
        for name in names:
            table = table.append_column(self.prefix + name, answers[name])
        file = Path(self.out) / FILE
        write_table(file, table)
        reasons = answers["reason"].to_pylist()
        points = reader.landmarks.points if reader.landmarks else 0
        return ReadingsNumbers(
            out=str(file),
            images=len(photographs),
            whole=reasons.count(""),
            lacking=reasons_counted(reasons),
            several_faces=sum((faces or 0) > 1 for faces in answers["faces"].to_pylist()),
            detector=reader.finder.name,
            landmarks=points,
            readings=tuple(ReadingSummary.of(name, UNITS[name], answers[name].to_numpy()) for name in reader.names),
            notes=(TONE, *{0: [NO_LANDMARKS], 5: [FIVE]}.get(points, [PITCH]), *photographs.notes),
            rows=table,
        )

    def _reader(self) -> Reader:
        try:
            import cv2  # noqa: F401
        except ModuleNotFoundError:
            raise MissingExtra("opencv", "transect match readings") from None
        return Reader(FaceFinder(self.detector), None if self.landmarks is None else FaceLandmarks(self.landmarks))

    def _answers(self, photographs: Photographs, reader: Reader) -> pa.Table:
        count = len(photographs)
        parts = [range(start, min(start + ROWS_OF_A_PART, count)) for start in range(0, count, ROWS_OF_A_PART)]
        spec: dict[str, object] = {
            "kind": "readings",
            "version": METHOD,
            "images": {"count": count, "sha256": photographs.sha256},
            "detector": reader.finder.describe(),
            "landmarks": reader.landmarks.sha256 if reader.landmarks else None,
            "versions": versions(),
        }

        def make(part: int) -> pa.Table:
            return reader.of_rows(photographs, parts[part])

        with RunFolder(Path(self.out), spec) as folder:
            fill_table(folder, TABLE, [len(part) for part in parts], make, title="readings", quiet=self.quiet)
            return pa.concat_tables([folder.read_part(TABLE, part) for part in range(len(parts))])

    def content(self, numbers: ReadingsNumbers) -> Content:
        """How many images were read, what others lack, and each reading in short."""
        table = Table("Readings", numbers.readings, READINGS)
        lacking = Table("Images that lack a reading", list(numbers.lacking.items()), LACKING)
        texts = [f"Everything was read of {numbers.whole:,} of {counted(numbers.images, 'image')}"]
        texts += [f"{reason}: {count:,}" for reason, count in numbers.lacking.items()]
        if numbers.several_faces:
            texts.append(f"{counted(numbers.several_faces, 'image')} with several faces: the most certain one was read")
        headline = "; ".join(texts)
        return Content(
            title="Pose, background and light of photographs",
            answer=[headline],
            remarks=numbers.notes,
            table=table,
            rows=numbers.rows,
            after=[Part("lacking", lacking.title, (lacking,))] if numbers.lacking else [],
            terminal=[headline, table, *numbers.notes, f"wrote {numbers.out}"],
        )


readings = function(Readings)


def reasons_counted(reasons: Sequence[str]) -> dict[str, int]:
    """How many images have each reason, the most frequent first; what stands in brackets is of one image.

    >>> reasons_counted(["", "no face", "no background; no pose fits", "no face"])
    {'no face': 2, 'no background': 1, 'no pose fits': 1}
    """
    kinds = [part.partition(" (")[0] for reason in reasons if reason for part in reason.split("; ")]
    return dict(Counter(kinds).most_common())


@final
@dataclass(frozen=True)
class Photographs:
    """Photographs by row. rows: the columns that go into the table of readings, id first where there are ids.

    sha256: of all photographs together. notes: what a data set left out. crop: what is cut out of each, by a data set.
    """

    rows: pa.Table = field(repr=False)
    sha256: str
    notes: tuple[str, ...] = ()
    crop: Crop | None = None
    stored: Callable[[int], Stored] = field(repr=False, default=lambda _: None)

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @classmethod
    def open(cls, images: str | Path | TableLike | np.ndarray | Images, pictures: str | None = None) -> Photographs:
        """A folder, run, data set (READER:PATH), pixels, or with `pictures` the table that has this column."""
        if pictures is not None:
            return _of_table(images, pictures)
        if isinstance(images, str | Path) and Path(images).is_file():
            raise BadInput(f"{images}: a table has its pictures in a column: name it with --pictures COLUMN")
        if not isinstance(images, str | Path | np.ndarray | Images):
            raise BadInput("images: a table has its pictures in a column: name it with `pictures`")
        if is_dataset(images):
            dataset = open_dataset(str(images), labelled=False)
            known = Pictures.of_dataset(dataset)
            stored = dataset.pictures.encoded
            return cls(pa.table({ID: list(known.ids)}), known.sha256, known.notes, dataset.crop, stored)
        known = Pictures.open(images, LARGEST)
        return cls(pa.table({ID: list(known.ids)}), known.sha256, known.notes, None, known.stored)

    def pixels(self, row: int) -> UInt8[np.ndarray, "h w 3"] | None:
        """The photograph of a row, its longer side at most LARGEST; None where there is none."""
        stored = self.stored(row)
        if stored is None:
            return None
        name = str(self.rows[ID][row].as_py()) if ID in self.rows.column_names else f"row {row}"
        return _reduced(stored if isinstance(stored, np.ndarray) else pixels_of(stored, name, None, self.crop))


def _of_table(images: str | Path | TableLike | np.ndarray | Images, pictures: str) -> Photographs:
    is_folder = isinstance(images, str | Path) and Path(images).is_dir()
    if isinstance(images, np.ndarray | Images) or is_dataset(images) or is_folder:
        raise BadInput("--pictures names a column of a table: leave it out, or give the table's file")
    table = as_table(images, "images")
    root = Path(images).parent if isinstance(images, str | Path) else Path()
    stored = stored_in(table, pictures, root)
    rows = table.drop_columns([pictures])
    first = [ID] if ID in rows.column_names else []
    rows = rows.select([*first, *(name for name in rows.column_names if name != ID)])
    contents = (content_of(picture or b"") for picture in stored)
    return Photographs(rows, digest_of(map(str, range(len(stored))), contents), stored=stored.__getitem__)


def _reduced(pixels: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "a b 3"]:
    from PIL import Image

    factor = LARGEST / max(pixels.shape[:2])
    if factor >= 1:
        return pixels
    size = max(1, round(pixels.shape[1] * factor)), max(1, round(pixels.shape[0] * factor))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BOX))


METHOD: Final = 1
"""Of the method: other readings of the same photographs are another run."""
UNITS: Final = {
    "yaw": "degrees, + to the viewer's right",
    "pitch": "degrees, + raised",
    "roll": "degrees, + clockwise",
    **{f"background_{name}": "sRGB, 0 to 255" for name in CHANNELS},
    "background": "sRGB, 0 to 255",
    "background_share": "share of the picture",
    "face_light": "stops, 0 for white",
    "side_light": "stops, + from the viewer's right",
}
"""The readings in the order of their columns, and their units."""
NO_PICTURE, UNREADABLE, NO_FACE = "no picture", "unreadable picture", "no face"
NO_POSE, NO_BACKGROUND, NO_LIGHT = "no pose fits", "no background", "face too dark or small for its light"


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """Of one photograph: values by name; faces that were found, None where none was looked for; why values lack."""

    values: dict[str, float]
    faces: int | None
    reasons: tuple[str, ...] = ()


@final
class Reader:
    """Reads photographs one by one, so that no reading depends on another."""

    def __init__(self, finder: FaceFinder, landmarks: FaceLandmarks | None) -> None:
        self.finder, self.landmarks = finder, landmarks
        angles = ANGLES[landmarks.points] if landmarks else ()
        self.names = tuple(name for name in UNITS if name in angles or name not in ANGLES[68])

    def of_row(self, photographs: Photographs, row: int) -> Reading:
        """A photograph's reading; a missing one, one that cannot be decoded or has no face has its reason."""
        try:
            pixels = photographs.pixels(row)
        except BadInput as error:
            message = str(error).replace("; ", ", ")  # a semicolon stands between reasons
            return Reading({}, None, (f"{UNREADABLE} ({message})",))
        return Reading({}, None, (NO_PICTURE,)) if pixels is None else self.of(pixels)

    def of(self, pixels: UInt8[np.ndarray, "h w 3"]) -> Reading:
        """The reading of a picture, from the face of which the detector is most certain."""
        faces = self.finder.boxes(pixels[None])[0]
        if not len(faces):
            return Reading({}, 0, (NO_FACE,))
        face = faces[0]
        parts = {NO_BACKGROUND: background(pixels, face), NO_LIGHT: light(pixels, face)}
        if self.landmarks:
            parts[NO_POSE] = pose(self.landmarks.of(pixels, face), face)
        values = {name: value for part in parts.values() for name, value in part.items()}
        return Reading(values, len(faces), tuple(reason for reason, part in parts.items() if not part))

    def of_rows(self, photographs: Photographs, rows: Sequence[int]) -> pa.Table:
        """The readings of some photographs as a table."""
        read = [self.of_row(photographs, row) for row in rows]
        columns = {
            name: pa.array([each.values.get(name, np.nan) for each in read], pa.float64()) for name in self.names
        }
        faces = pa.array([each.faces for each in read], pa.int64())
        reasons = pa.array(["; ".join(each.reasons) for each in read], pa.string())
        return pa.table({**columns, "faces": faces, "reason": reasons})
