"""Render subjects as a contact sheet (with --vary, a row of levels per subject) or as a data set. Rerun to resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, cast, final

import numpy as np
import pyarrow as pa

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
from transect.job import Content, Job, Option, function
from transect.protocols import Controls, DrawsMasks, Generator, World
from transect.records import Design, Images, Latents
from transect.reports import contact_sheet
from transect.reports.blocks import Part, Picture
from transect.reports.columns import Column, Table
from transect.runs import tables
from transect.runs.capabilities import attributes, check_subjects, for_attributes, generator_entry, usual_levels
from transect.runs.folder import RunFolder, write_atomically
from transect.runs.json_records import hidden
from transect.runs.parts import fill_table
from transect.runs.pictures import saved
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted, spaced

SHEET_SUBJECTS = 8
"""Subjects of a data set that its page shows."""


@final
@dataclass(frozen=True, slots=True)
class RenderNumbers:
    """out: the picture or the folder of the data set. images_table: a row per image; sheet: the picture as PNG."""

    out: str
    subjects: int
    images: int
    image_size: int
    images_table: object = hidden(None)
    sheet: bytes = hidden(b"")


@final
@dataclass(frozen=True, slots=True)
class SheetSettings:
    """How a contact sheet is laid out.

    columns: images in a row where nothing varies. plain: beside the levels of a fitted attribute, show the same levels
    along its own normal alone, where other fitted attributes change too.
    """

    columns: Annotated[int, Option("Images in a row if no attribute varies.")] = 8
    plain: Annotated[
        bool, Option("With --directions: also show the same levels without keeping the other fitted attributes.")
    ] = False


@final
@dataclass(frozen=True)
class Render(Job[RenderNumbers]):
    """Render subjects as a contact sheet, with `vary` a row of levels per subject; or as a data set.

    Two attributes are a grid for each subject: rows of the first one's levels, columns of the second's. A data set is
    Parquet parts of pictures and, as far as the generator knows them, attributes, boxes, landmarks and masks, which
    pandas, Polars, DuckDB and Hugging Face `datasets` read; finished parts are kept, so that the same call resumes.
    world: population, device, directions and latents, and the generator and size in place of the arguments `generator`
    and `image_size`. sheet: how the picture is laid out. engine: where the parts of a data set are made: local, ray,
    ray://HOST:PORT, or settings with a number of workers. The result's table has a row per image, with its PNG.

    Raises UnknownName for an attribute or generator, and the errors of RunFolder for a folder with other content.
    """

    OUT: ClassVar = None
    RESUMES_FROM: ClassVar = "finished parts"

    out: Annotated[
        str | Path | None,
        Option("The picture (default sheet.png) or folder (default data_set) to write.", opens="write"),
    ] = None
    _: KW_ONLY
    subjects: Annotated[int, Option("Number of subjects.")] = 32
    seed: Annotated[int, Option("Random seed; the same seed gives the same subjects.")] = 0
    vary: Annotated[
        str | Sequence[str],
        Option("Show each subject at these levels, of two attributes in a grid; see: transect audit.", opens="value"),
    ] = ()
    hold: Annotated[
        str | Sequence[str],
        Option("Keep a downstream attribute at the subject's own value; see: transect audit.", opens="value"),
    ] = ()
    generator: str | Path | Generator = "faceworld"
    image_size: int | None = None
    world: WorldSettings | None = None
    sheet: SheetSettings = SheetSettings()
    data_set: Annotated[
        bool,
        Option("Write pictures, and attributes, landmarks and masks where they are known, as Parquet into --out."),
    ] = False
    engine: str | EngineSettings = LOCAL

    def place(self) -> Path | None:
        """The folder of the data set; a picture has no page."""
        return self._path if self.data_set else None

    @property
    def _path(self) -> Path:
        return Path(self.out or ("data_set" if self.data_set else "sheet.png"))

    def compute(self) -> RenderNumbers:
        """The picture or data set, written."""
        if not self.data_set and self._path.suffix.lower() != ".png":
            raise BadInput(
                f"--out {self._path}: expected a file name that ends in .png; choose one, or give --data-set"
            )
        settings = self.world or WorldSettings(generator=self.generator, image_size=self.image_size)
        world = open_shown(settings)
        design = _design(world, self.vary, self.hold, self.subjects, self.seed)
        world = for_attributes(world, design.levels)
        check_subjects(world, self.subjects)
        plain = self.sheet.plain
        if plain and (self.data_set or not isinstance(world, LearnedWorld) or len(design.levels) != 1):
            raise BadInput(
                "--plain applies to a sheet of one attribute that moves along fitted directions; give "
                "--directions and one --vary, and no --data-set"
            )
        if self.data_set:
            chosen = self.engine if isinstance(self.engine, EngineSettings) else EngineSettings(self.engine)
            with engines.opened(chosen, quiet=self.quiet) as made_by:
                rows = write_data_set(self._path, settings, world, design, made_by, quiet=self.quiet)
            shown = replace(design, subjects=min(design.subjects, SHEET_SUBJECTS))
            drawn = _sheet(_rendered(world, shown)[0], shown, self.sheet.columns, world)
        else:
            images, rows = _rendered(world, design)
            drawn = (
                _beside(images, design, world)
                if plain and isinstance(world, LearnedWorld)
                else _sheet(images, design, self.sheet.columns, world)
            )
            write_atomically(self._path, drawn)
        size = int(world.image_size)
        return RenderNumbers(str(self._path), design.subjects, design.n_images, size, rows, drawn)

    def content(self, numbers: RenderNumbers) -> Content:
        """What was written, and where; on a page some of the pictures."""
        images, subjects = counted(numbers.images, "image"), counted(numbers.subjects, "subject")
        answer = f"{images} of {subjects} in {numbers.out}"
        sheet = Picture(numbers.sheet, "Each row is a subject where attributes vary, and each column a level.")
        facts: list[tuple[str, str]] = [
            ("subjects", f"{numbers.subjects:,}"),
            ("images", f"{numbers.images:,}"),
            ("width and height", f"{numbers.image_size} pixels"),
            ("written to", numbers.out),
        ]
        columns: list[Column[tuple[str, str]]] = [
            Column("what", lambda fact: fact[0]),
            Column("value", lambda fact: fact[1]),
        ]
        return Content(
            title="Images",
            answer=[answer],
            table=Table("Images", facts, columns),
            rows=cast(pa.Table, numbers.images_table),
            parts=[Part("pictures", "Pictures", (sheet,))],
            terminal=[answer],
        )


render = function(Render)


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
        world = for_attributes(open_shown(self.settings), self.design.levels)
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


def _rendered(world: World, design: Design) -> tuple[Images, pa.Table]:
    seeds = design.subject_seeds()
    latents = transect_latents(design, world.sample(seeds), world)
    images = world.render(latents)
    return images, tables.images_table(design, seeds, values_of(world, latents), images)


def _sheet(images: Images, design: Design, columns: int, world: World) -> bytes:
    """The images as a PNG: a row for each subject and a column for each combination of levels, which is its head."""
    if len(design.levels) == 2:
        return _grid(images, design, world)
    heads = _heads(design, world) if design.levels else None
    return saved(contact_sheet(images.pixels, design.n_cells if design.levels else columns, heads=heads))


def _grid(images: Images, design: Design, world: World) -> bytes:
    """For each subject a row for each level of the first attribute, whose level is beneath, and a column of the second.

    Fig. 4 of Balakrishnan et al. 2020.
    """
    known = {attribute.name: attribute for attribute in world.attributes}
    (first, _), (second, columns) = design.levels.items()
    heads = [f"{spaced(second)}\n{known[second].label(level)}" for level in columns]
    labels = [f"{spaced(first)} {known[first].label(cell[first])}" for cell in design.cells()] * design.subjects
    return saved(contact_sheet(images.pixels, len(columns), labels, heads))


def _beside(images: Images, design: Design, world: LearnedWorld) -> bytes:
    """The levels with the other fitted attributes kept, then along the attribute's own normal, in one row a subject."""
    plain, _ = _rendered(LearnedWorld(world.generator, world.fitted, plain=True), design)
    both = [each.pixels.reshape(design.subjects, design.n_cells, *each.pixels.shape[1:]) for each in (images, plain)]
    shown = np.concatenate(both, axis=1)
    heads = [f"{way}\n{head}" for way in ("others kept", "plain") for head in _heads(design, world)]
    return saved(contact_sheet(shown.reshape(-1, *shown.shape[2:]), 2 * design.n_cells, heads=heads))


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
    return population_design(generator_entry(world).population, images=subjects, seed=seed)
