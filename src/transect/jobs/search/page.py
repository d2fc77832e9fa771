"""The page of a search: `search.html` beside `search.json`, which holds every number on it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float, UInt8
from markupsafe import Markup

from transect.designs.search import History, apart
from transect.designs.search.space import Space
from transect.jobs.search.results import ERRORS, AnswerFaces, FailurePicture, SearchNumbers, asked_of, verb_of
from transect.reports import builder
from transect.reports.album import reduced
from transect.reports.blocks import (
    Answer,
    Block,
    Facts,
    Folded,
    Heading,
    Page,
    Paragraph,
    Part,
    Plot,
    Plots,
    TextTable,
    summary,
)
from transect.reports.builder import data_address
from transect.reports.document import WrittenDocument
from transect.reports.drawing import svg
from transect.reports.drawing.maps import MAP_HEIGHT, Field, Frame, heat_map
from transect.reports.drawing.svg import Tick, joined, tag
from transect.runs.json_records import plain
from transect.runs.wording import spaced

SHOWN: Final = 24
"""Failures of one search that its page shows."""
STRIP: Final = 6
"""Failures on the first screen."""
_NAMED: Final = 4
"""Attributes that the caption of a picture names."""


def failure_pictures(
    space: Space, history: History, parts: int, pixels: Callable[[int], UInt8[np.ndarray, "m h w 3"]]
) -> list[FailurePicture]:
    """Up to `SHOWN` failures in the order of the calls: those far apart, then others. pixels: of a part, in order."""
    rows = np.flatnonzero(history.failed)
    first = rows[apart(history.found)]
    chosen = np.sort(np.concatenate([first, np.setdiff1d(rows, first)])[:SHOWN])
    places = dict(zip(chosen[farthest(history.points[chosen])].tolist(), range(len(chosen)), strict=True))
    pictures: list[FailurePicture] = []
    values, start = space.values(history.points), 0
    for part in range(parts):
        if len(pictures) == len(chosen):
            break
        shown = pixels(part)
        for row in chosen[(chosen >= start) & (chosen < start + len(shown))]:
            labels = tuple(
                (attribute.name, space.rounded(j, float(values[attribute.name][row])))
                for j, attribute in enumerate(space.attributes)
            )
            pictures.append(FailurePicture(int(row) + 1, labels, _png(shown[row - start]), places[row]))
        start += len(shown)
    return pictures


def farthest(points: Float[np.ndarray, "n d"]) -> list[int]:
    """Points in an order in which each is the one that is farthest from those before it; the first stays first.

    >>> farthest(np.array([[0.0], [0.1], [1.0], [0.6]]))
    [0, 2, 3, 1]
    """
    order: list[int] = []
    distance = np.full(len(points), np.inf)
    for _ in range(len(points)):
        order.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(points - points[order[-1]], axis=1))
        distance[order] = -1.0
    return order


def gallery(pictures: Sequence[FailurePicture], failures: int) -> list[Block]:
    """The block of a gallery; nothing without a picture. failures: how many there are in all."""
    if not pictures:
        return []
    chosen = f"{len(pictures)} of {failures} failures, far apart where possible"
    shown = chosen if len(pictures) < failures else "All failures"
    text = f"{shown}, in the order of the calls; below each picture is its call."
    return [Paragraph(text), tag("div", joined(_figure(picture) for picture in pictures), class_="shots")]


def strip(pictures: Sequence[FailurePicture], failures: int) -> list[Block]:
    """Failures for the first screen, spread over the space, with how many there are; nothing without a picture."""
    if not pictures:
        return []
    shown = sorted(sorted(pictures, key=lambda picture: picture.place)[:STRIP], key=lambda picture: picture.call)
    count = f"{len(shown)} of {failures:,} failures, spread as far as they lie, each of another subject:"
    every = "The one failure:" if failures == 1 else f"All {failures} failures:"
    words = Paragraph(count if len(shown) < failures else every, "key")
    return [words, tag("div", joined(_figure(picture) for picture in shown), class_="shots row")]


def _figure(picture: FailurePicture) -> Markup:
    named = [f"{spaced(name)} {value}" for name, value in picture.values[:_NAMED]]
    more = len(picture.values) - _NAMED
    words = ", ".join([*named, *([f"and {more} more"] if more > 0 else [])])
    image = tag("img", src=data_address(picture.png), alt=f"Failure at call {picture.call}: {words}")
    caption = tag("figcaption", f"call {picture.call}: {words}")
    return tag("figure", tag("div", image, class_="frame") + caption, class_="shot")


def _png(pixels: UInt8[np.ndarray, "h w 3"]) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return reduced(buffer.getvalue())


STEPS: Final = 60
"""Points of the curve of failures by calls."""
FEW: Final = 25
"""Fresh images from which on the interval of a region holds in 94 % of searches."""
_FACES: Final = {
    True: (
        "of right and wrong answers",
        "wrong answers have in common, not why they are wrong",
        ("right", "wrong"),
    ),
    False: ("without and with a failure", "failures have in common, not why they fail", ("without", "with")),
}
"""Of errors, and of other outcomes: the heading of the mean faces, what they show, and the names of both kinds."""
_FACTS: Final = {
    "failures": "failures",
    "failures far apart": "distinct_failures",
    "calls without a valid answer": "failed",
    "calls paid": "paid_calls",
}


def write(
    numbers: SearchNumbers, faces: Sequence[AnswerFaces], pictures: Sequence[FailurePicture], folder: Path
) -> Path:
    """Write `search.html` and `search.json` into a folder, which is made if missing; return the page's path."""
    return builder.write(page_of(numbers, faces, pictures), folder / "search.html", numbers)


