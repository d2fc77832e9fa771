"""What a page offers to save of each figure: the figure as SVG, its numbers as CSV, as links that hold the file.

A page has no script, and its policy lets it load nothing; a link with `download` and a data address needs neither. PNG
is left to `transect export --to figures`: pixels would make a page several times as large.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from markupsafe import Markup

from transect.reports.blocks import TextTable
from transect.reports.drawing.standalone import standalone
from transect.reports.drawing.svg import tag
from transect.reports.markup_tree import Node, read
from transect.runs.csv_files import csv_of_rows

GROUP: Final = "savable"
"""The class of an element around a figure and its links."""
_LONGEST_NAME: Final = 60
_NUMBERS: Final = "data:text/csv;charset=utf-8;base64,"
_ENDS: Final = ("", " low", " high")


@final
@dataclass(frozen=True, slots=True)
class SavedFigure:
    """A figure of a page. name: for its files; svg: stands alone; csv: its numbers, "" where it has none."""

    name: str
    svg: str
    csv: str


def savable(figure: Markup, numbers: TextTable | None = None) -> Markup:
    """The figure with its links below; as it is where it holds no drawing."""
    tree = read(figure)
    if not _drawings(tree):
        return figure
    rows = _rows_of_table(numbers) if numbers is not None else _rows(tree)
    name = _name(tree) if numbers is None else _slug(numbers.title)
    links = [_link(f"{name}.svg", "data:image/svg+xml;base64,", standalone(tree), "figure (SVG)")]
    if rows:
        links.append(_link(f"{name}.csv", _NUMBERS, csv_of_rows(rows), "numbers (CSV)"))
    words = Markup("Save: {}").format(Markup(", ").join(links))
    return tag("div", figure + tag("p", words, class_="save"), class_=GROUP)


def saved_figures(page: str) -> list[SavedFigure]:
    """The figures of a page that `savable` marked, in order, drawn again from the page."""
    found = []
    for group in read(page).find(css=GROUP):
        links = [link.attributes for save in group.find(css="save") for link in save.find(name="a")]
        name = next((_slug(link.get("download", "").removesuffix(".svg")) for link in links), "figure")
        addresses = [link.get("href", "") for link in links]
        encoded = next((one.removeprefix(_NUMBERS) for one in addresses if one.startswith(_NUMBERS)), "")
        found.append(SavedFigure(name, str(standalone(group)), _decoded(encoded)))
    return found


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8")
    except ValueError:
        return ""


def _drawings(tree: Node) -> list[Node]:
    return [one for one in tree.find(name="svg") if one.attributes.get("role") == "img"]


def _name(tree: Node) -> str:
    """Letters, digits and hyphens from the figure's caption."""
    captions = tree.find(name="figcaption") + tree.find(name="title")
    words = next((one.text() for one in captions if one.text().strip()), "figure")
    return _slug(words)


def _slug(words: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return name or "figure"


def _link(name: str, kind: str, content: str, words: str) -> Markup:
    encoded = base64.b64encode(content.encode("utf-8")).decode("ascii")
    return tag("a", words, download=name, href=f"{kind}{encoded}")


def _rows_of_table(table: TextTable) -> list[list[str]]:
    head = [_cell(text) for text in table.headings]
    body = [[_cell(text) for text in row] for row in table.rows]
    return _spread(head, body)


def _cell(text: str) -> Node:
    """A text as a cell; of `Markup` what it holds."""
    return Node("td", children=list(read(text).children) if isinstance(text, Markup) else [text])


def _rows(tree: Node) -> list[list[str]]:
    """The numbers of a figure: of its tables, or else of the rows of its dot plots."""
    found: list[list[str]] = []
    for table in tree.find(name="table"):
        head = [node for row in table.find(name="thead")[:1] for node in row.find(name="th")]
        body = [row.elements for part in table.find(name="tbody") for row in part.find(name="tr")]
        found += _spread(head, body)
    return found or _dotted(tree)


def _dotted(tree: Node) -> list[list[str]]:
    rows = [
        [row.find(css="label")[0], row.find(css="value")[0]]
        for row in tree.find(css="effect")
        if "axis" not in row.classes and row.find(css="label") and row.find(css="value")
    ]
    return _spread([Node("th", children=["row"]), Node("th", children=["value"])], rows) if rows else []


def _spread(head: Sequence[Node], body: Sequence[Sequence[Node]]) -> list[list[str]]:
    """Texts of a table, with a column for each number of a cell: an estimate, its lower and its upper end."""
    numbers = [
        [[str(data.attributes.get("value", "")) for data in cell.find(name="data")] for cell in row] for row in body
    ]
    widths = [max([len(row[at]) for row in numbers if at < len(row)], default=0) for at in range(len(head))]
    headings = [name for node, width in zip(head, widths, strict=True) for name in _headings(node.text(), width)]
    rows = []
    for row, found in zip(body, numbers, strict=True):
        cells: list[str] = []
        for at, width in enumerate(widths[: len(row)]):
            values = found[at] if found[at] else [" ".join(row[at].text().split())]
            cells += (values + [""] * width)[: max(width, 1)]
        rows.append(cells + [""] * (len(headings) - len(cells)))
    return [headings, *rows]


def _headings(text: str, width: int) -> list[str]:
    """The names of the columns of one that holds this many numbers."""
    text = " ".join(text.split())
    if width == 2:
        return [text + end for end in _ENDS[1:]]
    if width == 3:
        return [text + end for end in _ENDS]
    return [text] if width < 2 else [f"{text} {number + 1}" for number in range(width)]
