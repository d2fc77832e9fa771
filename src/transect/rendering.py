"""Pictures without a target: contact sheets, strips, and data sets with masks and landmarks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from transect import tables
from transect.designs import population_design, transect_design, transect_latents
from transect.engine import map_parts
from transect.errors import BadInput, Interrupted
from transect.progress import Progress
from transect.records import Design
from transect.store import RunFolder, write_atomically
from transect.study import Study


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
    quiet: bool = False,
) -> Path:
    """Render subjects into Parquet parts: pictures, attributes, boxes, landmarks and masks; finished parts are kept.

    The folder is read by pandas, Polars, DuckDB and Hugging Face `datasets`. Returns its path. Raises BadInput when the
    generator knows no masks, and what RunFolder raises of a folder that holds something else.
    """
    from transect.generators import load

    world: Any = load(generator, image_size=image_size, population=population, device=device)
    if not hasattr(world, "masks"):
        raise BadInput(f"a data set needs a generator with masks and landmarks, got {generator}; use faceworld")
    design = _rendered(world, vary, hold, subjects, seed, population)
    study = Study("data set", world, design, ())

    def stage(part: int) -> None:
        if not folder.has_part("images", part):
            folder.write_part("images", part, _data_set_part(study, part))
        span = study.subjects_of(part)
        progress.advance((span.stop - span.start) * design.n_cells)

    with RunFolder(out, study.spec()) as folder, Progress("data set", design.n_images, quiet=quiet) as progress:
        try:
            map_parts(stage, range(study.n_parts))
        except KeyboardInterrupt:
            message = f"interrupted; what is done is kept in {out}, and the same command goes on"
            raise Interrupted(message) from None
    return out


def _data_set_part(study: Study, part: int) -> pa.Table:
    span = study.subjects_of(part)
    seeds = study.design.subject_seeds(span.start, span.stop)
    latents = transect_latents(study.design, study.world.sample(seeds), study.world)
    rows = tables.images_table(study.design, seeds, study.world.read(latents), study.world.render(latents))
    return tables.data_set_table(rows, study.world.masks(latents), study.world.landmarks(latents))


def _rendered(
    world: Any, vary: Sequence[str], hold: Sequence[str], subjects: int, seed: int, population: str
) -> Design:
    if vary:
        return transect_design(vary, world.attributes, subjects=subjects, seed=seed, hold=hold)
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
) -> Path:
    """Render subjects as one picture: a contact sheet, or with `vary` a row of levels per subject. Returns its path."""
    from transect.generators import load
    from transect.report import contact_sheet

    world: Any = load(generator, image_size=image_size, population=population, device=device)
    design = _rendered(world, vary, hold, subjects, seed, population)
    latents = transect_latents(design, world.sample(design.subject_seeds()), world)
    picture = contact_sheet(world.render(latents).pixels, columns=design.n_cells if vary else columns)
    sink = io.BytesIO()
    picture.save(sink, "PNG")
    write_atomically(out, sink.getvalue())
    return out
