"""A short page, for jobs whose answer is a sentence, a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from transect.reports import builder
from transect.reports.blocks import Answer, Page, Part, Picture, TextTable, summary
from transect.runs.result import JobResult, Numbers_co


class ShortPageResult(JobResult[Numbers_co]):
    """A result whose page is short. TITLE: of the page; TABLE: of its table, which has the rows of `rows`."""

    TITLE: ClassVar[str]
    TABLE: ClassVar[str]

    def title(self) -> str:
        """The title of the page."""
        return self.TITLE

    def tables(self) -> Sequence[TextTable]:
        """The tables of the page."""
        return [TextTable(self.TABLE, *self.rows())]

    def pictures(self) -> Sequence[Picture]:
        """The pictures of the page; none by default."""
        return ()

    def notes(self) -> Sequence[str]:
        """Lines below the answer; none by default."""
        return ()

    def page(self) -> Page:
        """What the page shows."""
        parts = [Part(f"table-{number}", table.title, (table,)) for number, table in enumerate(self.tables())]
        if pictures := self.pictures():
            parts.append(Part("pictures", "Pictures", pictures))
        return Page(self.title(), (summary(Answer((self.headline(),), self.notes())), *parts))

    def report(self, path: str | Path) -> Path:
        """Write `<job>.html` and `<job>.json`, as `to_json`, into the folder `path`; return the page's path."""
        return builder.write(self.page(), Path(path) / f"{self.JOB}.html", self.to_json())
