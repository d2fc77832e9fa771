"""What a page offers to save of each figure: the figure as SVG, its numbers as CSV, as links that hold the file.

A page has no script, and its policy lets it load nothing; a link with `download` and a data address needs neither.
On a page a drawing's axes are HTML around an SVG whose positions are per cent; a saved figure is one picture in pixels
that every program shows, drawn from the same record. PNG is left to `transect export --to figures`, which takes the
files of a page's links: pixels would make a page several times as large.
"""

from __future__ import annotations

import base64
import re
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias, final

from markupsafe import Markup

from transect.errors import BadInput
from transect.reports.blocks import Axis, DotPlot, Heading, Plot, Plots, Row, TextTable
from transect.reports.columns import AnyTable, Table
from transect.reports.drawing.svg import PLOT_HEIGHT, SERIES, tag
from transect.runs.table_inputs import csv_of_rows

Figure: TypeAlias = "DotPlot | Plot | Plots"

_RULE: Final = re.compile(r"([^{}@]+)\{([^{}]*)\}")
_DRAWS: Final = re.compile(r"(?:^|;)\s*(?:fill|stroke|opacity)")
_PAGE: Final = re.compile(r"::|:not|\bsvg\b")
"""Selectors of what a figure that stands alone does not have."""
_CHANNELS: Final = re.compile(r"rgb\((\d+) (\d+) (\d+)\)")


@cache
def _sheet() -> str:
    text = files("transect.reports").joinpath("templates/style.css").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@cache
def colors() -> dict[str, str]:
    """The colors of the light style sheet by name, as "ink", "soft", "paper", and "s0" to "s4" of the series."""
    text = _sheet()
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", text[: text.index("@media")]))


@cache
def rules() -> tuple[tuple[str, str], ...]:
    """Selector and declarations of each rule that fills or strokes, but those of the marks of series."""
    text = _sheet()
    screen = text[text.index("* { box-sizing") : text.index("@media (min-width")]
    found = [(selector.strip(), " ".join(body.split())) for selector, body in _RULE.findall(screen)]
    drawn = [(selector, body) for selector, body in found if _DRAWS.search(body) and not _PAGE.search(selector)]
    return tuple((selector, _plain(body)) for rule in drawn for selector, body in _of_series(*rule))


def _of_series(selector: str, body: str) -> list[tuple[str, str]]:
    """A rule in the color of a series, as a rule for each series."""
    if "var(--s)" not in body:
        return [(selector, body)]
    return [
        (selector.replace(".series", f".s{number}"), body.replace("var(--s)", f"var(--s{number})"))
        for number in range(SERIES)
    ]


def _plain(body: str) -> str:
    filled = re.sub(r"var\(--([\w-]+)\)", lambda name: colors()[name.group(1)], body)
    return _CHANNELS.sub(lambda rgb: "#" + "".join(f"{int(value):02x}" for value in rgb.groups()), filled)


_LENGTHS: Final = {
    "line": ("x1", "x2", "y1", "y2"),
    "rect": ("x", "y", "width", "height"),
    "circle": ("cx", "cy", "r"),
    "text": ("x", "y"),
}
_ACROSS: Final = frozenset({"x", "x1", "x2", "cx", "width"})
_KEPT: Final = ("class", "d", "dy", "fill-opacity", "text-anchor")


@final
@dataclass(frozen=True, slots=True)
class _Box:
    """What lengths in per cent are of, and how points of the box's own units are stretched."""

    width: float
    height: float
    across: float = 1.0
    down: float = 1.0
    series: int | None = None


_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parsed(drawing: Markup) -> ET.Element:
    """What `drawing.svg` drew, below an element of its own."""
    text = f"<div>{drawing}</div>".replace("<wbr>", "").replace("&nbsp;", " ")  # what HTML has and XML has not
    text = _NOT_XML.sub("\ufffd", text)
    return ET.fromstring(text)  # noqa: S314 - it is made here


def _classes(element: ET.Element) -> list[str]:
    return element.get("class", "").split()


def _with(element: ET.Element, css: str) -> Iterator[ET.Element]:
    """The elements within that have a class."""
    return (each for each in element.iter() if css in _classes(each))


def _words(text: str) -> str:
    """A text in one line, without markup."""
    return " ".join((text.striptags() if isinstance(text, Markup) else text).split())


