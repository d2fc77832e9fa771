"""One subject's images: the whole grid of what was set, or all photographs of a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Int

from transect.errors import BadInput
from transect.jobs.view.index import Index


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """An attribute that was set, and its levels as people read them, in the order of the design."""

    attribute: str
    labels: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Transect:
    """The images of one subject. rows: by cell, the last axis fastest; without axes, all images of the person.

    before, after: the subjects next to this one in the run, None at its ends.
    """

    run: str
    subject: int
    axes: tuple[Axis, ...]
    rows: Int[np.ndarray, " m"]
    before: int | None
    after: int | None


def transect_of(index: Index, run: str, subject: int) -> Transect:
    """The images of a subject in a run. Raises UnknownName for another run, BadInput for another subject."""
    number = index.named(run)
    columns = index.runs[number]
    rows = np.flatnonzero(columns.people == subject)
    if not len(rows):
        raise BadInput(f"{run}: expected the number of a subject, got {subject}; it may not be made yet")
    axes = tuple(
        Axis(name, tuple(columns.attributes[name].label(value) for value in values))
        for name, values in columns.design.levels.items()
    )
    everybody = np.unique(columns.people)
    place = int(np.searchsorted(everybody, subject))
    before = int(everybody[place - 1]) if place else None
    after = int(everybody[place + 1]) if place + 1 < len(everybody) else None
    return Transect(run, subject, axes, rows + int(index.starts[number]), before, after)
