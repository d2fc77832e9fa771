"""`transect.readings`: photographs ► a table of pose, background and light, part by part; rerun to resume."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput, MissingExtra
from transect.jobs.readings.photographs import Photographs
from transect.jobs.readings.reader import UNITS, VERSION, Reader
from transect.jobs.readings.result import ReadingsNumbers, ReadingsResult, ReadingSummary, notes_of, reasons_counted
from transect.records import Images
from transect.runs.environment import versions
from transect.runs.folder import RunFolder, write_table
from transect.runs.parts import fill_table
from transect.runs.table_inputs import TableLike
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
