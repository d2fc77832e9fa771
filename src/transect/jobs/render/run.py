"""Pictures without a target: contact sheets, strips, and data sets with masks and landmarks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from transect.designs import population_design, transect_design, transect_latents
from transect.errors import BadInput, Interrupted
from transect.experiment import worlds
from transect.experiment.study import Study
from transect.protocols import DrawsMasks, World
from transect.records import Design
from transect.runs import tables
from transect.runs.capabilities import check_subjects, usual_levels
from transect.runs.folder import RunFolder, write_atomically
from transect.runs.parts import map_parts
from transect.runs.progress import Progress


def render_data_set(
    out: Path,
    *,
    subjects: int,
    seed: int,
    image_size: int | None,
    population: str,
    generator: str,
    device: str = "cpu",
    vary: Sequence[str] = (),
    hold: Sequence[str] = (),
    directions: str | Path | None = None,
    latents: str | Path | None = None,
    quiet: bool = False,
) -> Path:
    """Render subjects into Parquet parts: pictures, attributes, boxes, landmarks and masks; finished parts are kept.

    The folder is read by pandas, Polars, DuckDB and Hugging Face `datasets`. Returns its path. Raises BadInput when the
    generator knows no masks, and what RunFolder raises of a folder that holds something else.
    """
    world = _world(generator, image_size, population, device, directions, latents)
    masks = world
    if not isinstance(masks, DrawsMasks):
        raise BadInput(f"a data set needs a generator with masks and landmarks, got {generator}; use faceworld")
    design = _rendered(world, vary, hold, subjects, seed, population)
    study = Study("data set", world, design, ())

    def stage(part: int) -> None:
        if not folder.has_part("images", part):
            folder.write_part("images", part, _data_set_part(study, masks, part))
        span = study.subjects_of(part)
        progress.advance((span.stop - span.start) * design.n_cells)

    with (
        RunFolder(out, study.spec().to_json()) as folder,
        Progress("data set", design.n_images, quiet=quiet) as progress,
    ):
        try:
            map_parts(stage, range(study.n_parts))
        except KeyboardInterrupt:
            message = f"interrupted; what is done is kept in {out}, and the same command goes on"
            raise Interrupted(message) from None
    return out


def _data_set_part(study: Study, masks: DrawsMasks, part: int) -> pa.Table:
    span = study.subjects_of(part)
    seeds = study.design.subject_seeds(span.start, span.stop)
    latents = transect_latents(study.design, study.world.sample(seeds), study.world)
    rows = tables.images_table(study.design, seeds, study.world.read(latents), study.world.render(latents))
    return tables.data_set_table(rows, masks.masks(latents), masks.landmarks(latents))


def _world(
    generator: str,
    image_size: int | None,
    population: str,
    device: str,
    directions: str | Path | None,
    latents: str | Path | None,
) -> Any:
    """The generator, which needs no attributes to be shown; with directions as an audit opens it."""
    if directions is None and latents is None and generator.partition("?")[0] != "reference":
        return worlds.generator_of(generator, image_size, population, device, learned=False)
    return worlds.open_world(generator, image_size, population, device, directions, latents)


def _rendered(
    world: World, vary: Sequence[str], hold: Sequence[str], subjects: int, seed: int, population: str
) -> Design:
    if vary:
        usual = usual_levels(world)
        return transect_design(vary, world.attributes, subjects=subjects, seed=seed, hold=hold, usual=usual)
    return population_design(population, images=subjects, seed=seed)


def render_sheet(
    out: Path,
    *,
    subjects: int,
    seed: int,
    image_size: int | None,
    population: str,
    generator: str,
    device: str = "cpu",
    vary: Sequence[str] = (),
    hold: Sequence[str] = (),
    columns: int = 8,
    directions: str | Path | None = None,
    latents: str | Path | None = None,
) -> Path:
    """Render subjects as one picture: a contact sheet, or with `vary` a row of levels per subject. Returns its path.

    directions, latents: files along which a learned generator's subjects, or inverted photographs, are moved.
    """
    from transect.report import contact_sheet

    world = _world(generator, image_size, population, device, directions, latents)
    check_subjects(world, subjects)
    design = _rendered(world, vary, hold, subjects, seed, population)
    shown = transect_latents(design, world.sample(design.subject_seeds()), world)
    picture = contact_sheet(world.render(shown).pixels, columns=design.n_cells if vary else columns)
    sink = io.BytesIO()
    picture.save(sink, "PNG")
    write_atomically(out, sink.getvalue())
    return out