def flattened(drawing: ET.Element, x: float, y: float, width: float, height: float, series: str = "") -> Markup:
    """The drawing in this box. series: the class of an element around it, which gives its marks their color."""
    classes = f"{drawing.get('class', '')} {series}".strip()
    inside = _children(drawing, _Box(width, height, series=_series(series)))
    return tag("g", inside, transform=f"translate({round(x, 2)} {round(y, 2)})", class_=classes or None)


def _children(element: ET.Element, box: _Box) -> Markup:
    return Markup("").join(_element(child, box) for child in element)


def _element(element: ET.Element, box: _Box) -> Markup:
    number = _series(element.get("class", ""))
    inside = box if number is None else replace(box, series=number)
    if element.tag == "g":
        return tag("g", _children(element, inside), class_=element.get("class"))
    if element.tag == "svg":
        return _nested(element, inside)
    return Markup() if element.tag in ("title", "desc") else _shape(element, inside)


def _nested(element: ET.Element, box: _Box) -> Markup:
    """A stretched box, or a mark of a series at a position."""
    if "preserveAspectRatio" in element.attrib:
        *_, wide, high = map(float, element.attrib["viewBox"].split())
        return _children(element, replace(box, across=box.width / wide, down=box.height / high))
    x, y = _pixels(element.attrib["x"], box.width), _pixels(element.attrib["y"], box.height)
    fill = colors()["accent" if box.series is None else f"s{box.series}"]
    place = f"translate({round(x, 2)} {round(y, 2)})"
    return tag("g", _children(element, box), transform=place, fill=fill, stroke=colors()["paper"])


def _shape(element: ET.Element, box: _Box) -> Markup:
    found: dict[str, object] = {
        name: round(_pixels(element.attrib[name], box.width if name in _ACROSS else box.height), 2)
        for name in _LENGTHS.get(element.tag, ())
        if name in element.attrib
    }
    if "points" in element.attrib:
        pairs = (pair.split(",") for pair in element.attrib["points"].split())
        found["points"] = " ".join(
            f"{round(float(x) * box.across, 2):g},{round(float(y) * box.down, 2):g}" for x, y in pairs
        )
    for name in _KEPT:
        if name in element.attrib:
            found["class_" if name == "class" else name.replace("-", "_")] = element.attrib[name]
    if element.tag == "text":
        found["font_size"] = 11
    return tag(element.tag, element.text or "", **found)


def _pixels(text: str, whole: float) -> float:
    """A length: pixels, or per cent of a whole."""
    return float(text.removesuffix("%")) * whole / 100 if text.endswith("%") else float(text)


def _series(classes: str) -> int | None:
    found = re.search(r"\bs([0-4])\b", classes)
    return int(found[1]) if found else None


WIDTH: Final = 720
"""Pixels of a figure's width."""
_MARGIN: Final = 12
FONT: Final = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_PER_LETTER: Final = 0.53
"""Widths of a letter in font sizes, on average."""
_GAP: Final = 10
_LABEL, _VALUE, _AXIS = 0.27, 0.3, 44


@final
@dataclass(slots=True)
class _Canvas:
    """What was drawn: elements, and the height that is used."""

    width: float
    left: float = 0.0
    y: float = 0.0
    elements: list[Markup] = field(default_factory=list)

    def write(self, text: str, *, size: float = 13, bold: bool = False, soft: bool = False) -> None:
        """Lines of text below what is there."""
        self.y += self.put(text, self.left, self.y, self.width, size=size, bold=bold, soft=soft)

    def put(
        self, text: str, x: float, y: float, width: float, *, size: float = 13, bold: bool = False, soft: bool = False
    ) -> float:
        """Lines of text with their upper left corner at a place; returns their height."""
        lines = wrapped(text, width, size)
        for place, line in enumerate(lines):
            self.elements.append(letters(line, x, y + size * (1.0 + 1.35 * place), size, bold=bold, soft=soft))
        return 1.35 * size * len(lines)


def wrapped(text: str, width: float, size: float) -> list[str]:
    """The text in lines of about this many pixels."""
    return textwrap.wrap(" ".join(text.split()), max(int(width / (_PER_LETTER * size)), 4))


def letters(
    text: str, x: float, y: float, size: float = 12, *, bold: bool = False, soft: bool = False, anchor: str = "start"
) -> Markup:
    """A line of text whose baseline begins (or has its middle or end) at a place."""
    return tag(
        "text",
        text,
        x=round(x, 2),
        y=round(y, 2),
        font_size=size,
        font_weight="bold" if bold else None,
        fill=colors()["soft" if soft else "ink"],
        text_anchor=None if anchor == "start" else anchor,
    )


