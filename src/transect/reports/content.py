"""What is shown of a job's numbers, on its page and on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import pyarrow as pa
from markupsafe import Markup

from transect.console.results import Block
from transect.reports import blocks
from transect.reports.blocks import Answer, Bullets, Page, Paragraph, Part, summary
from transect.reports.columns import AnyTable


@final
@dataclass(frozen=True, slots=True)
class Content:
    """What is shown of a job's numbers.

    answer: sentences, the first of which is the headline; question: that the page answers. picture: shows the answer
    in one look. remarks: how to read it; notes: what to know before you use the numbers. table: the main one; rows: the
    result's, by default the same, or what reads them. parts: of the page, before the table, or what makes them where
    that takes long; after: below the table, which is left out where a part has it. first: blocks of the first screen;
    style: rules of this page alone. sources: works cited. terminal: lines and tables there, by default the headline
    and the table; warnings: below them.
    """

    title: str
    answer: Sequence[str]
    table: AnyTable | None = None
    rows: AnyTable | pa.Table | Callable[[], pa.Table] | None = None
    question: str = ""
    picture: Sequence[blocks.Block] = ()
    remarks: Sequence[str] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    first: Sequence[blocks.Block] = ()
    parts: Sequence[Part] | Callable[[], Sequence[Part]] = ()
    after: Sequence[Part] = ()
    sources: Sequence[str] = ()
    terminal: Sequence[str | AnyTable] | None = None
    style: str = ""

    def page(self) -> Page:
        """The page: the answer, what to know, the parts, the table, what stands after it, the sources."""
        said = [*self.warnings, *self.notes]
        answer = Answer(self.answer, self.remarks, self.picture)
        first = summary(answer, *self.first, *(Paragraph(text, "note") for text in said))
        own = self.parts() if callable(self.parts) else self.parts
        shown = any(_has(part.blocks, self.table) for part in (*own, *self.after))
        table = [Part("table", self.table.title, (self.table,))] if self.table and not shown else []
        sources = [Part("sources", "Sources", (Bullets(self.sources),))] if self.sources else []
        parts = (part for part in (first, *own, *table, *self.after, *sources) if part.blocks)
        return Page(self.title, tuple(parts), question=self.question, style=self.style)

    @property
    def headline(self) -> str:
        """The first sentence of the answer, without markup."""
        first = self.answer[0]
        return (first.striptags() if isinstance(first, Markup) else first).removesuffix(".")

    def lines(self) -> list[Block]:
        """What the terminal shows."""
        shown = self.terminal
        if shown is None:
            shown = [self.headline, *([self.table] if self.table else [])]
        return [each if isinstance(each, str) else each.texts() for each in shown]


def _has(shown: Sequence[blocks.Block], table: AnyTable | None) -> bool:
    """Whether a table is among some blocks, or folded within them."""
    return any(
        one is table or (isinstance(one, blocks.Folded | blocks.Secondary) and _has(one.blocks, table)) for one in shown
    )
