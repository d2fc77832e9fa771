"""What a page offers to save of each figure: the figure as SVG, its numbers as CSV, as links that hold the file.

A page has no script, and its policy lets it load nothing; a link with `download` and a data address needs neither.
On a page a drawing's axes are HTML around an SVG whose positions are per cent; a saved figure is one picture that
every program shows. The page may be another's: only elements and attributes that drawings consist of are kept. PNG
is left to `transect export --to figures`: pixels would make a page several times as large.
"""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any, Final, final

from markupsafe import Markup

from transect.reports.blocks import TextTable
from transect.reports.columns import Table
from transect.reports.drawing.svg import PLOT_HEIGHT, SERIES, tag
from transect.runs.table_inputs import csv_of_rows

_BLOCKS: Final = frozenset(
    {"figcaption", "p", "td", "th", "li", "caption", "h2", "h3", "h4", "div", "figure", "b", "strong", "data"}
)
"""Elements whose words stand in one line."""
_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})


@final
@dataclass(slots=True)
class Node:
    """An element: its name and attributes, as the parser gives them in lower case, and what it holds."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        """The names of its class attribute."""
        return self.attributes.get("class", "").split()

    @property
    def elements(self) -> list[Node]:
        """The elements directly in it."""
        return [child for child in self.children if isinstance(child, Node)]

    def text(self, without: tuple[str, ...] = ()) -> str:
        """All its words in one line. without: names of elements whose words do not count."""
        parts = [
            child if isinstance(child, str) else "" if child.name in without else child.text(without)
            for child in self.children
        ]
        return " ".join("".join(parts).split()) if self.name in _BLOCKS else "".join(parts)

    def walk(self) -> Iterator[Node]:
        """It and every element within, in the order of the page."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += reversed(node.elements)

    def find(self, *, name: str = "", css: str = "") -> list[Node]:
        """The elements within of this name and class."""
        return [
            node
            for node in self.walk()
            if node is not self and name in ("", node.name) and (not css or css in node.classes)
        ]


@final
class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            last = self._open[-1].children[-1]
            if isinstance(last, Node):
                self._open.append(last)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        for place in range(len(self._open) - 1, 0, -1):
            if self._open[place].name == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def read(html: str) -> Node:
    """The tree of a text of HTML, below a nameless root."""
    reader = _Reader()
    reader.feed(str(html))  # a slice of `Markup` is `Markup` again, which takes half of the time
    reader.close()
    return reader.root


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


def style_of(classes: set[str]) -> str:
    """The rules about drawings that have these classes: one alternative of their selectors names no other."""
    return " ".join(
        f"{selector} {{ {body} }}"
        for selector, body in rules()
        if any("." in one and set(re.findall(r"\.([\w-]+)", one)) <= classes for one in selector.split(","))
    )


_SHAPES: Final = {
    "line": ("x1", "x2", "y1", "y2"),
    "rect": ("x", "y", "width", "height"),
    "circle": ("cx", "cy", "r"),
    "text": ("x", "y"),
    "polyline": (),
    "polygon": (),
    "path": (),
}
_KEPT: Final = ("class", "d", "dy", "fill-opacity", "text-anchor")
_ACROSS: Final = frozenset({"x", "x1", "x2", "cx", "width"})
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?%?|-?\.\d+%?")
_PATH: Final = re.compile(r"[MmLlHhVvZzCcSsQqTtAa0-9eE ,.+\-]*")
_NAMES: Final = re.compile(r"[\w -]*")
_MOST: Final = 100_000.0
"""Pixels of any length: others are no drawing of a page."""


@final
@dataclass(frozen=True, slots=True)
class _Box:
    """What lengths in per cent are of, and how points of the box's own units are stretched."""

    width: float
    height: float
    across: float = 1.0
    down: float = 1.0
    series: int | None = None


def size_of(drawing: Node, width: float) -> tuple[float, float]:
    """Width and height in pixels of a page's SVG in a place this wide."""
    stated = drawing.attributes.get("width", "100%")
    wide = min(_pixels(stated, width), width) if stated else width
    high = drawing.attributes.get("height", "")
    return wide, _pixels(high, PLOT_HEIGHT) if high else PLOT_HEIGHT


def flattened(drawing: Node, x: float, y: float, width: float, height: float, series: Sequence[str] = ()) -> Markup:
    """The drawing in this box. series: classes of an element around it, which give its marks their color."""
    box = _Box(width, height, series=_series(series))
    css = _classes(Node("", {"class": " ".join([*drawing.classes, *series])}))
    place = f"translate({round(x, 2)} {round(y, 2)})"
    return tag("g", _children(drawing, box), transform=place, class_=css)


