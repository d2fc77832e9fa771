"""`transect.fit_twins`: photographs ► rendered twins of FaceWorld, part by part; rerun to resume.

The run folder holds twins/part-*.parquet (a row per photograph), and at the end pictures.parquet (both pictures of each
pair, for `--dataset parquet:`), pairs.parquet (their rows) and sheet.png.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transect.datasets import is_dataset, open_dataset
from transect.datasets.labelled import LabelledImages
from transect.datasets.pictures import check_size
from transect.engines import settings as engines
from transect.engines.protocol import HERE, Ahead, Engine
from transect.engines.settings import EngineSettings
from transect.errors import BadInput
from transect.generators.faceworld.attributes import attribute
from transect.generators.faceworld.world import FaceWorld
from transect.inversion.pictures import Pictures
from transect.inversion.recipes import facts_of
from transect.inversion.twin_pictures import difference
from transect.inversion.twin_rows import KIND, PART, TABLE
from transect.inversion.twins import LIGHT, SHAPE
from transect.jobs.invert.twin_parts import FIT_SIZE, Sitter, TwinWork, seated
from transect.jobs.invert.twin_result import TwinsNumbers, TwinsResult, groups_of, left_out_of, summaries, tone_open
from transect.marks import Finder, open_marks
from transect.records import Images
from transect.reports.codes import SHEET
from transect.reports.sheets import contact_sheet
from transect.runs.capabilities import description
from transect.runs.folder import FinishedRun, RunFolder, write_atomically, write_table
from transect.runs.parts import fill_table
from transect.runs.picture_files import pixels_of_png
from transect.runs.progress import announcing_stages
from transect.runs.provenance import versions
from transect.runs.tables import PICTURE

GENERATOR: Final = "faceworld"
PICTURES: Final = "pictures.parquet"
PAIRS: Final = "pairs.parquet"
SHOWN: Final = "shown"
"""The column that says which of the two a picture is."""
PHOTOGRAPH, RENDERED = "photograph", "twin"
_VERSION: Final = 1
_SMALLEST: Final = 32
_ROWS: Final = 6
_NEAR_END: Final = 1e-6


@final
@dataclass(frozen=True)
class Twins:
    """What is fitted. labelled: the data set of the photographs; None of a folder, a run or pixels."""

    pictures: Pictures
    labelled: LabelledImages | None
    finder: Finder
    size: int

    def spec(self) -> dict[str, object]:
        """What the twins depend on."""
        return {
            "kind": KIND,
            "generator": description(FaceWorld(image_size=self.size, threads=1)),
            "images": {"count": len(self.pictures), "sha256": self.pictures.sha256},
            "marks": self.finder.describe(),
            "fit": {"version": _VERSION, "size": FIT_SIZE},
            "versions": versions(),
        }

    def parts(self) -> list[range]:
        """The rows of each part."""
        count = len(self.pictures)
        return [range(start, min(start + PART, count)) for start in range(0, count, PART)]

    def sitters(self, rows: range) -> tuple[Sitter, ...]:
        """The photographs of these rows with the points that were found on them."""
        return tuple(seated(self.pictures, row, self.finder) for row in rows)


def fit_twins(
    images: str | Path | np.ndarray | Images,
    out: str | Path,
    *,
    marks: str | Finder = "network",
    size: int = 128,
    quiet: bool = False,
    engine: EngineSettings | None = None,
) -> TwinsResult:
    """Fit a rendered twin to each photograph: FaceWorld's subject with its landmarks, tone of skin and light.

    images: a folder of image files, a run folder, a data set as READER:PATH, or pixels uint8 [n, h, w, 3]. out: the run
    folder; call again to resume, with byte-identical output. marks: who finds the 68 points, by name (as `network`,
    `dataset` or `dlib:FILE`) or as an object. size: width and height of the twins' pictures in pixels; twins do not
    depend on it. engine: where parts are made; no result depends on it.

    A photograph that cannot be read, is too small or large, has no color, or no face that was found with confidence,
    has no twin and is counted by reason. Raises BadInput and UnknownName for what does not fit, FolderOfAnotherSpec
    for a folder of something else, and Interrupted.

    Source: Blanz and Vetter 1999, doi:10.1145/311535.311556.
    """
    twins = plan(images, marks=marks, size=size)
    with engines.opened(engine or EngineSettings(), quiet=quiet) as made_by:
        return run(twins, Path(out), quiet=quiet, engine=made_by)


def plan(images: str | Path | np.ndarray | Images, *, marks: str | Finder = "network", size: int = 128) -> Twins:
    """What these settings mean, checked before anything is computed; arguments as `fit_twins` takes them."""
    check_size(size)
    if size < _SMALLEST:
        raise BadInput(f"size: expected {_SMALLEST} pixels or more for a twin, got {size}; give more")
    labelled = open_dataset(str(images), labelled=False, strict=False) if is_dataset(images) else None
    pictures = Pictures.open(images, size) if labelled is None else Pictures.of_dataset(labelled, whole=True)
    finder = open_marks(marks, labelled) if isinstance(marks, str) else marks
    return Twins(pictures, labelled, finder, size)


def run(twins: Twins, out: Path, *, quiet: bool = False, engine: Engine = HERE) -> TwinsResult:
    """Fit the parts that the folder lacks; the engine makes them. Raises as `fit_twins`."""
    parts = twins.parts()
    facts = facts_of(FaceWorld(image_size=twins.size, threads=1), ()) if engine.apart else ""
    work = TwinWork(twins.size, facts)
    with RunFolder(out, twins.spec()) as folder, announcing_stages(quiet=quiet):
        missing = [part for part in range(len(parts)) if not folder.has_part(TABLE, part)]
        with Ahead(engine, work, missing, lambda part: twins.sitters(parts[part])) as make:
            fill_table(folder, TABLE, [len(rows) for rows in parts], make, title="twins", quiet=quiet)
        return TwinsResult(_finish(twins, out, FinishedRun(out).read_table(TABLE, len(parts))))


def _finish(twins: Twins, out: Path, table: pa.Table) -> TwinsNumbers:
    """pictures.parquet, pairs.parquet and sheet.png."""
    fitted = table.filter(pc.equal(table["reason"], ""))
    write_table(out / PICTURES, pictures_table(fitted, twins.labelled, table["id"].to_pylist()))
    rows = np.arange(len(fitted), dtype=np.int64)
    pairs = {"a": 2 * rows + 1, "b": 2 * rows, "distance": fitted["points"].to_numpy().astype(np.float64)}
    write_table(out / PAIRS, pa.table(pairs))
    if len(fitted):
        write_atomically(out / SHEET, _sheet(fitted))
    before = {} if twins.labelled is None else twins.labelled.left_out
    return TwinsNumbers(
        out=str(out),
        photographs=len(table) + sum(before.values()),
        fitted=len(fitted),
        left_out=left_out_of(table, before),
        marks=twins.finder.name,
        size=twins.size,
        residuals=summaries(fitted),
        groups=groups_of(twins.labelled, table),
        at_bounds=_at_bounds(fitted),
        tone_open=tone_open(fitted),
        pictures=str(out / PICTURES),
        pairs=str(out / PAIRS),
        sheet=str(out / SHEET) if len(fitted) else "",
    )


def pictures_table(fitted: pa.Table, labelled: LabelledImages | None, ids: list[str]) -> pa.Table:
    """Both pictures of each pair below each other, photograph first, with who is on them and the labels.

    ids: of all photographs, in the order of the data set.
    """
    place = {name: row for row, name in enumerate(ids)}
    rows = np.array([place[name] for name in fitted["id"].to_pylist()], dtype=np.int64)
    kinds = ((PHOTOGRAPH, "landmarks"), (RENDERED, "twin_landmarks"))
    both: dict[str, list[Any]] = {"id": [], "image": [], SHOWN: [], "landmarks": []}
    for row in fitted.to_pylist():
        for kind, points in kinds:
            both["id"].append(row["id"] if kind == PHOTOGRAPH else f"{row['id']} {RENDERED}")
            both["image"].append({"bytes": row[kind], "path": None})
            both[SHOWN].append(kind)
            both["landmarks"].append(row[points])
    people = rows if labelled is None else np.array(labelled.subjects, dtype=np.int64)[rows]
    columns: dict[str, Any] = {
        "id": pa.array(both["id"], pa.string()),
        "image": pa.array(both["image"], PICTURE),
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


def _at_bounds(fitted: pa.Table) -> dict[str, int]:
    """How many twins have a setting at an end of its range; those that have none are left out."""
    found = {}
    for name in (*SHAPE, *LIGHT):
        low, high = attribute(name).bounds
        values, near = fitted[f"set.{name}"].to_numpy().astype(np.float64), _NEAR_END * (high - low)
        found[name] = int(((values <= low + near) | (values >= high - near)).sum())
    return {name: count for name, count in found.items() if count}


def _sheet(fitted: pa.Table) -> bytes:
    """Photograph, twin and difference of some photographs, from the best fitted to the worst."""
    order = np.argsort(fitted["points"].to_numpy(), kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, _ROWS).round().astype(np.int64))]
    pixels, labels = [], []
    for row in fitted.take(pa.array(chosen)).to_pylist():
        photograph, twin = pixels_of_png(row["photograph"]), pixels_of_png(row["twin"])
        pixels += [photograph, twin, difference(photograph, twin)]
        labels += [row["id"], f"twin, {row['points']:.3f}", "difference"]
    sink = io.BytesIO()
    contact_sheet(np.stack(pixels), columns=3, labels=labels).save(sink, "PNG")
    return sink.getvalue()
