"""The page of a leakage analysis: `leakage.html`, and `leakage.json` with every number on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from transect.attacks.comparisons import DEALT
from transect.attacks.numbers import LeakageNumbers
from transect.jobs.leakage.first_screen import answer, cautions, question
from transect.jobs.leakage.side_by_side_page import ends_in_words, side_by_side
from transect.reports import builder
from transect.reports.blocks import (
    Block,
    Cell,
    DotPlot,
    Facts,
    Folded,
    Page,
    Paragraph,
    Part,
    Row,
    TextTable,
    summary,
    tabulated,
    works_cited,
)
from transect.reports.document import WrittenDocument
from transect.reports.drawing import svg
from transect.reports.drawing.scales import Scale
from transect.reports.drawing.svg import Interval, Tick
from transect.runs.plain_json import plain

LEANING_SHOWN: Final = 30
_COUNTED: Final = {
    "bias_amp": "BiasAmp",
    "directional": "BiasAmp→ (label from class)",
    "multi_attribute": "multi-attribute amplification",
}
_COMPARISONS: Final[dict[str, tuple[str, Cell]]] = {
    "Format": ("name", "text"),
    "How labels err": ("noise", "text"),
    "Model, %": ("model_leakage", "interval"),
    "Labels, %": ("dataset_leakage", "interval"),
    "Amplification": ("amplification", "difference"),
}
_CONTRIBUTIONS: Final[dict[str, tuple[str, Cell]]] = {
    "Label": ("label", "text"),
    "Class": ("protected_class", "text"),
    "Points": ("points", "points"),
}
_COSTS: Final[dict[str, tuple[str, Cell]]] = {
    "Largest ratio": ("alpha", "plain"),
    "Items kept": ("kept", "count"),
    "of": ("of", "count"),
    "No subset keeps more than": ("bound", "count"),
}
_STRONG: Final = ("dataset", "model")


def write(numbers: LeakageNumbers, folder: Path) -> Path:
    """Write `leakage.html` and `leakage.json` and return the path of the page.

    The same analysis gives the same bytes. Raises RunFolderError when the folder cannot be written.
    """
    return builder.write(page_of(numbers), folder / "leakage.html", numbers)


def page_of(numbers: LeakageNumbers) -> Page:
    """What the page shows."""
    doc = WrittenDocument(plain(numbers))
    protected = doc.text("/protected")
    parts = [
        summary(answer(doc, numbers), *cautions(doc)),
        Part("leakage", "Leakage", tuple(_leakages(doc))),
        Part("side-by-side", "Side by side", tuple(side_by_side(doc))),
        Part("amplification", "Amplification", tuple(_amplification(doc))),
        Part("labels", "Labels", tuple(_labels(doc, protected))),
        Part("methods", "Methods", tuple(_methods(doc))),
    ]
    shown = tuple(part for part in parts if part.blocks)
    return Page(numbers.title, shown, heading=doc.text("/title"), question=question(doc))


def _leakages(doc: WrittenDocument) -> Iterator[Block]:
    """The labels and the headline's comparison; all else behind a summary."""
    axis = _axis(doc)
    ticks = [Tick(100 * axis.fraction(tick), f"{tick:g}", tick) for tick in axis.ticks]
    band = _band(doc.tree, axis)
    first, rest = list[Row](), list[Row]()
    for number, (place, kind, mark) in enumerate(_marks(doc, axis)):
        drawing = _drawing(number, mark, ticks, band)
        row = Row(_words(doc, place, kind), drawing, doc.interval(place), kind in _STRONG)
        (first if place.rsplit("/", 1)[0] == _headline(doc.tree) or kind == "dataset" else rest).append(row)
    caption = Markup(
        '<strong>Balanced accuracy of the attacker</strong>, % <span class="fine">with {}; the band shows where '
        "estimates lie if labels carry no information; hollow marks are for comparison</span>"
    ).format(ends_in_words(doc))
    yield DotPlot(caption, ticks, first)
    if rest:
        of_models = ", other formats of predictions" if doc.value("/comparisons") else ""
        yield Folded(f"Labels with noise{of_models}, and fewer {_drawn(doc)}", (DotPlot("", ticks, rest),), long=True)


def _headline(content: Mapping[str, Any]) -> str:
    """The place of the comparison that the headline reports; "" without one."""
    chosen = content["amplification"]
    for number, pair in enumerate(content["comparisons"]):
        if chosen and (pair["name"], pair["noise"]) == (chosen["format"], chosen["noise"]):
            return f"/comparisons/{number}"
    return ""


def _drawing(number: int, mark: Interval, ticks: Sequence[Tick], band: tuple[float, float] | None) -> Markup:
    grid = [(tick.at, 1.0) for tick in ticks]
    words = "A hollow mark is a comparison by chance."
    return svg.track(f"leakage-{number}", "Leakage and its interval", words, grid, [mark], band)


def _drawn(doc: WrittenDocument) -> str:
    """What the learning curve draws fewer of."""
    return "training rows" if doc.value("/subjects") is None else "subjects to learn from"


