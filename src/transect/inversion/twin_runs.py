"""Photographs ► rendered twins of FaceWorld, part by part; rerun to resume.

The run folder holds twins/part-*.parquet (a row per photograph), and at the end pictures.parquet (both pictures of
each pair, for `--dataset parquet:`), pairs.parquet (their rows) and sheet.png.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, UInt8

from transect.datasets import is_dataset, open_dataset
from transect.datasets.files import check_size
from transect.datasets.labelled import LabelledImages
from transect.engines.protocol import HERE, Ahead, Engine, check_same
from transect.errors import BadInput
from transect.generators.faceworld.attributes import attribute
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.generators.photographs.subjects import MARGIN, corner, squared
from transect.inversion import twins
from transect.inversion.parts import facts_of, rows_of_parts
from transect.inversion.pictures import Pictures
from transect.marks import Finder, open_marks
from transect.records import Images
from transect.runs.capabilities import description
from transect.runs.environment import versions
from transect.runs.folder import FinishedRun, RunFolder, write_table
from transect.runs.parts import announcing_stages, fill_table
from transect.runs.pictures import png

Result = TypeVar("Result")

FIT_SIZE: Final = 64
"""Pixels at which twins are fitted, whatever size they are shown at."""
_PLACE: Final = ("scale", "across", "down")
_TONES: Final = ("tone_low", "tone_high")
_NUMBERS: Final = ("confidence", *twins.NAMES, *_TONES, *_PLACE, *(f"set.{name}" for name in twins.SETTINGS))
_LISTS: Final = (twins.CODE, "landmarks", "twin_landmarks")
_PICTURES: Final = ("photograph", "twin")
_VERSION: Final = 1
_SMALLEST: Final = 32
_NEAR_END: Final = 1e-6
_GROUPS: Final = 6
"""The most values of a label whose groups are listed."""
APART: Final = 3.0
"""Tones of Monk's scale between two that fit as well, from which a photograph does not tell its tone."""
PICTURES: Final = "pictures.parquet"
PAIRS: Final = "pairs.parquet"
SHOWN: Final = "shown"
"""The column that says which of the two a picture is."""
PHOTOGRAPH, RENDERED = "photograph", "twin"
SCHEMA: Final = pa.schema(
    [("id", pa.string()), ("reason", pa.string())]
    + [(name, pa.float64()) for name in _NUMBERS]
    + [(name, pa.list_(pa.float64())) for name in _LISTS]
    + [(name, pa.binary()) for name in _PICTURES]
)
"""A row per photograph; of one without a twin, reason says why, and numbers that are not known are null.

landmarks: of the photograph in the twin's frame, x and y in turn; twin_landmarks: of the twin. tone_low, tone_high: of
the tones that fit as well. photograph, twin: both in the twin's frame, PNG.
"""


@final
@dataclass(frozen=True, slots=True)
class Sitter:
    """A photograph and the points of its face, in its pixels; or why it has no twin."""

    name: str
    reason: str
    confidence: float | None = None
    pixels: UInt8[np.ndarray, "h w 3"] | None = None
    points: Float[np.ndarray, "68 2"] | None = None


def seated(pictures: Pictures, row: int, finder: Finder) -> Sitter:
    """A photograph with the points that the finder finds on it. Raises as the finder."""
    name = pictures.ids[row]
    pixels, reason = twins.opened(pictures, row)
    if pixels is None:
        return Sitter(name, reason)
    height, width = pixels.shape[:2]
    side = max(height, width)
    marks = finder.find(squared(pixels, side)[None], np.array([row], dtype=np.int64))
    sure = float(marks.confidence[0])
    if marks.reasons[0]:
        return Sitter(name, marks.reasons[0], sure)
    if not marks.kept(finder.threshold)[0]:
        return Sitter(name, twins.UNSURE, sure)
    top, left = corner(height, width, side)
    points = marks.points[0] - np.array([left, top])
    if fault := twins.face_fault(pixels, points):
        return Sitter(name, fault, sure)
    return Sitter(name, "", sure, pixels, points)


