"""What was read of photographs: the table, and its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, final

import numpy as np
import pyarrow as pa

from transect.reports.blocks import TextTable
from transect.reports.builder import ShortPageResult
from transect.runs.wording import counted

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
