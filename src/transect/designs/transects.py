"""Transects: every subject at every cell of a grid of attribute levels, all else held fixed.

Balakrishnan et al. 2020 §4.1 walk such grids in a GAN's latent space; with exact controls the grid is do(cell) on
one subject's latents. Rows are subject-major: row = subject x cells + cell, the last attribute varying fastest.

Observation: each subject once, with the attributes that a population gave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from transect.designs.levels import levels_from
from transect.errors import BadInput, UnknownName
from transect.protocols import Controls
from transect.records import Attribute, Design, Latents
from transect.runs.table_inputs import as_names

MAXIMUM_CELLS = 10_000


def transect_design(
    vary: Iterable[str] | Mapping[str, Iterable[float] | None],
    attributes: Sequence[Attribute],
    *,
    subjects: int,
    seed: int = 0,
    population: str = "balanced",
    hold: str | Sequence[str] = (),
    usual: Mapping[str, tuple[float, ...]] | None = None,
) -> Design:
    """The full-factorial design over `vary`; usual: levels where it names none, as `levels_from` has them."""
    levels = levels_from(vary, attributes, usual)
    if not levels:
        raise BadInput("nothing to compare: give --vary ATTRIBUTE, or --population P --images N")
    known = [attribute.name for attribute in attributes]
    held = as_names(hold)
    for name in held:
        if name not in known:
            raise UnknownName("attribute", name, known, "in --hold")
        if name in levels:
            raise BadInput(f"{name} is both varied and held: drop it from --vary or from --hold")
    check_counts("subjects", subjects, seed)
    design = Design(levels, subjects, seed, population, held)
    if design.n_cells > MAXIMUM_CELLS:
        raise BadInput(f"{design.n_cells} cells per subject exceed {MAXIMUM_CELLS}: vary fewer attributes or levels")
    return design


def check_counts(unit: str, count: int, seed: int) -> None:
    """Raises BadInput unless there is at least one unit and the seed is from 0 to 2³¹ - 1."""
    if count < 1:
        raise BadInput(f"--{unit}: expected 1 or more, got {count}")
    if not 0 <= seed < 1 << 31:
        raise BadInput(f"expected a --seed from 0 to {(1 << 31) - 1}, got {seed}")


def transect_latents(design: Design, subjects: Latents, controls: Controls) -> Latents:
    """Each subject's latents at each cell, subject-major; the subjects unchanged for a population design."""
    if not design.levels:
        return subjects
    grid = np.array([list(cell.values()) for cell in design.cells()])
    rows = np.tile(grid, (len(subjects), 1))
    values = {name: rows[:, column] for column, name in enumerate(design.levels)}
    return controls.set(subjects.repeat(design.n_cells), values, hold=design.hold)


def population_design(population: str, *, images: int, seed: int = 0) -> Design:
    """A design of `images` subjects, one image each. Raises BadInput for none or a bad seed."""
    check_counts("images", images, seed)
    return Design({}, images, seed, population)
