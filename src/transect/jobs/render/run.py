"""`transect.render`: images without a target, as a contact sheet, or as a data set with masks and landmarks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.designs import population_design, transect_design, transect_latents
from transect.engines import settings as engines
from transect.engines.settings import LOCAL, EngineSettings
from transect.experiment import worlds
from transect.experiment.worlds import WorldSettings
from transect.jobs.render.data_set import open_shown, values_of, write_data_set
from transect.protocols import Generator, World
from transect.records import Design, Images
from transect.reports import contact_sheet
from transect.reports.blocks import Picture
from transect.reports.builder import ShortPageResult
from transect.runs import tables
from transect.runs.capabilities import check_subjects, for_attributes, usual_levels
from transect.runs.folder import write_atomically
from transect.runs.wording import counted, spaced

SHEET_SUBJECTS = 8
"""Subjects of a data set that its page shows."""


@final
@dataclass(frozen=True, slots=True)
class RenderNumbers:
    """out: the picture or the folder of the data set."""

    out: str
    subjects: int
    images: int
    image_size: int


@final
@dataclass(frozen=True, slots=True)
class RenderResult(ShortPageResult[RenderNumbers]):
    """The result of `transect.render`. table: a row per image, with attributes and PNG; sheet: the picture as PNG."""

    JOB: ClassVar[str] = "render"
    TITLE: ClassVar[str] = "Images"
    TABLE: ClassVar[str] = "Images"

    table: pa.Table = field(repr=False)
    sheet: bytes = field(repr=False)

    def pictures(self) -> Sequence[Picture]:
        """The contact sheet."""
        return [Picture(self.sheet, "Each row is a subject where attributes vary, and each column a level.")]

    def headline(self) -> str:
        """What was written, and where."""
        numbers = self.numbers
        return f"{counted(numbers.images, 'image')} of {counted(numbers.subjects, 'subject')} in {numbers.out}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Each number."""
        numbers = self.numbers
        return ["what", "value"], [
            ["subjects", f"{numbers.subjects:,}"],
            ["images", f"{numbers.images:,}"],
            ["width and height", f"{numbers.image_size} pixels"],
            ["written to", numbers.out],
        ]


def render(
    out: str | Path = "sheet.png",
    *,
    subjects: int = 32,
    seed: int = 0,
    vary: str | Sequence[str] = (),
    hold: str | Sequence[str] = (),
    generator: str | Path | Generator = "faceworld",
    image_size: int | None = None,
    world: WorldSettings | None = None,
    columns: int = 8,
    data_set: bool = False,
    quiet: bool = False,
    engine: str | EngineSettings = LOCAL,
) -> RenderResult:
    """Render subjects as a contact sheet, with `vary` a row of levels per subject; or as a data set.

    out: the picture, or with data_set the folder, to write. world: population, device, directions and latents, and
    the generator and size in place of the keywords. columns: images in a row where nothing varies. data_set: write
    Parquet parts of pictures and, as far as the generator knows them, attributes, boxes, landmarks and masks, which
    pandas, Polars, DuckDB and Hugging Face `datasets` read; finished parts are kept, so that the same call resumes.
    engine: where the parts of a data set are made: local, ray, ray://HOST:PORT, or settings with a number of workers.

    Raises UnknownName for an attribute or generator, and the errors of RunFolder for a folder with other content.
    """
    settings = world or WorldSettings(generator=generator, image_size=image_size)
    chosen = engine if isinstance(engine, EngineSettings) else EngineSettings(engine)
    opened = open_shown(settings)
    design = _design(opened, vary, hold, subjects, seed)
    opened = for_attributes(opened, tuple(design.levels))
    check_subjects(opened, subjects)
    if data_set:
        with engines.opened(chosen, quiet=quiet) as made_by:
            table = write_data_set(Path(out), settings, opened, design, made_by, quiet=quiet)
        shown = replace(design, subjects=min(design.subjects, SHEET_SUBJECTS))
        return RenderResult(
            _numbers(out, opened, design), table, _sheet(_rendered(opened, shown)[0], shown, columns, opened)
        )
    images, table = _rendered(opened, design)
    sheet = _sheet(images, design, columns, opened)
    write_atomically(Path(out), sheet)
    return RenderResult(_numbers(out, opened, design), table, sheet)


def _numbers(out: str | Path, world: World, design: Design) -> RenderNumbers:
    return RenderNumbers(str(out), design.subjects, design.n_images, int(world.image_size))


def _rendered(world: World, design: Design) -> tuple[Images, pa.Table]:
    """The images of a design, and a row for each."""
    seeds = design.subject_seeds()
    latents = transect_latents(design, world.sample(seeds), world)
    images = world.render(latents)
    return images, tables.images_table(design, seeds, values_of(world, latents), images)


def _sheet(images: Images, design: Design, columns: int, world: World) -> bytes:
    """The images as a PNG: a row for each subject and a column for each combination of levels, which is its head."""
    sink = io.BytesIO()
    heads = _heads(design, world) if design.levels else None
    contact_sheet(images.pixels, design.n_cells if design.levels else columns, heads=heads).save(sink, "PNG")
    return sink.getvalue()


def _heads(design: Design, world: World) -> list[str]:
    """What is set in each column: a line for each attribute's name, and one for its level."""
    known = {attribute.name: attribute for attribute in world.attributes}
    return [
        "\n".join(f"{spaced(name)}\n{known[name].label(level)}" for name, level in cell.items())
        for cell in design.cells()
    ]


def _design(world: World, vary: str | Sequence[str], hold: str | Sequence[str], subjects: int, seed: int) -> Design:
    if vary:
        usual = usual_levels(world)
        return transect_design(vary, world.attributes, subjects=subjects, seed=seed, hold=hold, usual=usual)
    return population_design(worlds.population_of(world), images=subjects, seed=seed)
