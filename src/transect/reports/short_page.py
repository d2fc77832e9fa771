"""A short page for jobs whose answer is a sentence, a table and a picture: one HTML text without scripts or network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, final

from transect.reports.environment import data_address, render
from transect.runs.folder import write_atomically
from transect.runs.result import JobResult, Numbers_co

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


class ShortPageResult(JobResult[Numbers_co]):
    """A result whose page is short. TITLE: of the page; TABLE: of its table, which has the rows of `rows`."""

    TITLE: ClassVar[str]
    TABLE: ClassVar[str]

    def title(self) -> str:
        """The title of the page."""
        return self.TITLE

    def tables(self) -> Sequence[ShortTable]:
        """The tables of the page."""
        return [ShortTable(self.TABLE, *self.rows())]

    def pictures(self) -> Sequence[Picture]:
        """The pictures of the page; none by default."""
        return ()

    def notes(self) -> Sequence[str]:
        """Lines below the tables; none by default."""
        return ()

    def report(self, path: str | Path) -> Path:
        """Write `report.html` into the folder `path`, and return its path."""
        return write_short_page(path, self.title(), self.headline(), self.tables(), self.pictures(), self.notes())