def _children(node: Node, box: _Box) -> Markup:
    return Markup("").join(_element(child, box) for child in node.elements)


def _element(node: Node, box: _Box) -> Markup:
    number = _series(node.classes)
    inside = box if number is None else replace(box, series=number)
    if node.name == "g":
        return tag("g", _children(node, inside), class_=_classes(node))
    if node.name == "svg":
        return _nested(node, inside)
    return _shape(node, inside) if node.name in _SHAPES else Markup()


def _nested(node: Node, box: _Box) -> Markup:
    """A stretched box, or a mark of a series at a position."""
    if node.attributes.get("preserveaspectratio") == "none":
        numbers = [float(part) for part in _NUMBER.findall(node.attributes.get("viewbox", ""))]
        wide, high = numbers[2:4] if len(numbers) == 4 and min(numbers[2:4]) > 0 else (100.0, 100.0)
        return _children(node, replace(box, across=box.width / wide, down=box.height / high))
    x, y = _pixels(node.attributes.get("x", "0"), box.width), _pixels(node.attributes.get("y", "0"), box.height)
    fill = colors()[f"s{box.series}"] if box.series is not None else colors()["accent"]
    place = f"translate({round(x, 2)} {round(y, 2)})"
    return tag("g", _children(node, box), transform=place, fill=fill, stroke=colors()["paper"])


def _shape(node: Node, box: _Box) -> Markup:
    found: dict[str, object] = {}
    for name in _SHAPES[node.name]:
        if name in node.attributes:
            found[name] = round(_pixels(node.attributes[name], box.width if name in _ACROSS else box.height), 2)
    if node.name in ("polyline", "polygon"):
        found["points"] = _points(node.attributes.get("points", ""), box)
    for name in _KEPT:
        if name in node.attributes and (name != "d" or _PATH.fullmatch(node.attributes["d"])):
            found[name.replace("-", "_") if name != "class" else "class_"] = node.attributes[name]
    if node.name == "text":
        found["font_size"] = 11
    return tag(node.name, node.text() if node.name == "text" else "", **found)


def _points(points: str, box: _Box) -> str:
    numbers = [float(part.rstrip("%")) for part in _NUMBER.findall(points)]
    pairs = zip(numbers[::2], numbers[1::2], strict=False)
    return " ".join(f"{round(a * box.across, 2):g},{round(b * box.down, 2):g}" for a, b in pairs)


def _pixels(text: str, whole: float) -> float:
    """A length: pixels, or per cent of a whole; 0 for what is no length."""
    found = _NUMBER.match(text.strip())
    if found is None:
        return 0.0
    number = float(found.group().rstrip("%"))
    pixels = number * whole / 100 if found.group().endswith("%") else number
    return min(max(pixels, -_MOST), _MOST)


def _classes(node: Node) -> str | None:
    names = " ".join(dict.fromkeys(node.classes))
    return names if names and _NAMES.fullmatch(names) else None


def _series(classes: Sequence[str]) -> int | None:
    return next((int(css[1]) for css in classes if re.fullmatch(r"s[0-4]", css)), None)


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


def standalone(figure: Node) -> Markup:
    """The SVG of a figure, or of several under one heading; on white, with its title for those who do not see it."""
    canvas = _Canvas(WIDTH - 2 * _MARGIN, _MARGIN, _MARGIN)
    _draw(canvas, figure)
    height = round(canvas.y + _MARGIN)
    classes = {css for node in figure.walk() for css in node.classes}
    title = next((node.text() for node in figure.find(name="title") + figure.find(name="figcaption")), "Figure")
    ground = tag("rect", width=WIDTH, height=height, fill=colors()["paper"])
    head = tag("title", title) + tag("style", Markup(style_of(classes)))  # noqa: S704 - our own style sheet
    content = Markup("\n").join([head, ground, *canvas.elements])
    return tag(
        "svg",
        content,
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=height,
        viewBox=f"0 0 {WIDTH} {height}",
        font_family=FONT,
    )


_SIDE_BY_SIDE: Final = frozenset({"panels", "maps", "small-multiples", "proportions"})
_TEXTS: Final = {"figcaption": (14, True), "h3": (15, True), "h4": (13, True), "p": (12, False), "li": (12, False)}