def standalone(figure: Figure) -> Markup:
    """The SVG of a figure, or of several under one heading; on white, with its title for those who do not see it."""
    canvas = _Canvas(WIDTH - 2 * _MARGIN, _MARGIN, _MARGIN)
    _draw(canvas, figure)
    height, content = round(canvas.y + _MARGIN), Markup("\n").join(canvas.elements)
    ground = tag("rect", width=WIDTH, height=height, fill=colors()["paper"])
    classes = {name for found in re.findall(r'class="([^"]*)"', content) for name in found.split()}
    # The rules about drawings that have these classes: one alternative of their selectors names no other.
    style = " ".join(
        f"{selector} {{ {body} }}"
        for selector, body in rules()
        if any("." in one and set(re.findall(r"\.([\w-]+)", one)) <= classes for one in selector.split(","))
    )
    head = tag("title", _title(figure)) + tag("style", Markup(style))  # noqa: S704 - our own style sheet
    return tag(
        "svg",
        Markup("\n").join([head, ground, content]),
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=height,
        viewBox=f"0 0 {WIDTH} {height}",
        font_family=FONT,
    )


def _title(figure: Figure) -> str:
    """What the figure is called: its caption, or that of the first of several."""
    if caption := _words(figure.caption) or (_title(figure.plots[0]) if isinstance(figure, Plots) else ""):
        return caption
    return "Figure"


def _draw(canvas: _Canvas, figure: Figure) -> None:
    _caption(canvas, figure.caption)
    _legend(canvas, figure.key)
    match figure:
        case DotPlot():
            axis = [Axis(figure.ticks, figure.unit)] if figure.ticks else []
            for row in (*axis, *figure.rows):
                _row(canvas, row)
        case Plot():
            _plot(canvas, figure)
        case Plots():
            _grid(canvas, figure.plots)


def _caption(canvas: _Canvas, caption: str) -> None:
    """A caption, whose first words may stand out, in two lines."""
    strong = re.match(r"\s*<(strong|b)>(.*?)</\1>(.*)", caption, re.DOTALL) if isinstance(caption, Markup) else None
    if strong is None:
        canvas.write(_words(caption), size=14, bold=True)
    else:
        canvas.write(Markup(strong[2]).striptags(), size=14, bold=True)  # noqa: S704 - a part of markup
        canvas.write(Markup(strong[3]).striptags().strip(" ,"), size=12, soft=True)  # noqa: S704 - as above
    canvas.y += 4 if caption else 0


def _row(canvas: _Canvas, row: Row | Heading | Axis) -> None:
    """A row of a dot plot: its label, its track, its numbers; of an axis the ticks."""
    label_width, value_width = _LABEL * canvas.width, _VALUE * canvas.width
    left = canvas.left + label_width + _GAP
    width = canvas.width - label_width - value_width - 2 * _GAP
    match row:
        case Heading():
            canvas.write(_words(row.text), bold=True)
            canvas.y += 4
        case Axis():
            for at, text, _ in row.ticks:
                place = left + at * (width / 100)
                canvas.elements.append(letters(_words(text), place, canvas.y + 12, 11, soft=True, anchor="middle"))
            canvas.y += 20
        case Row():
            label_height = canvas.put(_words(row.label), canvas.left, canvas.y + 3, label_width)
            value = _words(row.value)
            value_height = canvas.put(value, left + width + _GAP, canvas.y + 3, value_width, size=12)
            height = max(label_height, value_height, 20) + 6
            for track in _drawings(parsed(row.drawing)):
                canvas.elements.append(flattened(track, left, canvas.y, width, height))
            canvas.y += height


def _drawings(parent: ET.Element) -> list[ET.Element]:
    """The drawings in an element, without those within them."""
    return [each for each in parent.iter("svg") if each.get("role") == "img"]