@final
@dataclass(frozen=True, slots=True)
class TwinParts:
    """What fits twins. fitting, showing: FaceWorld at the size of the search and at that of the pictures."""

    fitting: FaceWorld
    showing: FaceWorld

    def make(self, sitters: tuple[Sitter, ...]) -> pa.Table:
        """The rows of these photographs, each from its own alone."""
        return pa.Table.from_pylist([self._row(sitter) for sitter in sitters], schema=SCHEMA)

    def _row(self, sitter: Sitter) -> dict[str, object]:
        row: dict[str, object] = {"id": sitter.name, "reason": sitter.reason, "confidence": sitter.confidence}
        if sitter.pixels is None or sitter.points is None:
            return row
        fitted = twins.twin(sitter.pixels, sitter.points, self.fitting)
        found = self.showing.landmarks(fitted.latents)
        pixels = self.showing.render(fitted.latents).pixels[0]
        scales, shifts = twins.placed(found, sitter.points)
        scale, shift = float(scales[0]), (float(shifts[0, 0]), float(shifts[0, 1]))
        left = twins.residuals(sitter.pixels, sitter.points, pixels, found[0], scale * found[0] + shifts[0])
        photograph, seen = twins.in_frame(sitter.pixels, scale, shift, self.showing.image_size)
        return {
            **row,
            **asdict(left),
            **dict(zip(_TONES, fitted.tones, strict=True)),
            **dict(zip(_PLACE, (scale, *shift), strict=True)),
            **{f"set.{name}": value for name, value in fitted.settings.items()},
            twins.CODE: fitted.latents.values[0, IDENTITY_COLUMNS].tolist(),
            "landmarks": ((sitter.points - shifts[0]) / scale).ravel().tolist(),
            "twin_landmarks": found[0].ravel().tolist(),
            "photograph": png(photograph),
            "twin": png(np.where(seen[..., None], pixels, np.uint8(MARGIN))),
        }

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class TwinWork:
    """The same for a worker. facts: `facts_of` FaceWorld in the process of the command."""

    size: int
    facts: str = ""
    gpus: int = 0

    def open(self) -> TwinParts:
        """Open FaceWorld. Raises TargetChanged where it is not that of the command."""
        showing = FaceWorld(image_size=self.size, threads=1)
        if self.facts:
            check_same(self.facts, facts_of(showing, ()))
        return TwinParts(FaceWorld(image_size=FIT_SIZE, threads=1), showing)


@final
@dataclass(frozen=True, slots=True)
class ResidualSummary:
    """One residual over all twins: median of sizes, median with sign, and the largest, with its photograph's id."""

    name: str
    size: float
    median: float
    largest: float
    worst: str


@final
@dataclass(frozen=True, slots=True)
class TwinGroup:
    """Photographs of one level of a label: how many, how many have no twin, and the median residual of points."""

    label: str
    level: str
    photographs: int
    left_out: int
    points: float


def summaries(fitted: pa.Table) -> tuple[ResidualSummary, ...]:
    """Of the rows that have a twin; NaN and no id where there are none."""
    found = []
    ids = fitted["id"].to_pylist()
    for name in twins.NAMES:
        values = fitted[name].to_numpy().astype(np.float64)
        known = np.isfinite(values)
        if not known.any():
            found.append(ResidualSummary(name, np.nan, np.nan, np.nan, ""))
            continue
        worst = int(np.argmax(np.where(known, np.abs(values), -1.0)))
        size, median = float(np.median(np.abs(values[known]))), float(np.median(values[known]))
        found.append(ResidualSummary(name, size, median, float(values[worst]), ids[worst]))
    return tuple(found)


def groups_of(labelled: LabelledImages | None, table: pa.Table) -> tuple[TwinGroup, ...]:
    """For each label with few values: photographs, those without a twin, and the median residual of points."""
    if labelled is None:
        return ()
    lacking = np.array([bool(reason) for reason in table["reason"].to_pylist()])
    points = table["points"].to_numpy()
    found = []
    for label in labelled.attributes:
        values = labelled.column(label.name)
        levels = np.unique(values[np.isfinite(values)])
        if 1 < len(levels) <= _GROUPS:
            for level in levels.tolist():
                rows = values == level
                known = points[rows & ~lacking]
                median = float(np.median(known)) if len(known) else float("nan")
                left = int((rows & lacking).sum())
                found.append(TwinGroup(label.name, label.label(level), int(rows.sum()), left, median))
    return tuple(found)


def tone_open(fitted: pa.Table) -> int:
    """Twins with tones that fit as well and lie APART or more."""
    span = fitted["tone_high"].to_numpy().astype(np.float64) - fitted["tone_low"].to_numpy().astype(np.float64)
    return int((span >= APART).sum())


def left_out_of(table: pa.Table, before: Mapping[str, int]) -> dict[str, int]:
    """Photographs without a twin by reason, most first. before: what the data set left out itself."""
    counts = Counter(before) + Counter(reason for reason in table["reason"].to_pylist() if reason)
    return dict(counts.most_common())


