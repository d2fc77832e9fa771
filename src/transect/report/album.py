"""Which images fit on the page, and how does each look: the picture as data, its boxes, its caption.

The page shows the image that the target saw. Only an image larger than 160 px is reduced (Lanczos), and is said to be.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.report.document import Document, pointer
from transect.report.records import Example, Gallery, Strip
from transect.report.results import ExampleEntry
from transect.report.wording import level, listed, spaced

LARGEST_SIDE = 160
"""Pixels; larger images are reduced to this."""

FAILURES_SHARE = 0.4
"""Share of the bytes that is kept for the failures gallery."""


@final
@dataclass(frozen=True)
class Picture:
    """One image of the page with what is said about it."""

    place: str
    source: str
    width: int
    height: int
    alternative: str
    varied: tuple[tuple[str, Markup], ...]
    status: str
    boxes: tuple[tuple[float, ...], ...]
    expected: tuple[float, ...] | None


@final
@dataclass(frozen=True)
class Row:
    """One strip: its place in the results, what stays the same in it, and its pictures."""

    place: str
    target: Markup
    fixed: Markup
    pictures: tuple[Picture, ...]


def choose(gallery: Gallery, budget: int) -> Gallery:
    """The strips and failures that fit into `budget` bytes of the page, first come first.

    Whole strips only. Failures keep two fifths of the room, and what the strips leave.
    """
    failures_cost = sum(_cost(example.png) for example in gallery.failures)
    room = budget - min(failures_cost, int(FAILURES_SHARE * budget))
    strips: list[Strip] = []
    spent = 0
    for strip in gallery.strips:
        cost = sum(_cost(example.png) for example in strip.examples)
        if spent + cost <= room:
            strips.append(strip)
            spent += cost
    failures: list[Example] = []
    for example in gallery.failures:
        spent += _cost(example.png)
        if spent > budget:
            break
        failures.append(example)
    return Gallery(tuple(strips), tuple(failures), gallery.total)


def _cost(png: bytes) -> int:
    """Bytes of the page that an image takes: base64 plus its caption."""
    return len(reduced(png)) * 4 // 3 + 1500


def reduced(png: bytes) -> bytes:
    """The PNG itself, or a smaller one where its longer side exceeds 160 px."""
    if max(int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")) <= LARGEST_SIDE:
        return png
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        small = image.convert("RGB")
    small.thumbnail((LARGEST_SIDE, LARGEST_SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def strip_rows(document: Document, study: int, shown: Gallery) -> tuple[Row, ...]:
    """The strips of a study."""
    name = document.results.studies[study].name
    return tuple(
        _strip_row(document, study, number, strip)
        for number, strip in enumerate(shown.strips)
        if strip.examples[0].study == name
    )


def _strip_row(document: Document, study: int, number: int, strip: Strip) -> Row:
    place = pointer("gallery", "strips", number)
    entries = document.results.gallery.strips[number].examples
    moving = _moving(entries)
    fixed = [
        Markup("{} {}").format(spaced(name), _level(document, study, f"{place}/examples/0", entries[0].cell, name))
        for name in entries[0].cell
        if name not in moving
    ]
    if len({entry.subject for entry in entries}) == 1:
        subject = Markup("subject {}").format(document.number(f"{place}/examples/0/subject", "name"))
        fixed.insert(0, subject)
    pictures = tuple(
        _picture(document, study, f"{place}/examples/{index}", example, moving)
        for index, example in enumerate(strip.examples)
    )
    return Row(place, document.text(f"{place}/examples/0/target"), listed(fixed), pictures)


def _moving(entries: list[ExampleEntry]) -> set[str]:
    """Attributes whose value differs within the strip."""
    return {name for name in entries[0].cell if len({entry.cell.get(name) for entry in entries}) > 1}


def failure_pictures(document: Document, study: int, shown: Gallery) -> tuple[Picture, ...]:
    """The images of a study on which a target failed or was wrong."""
    name = document.results.studies[study].name
    return tuple(
        _picture(document, study, pointer("gallery", "failures", index), example, set(example.cell))
        for index, example in enumerate(shown.failures)
        if example.study == name
    )


def _picture(document: Document, study: int, place: str, example: Example, named: set[str]) -> Picture:
    png = reduced(example.png)
    width, height = example.size
    return Picture(
        place=place,
        source="data:image/png;base64," + base64.b64encode(png).decode("ascii"),
        width=width,
        height=height,
        alternative=_alternative(document, study, place, example),
        varied=tuple(
            (spaced(name), _level(document, study, place, example.cell, name)) for name in example.cell if name in named
        ),
        status="failed" if example.failed else "wrong" if example.wrong else "",
        boxes=tuple(_rectangle(box) for box in example.boxes),
        expected=None if example.expected_box is None else _rectangle(example.expected_box),
    )


def _rectangle(box: tuple[float, ...]) -> tuple[float, ...]:
    """x, y, width and height, one decimal."""
    x0, y0, x1, y1 = box[:4]
    return tuple(round(side, 1) for side in (x0, y0, max(x1 - x0, 0.0), max(y1 - y0, 0.0)))


def _level(document: Document, study: int, place: str, cell: Mapping[str, float], name: str) -> Markup:
    known = {attribute.name for attribute in document.results.studies[study].attributes}
    otherwise = f"{place}{pointer('cell', name)}"
    return level(document, study, name, cell[name], otherwise) if name in known else document.number(otherwise)


def _alternative(document: Document, study: int, place: str, example: Example) -> str:
    """The alternative text of one image: who, how set, what was answered."""
    settings = ", ".join(
        f"{spaced(name)} {_level(document, study, place, example.cell, name).striptags()}" for name in example.cell
    )
    verdict = "no valid answer" if example.failed else "wrong" if example.wrong else ""
    drawn = "" if not example.boxes else "; the detected boxes are drawn"
    tail = f" ({verdict})" if verdict else ""
    return f"Face of subject {example.subject}, {settings}. Answer of {example.target}: {example.answer}{tail}{drawn}."


def any_reduced(shown: Gallery) -> bool:
    """Whether an image on the page is smaller than the target saw it."""
    everything = [example for strip in shown.strips for example in strip.examples] + list(shown.failures)
    return any(max(example.size) > LARGEST_SIDE for example in everything)
