"""An SVG of a page with its lengths in pixels, its nested pictures unfolded, and nothing that drawings do not have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from markupsafe import Markup

from transect.reports.drawing.palette import colors
from transect.reports.drawing.svg import PLOT_HEIGHT, tag
from transect.reports.markup_tree import Node

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