def _words(doc: WrittenDocument, place: str, kind: str) -> Markup:
    change = Markup(' <span class="change">{}</span>')
    if kind == "dataset":
        return Markup("<b>Original labels</b>")
    if kind == "level":
        f1 = doc.number(f"{place}/f1", "fixed")
        return Markup("Labels with noise, macro F₁ {} %{}").format(f1, change.format(doc.text(f"{place}/noise")))
    if kind == "share":
        return Markup("Labels, {} % of the {}").format(doc.number(f"{place}/share", "fixed", 0), _drawn(doc))
    if kind == "model share":
        return Markup("Predictions, {} % of the {}").format(doc.number(f"{place}/share", "fixed", 0), _drawn(doc))
    pair = place.rsplit("/", 1)[0]
    if kind == "model":
        return Markup("The model's predictions{}").format(change.format(doc.text(f"{pair}/name")))
    if doc.value(f"{pair}/noise") == DEALT:
        return Markup("The same, dealt out within labels{}").format(change.format(doc.text(f"{pair}/name")))
    source = Markup("{}; {}").format(doc.text(f"{pair}/name"), doc.text(f"{pair}/noise"))
    return Markup("Labels with as many random errors{}").format(change.format(source))


def _figures(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Place and kind of every leakage that the page draws on its common axis."""
    yield "/dataset_leakage", "dataset"
    for i in range(len(content["at_accuracy"])):
        yield f"/at_accuracy/{i}", "level"
    for i in range(len(content["comparisons"])):
        yield f"/comparisons/{i}/model_leakage", "model"
        yield f"/comparisons/{i}/dataset_leakage", "chance"
    for kind in ("learning_curve", "model_learning_curve"):
        for i in range(len(content[kind])):
            yield f"/{kind}/{i}", "share" if kind == "learning_curve" else "model share"


def _axis(doc: WrittenDocument) -> Scale:
    """From a multiple of ten below everything drawn to one above, within 0 and 100."""
    ends = [doc.value(place) for place in ("/chance", "/null/low", "/null/high")]
    for place, _ in _figures(doc.tree):
        ends += [doc.value(f"{place}/low"), doc.value(f"{place}/high")]
    drawn = [end for end in ends if end is not None]
    low = max(0, 10 * math.floor(min(drawn) / 10))
    high = min(100, 10 * math.ceil(max(drawn) / 10))
    high = max(high, low + 10)
    step = 10 if high - low <= 60 else 20
    return Scale(float(low), float(high), tuple(float(tick) for tick in range(low, high + 1, step)))


def _marks(doc: WrittenDocument, axis: Scale) -> Iterator[tuple[str, str, Interval]]:
    """Place, kind and mark of every leakage with an interval."""
    for place, kind in _figures(doc.tree):
        ends = [doc.value(f"{place}/{key}") for key in ("estimate", "low", "high")]
        if None not in ends:
            at, low, high = (100 * axis.fraction(end) for end in ends)
            yield place, kind, Interval(at, low, high, filled=kind in _STRONG)


def _band(content: Mapping[str, Any], axis: Scale) -> tuple[float, float] | None:
    """Left edge and width, in percent, of where estimates lie if labels carry no information."""
    low, high = content["null"]["low"], content["null"]["high"]
    if low is None:
        return None
    left, right = (max(0.0, min(1.0, axis.fraction(end))) for end in (low, high))
    return 100 * left, 100 * (right - left)


def _amplification(doc: WrittenDocument) -> Iterator[Block]:
    tree = doc.tree
    if not tree["comparisons"]:
        return
    yield Paragraph(
        Markup(
            "How much more the model's predictions reveal than labels of the same accuracy with random errors. The "
            "headline is <em>dealt out within labels</em>: the model's own predictions, exchanged among items with the "
            "same label, so that they keep which labels are mistaken for which. <em>Frequency</em> keeps the F₁ alone: "
            "its Δ also counts labels that are mistaken for others of the same class, which takes no look at the "
            "class. <em>Published</em> compares scores with flipped bits, so part of its difference is due to the "
            "format."
        )
    )
    caption = "Model leakage minus dataset leakage at the model's accuracy, percentage points"
    yield tabulated(doc, "Amplification", "/comparisons", _COMPARISONS, caption)
    if tree["contributions"]:
        yield _contributions(doc, "/contributions", "amplification in the same format", "the largest")
    if tree["counted"]:
        yield from _counted(doc)


def _counted(doc: WrittenDocument) -> Iterator[Block]:
    figures = [
        Markup("{} {}").format(_COUNTED[name], doc.number(f"/counted/{name}", "fixed", 2, signed=True))
        for name in doc.tree["counted"]
    ]
    words = Markup("; ").join(figures)
    yield Paragraph(Markup("Measured by counting, without an attacker, in percentage points: {}.").format(words))
    tables = [
        _contributions(doc, f"/counted_contributions/{name}", _COUNTED[name], "the largest; percentage points")
        for name, items in doc.tree["counted_contributions"].items()
        if items
    ]
    yield Folded("Contributions by label and class", tables, long=True)


def _contributions(doc: WrittenDocument, place: str, measure: str, which: str) -> TextTable:
    caption = Markup('Contribution of each label and class to {} <span class="fine">{}</span>').format(measure, which)
    return tabulated(doc, f"Contributions to {measure}", place, _CONTRIBUTIONS, caption)


def _labels(doc: WrittenDocument, protected: Markup) -> Iterator[Block]:
    uneven = Markup("At least one label never occurs with one of the classes.")
    if doc.value("/overview/worst_ratio") is not None:
        uneven = Markup("The most uneven label occurs {} times as often with one class as with another.").format(
            doc.number("/overview/worst_ratio")
        )
    opening = Markup("How often each label occurs with each class of {}, with all classes weighted equally. {}")
    yield Paragraph(opening.format(protected, uneven))
    yield from _costs(doc)
    yield _leaning(doc, protected)
    yield Folded("Every label", (_every_label(doc, protected),), long=True)


def _costs(doc: WrittenDocument) -> Iterator[Block]:
    costs = doc.value("/overview/costs")
    if not costs:
        return
    heuristic: dict[str, tuple[str, Cell]] = {
        "Kept by the heuristic of Wang et al.": ("heuristic", "count"),
        "its ratio": ("heuristic_alpha", "plain"),
    }
    columns = _COSTS | (heuristic if costs[0]["heuristic"] is not None else {})
    caption = "The largest subset in which no label exceeds a ratio between classes"
    yield tabulated(doc, "Cost of balancing", "/overview/costs", columns, caption, names=-1)
    for at, cost in zip(doc.places("/overview/costs"), costs, strict=True):
        if cost["note"]:
            yield Paragraph(Markup("{}.").format(doc.text(f"{at}/note")), "note")


def _leaning(doc: WrittenDocument, protected: Markup) -> DotPlot:
    """The labels that lean most, by the first class's share."""
    labels = doc.value("/overview/labels")
    shares = [(i, label["share"][0]) for i, label in enumerate(labels) if label["share"][0] is not None]
    rows = [
        Row(
            doc.text(f"/overview/labels/{i}/name"),
            svg.track(f"lean-{i}", "Share between 0 and 100 %", "", [(doc.value("/chance"), 0)], [Interval(share)]),
            doc.number(f"/overview/labels/{i}/share/0", "fixed"),
        )
        for i, share in sorted(shares[:LEANING_SHOWN], key=lambda place: (-place[1], place[0]))
    ]
    caption = Markup(
        '<strong>Items with a label where {} is {}</strong>, % <span class="fine">classes weighted equally; the most '
        "uneven labels; the line is an even share</span>"
    ).format(protected, doc.text("/classes/0"))
    return DotPlot(caption, (), rows)


def _every_label(doc: WrittenDocument, protected: Markup) -> TextTable:
    classes = [doc.text(place) for place in doc.places("/classes")]
    shares = range(len(classes) if len(classes) > 2 else 1)
    headings = ["Label", *(Markup("{} {}").format(protected, name) for name in classes)]
    headings += [Markup("Share where {} is {}, %").format(protected, classes[number]) for number in shares]
    rows = [
        [
            doc.text(f"{at}/name"),
            *(doc.number(f"{at}/counts/{number}", "count") for number in range(len(classes))),
            *(doc.number(f"{at}/share/{number}", "fixed") for number in shares),
        ]
        for at in doc.places("/overview/labels")
    ]
    cut = Markup()
    if doc.value("/overview/labels_in_all") > len(rows):
        every = doc.number("/overview/labels_in_all", "count")
        cut = Markup(' <span class="fine">the {} of {} most uneven</span>').format(len(rows), every)
    return TextTable("Every label", headings, rows, Markup("Items by label and class{}").format(cut), range(1, 99))


def _methods(doc: WrittenDocument) -> Iterator[Block]:
    tree = doc.tree
    attacker = Markup("{}{}; rounds: {}").format(
        doc.text("/attacker"),
        Markup(", which selected {}").format(doc.listed("/chosen")) if tree["chosen"] else "",
        doc.number("/rounds", "count"),
    )
    items = Markup("{} scored, {} for training{}").format(
        doc.number("/n", "count"), doc.number("/n_train", "count"), "" if tree["splits"] else ", cross-fitted"
    )
    facts: list[tuple[str, str]] = [
        ("Labels from", doc.text("/source")),
        ("Attacker", attacker),
        ("Items", items),
        ("Subjects", doc.number("/subjects", "count") if tree["subjects"] is not None else ""),
        ("Notes", doc.listed("/notes", " ")),
        ("Labels", Markup("{}, as {}").format(doc.number("/labels", "count"), doc.text("/label_format"))),
        ("Intervals", doc.text("/dataset_leakage/method") if tree["dataset_leakage"]["method"] else "none"),
        ("Seed", doc.number("/seed", "name")),
    ]
    yield Facts([fact for fact in facts if fact[1]], methods=True)
    yield from works_cited(doc)
