"""`transect.verify`: checks of Transect itself against photographs and against planted truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final, TypeVar, final

import pyarrow as pa

from transect.errors import BadInput, UnknownName
from transect.jobs.verify import estimators, marks_tables, run_files, tables
from transect.jobs.verify.figures import VerifyNumbers, WorldFigures, record_of
from transect.jobs.verify.images import tables as image_tables
from transect.jobs.verify.marks import MarksSettings, measure_marks
from transect.jobs.verify.settings import Settings
from transect.reports.blocks import TextTable
from transect.reports.short_page import ShortPageResult
from transect.runs.plain_json import plain
from transect.runs.progress import announcing_stages
from transect.texts import say

Kind = TypeVar("Kind", Settings, MarksSettings)
CHECKS: Final = ("world", "estimators", "images", "marks", "run")
TITLES: Final = {
    "world": "FaceWorld compared with photographs",
    "estimators": "Estimators in worlds of planted truth",
    "images": "A model's true effects, and the estimate of each method",
    "marks": "Marks of faces compared with those that are known",
    "run": "A run's files, and its manifest",
}


@final
@dataclass(frozen=True, slots=True)
class VerifyResult(ShortPageResult[VerifyNumbers]):
    """The result of `transect.verify`.

    table: photometry, methods in planted worlds, methods by number of images, or files that are not as written.
    """

    JOB: ClassVar[str] = "verify"

    @property
    def table(self) -> pa.Table:
        """The rows of the check, one per statistic, method and world, method and attribute, or file."""
        if self.numbers.world is not None:
            return pa.Table.from_pylist(plain(self.numbers.world.photometry))
        if self.numbers.images is not None:
            return pa.Table.from_pylist(plain(self.numbers.images.rows))
        if self.numbers.marks is not None:
            return pa.Table.from_pylist(plain(self.numbers.marks.groups))
        if self.numbers.run is not None:
            names = ("file", "found")
            return pa.table({name: [row[n] for row in self.numbers.run.rows()] for n, name in enumerate(names)})
        return pa.Table.from_pylist(plain(self.numbers.estimators))

    def tables(self) -> list[TextTable]:
        """The figures as short tables of texts."""
        return [TextTable(title, headings, rows) for title, headings, rows in self._texts()]

    def _texts(self) -> Iterable[tuple[str, list[str], list[list[str]]]]:
        if self.numbers.world is not None:
            return tables.tables_of(self.numbers.world)
        if self.numbers.images is not None:
            return image_tables.tables_of(self.numbers.images)
        if self.numbers.marks is not None:
            return marks_tables.tables_of(self.numbers.marks)
        if self.numbers.run is not None:
            return [(TITLES["run"], list(run_files.HEADINGS), [list(row) for row in self.numbers.run.rows()])]
        rows = estimators.as_rows(self.numbers.estimators)
        return [(TITLES["estimators"], estimators.HEADINGS, rows)]

    def title(self) -> str:
        """What was checked."""
        return TITLES[self.numbers.check]

    def headline(self) -> str:
        """How many of the checks hold; of a run, whether its files are as written."""
        if self.numbers.world is not None:
            return _world_headline(self.numbers.world)
        if self.numbers.images is not None:
            largest = max(row.images for row in self.numbers.images.overall)
            best = min((row for row in self.numbers.images.overall if row.images == largest), key=lambda row: row.rmse)
            return f"With {largest:,} images, {best.method} has the smallest error: {100 * best.rmse:.1f} points"
        if self.numbers.marks is not None:
            return self.numbers.marks.headline()
        if self.numbers.run is not None:
            return self.numbers.run.headline()
        holding = sum(row.holds() for row in self.numbers.estimators)
        return f"{holding} of {len(self.numbers.estimators)} rows show what is expected"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The first table."""
        first = self.tables()[0]
        return first.headings, first.rows


