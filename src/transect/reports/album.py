"""Which images fit on the page, and how does each look: the picture as data, its boxes, its caption.

The page shows the image that the target saw. Only an image larger than 160 px is reduced (Lanczos), and is said to be.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, final

from markupsafe import Markup

from transect.reports.document import Document, pointer
from transect.reports.entries import ExampleEntry
from transect.reports.records import Example, Gallery, MeanFace, Strip
from transect.reports.wording import level, listed
from transect.runs.pictures import PNG, open_rgb
from transect.runs.wording import spaced

T = TypeVar("T")

LARGEST_SIDE = 160
"""Pixels; larger images are reduced to this."""

FAILURES_SHARE = 0.4
"""Share of the bytes that is kept for the failures gallery."""

FACES_SHARE = 0.25
"""Share of the bytes that mean faces may take."""

RIGHT, FOUND = ("right", "wrong"), ("found", "missed")

FLIPS_SHARE = 0.25
"""Share of the bytes that pairs around a flip may take."""


@final
@dataclass(frozen=True)
class Picture:
    """One image of the page with its captions."""

    place: str
    source: str
    width: int
    height: int
    alternative: str
    varied: tuple[tuple[str, Markup], ...]
    status: str
    boxes: tuple[tuple[float, ...], ...]
    expected: tuple[float, ...] | None
    answer_yes: bool | None


@final
@dataclass(frozen=True)
class Row:
    """One strip: its place in the results, what stays the same in it, and its pictures."""

    place: str
    target: Markup
    fixed: Markup
    pictures: tuple[Picture, ...]


@final
@dataclass(frozen=True)
class FacePair:
    """One group's mean faces of right and wrong answers, as addresses ("" without an answer); its name in words."""

    place: str
    name: str
    right: str
    wrong: str


@final
@dataclass(frozen=True)
class Faces:
    """The mean faces of one target in one study by one measure; words: what right and wrong are called there."""

    study: str
    target: str
    measure: str
    words: tuple[str, str]
    pairs: tuple[FacePair, ...]


@final
@dataclass(frozen=True)
class Flips:
    """Subjects whose answer flips one way: their own image and the other; the target as it is and as text."""

    place: str
    target: str
    called: Markup
    pairs: tuple[tuple[Markup, tuple[Picture, ...]], ...]


def choose(gallery: Gallery, budget: int) -> Gallery:
    """The mean faces, strips, flips and failures that fit into `budget` bytes of the page, first come first."""
    room = int(FACES_SHARE * budget)
    faces, for_faces = _fitting(gallery.faces, room, _pngs_of_face, first=lambda face: face.by == "")
    budget -= for_faces
    failures_cost = sum(_cost(example.png) for example in gallery.failures)
    for_failures = min(failures_cost, int(FAILURES_SHARE * budget))
    flips, for_flips = _fitting(gallery.flips, min(int(FLIPS_SHARE * budget), budget - for_failures), _pngs_of_strip)
    strips, for_strips = _fitting(gallery.strips, budget - for_failures - for_flips, _pngs_of_strip)
    spent = for_flips + for_strips
    failures: list[Example] = []
    for example in gallery.failures:
        spent += _cost(example.png)
        if spent > budget:
            break
        failures.append(example)
    return Gallery(strips, tuple(failures), gallery.total, flips, faces)


def _fitting(
    items: Sequence[T], room: int, pngs: Callable[[T], list[bytes]], first: Callable[[T], bool] = lambda _: True
) -> tuple[tuple[T, ...], int]:
    """Those that fit, in their order, and what they cost. first: which are tried before the others."""
    chosen: set[int] = set()
    spent = 0
    for place in sorted(range(len(items)), key=lambda place: not first(items[place])):
        cost = sum(map(_cost, pngs(items[place])))
        if spent + cost <= room:
            chosen.add(place)
            spent += cost
    return tuple(item for place, item in enumerate(items) if place in chosen), spent