def _plot(canvas: _Canvas, plot: Plot) -> None:
    """A drawing with its axes left of it and below."""
    tree = parsed(plot.drawing)
    for drawing in _drawings(tree):
        ticks_up, below = (list(_with(tree, css)) for css in ("y-axis", "x-axis"))
        has_axes = bool(ticks_up or below)
        room = canvas.width - (_AXIS + _GAP if has_axes else 0)
        width = min(_pixels(drawing.get("width", "100%"), room), room)
        height = _pixels(drawing.get("height", f"{PLOT_HEIGHT}"), PLOT_HEIGHT)
        left, top = canvas.left + (_AXIS if has_axes else 0), canvas.y + (8 if has_axes else 0)
        for tick in (tick for axis in ticks_up for tick in _with(axis, "tick")):
            at = top + _place(tick, height)
            canvas.elements.append(letters(_said(tick), left - 8, at + 4, 11, soft=True, anchor="end"))
        canvas.elements.append(flattened(drawing, left, top, width, height))
        canvas.y = top + height + 6
        for axis in below:
            canvas.y += _below(canvas, axis, left, width)
    for line in parsed(plot.below).iter():
        if line.tag in ("p", "li"):
            canvas.write(_said(line), size=12, soft="fine" in _classes(line))
            canvas.y += 4
    if plot.across:
        canvas.write(_words(plot.across), soft=True, size=12)
        canvas.y += 4


