"""The parts of a data set of images: rendered here, or by workers that open the generator themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast, final

import pyarrow as pa

from transect.designs import transect_latents
from transect.engines.protocol import HERE, Ahead, Engine, Ready, Work, check_same, on_gpu
from transect.experiment import worlds
from transect.experiment.recipes import is_plain
from transect.experiment.study import Study, facts_of
from transect.experiment.worlds import WorldSettings
from transect.protocols import Controls, DrawsMasks, World
from transect.records import Design, Latents
from transect.runs import tables
from transect.runs.capabilities import for_attributes
from transect.runs.folder import RunFolder
from transect.runs.parts import fill_table


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
