"""A short page for jobs whose answer is a sentence, a table and a picture: one HTML text without scripts or network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from transect.reports.environment import data_address, render
from transect.runs.folder import write_atomically

_NAME: Final = "report.html"


@final
@dataclass(frozen=True, slots=True)
class ShortTable:
    """A table of texts under a heading."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG with what it shows in words."""

    png: bytes
    caption: str

    @property
    def address(self) -> str:
        """The picture as a data URI."""
        return data_address(self.png)


def write_short_page(
    folder: str | Path,
    title: str,
    answer: str,
    tables: Sequence[ShortTable],
    pictures: Sequence[Picture] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write `report.html` into a folder and return its path; the same content gives the same bytes."""
    page = render("short", title=title, answer=answer, tables=tables, pictures=pictures, notes=notes)
    path = Path(folder) / _NAME
    write_atomically(path, page.encode())
    return path