def _pngs_of_face(face: MeanFace) -> list[bytes]:
    return [png for png in (face.right_png, face.wrong_png) if png]


def _pngs_of_strip(strip: Strip) -> list[bytes]:
    return [example.png for example in strip.examples]


def _cost(png: bytes) -> int:
    """Bytes of the page that an image takes: base64 plus its caption."""
    return len(reduced(png)) * 4 // 3 + 1500


def reduced(png: bytes) -> bytes:
    """The PNG itself, or a smaller one where its longer side exceeds 160 px."""
    if max(int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")) <= LARGEST_SIDE:
        return png
    from PIL import Image

    small = open_rgb(png, "a picture of the run", PNG)
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


def strip_along(document: Document, shown: Gallery, whose: tuple[str, str, str]) -> Row | None:
    """A strip of one study and target along one attribute, one whose answer changes where there is one; else None."""
    study, target, attribute = whose
    numbers = [
        number
        for number, strip in enumerate(shown.strips)
        if (strip.examples[0].study, strip.examples[0].target) == (study, target)
        and attribute in _moving(document.results.gallery.strips[number].examples)
    ]
    if not numbers:
        return None
    return _strip_row(document, document.study(study), numbers[-1], shown.strips[numbers[-1]])


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


def mean_faces(shown: Gallery) -> tuple[Faces, ...]:
    """The mean faces of all targets of all studies."""
    pairs: dict[tuple[str, str, str], list[FacePair]] = {}
    for number, face in enumerate(shown.faces):
        name = f"{spaced(face.by)}: {face.group}" if face.by else "all images"
        name = face.group if "×" in face.by else name  # it names the attributes itself
        right, wrong = (_address(png) if png else "" for png in (face.right_png, face.wrong_png))
        pair = FacePair(pointer("gallery", "faces", number), name, right, wrong)
        pairs.setdefault((face.study, face.target, face.measure), []).append(pair)
    return tuple(
        Faces(*whose, FOUND if whose[2] == "detection" else RIGHT, tuple(group)) for whose, group in pairs.items()
    )


def _address(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def flip_rows(document: Document, shown: Gallery) -> tuple[Flips, ...]:
    """The pairs around flips of all studies."""
    return tuple(
        _flips(document, document.study(strip.examples[0].study), number, strip)
        for number, strip in enumerate(shown.flips)
    )


def _flips(document: Document, study: int, number: int, strip: Strip) -> Flips:
    place = pointer("gallery", "flips", number)
    moving = _moving(document.results.gallery.flips[number].examples)
    pairs = []
    for first in range(0, len(strip.examples), 2):
        at = [f"{place}/examples/{index}" for index in (first, first + 1)]
        both = zip(at, strip.examples[first : first + 2], strict=True)
        subject = Markup("subject {}").format(document.number(f"{at[0]}/subject", "name"))
        pictures = (_picture(document, study, here, example, moving) for here, example in both)
        # A level is said to be a step, since its number alone could be a value of the attribute.
        in_steps = (
            replace(picture, varied=tuple((f"{name}, λ", value) for name, value in picture.varied))
            for picture in pictures
        )
        pairs.append((subject, tuple(in_steps)))
    called = document.text(f"{place}/examples/0/target")
    return Flips(place, strip.examples[0].target, called, tuple(pairs))


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
        source=_address(png),
        width=width,
        height=height,
        alternative=_alternative(document, study, place, example),
        varied=tuple(
            (spaced(name), _level(document, study, place, example.cell, name)) for name in example.cell if name in named
        ),
        status="failed" if example.failed else "wrong" if example.wrong else "",
        boxes=tuple(_rectangle(box) for box in example.boxes),
        expected=None if example.expected_box is None else _rectangle(example.expected_box),
        answer_yes=example.answer_yes,
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
    everything = [example for strip in (*shown.strips, *shown.flips) for example in strip.examples]
    everything += shown.failures
    return any(max(example.size) > LARGEST_SIDE for example in everything)