def _world_headline(world: WorldFigures) -> str:
    agree = [row.within for row in world.by_attribute if row.within is not None]
    gated = [row for row in world.attributes if row.gate is not None]
    parts = [
        *([f"{world.medians_inside} of {len(world.photometry)} medians of luminance within the photographs' quartiles"]
          if world.photometry else []),
        *([f"{sum(agree)} of {len(agree)} coefficients of light by attribute within two standard errors"]
          if agree else []),
        *([f"{sum(bool(row.met) for row in gated)} of {len(gated)} attributes read back at their gate"]
          if gated else []),
    ]  # fmt: skip
    return "; ".join(parts) or f"FaceWorld, renderer version {world.renderer_version}"


def verify(
    check: str,
    *,
    settings: Settings | MarksSettings | None = None,
    seeds: int = estimators.SEEDS,
    quick: bool = False,
    seed: int = 0,
    out: str | Path | None = None,
    run: str | Path | None = None,
    key: str | Path | None = None,
    sign: str | Path | None = None,
    quiet: bool = False,
) -> VerifyResult:
    """Check Transect itself, or the files of a run.

    check: "world" measures FaceWorld (photometry, detectors, attributes, identity, groups that do not differ) with
    `settings`, an hour at full size; "estimators" puts every estimator into `seeds` tables of each world of planted
    truth, minutes; "images" trains a model, takes its true effects by brute force and compares every method with
    them, a quarter of an hour, seconds if `quick`. seed: of that model. "marks" compares the marks that a finder gives
    with those that a data set or FaceWorld knows, by `settings`, a MarksSettings. out: the folder that keeps what is
    computed (runs/verify-world, runs/verify-images); call again to resume. "run" compares the files of the folder
    `run` with its manifest: `numbers.run.holds`. key: an Ed25519 public key that must have signed it. sign: a private
    key that signs it.

    Returns the figures as records. Raises UnknownName for another check, BadInput for settings out of range and a run
    without a manifest, MissingExtra for a key without `transect[sign]`, FolderInUse, RunFolderError, and Interrupted
    when stopped.

    >>> verify("nothing")
    Traceback (most recent call last):
    ...
    transect.errors.UnknownName: unknown check 'nothing'...
    """
    if check == "world":
        from transect.jobs.verify.validation import validate_world

        world = validate_world(_of_kind(Settings, settings), Path(out or "runs/verify-world"), quiet=quiet)
        return VerifyResult(VerifyNumbers(check, world=record_of(WorldFigures, world)))
    if check == "images":
        from transect.jobs.verify.images.sizes import QUICK, Sizes
        from transect.jobs.verify.images.study import compare_methods

        sizes = replace(QUICK if quick else Sizes(), seed=seed)
        images = compare_methods(sizes, Path(out or "runs/verify-images"), quiet=quiet)
        return VerifyResult(VerifyNumbers(check, images=images))
    if check == "marks":
        return VerifyResult(VerifyNumbers(check, marks=measure_marks(_of_kind(MarksSettings, settings), quiet=quiet)))
    if check == "estimators":
        with announcing_stages(quiet=quiet):
            rows = estimators.prove(seeds, progress=None if quiet else _print_world)
        return VerifyResult(VerifyNumbers(check, estimators=tuple(rows)))
    if check == "run":
        if run is None:
            raise BadInput("run: expected the folder of a run, got none; give run=FOLDER")
        files = run_files.check_files(run, *(None if path is None else Path(path) for path in (key, sign)))
        return VerifyResult(VerifyNumbers(check, run=files))
    raise UnknownName("check", check, CHECKS)


def _of_kind(kind: type[Kind], settings: object) -> Kind:
    """The check's settings; its defaults where there are none."""
    if settings is None:
        return kind()
    if not isinstance(settings, kind):
        raise BadInput(f"settings: expected {kind.__name__}, got {type(settings).__name__}; give those of the check")
    return settings


def _print_world(name: str) -> None:
    say(f"estimators: {name}", error=True)