def page_of(numbers: SearchNumbers, faces: Sequence[AnswerFaces] = (), pictures: Sequence[FailurePicture] = ()) -> Page:
    """What the page shows. faces: mean pictures of right and of wrong answers; pictures: failures."""
    doc = WrittenDocument(plain(numbers))
    parts = [
        summary(_answer(doc, numbers), *strip(pictures, numbers.failures), *_cautions(doc)),
        Part("regions", "Regions", tuple(_regions(doc))),
        Part("failures", "Failures", tuple(gallery(pictures, numbers.failures) if len(pictures) > STRIP else ())),
        Part("maps", "Maps", tuple(_maps(doc))),
        Part("errors", "Errors by condition", tuple(_errors(doc, faces))),
        Part("course", "Failures by calls", tuple(_course(doc))),
        Part("methods", "Methods", (_methods(doc),)),
    ]
    names = ", ".join(spaced(attribute.name) for attribute in numbers.space)
    return Page(
        f"Where does {numbers.target} fail?",
        tuple(part for part in parts if part.blocks),
        Markup("Where does {} fail?").format(doc.text("/target")),
        Markup("{} A search with {} over {}.").format(asked_of(numbers.outcome), doc.counted("/calls", "image"), names),
    )


def _rate(doc: WrittenDocument, place: str, level: str = "") -> Markup:
    return doc.interval(place, "rate", "percent", " %", level)


def _answer(doc: WrittenDocument, numbers: SearchNumbers) -> Answer:
    """The first region and the overall rate, then which images each of them counts."""
    verb = verb_of(numbers.outcome)
    overall = _rate(doc, "/estimate", "95 %")
    if not numbers.regions:
        said = Markup("Over the searched space it {} {}. No region: {}.")
        return Answer(
            [said.format(verb, overall, doc.text("/regions_reason"))], [Markup(" ").join(_counted(doc, numbers))]
        )
    level = "94 %" if numbers.regions[0].n >= FEW else "90 %"  # at least, by the stopping rule (concepts/search.md)
    region = Markup("Where <strong>{}</strong>, it {} {} of {}.").format(
        doc.text("/regions/0/words"), verb, _rate(doc, "/regions/0", level),
        doc.counted("/regions/0/n", "fresh image"),
    )  # fmt: skip
    whole = Markup("Over the whole searched space it {} {}.").format(verb, overall)
    return Answer([region, whole], [Markup(" ").join(_counted(doc, numbers))])


