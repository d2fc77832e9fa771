"""A figure of a page as one SVG that stands alone: lengths in pixels, colors of the light style sheet, letters as text.

On a page a drawing's axes are HTML around an SVG whose positions are per cent, so that letters keep their size. Here
both become one picture that every program shows. The page may be another's: only elements and attributes that
drawings consist of are kept.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from markupsafe import Markup

from transect.reports.drawing.palette import colors, style_of
from transect.reports.drawing.shapes import flattened, size_of
from transect.reports.drawing.svg import tag
from transect.reports.markup_tree import Node

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
    for row in _rows(cells, columns):
        lowest = canvas.y
        for place, cell in enumerate(row):
            part = _Canvas(width, canvas.left + place * (width + 2 * _GAP), canvas.y)
            _draw(part, cell)
            canvas.elements += part.elements
            lowest = max(lowest, part.y)
        canvas.y = lowest + _GAP


def _rows(cells: Sequence[Node], columns: int) -> Iterator[Sequence[Node]]:
    for start in range(0, len(cells), columns):
        yield cells[start : start + columns]