def _draw(canvas: _Canvas, node: Node) -> None:
    """Draw a node below what is there; tables and what is folded are left out."""
    classes = set(node.classes)
    if node.name in ("details", "table", "img", "input", "label") or "save" in classes:
        return
    if "effect" in classes:
        _row(canvas, node)
    elif "plot" in classes or "square" in classes:
        _plot(canvas, node)
    elif "proportion" in classes:
        _proportion(canvas, node)
    elif "key" in classes and node.find(css="series"):
        _legend(canvas, node)
    elif classes & _SIDE_BY_SIDE:
        _grid(canvas, node.elements)
    elif node.name == "svg":
        _picture(canvas, node)
    elif node.name in _TEXTS:
        _paragraph(canvas, node)
    else:
        for child in node.elements:
            _draw(canvas, child)


def _paragraph(canvas: _Canvas, node: Node) -> None:
    size, bold = _TEXTS[node.name]
    if ends := node.find(css="ends"):
        first, last = (one.text() for one in ends[0].elements[:2])
        canvas.elements += [
            letters(first, canvas.left, canvas.y + 12, soft=True),
            letters(last, canvas.left + canvas.width, canvas.y + 12, soft=True, anchor="end"),
        ]
        canvas.y += 18
        return
    strong = node.find(name="strong") + node.find(name="b")
    if strong and node.name == "figcaption":
        canvas.write(strong[0].text(), size=size, bold=True)
        rest = node.text().removeprefix(strong[0].text()).strip(" ,")
        canvas.write(rest, size=12, soft=True)
    else:
        canvas.write(node.text(), size=size, bold=bold, soft="fine" in node.classes)
    canvas.y += 4


def _row(canvas: _Canvas, node: Node) -> None:
    """A row of a dot plot: its label, its track, its numbers; of an axis the ticks."""
    label_width, value_width = _LABEL * canvas.width, _VALUE * canvas.width
    left = canvas.left + label_width + _GAP
    width = canvas.width - label_width - value_width - 2 * _GAP
    if "axis" in node.classes:
        for tick in node.find(css="tick"):
            at = _length(tick.attributes.get("style", ""), width)
            canvas.elements.append(letters(tick.text(), left + at, canvas.y + 12, 11, soft=True, anchor="middle"))
        canvas.y += 20
        return
    texts = {css: " ".join(one.text() for one in node.find(css=css)[:1]) for css in ("label", "value")}
    label_height = canvas.put(texts["label"], canvas.left, canvas.y + 3, label_width)
    value_height = canvas.put(texts["value"], left + width + _GAP, canvas.y + 3, value_width, size=12)
    height = max(label_height, value_height, 20) + 6
    for track in node.find(name="svg")[:1]:
        canvas.elements.append(flattened(track, left, canvas.y, width, height))
    canvas.y += height


def _length(style: str, whole: float) -> float:
    """Pixels from the start: "left:33%" or "top:12px" of a length."""
    value = style.partition(":")[2].strip().rstrip(";")
    number = float(value.rstrip("%px") or 0.0)
    return number * whole / 100 if value.endswith("%") else number


def _plot(canvas: _Canvas, node: Node) -> None:
    """An SVG with ticks left of it and below."""
    drawing = next((child for child in node.elements if child.name == "svg"), None)
    if drawing is None:
        return
    width = canvas.width - _AXIS - _GAP
    width, height = size_of(drawing, width)
    left, top = canvas.left + _AXIS, canvas.y + 8
    for axis in node.elements:
        if "y-axis" in axis.classes:
            for tick in axis.find(css="tick"):
                at = top + _length(tick.attributes.get("style", ""), height)
                canvas.elements.append(letters(tick.text(), left - 8, at + 4, 11, soft=True, anchor="end"))
    canvas.elements.append(flattened(drawing, left, top, width, height))
    canvas.y = top + height + 6
    for axis in node.elements:
        if "x-axis" in axis.classes:
            canvas.y += _below(canvas, axis, left, width)


def _below(canvas: _Canvas, axis: Node, left: float, width: float) -> float:
    """Ticks below a plot, or labels that share its width; returns their height."""
    ticks = axis.find(css="tick")
    if "bands" not in axis.classes:
        for tick in ticks:
            at = left + _length(tick.attributes.get("style", ""), width)
            canvas.elements.append(letters(tick.text(), at, canvas.y + 12, 11, soft=True, anchor="middle"))
        return 22
    room, most = width / max(len(ticks), 1), 1
    for place, tick in enumerate(ticks):
        lines = wrapped(tick.text(), room, 11)
        most = max(most, len(lines))
        for number, line in enumerate(lines):
            x, y = left + (place + 0.5) * room, canvas.y + 12 + 14 * number
            canvas.elements.append(letters(line, x, y, 11, soft=True, anchor="middle"))
    return 8 + 14 * most