def _counted(doc: WrittenDocument, numbers: SearchNumbers) -> Iterator[Markup]:
    """Why there are more failures than the overall rate says, and which images give which rate."""
    yield Markup("The overall rate is of the {} of {} that were spread evenly over the space.").format(
        doc.number("/estimate/n", "count"), doc.counted("/calls", "image")
    )
    if numbers.failures:
        yield Markup("The {} among all images are no rate: the search chose images where failures were likely.").format(
            doc.counted("/failures", "failure")
        )
    if numbers.regions:
        yield Markup("The fresh images are among the {} too; none of them helped to find the region.").format(
            doc.number("/calls", "count")
        )


def _cautions(doc: WrittenDocument) -> Iterator[Block]:
    for section in doc.places("/sections"):
        yield from (Paragraph(doc.text(warning), "notice") for warning in doc.places(f"{section}/warnings"))
    yield Paragraph(
        "Effects on rendered faces are evidence about the target; confirm them on photographs before acting on them. "
        "Attributes are appearances as an onlooker sees them, never identities. Attributes that were not varied were "
        "not searched.",
        "note",
    )
    facts = [(words, doc.number(f"/{key}", "count")) for words, key in _FACTS.items()]
    yield Facts([*facts, ("cost", doc.number("/cost"))])


def _regions(doc: WrittenDocument) -> Iterator[Block]:
    if not doc.value("/regions"):
        yield Paragraph(Markup("None: {}.").format(doc.text("/regions_reason")))
        return
    yield Paragraph(
        "The search found each rule in one half of its calls and confirmed it in the other half. The rate comes from "
        "fresh images inside the rule alone, each of another subject. Fresh images stop as soon as the interval is "
        "narrow, and stopping makes an interval hold less often. So it is computed as one of 97 %, and holds in at "
        "least 94 % of searches: in 90 % with fewer than 25 images, or for a rate near 0 or 100 %. The rules stand in "
        "the order in which they were found, before any fresh image: the first is not picked for a high rate. Values "
        "are rounded."
    )
    rows = [
        (
            doc.text(f"{at}/words"),
            _rate(doc, at),
            doc.number(f"{at}/n", "count"),
            doc.number(f"{at}/share", "percent") + "%",
        )
        for at in doc.places("/regions")
    ]
    headings = ("Rule", "Rate", "Fresh images", "Share of the searched space")
    yield TextTable("Regions", headings, rows, "Regions with failures", range(1, 4))


def _maps(doc: WrittenDocument) -> Iterator[Block]:
    yield Paragraph(
        "Each field covers an equal share of the searched space along two attributes and shows how many of its calls "
        "were failures. The search repeats calls near failures, so the fields show where to look; they are not rates "
        "of fresh images. Frames are the rules above."
    )
    if not doc.value("/maps"):
        yield Paragraph("Only one attribute was varied, so there is no pair to draw.")
        return
    drawn = [_map(doc, place, number) for number, place in enumerate(doc.places("/maps"))]
    yield Plots(drawn, "maps", _map_numbers(doc))
    yield Folded("Tables of the maps", [_map_table(doc, place) for place in doc.places("/maps")], long=True)


def _map_numbers(doc: WrittenDocument) -> TextTable:
    """Every field of every map: the ranges of both attributes, its calls and its failures."""
    rows = [
        (entry["x"], *_edges(entry, "x", column), entry["y"], *_edges(entry, "y", row), str(calls), str(failures))
        for entry in doc.value("/maps")
        for row, lines in enumerate(zip(entry["calls"], entry["failures"], strict=True))
        for column, (calls, failures) in enumerate(zip(*lines, strict=True))
    ]
    return TextTable("Maps", ("across", "from", "to", "up", "up from", "up to", "calls", "failures"), rows)


def _edges(entry: Mapping[str, Any], axis: str, number: int) -> tuple[str, str]:
    low, high = entry[f"{axis}_edges"][number : number + 2]
    return str(low), str(high)


