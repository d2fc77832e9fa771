"""The part of a leakage page that sets models, subsets, attackers and attributes side by side, and the figure by F1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from markupsafe import Markup, escape

from transect.attacks.results import NO_INTERVAL, SPREAD
from transect.reports.blocks import Block, Cell, Paragraph, Plot, TextTable, tabulated
from transect.reports.document import WrittenDocument
from transect.reports.drawing import svg
from transect.reports.drawing.scales import Scale
from transect.reports.drawing.svg import Tick

HEIGHT: Final = 300
MOST_LINES: Final = 4
"""Lines of a figure that differ in color and in dashes."""
_TABLES: Final = {
    "Models and balanced subsets": ("model", "balanced"),
    "Attackers": ("model", "attacker"),
    "Protected attributes": ("model", "attribute"),
}
"""Parts of each table: the rows of the first attribute and attacker stand in all."""
_ABSENT: Final = Markup('<span class="none">–</span>')
_DIFFERENCES: Final[dict[str, tuple[str, Cell]]] = {
    "Model": ("model", "text"),
    "minus": ("reference", "text"),
    "Predictions": ("format", "text"),
    "Difference of λ_M, points": ("difference", "difference"),
}

_REPRESENTATIONS: Final[dict[str, tuple[str, Cell]]] = {
    "Representation": ("name", "text"),
    "Attacker": ("attacker", "text"),
    "Leakage, %": ("leakage", "interval"),
    "Beyond the label, points": ("beyond_label", "difference"),
    "Numbers an item": ("columns", "count"),
    "Items": ("n", "count"),
    "Left out": ("left_out", "count"),
}
_PAIRED_ITEMS: Final = (
    "Paired over the items that both models predict; the intervals of all models hold together with 95 % (Bonferroni), "
    "save where several sets of items or attackers are compared"
)
_PAIRED_ROUNDS: Final = (
    f"Paired by round. In brackets: {SPREAD}, as published. {NO_INTERVAL}, so it does not tell which model gives away "
    "more."
)

_Column = Callable[[WrittenDocument, str], Markup]


def side_by_side(doc: WrittenDocument) -> Iterator[Block]:
    """The table, the differences between models, and leakage by F1 where there is a curve."""
    for title, parts in _TABLES.items():
        places = [at for at in doc.places("/table") if doc.value(f"{at}/part") in parts]
        if any(doc.value(f"{at}/part") != "model" for at in places) or (len(places) > 1 and "balanced" in parts):
            yield _table(doc, title, places)
    if doc.value("/table"):
        yield from _notes(doc)
    if doc.value("/differences"):
        caption = _PAIRED_ROUNDS if doc.value("/published_protocol") else _PAIRED_ITEMS
        yield tabulated(doc, "Differences between models", "/differences", _DIFFERENCES, caption)
    if doc.value("/representations"):
        caption = (
            "How well an attacker guesses from each representation; beyond the label: less what the same rows give "
            "away when they are exchanged among items with the same label"
        )
        yield tabulated(doc, "Representations", "/representations", _REPRESENTATIONS, caption)
    yield from _by_f1(doc)


def ends_in_words(doc: WrittenDocument) -> Markup:
    """What the two ends beside every figure are."""
    if doc.value("/published_protocol"):
        return escape(f"{SPREAD}, as published: no intervals")
    return Markup("{} % intervals").format(doc.number("/confidence", "name"))


def _table(doc: WrittenDocument, title: str, places: Sequence[str]) -> TextTable:
    rows = [doc.value(at) for at in places]
    columns = {
        heading: column for heading, (column, shown) in _columns().items() if any(shown(row, rows) for row in rows)
    }
    caption = Markup('{} <span class="fine">λ in percent, Δ in points, with {}</span>').format(
        title, ends_in_words(doc)
    )
    cells = [[column(doc, at) for column in columns.values()] for at in places]
    texts = {"Items", "Attribute", "Model", "Attacker"}
    numbers = [number for number, heading in enumerate(columns) if heading not in texts]
    return TextTable(title, tuple(columns), cells, caption, numbers)


def _columns() -> dict[str, tuple[_Column, Callable[[dict[str, Any], list[dict[str, Any]]], bool]]]:
    """Heading, how a row is printed, and whether the row is a reason for the column."""

    def varies(key: str) -> Callable[[dict[str, Any], list[dict[str, Any]]], bool]:
        return lambda row, rows: row[key] != rows[0][key]

    def there(key: str) -> Callable[[dict[str, Any], list[dict[str, Any]]], bool]:
        return lambda row, _: row[key] is not None

    def figure(key: str, signed: bool = False) -> _Column:
        return lambda doc, at: (
            _ABSENT if doc.value(f"{at}/{key}") is None else doc.interval(f"{at}/{key}", signed=signed)
        )

    def number(key: str) -> _Column:
        return lambda doc, at: _ABSENT if doc.value(f"{at}/{key}") is None else doc.number(f"{at}/{key}", "fixed", 2)

    return {
        "Items": (_items, lambda row, rows: (row["alpha"], row["within"]) != (rows[0]["alpha"], rows[0]["within"])),
        "Attribute": (lambda doc, at: doc.text(f"{at}/attribute"), varies("attribute")),
        "Model": (_model, lambda row, _: bool(row["model"])),
        "Attacker": (lambda doc, at: doc.text(f"{at}/attacker"), varies("attacker")),
        "λ_D": (figure("dataset_leakage"), lambda *_: True),
        "λ_M": (figure("model_leakage"), there("model_leakage")),
        "Δ": (figure("amplification", signed=True), there("amplification")),
        "F₁": (number("f1"), there("f1")),
        "mAP": (number("mean_average_precision"), there("mean_average_precision")),
        "λ_D(a)": (figure("dataset_at_accuracy"), there("dataset_at_accuracy")),
        "Δ as published": (figure("published_amplification", signed=True), there("published_amplification")),
        "Training items": (_sizes, lambda *_: True),
    }


def _items(doc: WrittenDocument, at: str) -> Markup:
    if doc.value(f"{at}/alpha") is not None:
        return Markup("α\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{}").format(doc.number(f"{at}/alpha"))
    return doc.text(f"{at}/within") if doc.value(f"{at}/within") else Markup("all")


def _model(doc: WrittenDocument, at: str) -> Markup:
    return doc.text(f"{at}/model") if doc.value(f"{at}/model") else Markup("labels alone")


def _sizes(doc: WrittenDocument, at: str) -> Markup:
    counts = [doc.number(place, "count") for place in doc.places(f"{at}/n_train")]
    return Markup(" + ").join(counts) if counts else _ABSENT


def _notes(doc: WrittenDocument) -> Iterator[Paragraph]:
    """What to know of single rows, and which Δ the table has."""
    if any(row["amplification"] for row in doc.value("/table")):
        yield Paragraph(
            "Δ compares each model with its own predictions dealt out among items with the same label: the same "
            "mistakes, made by chance. So a model that sees nothing but the label has a Δ of zero.",
            "fine",
        )
    for at in doc.places("/table"):
        row = doc.value(at)
        if row["note"] and not row["reason"]:
            name = _items(doc, at) if row["part"] != "attribute" else doc.text(f"{at}/attribute")
            within = Markup(", {}").format(doc.text(f"{at}/within")) if row["within"] else Markup()
            yield Paragraph(Markup("{}{}: {}.").format(name, within, doc.text(f"{at}/note")), "fine")


def _by_f1(doc: WrittenDocument) -> Iterator[Plot]:
    """Fig. 4 of the paper: λ_D by the F1 of labels with errors, a line for each subset, and each model's λ_M."""
    lines = _lines(doc)
    if not lines:
        return
    values = [value for _, points in lines for _, value in points] + [value for _, value in _marks(doc)]
    scale = _scale([*values, doc.value("/chance")])
    drawn = [
        svg.tag("g", svg.course(_path(points, scale), height=100), class_=f"series s{number}")
        for number, (_, points) in enumerate(lines)
    ]
    marks = [
        svg.tag("g", svg.placed(0, svg.percent(f1), svg.percent(100 - 100 * scale.fraction(value))), class_="series s0")
        for f1, value in _marks(doc)
    ]
    across = [Tick(float(at), f"{at}", float(at)) for at in range(0, 101, 20)]
    up = [Tick(HEIGHT * (1 - scale.fraction(tick)), f"{tick:g}", tick) for tick in scale.ticks]
    drawing = svg.plot(
        "leakage-by-f1",
        "Leakage by F1",
        "Each line falls to chance as labels get worse; dots are models.",
        svg.joined([*drawn, *marks]),
        up=up,
        across=across,
        css="section-plot",
        height=HEIGHT,
    )
    caption = Markup("<strong>λ_D of labels with as many random errors</strong>{} {}").format(
        Markup(' <span class="fine">dots: λ_M of the models at their F₁</span>') if marks else Markup(),
        svg.legend([(name, number) for number, (name, _) in enumerate(lines)], "span") if len(lines) > 1 else Markup(),
    )
    rows = [(name, f"{f1:g}", f"{value:g}") for name, points in lines for f1, value in points]
    rows += [(Markup("models"), f"{f1:g}", f"{value:g}") for f1, value in _marks(doc)]
    numbers = TextTable("Leakage by F1", ("items", "macro F1, %", "leakage, %"), rows)
    yield Plot(caption, drawing, "Across: macro F₁ of the labels, %. Up: leakage, %.", numbers)