def _said(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _place(tick: ET.Element, whole: float) -> float:
    """Pixels from the start: "left:33%" or "top:12px" of a length."""
    return _pixels(tick.get("style", ":0").partition(":")[2].removesuffix("px"), whole)


def _below(canvas: _Canvas, axis: ET.Element, left: float, width: float) -> float:
    """Ticks below a plot, or labels that share its width; returns their height."""
    ticks = list(_with(axis, "tick"))
    if "bands" not in _classes(axis):
        for tick in ticks:
            at = left + _place(tick, width)
            canvas.elements.append(letters(_said(tick), at, canvas.y + 12, 11, soft=True, anchor="middle"))
        return 22
    room, most = width / max(len(ticks), 1), 1
    for place, tick in enumerate(ticks):
        lines = wrapped(_said(tick), room, 11)
        most = max(most, len(lines))
        for number, line in enumerate(lines):
            x, y = left + (place + 0.5) * room, canvas.y + 12 + 14 * number
            canvas.elements.append(letters(line, x, y, 11, soft=True, anchor="middle"))
    return 8 + 14 * most


def _legend(canvas: _Canvas, key: Markup) -> None:
    """The key of a figure, as many entries a line as there is room."""
    entries = list(_with(parsed(key), "series"))
    x = canvas.left
    for entry in entries:
        text = _said(entry)
        needed = 40 + _PER_LETTER * 12 * len(text) + 16
        if x > canvas.left and x + needed > canvas.left + canvas.width:
            x, canvas.y = canvas.left, canvas.y + 20
        for mark in entry.findall("svg")[:1]:
            canvas.elements.append(flattened(mark, x, canvas.y + 2, 30, 14, entry.get("class", "")))
        canvas.elements.append(letters(text, x + 36, canvas.y + 13))
        x += needed
    canvas.y += 26 if entries else 0


def _grid(canvas: _Canvas, plots: Sequence[Plot]) -> None:
    """Figures beside each other: two in a row, and one where there is only one."""
    columns = 1 if len(plots) < 2 else 2
    width = (canvas.width - (columns - 1) * 2 * _GAP) / columns
    for row in (plots[start : start + columns] for start in range(0, len(plots), columns)):
        lowest = canvas.y
        for place, plot in enumerate(row):
            part = _Canvas(width, canvas.left + place * (width + 2 * _GAP), canvas.y)
            _draw(part, plot)
            canvas.elements += part.elements
            lowest = max(lowest, part.y)
        canvas.y = lowest + _GAP


_LONGEST_NAME: Final = 60
_SVG, _CSV = "data:image/svg+xml;base64,", "data:text/csv;charset=utf-8;base64,"
_SAVED: Final = re.compile(rf'<a download="([^"]*)\.(?:svg|csv)" href="({re.escape(_SVG)}|{re.escape(_CSV)})([^"]*)"')
_MARKED: Final = re.compile(r'<data\b[^>]*\bvalue="([^"]*)"')
"""The numbers that markup holds."""
_ENDS: Final = ("", " low", " high")


@final
@dataclass(frozen=True, slots=True)
class SavedFigure:
    """A figure of a page. name: for its files; svg: stands alone; csv: its numbers, "" where it has none."""

    name: str
    svg: str
    csv: str


def savable(drawn: Markup, figure: Figure) -> Markup:
    """The figure, as it is drawn on the page, with its links below; as it is where it holds no drawing."""
    if 'role="img"' not in drawn:
        return drawn
    numbers = figure.numbers
    rows = _rows_of(figure) if numbers is None else _rows_of_table(numbers)
    name = _slug(_title(figure) if numbers is None else _words(numbers.title))
    links = [_link(f"{name}.svg", _SVG, standalone(figure), "figure (SVG)")]
    if rows:
        links.append(_link(f"{name}.csv", _CSV, csv_of_rows(rows), "numbers (CSV)"))
    words = Markup("Save: {}").format(Markup(", ").join(links))
    return tag("div", drawn + tag("p", words, class_="save"), class_="savable")


def saved_figures(page: str) -> list[SavedFigure]:
    """The figures that the links of a page hold, in order. Raises BadInput for one that no page of Transect has."""
    found: list[SavedFigure] = []
    for name, kind, encoded in _SAVED.findall(page):
        try:
            text = base64.b64decode(encoded, validate=True).decode("utf-8")
        except ValueError:
            raise BadInput(f"{name}: expected a Transect figure, got a broken one; write the page again") from None
        if kind == _CSV and found:
            found[-1] = replace(found[-1], csv=text)
        elif kind == _SVG:
            _check(name, text)
            found.append(SavedFigure(_slug(name), text, ""))
    return found


_ELEMENTS: Final = frozenset(
    {"svg", "g", "title", "style", "text", "line", "rect", "circle", "path", "polyline", "polygon"}
)


def _check(name: str, svg: str) -> None:
    """Raises BadInput for a picture of another program, which may load files or run a script."""
    try:
        found = list(ET.fromstring(svg).iter()) if not {"<!", "<?"} & {svg[i : i + 2] for i in range(len(svg))} else []  # noqa: S314 - without declarations
    except ET.ParseError:
        found = []
    kinds = {each.tag.rpartition("}")[2] for each in found}
    texts = [value.lower() for each in found for value in (*each.attrib.values(), each.text or "")]
    styles = "".join(each.text or "" for each in found if each.tag.endswith("style"))
    names = {key for each in found for key in each.attrib}
    unsafe = any(key.startswith("on") or key.endswith("href") for key in names) or any("url(" in text for text in texts)
    unsafe = unsafe or "\\" in styles or "@import" in styles.lower()
    if not found or unsafe or kinds - _ELEMENTS:
        raise BadInput(f"{name}: expected a Transect figure, got a different picture; write the page again")


def _slug(words: str) -> str:
    """A name for files: letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return name or "figure"


def _link(name: str, kind: str, content: str, words: str) -> Markup:
    encoded = base64.b64encode(content.encode("utf-8")).decode("ascii")
    return tag("a", words, download=name, href=f"{kind}{encoded}")


def _rows_of_table(table: TextTable | AnyTable) -> list[list[str]]:
    """The texts of a table, whose markup holds the values; of a table of records without markup its values."""
    headings, texts = (table.headings, table.rows) if isinstance(table, TextTable) else table.texts()
    if isinstance(table, Table) and not any(isinstance(text, Markup) for row in texts for text in row):
        found = table.arrow()
        rows = (["" if x is None or x != x else str(x) for x in row.values()] for row in found.to_pylist())
        return [found.column_names, *rows] if len(found) else []
    return _spread(headings, texts)


def _rows_of(figure: Figure) -> list[list[str]]:
    """The numbers of a figure that gives none: of the rows of a dot plot."""
    rows = (
        [(row.label, row.value) for row in figure.rows if isinstance(row, Row)] if isinstance(figure, DotPlot) else []
    )
    return _spread(("row", "value"), rows) if rows else []


def _spread(headings: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Texts of a table, with a column for each number of a cell: an estimate, its lower and its upper end."""
    numbers = [[_MARKED.findall(cell) if isinstance(cell, Markup) else [] for cell in row] for row in texts]
    widths = [max((len(row[at]) for row in numbers), default=0) for at in range(len(headings))]
    named = [name for text, width in zip(headings, widths, strict=True) for name in _headings(_words(text), width)]
    rows = []
    for row, found in zip(texts, numbers, strict=True):
        cells: list[str] = []
        for at, width in enumerate(widths):
            values = found[at] or [_words(row[at])]
            cells += (values + [""] * width)[: max(width, 1)]
        rows.append(cells)
    return [named, *rows]


def _headings(text: str, width: int) -> list[str]:
    """The names of the columns of one that holds this many numbers."""
    if width == 2:
        return [text + end for end in _ENDS[1:]]
    if width == 3:
        return [text + end for end in _ENDS]
    return [text] if width < 2 else [f"{text} {number + 1}" for number in range(width)]
