"""Subjects rendered as a contact sheet or a data set: `transect.render`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final, cast, final

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from transect.controls.learned import LearnedWorld
from transect.designs import population_design, transect_design, transect_latents
from transect.engines import settings as engines
from transect.engines.protocol import HERE, Ahead, Engine, Ready, Work, check_same, on_gpu
from transect.engines.settings import LOCAL, EngineSettings
from transect.errors import BadInput
from transect.experiment import worlds
from transect.experiment.recipes import is_plain
from transect.experiment.study import Study, facts_of
from transect.experiment.worlds import WorldSettings
from transect.protocols import Controls, DrawsMasks, Generator, World
from transect.records import Design, Images, Latents
from transect.reports import contact_sheet
from transect.reports.blocks import Picture
from transect.reports.builder import ShortPageResult
from transect.runs import tables
from transect.runs.capabilities import attributes, check_subjects, for_attributes, usual_levels
from transect.runs.folder import RunFolder, write_atomically
from transect.runs.parts import fill_table
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted, spaced


@final
@dataclass(frozen=True, slots=True)
class DataSetParts:
    """A world and the design that it shows."""

    world: World
    design: Design

    def make(self, subjects: range) -> pa.Table:
        """The rows of these subjects: pictures, attributes, and masks and landmarks where the world knows them."""
        world, seeds = self.world, self.design.subject_seeds(subjects.start, subjects.stop)
        latents = transect_latents(self.design, world.sample(seeds), world)
        rows = tables.images_table(self.design, seeds, values_of(world, latents), world.render(latents))
        if not isinstance(world, DrawsMasks):
            return tables.data_set_table(rows)
        return tables.data_set_table(rows, world.masks(latents), world.landmarks(latents))

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class DataSetWork:
    """The same for a worker. facts: what the generator says of itself, which must be the same there."""

    settings: WorldSettings
    design: Design
    facts: str

    @property
    def gpus(self) -> int:
        """One where images are computed on a GPU."""
        return on_gpu(self.settings.device)

    def open(self) -> DataSetParts:
        """Open the generator. Raises TargetChanged where it is not that of the run."""
        world = for_attributes(open_shown(self.settings), tuple(self.design.levels))
        check_same(self.facts, facts_of(world, (), None))
        return DataSetParts(world, self.design)


def write_data_set(
    out: Path, settings: WorldSettings, world: World, design: Design, engine: Engine, *, quiet: bool
) -> pa.Table:
    """Write the parts that the folder lacks; all rows. settings: by which workers open the world."""
    study = Study("data set", world, design, ())
    spans = [study.subjects_of(part) for part in range(study.n_parts)]
    work: Work[range, pa.Table] = Ready(lambda: DataSetParts(world, design))
    if engine.apart and is_plain(settings.generator):
        work = DataSetWork(settings, design, facts_of(world, (), None))
    else:
        engine = HERE
    with RunFolder(out, study.spec().to_json()) as folder:
        missing = [part for part in range(len(spans)) if not folder.has_part("images", part)]
        sizes = [len(span) * design.n_cells for span in spans]
        with Ahead(engine, work, missing, spans.__getitem__) as make:
            fill_table(folder, "images", sizes, make, title="data set", quiet=quiet)
        return pa.concat_tables([folder.read_part("images", part) for part in range(study.n_parts)])


def open_shown(settings: WorldSettings) -> World:
    """The generator, which needs no attributes to be shown; with directions as an audit opens it."""
    generator = str(settings.generator) if isinstance(settings.generator, Path) else settings.generator
    reference = isinstance(generator, str) and generator.partition("?")[0] == "reference"
    if settings.directions is None and settings.latents is None and not reference:
        bare = worlds.generator_of(generator, settings.image_size, settings.population, settings.device, learned=False)
        return cast(World, bare)  # where nothing varies, nothing is set
    return settings.open()


def values_of(world: World, latents: Latents) -> pa.Table:
    """The attributes of each image; a generator without controls knows none."""
    return world.read(latents) if isinstance(world, Controls) else pa.table({})


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


@final
@dataclass(frozen=True, slots=True)
class SheetSettings:
    """How a contact sheet is laid out.

    columns: images in a row where nothing varies. plain: beside the levels of a fitted attribute, show the same levels
    along its own normal alone, where other fitted attributes change too.
    """

    columns: int = 8
    plain: bool = False


_SHEET: Final = SheetSettings()


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
    sheet: SheetSettings = _SHEET,
    data_set: bool = False,
    quiet: bool = False,
    engine: str | EngineSettings = LOCAL,
) -> RenderResult:
    """Render subjects as a contact sheet, with `vary` a row of levels per subject; or as a data set.

    out: the picture, or with data_set the folder, to write. world: population, device, directions and latents, and
    the generator and size in place of the keywords. sheet: how the picture is laid out. data_set: write
    Parquet parts of pictures and, as far as the generator knows them, attributes, boxes, landmarks and masks, which
    pandas, Polars, DuckDB and Hugging Face `datasets` read; finished parts are kept, so that the same call resumes.
    Two attributes are a grid for each subject: rows of the first one's levels, columns of the second's. engine: where
    the parts of a data set are made: local, ray, ray://HOST:PORT, or settings with a number of workers.

    Raises UnknownName for an attribute or generator, and the errors of RunFolder for a folder with other content.
    """
    settings = world or WorldSettings(generator=generator, image_size=image_size)
    chosen = engine if isinstance(engine, EngineSettings) else EngineSettings(engine)
    opened = open_shown(settings)
    design = _design(opened, vary, hold, subjects, seed)
    opened = for_attributes(opened, tuple(design.levels))
    check_subjects(opened, subjects)
    if sheet.plain and (data_set or not isinstance(opened, LearnedWorld) or len(design.levels) != 1):
        raise BadInput(
            "--plain: expected a sheet of one attribute that moves along fitted directions, got another; give "
            "--directions and one --vary, and no --data-set"
        )
    if data_set:
        with engines.opened(chosen, quiet=quiet) as made_by:
            table = write_data_set(Path(out), settings, opened, design, made_by, quiet=quiet)
        shown = replace(design, subjects=min(design.subjects, SHEET_SUBJECTS))
        return RenderResult(
            _numbers(out, opened, design), table, _sheet(_rendered(opened, shown)[0], shown, sheet.columns, opened)
        )
    images, table = _rendered(opened, design)
    drawn = (
        _beside(images, design, opened)
        if sheet.plain and isinstance(opened, LearnedWorld)
        else _sheet(images, design, sheet.columns, opened)
    )
    write_atomically(Path(out), drawn)
    return RenderResult(_numbers(out, opened, design), table, drawn)


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
    if len(design.levels) == 2:
        return _grid(images, design, world)
    heads = _heads(design, world) if design.levels else None
    return _png(images.pixels, design.n_cells if design.levels else columns, heads=heads)


def _grid(images: Images, design: Design, world: World) -> bytes:
    """For each subject a row for each level of the first attribute, whose level is beneath, and a column of the second.

    Fig. 4 of Balakrishnan et al. 2020.
    """
    known = {attribute.name: attribute for attribute in world.attributes}
    (first, _), (second, columns) = design.levels.items()
    heads = [f"{spaced(second)}\n{known[second].label(level)}" for level in columns]
    labels = [f"{spaced(first)} {known[first].label(cell[first])}" for cell in design.cells()] * design.subjects
    return _png(images.pixels, len(columns), labels, heads)


def _beside(images: Images, design: Design, world: LearnedWorld) -> bytes:
    """The levels with the other fitted attributes kept, then along the attribute's own normal, in one row a subject."""
    plain, _ = _rendered(LearnedWorld(world.generator, world.fitted, plain=True), design)
    both = [each.pixels.reshape(design.subjects, design.n_cells, *each.pixels.shape[1:]) for each in (images, plain)]
    shown = np.concatenate(both, axis=1)
    heads = [f"{way}\n{head}" for way in ("others kept", "plain") for head in _heads(design, world)]
    return _png(shown.reshape(-1, *shown.shape[2:]), 2 * design.n_cells, heads=heads)


def _png(
    pixels: UInt8[np.ndarray, "n h w 3"],
    columns: int,
    labels: Sequence[str] | None = None,
    heads: Sequence[str] | None = None,
) -> bytes:
    sink = io.BytesIO()
    contact_sheet(pixels, columns, labels, heads).save(sink, "PNG")
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
        if not attributes(world):
            raise BadInput(
                f"--vary {', '.join(as_names(vary))}: expected attributes that can be set, got generator {world.name}, "
                "which has none; give --directions FILE, made by: transect directions fit"
            )
        return transect_design(vary, world.attributes, subjects=subjects, seed=seed, hold=hold, usual=usual)
    return population_design(worlds.population_of(world), images=subjects, seed=seed)