def _map(doc: WrittenDocument, place: str, number: int) -> Plot:
    entry = doc.value(place)
    size = len(entry["calls"])
    fields = [
        [_field(*counts) for counts in zip(*lines, strict=True)]
        for lines in zip(entry["failures"], entry["calls"], strict=True)
    ]
    frames = [Frame(*box["x"], *box["y"]) for box in entry["rules"]]
    x, y = ([doc.number(f"{place}/{axis}_edges/{end}") for end in (0, size)] for axis in ("x", "y"))
    across = [Tick(100.0 * end, text, entry["x_edges"][end * size]) for end, text in enumerate(x)]
    up = [Tick(MAP_HEIGHT * (1.0 - end), text, entry["y_edges"][end * size]) for end, text in enumerate(y)]
    title = f"Failures of calls by {entry['x']} and {entry['y']}"
    caption = Markup('<strong>{}</strong> <span class="fine">up</span>').format(doc.text(f"{place}/y"))
    drawing = heat_map(f"map-{number}", title, fields, frames, across, up)
    return Plot(caption, drawing, Markup("<strong>{}</strong>").format(doc.text(f"{place}/x")))


def _field(failures: int, calls: int) -> Field:
    return Field(f"{failures}/{calls}", failures / calls) if calls else Field("–", None)


def _map_table(doc: WrittenDocument, place: str) -> TextTable:
    """Failures and calls of every field, the highest row first, as on the map."""
    size = range(len(doc.value(f"{place}/calls")))
    x, y = ([_range(doc, f"{place}/{axis}_edges", number) for number in size] for axis in ("x", "y"))
    rows = [[y[row], *(_counts(doc, place, row, column) for column in size)] for row in reversed(size)]
    caption = Markup("Failures of calls by {} (rows) and {} (columns)").format(
        doc.text(f"{place}/y"), doc.text(f"{place}/x")
    )
    return TextTable(caption, ("", *x), rows, caption, [number + 1 for number in size])


def _range(doc: WrittenDocument, edges: str, number: int) -> Markup:
    return Markup("{} to {}").format(doc.number(f"{edges}/{number}"), doc.number(f"{edges}/{number + 1}"))


def _counts(doc: WrittenDocument, place: str, row: int, column: int) -> Markup:
    figures = [doc.number(f"{place}/{key}/{row}/{column}", "count") for key in ("failures", "calls")]
    return Markup("{} of {}").format(*figures)


def _errors(doc: WrittenDocument, faces: Sequence[AnswerFaces]) -> Iterator[Block]:
    errors = doc.value("/errors")
    if not errors or not errors["samples"][0]["rows"]:
        return
    yield Paragraph(
        "As the table of McDuff et al. 2019, by thirds of the searched space along each attribute, with 95 % "
        "intervals. Below each rate are the errors and the images that count. Sobol points lie evenly over the space, "
        "as do conditions asked in turn, so their rates are those of its images. A search follows up failures, so "
        'rates of all its calls describe what was sampled, not how often the target errs. "All, weighted equally" '
        "gives every group of the attribute the same weight, however often it was sampled."
    )
    yield _error_table(doc, errors)
    if faces:
        heading, shown, named = _FACES[doc.value("/outcome") in ERRORS]
        yield Heading(f"Mean faces {heading}")
        yield Paragraph(
            "Of all calls, by the attributes whose groups' rates differ most. A mean of few answers looks like one "
            f"person's face. The faces show what {shown}."
        )
        yield tag("div", svg.joined(_mean_face(face, named) for face in faces), class_="faces")


def _error_table(doc: WrittenDocument, errors: Mapping[str, Any]) -> TextTable:
    """Conditions by lines, measures and samplers beside each other."""
    rows = errors["samples"][0]["rows"]
    lines = sum(row["measure"] == rows[0]["measure"] for row in rows)
    starts = [(i, first) for i in range(len(errors["samples"])) for first in range(0, len(rows), lines)]
    places = [[f"/errors/samples/{i}/rows/{first + at}" for i, first in starts] for at in range(lines)]
    headings = [
        Markup('{}<br><span class="fine">{}</span>').format(
            doc.text(f"{place}/measure"), doc.text(f"{place.rsplit('/', 2)[0]}/sampler")
        )
        for place in places[0]
    ]
    table = [
        [_condition(row), *(_error(doc, place) for place in of_row)]
        for row, of_row in zip(rows[:lines], places, strict=True)
    ]
    columns = range(1, len(starts) + 1)
    return TextTable("Errors by condition", ("Condition", *headings), table, "Error rates by sampler", columns)