def _proportion(canvas: _Canvas, node: Node) -> None:
    """A share before and after, on an axis of 0 to 100 %."""
    names = [child.text() for child in node.elements if child.name == "span" and "ends" not in child.classes]
    for title in node.find(name="b")[:1]:
        canvas.write(title.text(), size=12, bold=True)
    for name, track in zip(names, node.find(name="svg"), strict=False):
        canvas.put(name, canvas.left, canvas.y, 56, size=11, soft=True)
        canvas.elements.append(flattened(track, canvas.left + 60, canvas.y, canvas.width - 80, 22))
        canvas.y += 22
    for text, x, anchor in (("0 %", 60.0, "start"), ("100 %", canvas.width - 20, "end")):
        canvas.elements.append(letters(text, canvas.left + x, canvas.y + 10, 10, soft=True, anchor=anchor))
    canvas.y += 18


def _legend(canvas: _Canvas, node: Node) -> None:
    """The key of a figure, as many entries a line as there is room."""
    x = canvas.left
    for entry in node.find(css="series"):
        text = entry.text(without=("title", "desc")).strip()
        needed = 40 + _PER_LETTER * 12 * len(text) + 16
        if x > canvas.left and x + needed > canvas.left + canvas.width:
            x, canvas.y = canvas.left, canvas.y + 20
        for mark in entry.find(name="svg")[:1]:
            inner = flattened(mark, x, canvas.y + 2, 30, 14, series=entry.classes)
            canvas.elements.append(inner)
        canvas.elements.append(letters(text, x + 36, canvas.y + 13))
        x += needed
    canvas.y += 26


def _picture(canvas: _Canvas, node: Node) -> None:
    """An SVG without axes."""
    width, height = size_of(node, canvas.width)
    canvas.elements.append(flattened(node, canvas.left, canvas.y, width, height))
    canvas.y += height + 6


def _grid(canvas: _Canvas, cells: Sequence[Node]) -> None:
    """Figures beside each other: two in a row, and one where there is only one."""
    columns = 1 if len(cells) < 2 else 2
    width = (canvas.width - (columns - 1) * 2 * _GAP) / columns
    for row in (cells[start : start + columns] for start in range(0, len(cells), columns)):
        lowest = canvas.y
        for place, cell in enumerate(row):
            part = _Canvas(width, canvas.left + place * (width + 2 * _GAP), canvas.y)
            _draw(part, cell)
            canvas.elements += part.elements
            lowest = max(lowest, part.y)
        canvas.y = lowest + _GAP


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


def savable(figure: Markup, numbers: TextTable | Table[Any] | None = None) -> Markup:
    """The figure with its links below; as it is where it holds no drawing."""
    tree = read(figure)
    if not any(one.attributes.get("role") == "img" for one in tree.find(name="svg")):
        return figure
    rows = _rows_of_table(numbers) if numbers is not None else _rows(tree)
    captions = (one.text() for one in tree.find(name="figcaption") + tree.find(name="title"))
    name = _slug(next(filter(str.strip, captions), "figure") if numbers is None else numbers.title)
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
        try:
            csv = base64.b64decode(encoded, validate=True).decode("utf-8")
        except ValueError:  # the page may be another's
            csv = ""
        found.append(SavedFigure(name, str(standalone(group)), csv))
    return found


def _slug(words: str) -> str:
    """A name for files: letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return name or "figure"


def _link(name: str, kind: str, content: str, words: str) -> Markup:
    encoded = base64.b64encode(content.encode("utf-8")).decode("ascii")
    return tag("a", words, download=name, href=f"{kind}{encoded}")


def _rows_of_table(table: TextTable | Table[Any]) -> list[list[str]]:
    """The texts of a table, whose markup holds the values; of a table of records without markup its values."""
    headings, texts = (table.headings, table.rows) if isinstance(table, TextTable) else table.texts()
    if isinstance(table, Table) and not any(isinstance(text, Markup) for row in texts for text in row):
        found = table.arrow()
        rows = ([_raw(value) for value in row.values()] for row in found.to_pylist())
        return [found.column_names, *rows] if len(found) else []
    head = [_cell(text) for text in headings]
    body = [[_cell(text) for text in row] for row in texts]
    return _spread(head, body)


def _raw(value: object) -> str:
    return "" if value is None or value != value else str(value)


def _cell(text: str) -> Node:
    """A text as a cell; of `Markup` what it holds."""
    return Node("td", children=list(read(text).children) if isinstance(text, Markup) else [text])


def _rows(tree: Node) -> list[list[str]]:
    """The numbers of a figure that gives none: of the rows of its dot plots."""
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
