"""Show the directions in a file: how well they predict, their ranges, their source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, final

from transect.controls.learned import read_directions
from transect.generators.reference import DIRECTIONS, NAME
from transect.job import Content, Job, Option
from transect.reports.directions import DirectionsNumbers


@final
@dataclass(frozen=True)
class Directions(Job[DirectionsNumbers]):
    """The directions of a file, or those that ship. Raises BadInput for a file that holds none."""

    OUT: ClassVar = None
    KEPT: ClassVar = False

    file: Annotated[
        str | Path,
        Option(
            "A file of directions, or reference: the built-in ones.", str, metavar="FILE", argument=True, opens="data"
        ),
    ]

    def compute(self) -> DirectionsNumbers:
        """Read them."""
        path = DIRECTIONS if str(self.file) == NAME else Path(self.file)
        return DirectionsNumbers.of(read_directions(path), (), str(self.file))

    def content(self, numbers: DirectionsNumbers) -> Content:
        """The figures of every attribute."""
        return numbers.content("Fitted directions")