def _lines(doc: WrittenDocument) -> list[tuple[Markup, list[tuple[float, float]]]]:
    """Name and points (F1, λ_D) of all items and of each balanced subset, where λ_D was measured at some F1."""
    places = [(Markup("all items"), "")]
    seen = set()
    for at in doc.places("/table"):
        alpha = doc.value(f"{at}/alpha")
        if alpha is not None and alpha not in seen:
            seen.add(alpha)
            places.append((_items(doc, at), at))
    lines = []
    for name, at in places[:MOST_LINES]:
        known = [(100.0, doc.value(f"{at}/dataset_leakage/estimate"))]
        known += [(level["f1"], level["estimate"]) for level in doc.value(f"{at}/at_accuracy")]
        points = sorted((f1, value) for f1, value in known if f1 is not None and value is not None)
        if len(points) > 2:
            lines.append((name, points))
    return lines


def _marks(doc: WrittenDocument) -> list[tuple[float, float]]:
    """F1 and λ_M of every model."""
    rows: list[dict[str, Any]] = [
        row for row in doc.value("/table") if row["part"] in ("model", "balanced") and row["model_leakage"]
    ]
    if not rows and doc.value("/model_leakage"):
        rows = [
            {"model": doc.value("/model"), "f1": doc.value("/model_f1"), "model_leakage": doc.value("/model_leakage")}
        ]
    found = [(row["f1"], row["model_leakage"]["estimate"]) for row in rows]
    return [(f1, value) for f1, value in found if f1 is not None and value is not None]


def _path(points: Sequence[tuple[float, float]], scale: Scale) -> str:
    return " ".join(f"{f1:.2f},{100 - 100 * scale.fraction(value):.2f}" for f1, value in points)


def _scale(values: Sequence[float]) -> Scale:
    """From a multiple of five below everything to one above, ticks five or ten apart."""
    low, high = 5 * math.floor(min(values) / 5), 5 * math.ceil(max(values) / 5)
    high = max(high, low + 10)
    step = 5 if high - low <= 40 else 10
    return Scale(float(low), float(high), tuple(float(tick) for tick in range(low, high + 1, step)))
