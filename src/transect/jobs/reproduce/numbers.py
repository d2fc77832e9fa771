"""What `transect reproduce` found, as records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

Outcome = Literal["same bytes", "within tolerance", "differs"]

VERSIONS: Final = "versions."
"""What the name of a changed version begins with."""
PIXELS: Final = 1
"""Levels of 255 by which a pixel may differ."""
TOLERANCE: Final = 1e-4
"""By how much another number may differ, relative to the larger of the two, or to 1 where both are below."""


@final
@dataclass(frozen=True, slots=True)
class Change:
    """A version, or what follows from versions, that the rerun has otherwise; "" for one that was not stated."""

    name: str
    was: str
    is_now: str


@final
@dataclass(frozen=True, slots=True)
class ColumnCompared:
    """One column of a table whose values differ. rows: of the table; differing: of these; beyond: the tolerance.

    largest: the largest difference, of pixels in levels of 255, of numbers relative as `TOLERANCE` says; None of other
    values, which are the same or not.
    """

    column: str
    differing: int
    beyond: int
    largest: float | None


@final
@dataclass(frozen=True, slots=True)
class TableCompared:
    """One table of a run. place: the study's folder within the run, "" of the run itself.

    same_bytes: whether every part, or the file, is the same, bit for bit. columns: those whose values differ.
    """

    place: str
    table: str
    rows: int
    same_bytes: bool
    columns: tuple[ColumnCompared, ...] = ()

    @property
    def name(self) -> str:
        """Place and table as one path."""
        return f"{self.place}/{self.table}".strip("/")


@final
@dataclass(frozen=True, slots=True)
class ReproduceNumbers:
    """A rerun compared with its run.

    versions: those that are others; settings: what follows from them in the run's description. left_out: what was not
    rerun or compared, a sentence each.
    """

    run: str
    again: str
    outcome: Outcome
    pixels: int
    tolerance: float
    tables: tuple[TableCompared, ...]
    versions: tuple[Change, ...] = ()
    settings: tuple[Change, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def reproduced(self) -> bool:
        """Whether everything that was compared is the same, or within the tolerances."""
        return self.outcome != "differs"


def compared(
    folders: tuple[Path, Path],
    tables: Sequence[TableCompared],
    changed: Sequence[Change],
    left_out: Sequence[str],
    tolerance: float,
) -> ReproduceNumbers:
    """What the tables come to. folders: of run and rerun; changed: what their descriptions have otherwise."""
    versions = tuple(change for change in changed if change.name.startswith(VERSIONS))
    outcome: Outcome = "within tolerance"
    if all(table.same_bytes for table in tables):
        outcome = "same bytes"
    elif any(column.beyond or (column.differing and not tolerance) for table in tables for column in table.columns):
        outcome = "differs"
    settings = tuple(change for change in changed if change not in versions)
    run, again = map(str, folders)
    pixels = PIXELS if tolerance else 0
    return ReproduceNumbers(run, again, outcome, pixels, tolerance, tuple(tables), versions, settings, tuple(left_out))