def _condition(row: Mapping[str, Any]) -> str:
    if not row["by"]:
        return "all calls"
    named = row["uniform"] or "×" not in row["by"]  # the group of several attributes names them
    name = f"{spaced(row['by'])}: " if named else ""
    return name + ("all, weighted equally" if row["uniform"] else row["group"])


def _error(doc: WrittenDocument, place: str) -> Markup:
    counts = [doc.number(f"{place}/{key}", "count") for key in ("errors", "images", "left_out")]
    left_out = Markup(", {} left out").format(counts[2]) if doc.value(f"{place}/left_out") else ""
    return Markup('{}<br><span class="fine">{} of {}{}</span>').format(_rate(doc, place), *counts[:2], left_out)


def _mean_face(face: AnswerFaces, named: tuple[str, str]) -> Markup:
    name = f"{spaced(face.by)}: {face.group}" if face.by else "all calls"
    name = face.group if "×" in face.by else name  # the group names its attributes
    both = ((face.right_picture, face.right, named[0]), (face.wrong_picture, face.wrong, named[1]))
    shown = [_mean(picture, f"{count} {word}", name) for picture, count, word in both]
    return tag("figure", tag("figcaption", name) + tag("div", svg.joined(shown), class_="two"))


def _mean(picture: bytes | None, words: str, name: str) -> Markup:
    image = tag("span", "–", class_="missing")
    if picture:
        image = tag("img", src=data_address(picture), alt=f"Mean face of {words} answers, {name}")
    return tag("div", image + tag("span", words, class_="fine"))


def _course(doc: WrittenDocument) -> Iterator[Block]:
    yield Paragraph(
        Markup("Failures far apart, from none to {}, over {}.").format(
            doc.number("/distinct_failures", "count"), doc.counted("/calls", "call")
        )
    )
    points = _curve(doc.value("/curve"))
    if not points:
        yield Paragraph("No failure was found.")
        return
    line = tag("g", svg.course(points, height=100), class_="series s0")
    words = "The line rises with each failure that is far from those before."
    drawing = svg.plot("course-plot", "Failures far apart by calls", words, line, up=(), height=192)
    rows = [(str(call), str(found)) for call, found in enumerate(doc.value("/curve"), start=1)]
    numbers = TextTable("Course", ("call", "failures far apart"), rows)
    yield Plot("Failures far apart by calls", drawing, "calls", numbers)


def _curve(counts: list[int]) -> str:
    """The course of failures by calls as points of a box 100 wide and 100 high."""
    if not counts or not counts[-1]:
        return ""
    last = len(counts)
    shown = sorted({0, *(round(k * last / STEPS) for k in range(1, STEPS + 1))})
    ends = [(100 * n / last, 100 - 100 * (counts[n - 1] if n else 0) / counts[-1]) for n in shown]
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in ends)


def _failure(doc: WrittenDocument) -> Markup:
    often = "" if doc.value("/outcome") in ERRORS else ", in half of an image's wordings or more"
    return Markup("{}{}").format(doc.text("/outcome"), often)


def _methods(doc: WrittenDocument) -> Facts:
    method = Markup("{}, from {} drawn for it").format(doc.text("/estimate/method"), doc.counted("/estimate/n", "call"))
    facts: list[tuple[str, str]] = [
        ("Goal", doc.text("/goal")),
        ("Strategy", doc.text("/strategy")),
        ("A failure", _failure(doc)),
        ("Overall rate", method),
    ]
    facts += [
        (doc.text(f"{at}/title"), doc.text(f"{at}/text/0"))
        for at in doc.places("/sections")
        if doc.value(f"{at}/key") == "gates"
    ]
    ranges = [
        Markup("{} {} to {}").format(doc.text(f"{at}/name"), doc.number(f"{at}/low"), doc.number(f"{at}/high"))
        for at in doc.places("/space")
    ]
    return Facts([*facts, ("Searched space", Markup("; ").join(ranges))], methods=True)