@final
@dataclass(frozen=True)
class TwinsRun:
    """What is fitted. labelled: the data set of the photographs; None of a folder, a run or pixels."""

    pictures: Pictures
    labelled: LabelledImages | None
    finder: Finder
    size: int

    @classmethod
    def planned(cls, images: str | Path | np.ndarray | Images, marks: str | Finder, size: int) -> TwinsRun:
        """What these settings mean, checked before anything is computed; as `transect.fit_twins` takes them."""
        check_size(size)
        if size < _SMALLEST:
            raise BadInput(f"size: expected at least {_SMALLEST} pixels for a twin, got {size}")
        labelled = open_dataset(str(images), labelled=False, strict=False) if is_dataset(images) else None
        pictures = Pictures.open(images, size) if labelled is None else Pictures.of_dataset(labelled, whole=True)
        finder = open_marks(marks, labelled) if isinstance(marks, str) else marks
        return cls(pictures, labelled, finder, size)

    @property
    def left_out(self) -> Mapping[str, int]:
        """What the data set left out itself, by reason."""
        return {} if self.labelled is None else self.labelled.left_out

    def spec(self) -> dict[str, object]:
        """What the twins depend on."""
        return {
            "kind": twins.KIND,
            "generator": description(FaceWorld(image_size=self.size, threads=1)),
            "images": {"count": len(self.pictures), "sha256": self.pictures.sha256},
            "marks": self.finder.describe(),
            "fit": {"version": _VERSION, "size": FIT_SIZE},
            "versions": versions(),
        }

    def sitters(self, rows: range) -> tuple[Sitter, ...]:
        """The photographs of these rows with the points that were found on them."""
        return tuple(seated(self.pictures, row, self.finder) for row in rows)

    def find(
        self, out: Path, finish: Callable[[pa.Table], Result], *, quiet: bool = False, engine: Engine = HERE
    ) -> Result:
        """Fit the twins that the folder lacks; the engine makes the parts. finish: of all rows, while it is ours."""
        parts = rows_of_parts(len(self.pictures), twins.PART)
        facts = facts_of(FaceWorld(image_size=self.size, threads=1), ()) if engine.apart else ""
        with RunFolder(out, self.spec()) as folder, announcing_stages(quiet=quiet):
            missing = [part for part in range(len(parts)) if not folder.has_part(twins.TABLE, part)]
            with Ahead(engine, TwinWork(self.size, facts), missing, lambda part: self.sitters(parts[part])) as make:
                fill_table(folder, twins.TABLE, [len(rows) for rows in parts], make, title="twins", quiet=quiet)
            return finish(FinishedRun(out).read_table(twins.TABLE, len(parts)))


def write_pairs(out: Path, table: pa.Table, labelled: LabelledImages | None) -> pa.Table:
    """Write pictures.parquet and pairs.parquet. Returns the rows that have a twin."""
    fitted = table.filter(pc.equal(table["reason"], ""))
    write_table(out / PICTURES, pictures_table(fitted, labelled, table["id"].to_pylist()))
    rows = np.arange(len(fitted), dtype=np.int64)
    pairs = {"a": 2 * rows + 1, "b": 2 * rows, "distance": fitted["points"].to_numpy().astype(np.float64)}
    write_table(out / PAIRS, pa.table(pairs))
    return fitted


def pictures_table(fitted: pa.Table, labelled: LabelledImages | None, ids: list[str]) -> pa.Table:
    """Both pictures of each pair below each other, photograph first, with who is on them and the labels.

    ids: of all photographs, in the order of the data set.
    """
    place = {name: row for row, name in enumerate(ids)}
    rows = np.array([place[name] for name in fitted["id"].to_pylist()], dtype=np.int64)
    kinds = ((PHOTOGRAPH, "landmarks"), (RENDERED, "twin_landmarks"))
    both: dict[str, list[object]] = {"id": [], "image": [], SHOWN: [], "landmarks": []}
    for row in fitted.to_pylist():
        for kind, points in kinds:
            both["id"].append(row["id"] if kind == PHOTOGRAPH else f"{row['id']} {RENDERED}")
            both["image"].append(row[kind])
            both[SHOWN].append(kind)
            both["landmarks"].append(row[points])
    people = rows if labelled is None else np.array(labelled.subjects, dtype=np.int64)[rows]
    columns: dict[str, object] = {
        "id": pa.array(both["id"], pa.string()),
        "image": pa.array(both["image"], pa.binary()),
        "landmarks": pa.array(both["landmarks"], pa.list_(pa.float64())),
        "subject": np.repeat(people, 2),
        SHOWN: pa.array(both[SHOWN], pa.string()),
    }
    for name, values in _labels(labelled):
        columns[f"label_{name}" if name in columns else name] = values.take(pa.array(np.repeat(rows, 2)))
    return pa.table(columns)


def _labels(labelled: LabelledImages | None) -> Iterator[tuple[str, pa.Array]]:
    """Each label of the data set: the name of its level, 0 and 1 as they are, or the number; null where not known."""
    if labelled is None:
        return
    for each in labelled.attributes:
        if each.kind == "categorical":
            yield each.name, labelled.level_names(each.name)
        else:
            yield each.name, pa.array(labelled.column(each.name), from_pandas=True)


def at_bounds(fitted: pa.Table) -> dict[str, int]:
    """How many twins have a setting at an end of its range; those that have none are left out."""
    found = {}
    for name in (*twins.SHAPE, *twins.LIGHT):
        low, high = attribute(name).bounds
        values, near = fitted[f"set.{name}"].to_numpy().astype(np.float64), _NEAR_END * (high - low)
        found[name] = int(((values <= low + near) | (values >= high - near)).sum())
    return {name: count for name, count in found.items() if count}
