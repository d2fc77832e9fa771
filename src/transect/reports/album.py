"""Which images fit on the page, and how does each look: the picture as data, its boxes, its caption.

The page shows the image that the target saw. Only an image larger than 160 px is reduced (Lanczos), and is said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from markupsafe import Markup

from transect.reports.blocks import Block, Heading, Paragraph
from transect.reports.builder import data_address
from transect.reports.document import Document, pointer
from transect.reports.drawing.svg import joined, tag
from transect.reports.entries import ExampleEntry
from transect.reports.records import Example, Gallery, MeanFace, Strip
from transect.reports.wording import level, listed
from transect.runs.pictures import PNG, open_rgb, saved
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


def _drawn_key(css: str, height: int, words: str) -> Markup:
    box = tag("rect", class_=css, x=2, y=2, width=18, height=height - 4)
    return tag("svg", box, width=22, height=height, aria_hidden="true") + f" {words}"


_BOX_KEY: Final = Markup(' <span class="key inline">{} {}</span>').format(
    _drawn_key("box", 14, "box drawn by the detector;"),
    _drawn_key("expected", 14, "expected box"),
)
_FLIPS_KEY: Final = Markup(
    "Each pair is a subject's own image and the nearest step at which the answer differs; the frame shows the answer: "
    '<span class="key inline">{} {}</span>'
).format(_drawn_key("says-no", 16, "no"), _drawn_key("says-yes", 16, "yes."))
_MEAN_FACES: Final = (
    "They show what wrongly answered images have in common, not why; a mean of few answers looks like one person's "
    "face. Of more than 512 answers, 512 evenly spaced ones are taken."
)


def choose(gallery: Gallery, budget: int) -> Gallery:
    """The mean faces, strips, flips and failures that fit into `budget` bytes of the page, first come first."""
    room = int(FACES_SHARE * budget)
    faces, for_faces = _fitting(
        gallery.faces, room, lambda face: [*filter(None, (face.right_png, face.wrong_png))], lambda face: face.by == ""
    )
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
    return saved(small, optimize=True)


def strips(document: Document, study: int, shown: Gallery) -> list[Markup]:
    """The strips of a study, each under its title and what stays the same in it."""
    name = document.results.studies[study].name
    made = []
    for number, strip in enumerate(shown.strips):
        if strip.examples[0].study == name:
            place, fixed = pointer("gallery", "strips", number), _fixed(document, study, number)
            target = document.text(f"{place}/examples/0/target")
            about = tag("p", target + (Markup("; {}").format(fixed) if fixed else ""), class_="fine")
            title = tag("h4", document.text(f"{place}/title"))
            made.append(tag("div", title + about + _shots(document, study, place, strip), class_="strip"))
    return made


def strip_along(document: Document, shown: Gallery, whose: tuple[str, str, str]) -> Markup | None:
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
    place, at = pointer("gallery", "strips", numbers[-1]), document.study(study)
    said = _fixed(document, at, numbers[-1]) or document.text(f"{place}/title")
    words = Markup("Example, with the answers of {}: {}").format(document.text(f"{place}/examples/0/target"), said)
    shots = _shots(document, at, place, shown.strips[numbers[-1]])
    return tag("div", tag("p", words, class_="fine") + shots, class_="strip first")


def _shots(document: Document, study: int, place: str, strip: Strip) -> Markup:
    moving = _moving(strip.examples)
    shots = (
        _shot(document, study, f"{place}/examples/{index}", example, moving)
        for index, example in enumerate(strip.examples)
    )
    return tag("div", joined(shots), class_="shots")


def _fixed(document: Document, study: int, number: int) -> Markup:
    """What stays the same in a strip: its subject, and attributes that do not move."""
    place, entries = pointer("gallery", "strips", number), document.results.gallery.strips[number].examples
    moving, first = _moving(entries), f"{place}/examples/0"
    fixed = [
        Markup("{} {}").format(spaced(name), _level(document, study, first, entries[0].cell, name))
        for name in entries[0].cell
        if name not in moving
    ]
    if len({entry.subject for entry in entries}) == 1:
        fixed.insert(0, Markup("subject {}").format(document.number(f"{first}/subject", "name")))
    return listed(fixed)


def _moving(examples: Sequence[Example | ExampleEntry]) -> set[str]:
    """Attributes whose value differs within the strip."""
    return {name for name in examples[0].cell if len({each.cell.get(name) for each in examples}) > 1}


def mean_faces(document: Document, shown: Gallery, study: str, target: str) -> list[Block]:
    """The mean faces of one target in one study, by measure; none where there are none."""
    whose = [(k, face) for k, face in enumerate(shown.faces) if (face.study, face.target) == (study, target)]
    if not whose:
        return []
    some = len(shown.faces) < document.results.gallery.faces_total
    blocks: list[Block] = [
        Heading("Mean faces of right and wrong answers"),
        Paragraph(_MEAN_FACES + (" Some do not fit on this page." if some else "")),
    ]
    for measure in dict.fromkeys(face.measure for _, face in whose):
        pairs = [_mean_face(document, k, face) for k, face in whose if face.measure == measure]
        blocks += [Heading(measure.capitalize(), 4), tag("div", joined(pairs), class_="faces")]
    return blocks


def _mean_face(document: Document, number: int, face: MeanFace) -> Markup:
    name = f"{spaced(face.by)}: {face.group}" if face.by else "all images"
    name = face.group if "×" in face.by else name  # it names the attributes itself
    two = []
    words = FOUND if face.measure == "detection" else RIGHT
    for word, answer, png in zip(words, RIGHT, (face.right_png, face.wrong_png), strict=True):
        missing = tag("span", "–", class_="missing")
        image = tag("img", src=data_address(png), alt=f"Mean face, {word}, {name}") if png else missing
        count = document.number(pointer("gallery", "faces", number, answer), "count")
        two.append(tag("div", image + tag("span", Markup("{} {}").format(count, word), class_="fine")))
    return tag("figure", tag("figcaption", name) + tag("div", joined(two), class_="two"))


def flips(document: Document, shown: Gallery, target: str) -> list[Block]:
    """The pairs around flips of a target, of all studies; none where there are none."""
    chosen = [(k, strip) for k, strip in enumerate(shown.flips) if strip.examples[0].target == target]
    if not chosen:
        return []
    entry, counted = document.results.gallery, Markup("")
    if entry.flips_shown < entry.flips_total:
        total = document.counted("/gallery/flips_total", "such gallery", "such galleries")
        shown_here = document.number("/gallery/flips_shown", "count")
        counted = Markup(" {} of {} fit on this page.").format(shown_here, total)
    key = box_key([example for _, strip in chosen for example in strip.examples])
    return [Heading("Images around a flip"), Paragraph(_FLIPS_KEY + key + counted), *(
        _flips(document, document.study(strip.examples[0].study), number, strip) for number, strip in chosen
    )]  # fmt: skip


def _flips(document: Document, study: int, number: int, strip: Strip) -> Markup:
    place, moving, pairs = pointer("gallery", "flips", number), _moving(strip.examples), []
    for first in range(0, len(strip.examples), 2):
        subject = Markup("subject {}").format(document.number(f"{place}/examples/{first}/subject", "name"))
        shots = joined(
            _shot(document, study, f"{place}/examples/{k}", strip.examples[k], moving, framed=True)
            for k in (first, first + 1)
        )
        both = tag("p", subject, class_="fine") + tag("div", shots, class_="shots")
        pairs.append(tag("div", both, class_="pair"))
    title = tag("h4", document.text(f"{place}/title"))
    return tag("div", title + tag("div", joined(pairs), class_="pairs"), class_="strip")


def failures(document: Document, study: int, shown: Gallery) -> list[Markup]:
    """The images of a study on which a target failed or was wrong."""
    entry = document.results.studies[study]
    several = len(entry.targets) > 1
    return [
        _shot(document, study, pointer("gallery", "failures", index), each, set(each.cell), with_target=several)
        for index, each in enumerate(shown.failures)
        if each.study == entry.name
    ]


def box_key(examples: Iterable[Example]) -> Markup:
    """What the boxes on pictures mean; nothing where there are none."""
    boxed = any(example.boxes or example.expected_box is not None for example in examples)
    return _BOX_KEY if boxed else Markup()


def _shot(
    document: Document, study: int, place: str, example: Example, named: set[str], *, with_target: bool = False,
    framed: bool = False,
) -> Markup:  # fmt: skip
    """A picture with its caption. framed: a frame shows the answer, not whether it is right, and levels are steps λ."""
    step = ", λ" if framed else ""  # its number alone could be a value of the attribute
    varied = [
        (spaced(name) + step, _level(document, study, place, example.cell, name))
        for name in example.cell
        if name in named
    ]
    words = [tag("span", Markup("{} <b>{}</b>").format(*each), class_="set") for each in varied]
    words += [tag("span", document.text(f"{place}/target"), class_="set")] if with_target else []
    status = "failed" if example.failed else "wrong" if example.wrong else ""
    badge = tag("span", "no answer" if example.failed else status, class_="badge") + " " if status else Markup()
    words.append(tag("span", badge + document.text(f"{place}/answer"), class_="reply"))
    width, height = example.size
    alternative = _alternative(document, study, place, example)
    image = tag("img", src=data_address(reduced(example.png)), width=width, height=height, alt=alternative)
    frame = tag("div", image + _overlay(example), class_="frame")
    css = f"says-{'yes' if example.answer_yes else 'no'}" if framed else status
    return tag("figure", frame + tag("figcaption", Markup(" ").join(words)), class_=f"shot {css}".strip())


def _overlay(example: Example) -> Markup:
    """The boxes over a picture, each on a ground that it stands out from."""
    expected = () if example.expected_box is None else (example.expected_box,)
    boxes = [
        tag("rect", class_=css, vector_effect="non-scaling-stroke", x=x, y=y, width=width, height=height)
        for kinds, each in ((("ground", "expected"), expected), (("halo", "box"), example.boxes))
        for x, y, width, height in map(_rectangle, each)
        for css in kinds
    ]
    size = " ".join(map(str, example.size))
    return tag("svg", joined(boxes), class_="overlay", viewBox=f"0 0 {size}", aria_hidden="true") if boxes else Markup()


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
