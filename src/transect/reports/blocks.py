"""What the page of a job is made of: frozen records without layout, which `builder` turns into HTML.

A text is escaped unless it is `Markup`. A block that is `Markup` already is a drawing of
`transect.reports.drawing`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, final

from markupsafe import Markup

from transect.reports.columns import AnyTable, Item
from transect.reports.drawing.svg import Tick

NOTHING: Final = Markup()


@final
@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph. style: fine (small), note (set off), notice (a warning), key (of a figure)."""

    text: str
    style: Literal["", "fine", "note", "notice", "key"] = ""


@final
@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a part of the page."""

    text: str
    level: Literal[3, 4] = 3


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the page, set off: what shows it in one look, sentences, remarks in small type."""

    sentences: Sequence[str]
    remarks: Sequence[str] = ()
    blocks: Sequence[Block] = ()


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values: beside each other, or below each other as settings of a method."""

    items: Sequence[tuple[str, str]]
    methods: bool = False


@final
@dataclass(frozen=True, slots=True)
class Bullets:
    """A list, by default of the works cited."""

    items: Sequence[str]
    style: str = "works"


@final
@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts. numbers: columns that are aligned to the right; names: the column that names the row, or -1.

    caption: shown above the table; the title alone is read by screen readers. shades: of each cell a number from -1 to
    1 whose size is its shade and whose sign its color, or None; () for no shade.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    numbers: Collection[int] = ()
    names: int = 0
    shades: Sequence[Sequence[float | None]] = ()

    def texts(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The headings and rows without markup."""
        rows = [[cell.striptags() if isinstance(cell, Markup) else cell for cell in row] for row in self.rows]
        return self.headings, rows


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A row of a dot plot: what it is about, its drawing, its numbers. strong: whether its number stands out."""

    label: str
    drawing: Markup
    value: str
    strong: bool = False


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """The labels of an axis. unit: text at its right end."""

    ticks: Sequence[Tick]
    unit: str = ""


@final
@dataclass(frozen=True, slots=True)
class DotPlot:
    """Rows of a common axis, or of several, each followed by its rows, under headings.

    unit: text at the right end of the first axis. style: a class of the style sheet. numbers: what is saved as its
    numbers, by default the rows. key: of its marks.
    """

    caption: str
    ticks: Sequence[Tick]
    rows: Sequence[Row | Heading | Axis]
    unit: str = ""
    style: str = ""
    numbers: TextTable | AnyTable | None = None
    key: Markup = NOTHING


@final
@dataclass(frozen=True, slots=True)
class Dots(Generic[Item]):
    """Shares of records as dots with intervals, in per cent. name: of the drawings, once on a page.

    value: of a record what has `estimate`, `low`, `high` (NaN where there is none) and `reason`.
    """

    caption: str
    name: str
    records: Sequence[Item]
    label: Callable[[Item], str]
    value: Callable[[Item], Any]


@final
@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with a caption above and the name of its axis below. numbers: what is saved as its numbers.

    key: of its lines; below: what stands under it; style: of a panel among others.
    """

    caption: str
    drawing: Markup
    across: str = ""
    numbers: TextTable | AnyTable | None = None
    key: Markup = NOTHING
    below: Markup = NOTHING
    style: str = "panel"


@final
@dataclass(frozen=True, slots=True)
class Plots:
    """Drawings beside each other, as many as the width allows. numbers: what is saved as their numbers; key:
    of their lines; caption: of all of them.
    """

    plots: Sequence[Plot]
    style: str = "panels"
    numbers: TextTable | AnyTable | None = None
    key: Markup = NOTHING
    caption: str = ""


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG with what it shows in words."""

    png: bytes
    caption: str


@final
@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks behind a summary."""

    summary: str
    blocks: Sequence[Block]


@final
@dataclass(frozen=True, slots=True)
class Subsection:
    """Blocks under a heading of their own within a part. contents: its name among the contents; "" without an entry."""

    name: str
    title: str
    blocks: Sequence[Block]
    contents: str = ""


@final
@dataclass(frozen=True, slots=True)
class Secondary:
    """Blocks that stand on the page of all numbers, under the headings that are around them here."""

    blocks: Sequence[Block]


Block = (
    Paragraph
    | Heading
    | Answer
    | Facts
    | Bullets
    | TextTable
    | AnyTable
    | DotPlot
    | Dots[Any]
    | Plot
    | Plots
    | Picture
    | Folded
    | Subsection
    | Secondary
    | Markup
)


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page under a heading, with an entry in the contents.

    contents: a shorter name there; within: names and words of the places below it, beside those of its subsections.
    study: begins a sheet of paper. folded: closed until it is asked for, by its heading or by a link; open on paper.
    """

    name: str
    title: str
    blocks: Sequence[Block]
    contents: str = ""
    within: Sequence[tuple[str, str]] = ()
    study: bool = False
    folded: bool = False

    @property
    def places(self) -> list[tuple[str, str]]:
        """Names and words of the places below it."""
        named = [(each.name, each.contents) for each in self.blocks if isinstance(each, Subsection) and each.contents]
        return [*self.within, *named]


@final
@dataclass(frozen=True, slots=True)
class Page:
    """A page: the title of the window, its heading, the question that it answers, and its parts.

    cautions: paragraphs between the heading and the question. style: rules of this page alone, as `Markup`. footer:
    small type at the end.
    """

    title: str
    parts: Sequence[Part]
    heading: str = ""
    question: str = ""
    cautions: Sequence[Block] = ()
    style: str = ""
    footer: str = ""


def summary(answer: Answer, *blocks: Block) -> Part:
    """The first part of a page: its answer and what to know before reading on."""
    return Part("summary", "Summary", (answer, *blocks))
