"""Pose, background and light of photographs as a table: `transect.readings`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput, MissingExtra
from transect.jobs.readings.reader import UNITS, VERSION, Photographs, Reader
from transect.records import Images
from transect.reports.blocks import TextTable
from transect.reports.builder import ShortPageResult
from transect.runs.environment import versions
from transect.runs.folder import RunFolder, write_table
from transect.runs.parts import fill_table
from transect.runs.table_inputs import TableLike
from transect.runs.wording import counted
from transect.targets.face_readers import DETECTOR, FaceFinder, FaceLandmarks

FILE: Final = "readings.parquet"
TABLE: Final = "readings"
ROWS_OF_A_PART: Final = 64


def readings(
    images: str | Path | TableLike | np.ndarray | Images,
    out: str | Path,
    *,
    pictures: str | None = None,
    detector: str = DETECTOR,
    landmarks: str | Path | None = None,
    prefix: str = "",
    quiet: bool = False,
) -> ReadingsResult:
    """Pose, background and light of photographs, a row per image, for `match`, `neighbours` and `recognition`.

    images: a folder of image files, a run folder, a data set as READER:PATH, pixels uint8 [n, h, w, 3], or with
    `pictures` a table (path, Arrow, data frame, columns by name) that has this column of bytes or of paths below its
    folder; the table's other columns go into the result. out: the folder of readings.parquet; call again to resume.
    detector: finds the faces, of which the most certain is read. landmarks: a file of dlib's shape predictor with 68
    points (yaw, pitch, roll) or 5 (yaw, roll); without one, pose is left out. prefix: of the readings' names, where the
    table has columns of the same names.

    Columns, float64: yaw, pitch, roll [degrees], background_red, background_green, background_blue and their mean
    background [sRGB, 0..255], background_share [0..1], face_light [stops, 0 for white], side_light [stops, + from the
    viewer's right]; then faces (how many were found) and reason. What could not be read is NaN with its reason.

    Returns ReadingsResult: numbers (counts by reason, a summary of each reading), table, report.

    Raises MissingExtra without OpenCV, or without dlib for landmarks; BadInput for images, a detector or a file that do
    not fit, or a column of the same name; FolderOfAnotherSpec for a folder of other readings; Interrupted.

    Source: Singh et al. 2021, section 4.2 and Table 2.
    """
    photographs = Photographs.open(images, pictures)
    reader = _reader(detector, landmarks)
    names = [*reader.names, "faces", "reason"]
    if taken := [prefix + name for name in names if prefix + name in photographs.rows.column_names]:
        raise BadInput(
            f"images: expected no column {taken[0]!r} in the table, got one; give --prefix TEXT, which the names of "
            "the readings then begin with"
        )
    answers = _answers(photographs, reader, Path(out), quiet)
    table = photographs.rows
    for name in names:
        table = table.append_column(prefix + name, answers[name])
    write_table(Path(out) / FILE, table)
    return ReadingsResult(_numbers(Path(out) / FILE, photographs, reader, answers), table)


def _reader(detector: str, landmarks: str | Path | None) -> Reader:
    try:
        import cv2  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("opencv", "transect readings") from None
    return Reader(FaceFinder(detector), None if landmarks is None else FaceLandmarks(landmarks))


def _answers(photographs: Photographs, reader: Reader, out: Path, quiet: bool) -> pa.Table:
    """The readings of all photographs; parts that the folder has are not read again."""
    count = len(photographs)
    parts = [range(start, min(start + ROWS_OF_A_PART, count)) for start in range(0, count, ROWS_OF_A_PART)]
    spec: dict[str, Any] = {
        "kind": "readings",
        "version": VERSION,
        "images": {"count": count, "sha256": photographs.sha256},
        "detector": reader.finder.describe(),
        "landmarks": reader.landmarks.sha256 if reader.landmarks else None,
        "versions": versions(),
    }
    sizes = [len(part) for part in parts]
    with RunFolder(out, spec) as folder:
        fill_table(
            folder, TABLE, sizes, lambda part: _part(photographs, reader, parts[part]), title="readings", quiet=quiet
        )
        return pa.concat_tables([folder.read_part(TABLE, part) for part in range(len(parts))])


def _part(photographs: Photographs, reader: Reader, rows: Sequence[int]) -> pa.Table:
    read = [reader.of_row(photographs, row) for row in rows]
    columns = {name: pa.array([each.values.get(name, np.nan) for each in read], pa.float64()) for name in reader.names}
    return pa.table(
        {
            **columns,
            "faces": pa.array([each.faces for each in read], pa.int64()),
            "reason": pa.array(["; ".join(each.reasons) for each in read], pa.string()),
        }
    )


def _numbers(file: Path, photographs: Photographs, reader: Reader, answers: pa.Table) -> ReadingsNumbers:
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
        notes=(*notes_of(points), *photographs.notes),
    )


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


@final
@dataclass(frozen=True, slots=True)
class ReadingsNumbers:
    """The summary of `transect readings`.

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


@final
@dataclass(frozen=True, slots=True)
class ReadingsResult(ShortPageResult[ReadingsNumbers]):
    """The result of `transect.readings`. table: a row per image, NaN with its reason where something was not read."""

    JOB: ClassVar[str] = "readings"
    TITLE: ClassVar[str] = "Pose, background and light of photographs"
    TABLE: ClassVar[str] = "Readings"

    table: pa.Table = field(repr=False)

    def headline(self) -> str:
        """How many images were read, what others lack, and how many show several faces."""
        numbers = self.numbers
        texts = [f"Everything was read of {numbers.whole:,} of {counted(numbers.images, 'image')}"]
        texts += [f"{reason}: {count:,}" for reason, count in numbers.lacking.items()]
        if numbers.several_faces:
            texts.append(f"{counted(numbers.several_faces, 'image')} with several faces: the most certain one was read")
        return "; ".join(texts)

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per reading."""
        rows = [
            [row.name, row.unit, f"{row.images:,}", *map(_short, (row.mean, row.low, row.high))]
            for row in self.numbers.readings
        ]
        return ["reading", "unit", "images", "mean", "5 % quantile", "95 % quantile"], rows

    def tables(self) -> Sequence[TextTable]:
        """The readings, and what images lack."""
        lacking = [[reason, f"{count:,}"] for reason, count in self.numbers.lacking.items()]
        more = [TextTable("Images that lack a reading", ["reason", "images"], lacking)] if lacking else []
        return [TextTable(self.TABLE, *self.rows()), *more]

    def notes(self) -> Sequence[str]:
        """What the readings cannot show, and what a data set left out."""
        return self.numbers.notes


def reasons_counted(reasons: Sequence[str]) -> dict[str, int]:
    """How many images have each reason, the most frequent first; what stands in brackets is of one image.

    >>> reasons_counted(["", "no face", "no background; no pose fits", "no face"])
    {'no face': 2, 'no background': 1, 'no pose fits': 1}
    """
    kinds = [part.partition(" (")[0] for reason in reasons if reason for part in reason.split("; ")]
    return dict(Counter(kinds).most_common())


def notes_of(points: int) -> list[str]:
    """What the readings cannot show, by the number of landmarks."""
    return [TONE, *{0: [NO_LANDMARKS], 5: [FIVE]}.get(points, [PITCH])]


def _short(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"
