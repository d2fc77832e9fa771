"""The page of mitigations: the answer, figures of leakage against performance, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, final

from markupsafe import Markup

from transect.mitigation.measuring import by_direction, costs_only
from transect.mitigation.numbers import MitigateNumbers
from transect.mitigation.testbed import FACELESS
from transect.reports import builder
from transect.reports.blocks import (
    Answer,
    Block,
    Cell,
    Facts,
    Folded,
    Page,
    Paragraph,
    Part,
    Plot,
    Plots,
    TextTable,
    summary,
    tabulated,
    works_cited,
)
from transect.reports.document import WrittenDocument
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Scale, Tick, covering, tick_text
from transect.runs.json_records import plain

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HEIGHT: Final = 340
SIDE: Final = 150


@final
@dataclass(frozen=True)
class Point:
    """A mitigation on a plane: per cent across and down, its letter and kind. low, high: ends of the interval down."""

    index: int
    letter: str
    kind: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@final
@dataclass(frozen=True)
class Plane:
    """Points with their axes; curve: a polyline through the noise."""

    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curve: str


def plane(rows: list[dict[str, Any]], across: str, up: str) -> Plane | None:
    """The mitigations on the plane of two figures; None where fewer than two have both."""
    known = [(i, row) for i, row in enumerate(rows) if _value(row, across) is not None and _value(row, up) is not None]
    if len(known) < 2:
        return None
    x = covering_tightly(_value(row, across) for _, row in known)
    y = covering([end for _, row in known for end in (_value(row, up), *_interval(row, up)) if end is not None])
    points = tuple(
        Point(
            index,
            LETTERS[index % len(LETTERS)],
            row["kind"],
            round(100 * x.fraction(_value(row, across) or 0.0), 2),
            round(100 - 100 * y.fraction(_value(row, up) or 0.0), 2),
            *(None if end is None else round(100 - 100 * y.fraction(end), 2) for end in _interval(row, up)),
        )
        for index, row in known
    )
    curve = sorted((p.x, p.y) for p in points if p.kind in ("plain", "noise"))
    return Plane(
        points,
        tuple(Tick(100 * x.fraction(tick), tick_text(x, tick, False), tick) for tick in x.ticks),
        tuple(Tick(HEIGHT * (1 - y.fraction(tick)), tick_text(y, tick, False), tick) for tick in y.ticks),
        " ".join(f"{a:g},{b:g}" for a, b in curve) if len(curve) > 1 else "",
    )


def draw(plane: Plane, name: str, title: str, *, noise: bool = False) -> Markup:
    """The plot of a plane, a lettered mark per mitigation. noise: whether to join those that add noise."""
    line = svg.course(plane.curve, "noise-curve", height=100) if noise and plane.curve else Markup()
    content = svg.joined([line, *map(_lettered, plane.points)])
    lettered = partial(svg.plot, zero=True, css="lettered-plot", height=HEIGHT)
    return lettered(name, title, "Letters as in the table.", content, up=plane.y_ticks, across=plane.x_ticks)


def _lettered(point: Point) -> Markup:
    x, y = f"{point.x}%", f"{point.y}%"
    bar = Markup()
    if point.low is not None and point.high is not None:
        bar = svg.tag("line", class_="whisker open", x1=x, x2=x, y1=f"{point.low}%", y2=f"{point.high}%")
    circle = svg.tag("circle", cx=x, cy=y, r=12)
    letter = svg.tag("text", point.letter, x=x, y=y, dy=".35em", text_anchor="middle")
    return svg.tag("g", bar + circle + letter, class_=f"lettered {point.kind}")


def draw_labels(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> Markup:
    """F1 of each label with the plain model (across) and with a mitigation (up), in a square."""
    pairs = [(a["estimate"], b["estimate"]) for a, b in zip(before["label_f1"], after["label_f1"], strict=True)]
    dots = svg.joined(
        svg.tag("circle", class_="dot", cx=round(SIDE * x / 100, 2), cy=round(SIDE * (100 - y) / 100, 2), r=3.5)
        for x, y in pairs
        if x is not None and y is not None
    )
    words = "A dot per label: before, across, and after, up; on the line nothing changes."
    ticks = [Tick(SIDE * share, f"{100 * share:.0f}", share) for share in (0.0, 0.5, 1.0)]
    return svg.square(name, "F1 of each label before and after", words, dots, SIDE, ticks, "diagonal")


def covering_tightly(values: Iterable[float | None]) -> Scale:
    """As `covering`, from near the lowest value instead of from zero."""
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    shifted = covering([high - low])
    step = shifted.ticks[1] - shifted.ticks[0]
    start = step * (low // step)
    count = int(-(-(high - start) // step)) or 1
    ticks = tuple(round(start + step * place, 12) for place in range(count + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def _value(row: Mapping[str, Any], name: str) -> float | None:
    figure = row[name]
    return None if figure is None else figure["estimate"]


def _interval(row: Mapping[str, Any], name: str) -> tuple[float | None, float | None]:
    """The ends of a figure's interval; None where it has none."""
    figure = row[name] or {}
    low, high = figure.get("low"), figure.get("high")
    return (None, None) if low is None or high is None else (low, high)


_COLUMNS: Final[dict[str, tuple[str, Cell]]] = {
    "Mitigation": ("name", "text"),
    "λ_M": ("model_leakage", "interval"),
    "λ_D(F₁)": ("dataset_leakage", "interval"),
    "Δ": ("amplification", "difference"),
    "Δ as published": ("published_amplification", "difference"),
    "mAP": ("mean_average_precision", "interval"),
    "F₁": ("f1", "interval"),
    "Attacker": ("attacker", "text"),
}
_EFFECTS: Final[dict[str, tuple[str, Cell]]] = {
    "Mitigation": ("name", "text"),
    "Answers that change, %": ("changed", "interval"),
    "Size of the effect": ("effect", "interval"),
}

_PERCEIVED: Final = Markup("{} is an appearance as others perceive it, not an identity.")
_RENDERED: Final = Markup(
    "{} is a setting of the renderer. It stands for an appearance as others might perceive it; nobody was asked, and "
    "it is not an identity."
)
_NOISE: Final = (
    "Noise is added to what the model computes; its number is a multiple of the spread of that. It helps nobody: it "
    "shows what any other mitigation should beat."
)


def write(numbers: MitigateNumbers, folder: Path) -> Path:
    """Write `mitigate.html` and return its path; the same numbers give the same bytes."""
    return builder.write(page_of(numbers), folder / "mitigate.html")


def page_of(numbers: MitigateNumbers) -> Page:
    """What the page shows."""
    doc = WrittenDocument(plain(numbers))
    rows = doc.value("/mitigations")
    trade, causal = plane(rows, "f1", "amplification"), plane(rows, "amplification", "changed")
    parts = [
        summary(_answer(doc, numbers), *_cautions(doc)),
        Part("table", "Leakage and performance", tuple(_tables(doc)), "Table"),
        Part("trade", "Trade-off", (_trade(doc, trade),)),
        Part("labels", "F₁ by label, before and after", tuple(_by_label(doc)), "Labels"),
        Part("audit", "Does less leakage mean less effect?", tuple(_audit(doc, causal)), "Audit"),
        Part("methods", "Methods", tuple(_methods(doc))),
    ]
    question = Markup("What reduces leakage of {} from the model's answers, and what does it cost?")
    shown = tuple(part for part in parts if part.blocks)
    return Page(numbers.title, shown, doc.text("/title"), question.format(doc.text("/protected_words")))


def _answer(doc: WrittenDocument, numbers: MitigateNumbers) -> Answer:
    """By how much each mitigation lowers Δ, what is not decided, and where the model starts."""
    start = Markup(
        "Without mitigation, an attacker that sees the answers guesses the class with a balanced accuracy of {}. Δ is "
        "{} points, at a macro F₁ (the mean over labels) of {}."
    ).format(
        doc.interval("/mitigations/0/model_leakage", unit=" %"),
        doc.interval("/mitigations/0/amplification", signed=True),
        doc.interval("/mitigations/0/f1", unit=" %"),
    )
    how = Markup(
        "Differences are means over {}, each with the plain model of the same seed. In brackets: {} % intervals "
        "(Student's t), each for its mitigation alone: the best of several looks better than it is."
    ).format(doc.counted("/mitigations/0/amplification_lost/n", "seed"), doc.number("/confidence", "name"))
    noise = [_NOISE] if any(row.kind == "noise" for row in numbers.mitigations) else []
    return Answer([*_differences(doc, numbers), start, *_next(doc, numbers)], [*_halved(doc), how, *noise])


def _differences(doc: WrittenDocument, numbers: MitigateNumbers) -> Iterator[Markup]:
    """The best that is shown to lower Δ, the others, those that raise it or only cost, and those still open."""
    shown = by_direction(numbers.mitigations)
    costly = [place for place in shown[0] if costs_only(numbers.mitigations[place])]
    lower, higher, cost, open_ = (
        [f"/mitigations/{place}" for place in places]
        for places in (shown[1], shown[-1], costly, [place for place in shown[0] if place not in costly])
    )
    if lower:
        first = Markup("<b>{} lowers Δ</b> by {}. {}")
        yield first.format(doc.text(f"{lower[0]}/name"), _lost(doc, lower[0]), _delta_words(doc))
    if lower[1:]:
        yield Markup("Also lower: {}.").format(_listed(doc, lower[1:]))
    if not lower:
        none = "No mitigation is shown to lower Δ." if len(numbers.mitigations) > 1 else "No mitigation was tried."
        yield Markup("<b>{}</b> {}").format(none, _delta_words(doc))
    if higher:
        yield Markup("These raise Δ, as a fall below zero says: {}.").format(_listed(doc, higher))
    for place in cost:
        yield _costs(doc, place)
    if open_:
        yield Markup("Not decided whether Δ falls: {}.").format(_listed(doc, open_))


def _delta_words(doc: WrittenDocument) -> Markup:
    return Markup(
        "Δ is how much better an attacker guesses the class ({}) from the answers than from labels with as many "
        "random errors."
    ).format(doc.text("/protected_words"))


def _costs(doc: WrittenDocument, place: str) -> Markup:
    """That a mitigation costs F1 without a gain that is shown."""
    fall, cost = (doc.interval(f"{place}/{name}", unit=" points") for name in ("amplification_lost", "f1_lost"))
    text = Markup("<b>{}</b> costs {} of F₁, and no gain is shown: Δ falls by {}.")
    return text.format(doc.text(f"{place}/name"), cost, fall)


def _listed(doc: WrittenDocument, places: Sequence[str]) -> Markup:
    return Markup("; ").join(
        Markup("<b>{}</b>, by {}").format(doc.text(f"{place}/name"), _lost(doc, place)) for place in places
    )


def _lost(doc: WrittenDocument, place: str) -> Markup:
    """How much Δ and F1 fall, with both intervals."""
    fall, cost = (doc.interval(f"{place}/{name}", unit=" points") for name in ("amplification_lost", "f1_lost"))
    return Markup("{} at a cost of {} of F₁").format(fall, cost)


def _next(doc: WrittenDocument, numbers: MitigateNumbers) -> Iterator[Markup]:
    """What would decide what is open."""
    if not by_direction(numbers.mitigations)[0]:
        return
    seeds = doc.number("/mitigations/0/amplification_lost/n", "count")
    if doc.value("/mitigations/0/amplification_lost/n") < 2:
        yield Markup("<b>Next:</b> one seed gives no interval: give at least three seeds (had {}).").format(seeds)
        return
    yield Markup(
        "<b>Next:</b> give more seeds (had {}), which narrows the intervals. Until then, adopt none that is not "
        "decided or only costs."
    ).format(seeds)


def _halved(doc: WrittenDocument) -> Iterator[Markup]:
    """Which are shown to be a good trade, and of which this is not decided."""
    others = doc.places("/mitigations")[1:]
    good, open_ = ([at for at in others if doc.value(f"{at}/good_trade") is verdict] for verdict in (True, None))
    names = Markup(", ").join(doc.text(f"{at}/name") for at in good)
    yield Markup("Shown to halve Δ at a cost of at most three points of F₁: {}.").format(names or "none")
    if open_:
        yield Markup("Not decided whether it is halved at that cost: {}.").format(
            Markup(", ").join(doc.text(f"{at}/name") for at in open_)
        )


def _cautions(doc: WrittenDocument) -> Iterator[Paragraph]:
    if not doc.value("/finished"):
        yield Paragraph("Some mitigations of the file are not finished: rerun the command to resume.", "notice")
    yield Paragraph(doc.text("/caveat"), "notice")
    rendered = doc.value("/config/data/source") == "faceworld"
    words = _RENDERED if rendered else _PERCEIVED
    yield Paragraph(words.format(doc.text("/protected_words")), "note")


def _tables(doc: WrittenDocument) -> Iterator[Block]:
    caption = Markup(
        'Means over seeds with {} % intervals where there are several <span class="fine">λ in percent, Δ in points; '
        "λ_D and Δ in the same format, and Δ against flipped bits as published</span>"
    ).format(doc.number("/confidence", "name"))
    yield _lettered_table(doc, "Leakage and performance", _COLUMNS, caption)
    attackers = sorted(doc.value("/mitigations/0/attackers"))
    columns: dict[str, tuple[str, Cell]] = {"Mitigation": ("name", "text")}
    for name in attackers:
        attacker = doc.text(f"/config/attackers/{doc.value('/config/attackers').index(name)}")
        columns[Markup("{}: λ_M").format(attacker)] = (f"attackers/{name}/model_leakage", "interval")
        columns[Markup("{}: Δ").format(attacker)] = (f"attackers/{name}/amplification", "difference")
    words = "λ_M and Δ by new attackers of increasing capacity"
    yield Folded("Every attacker", (tabulated(doc, "Every attacker", "/mitigations", columns, words),), long=True)


def _lettered_table(
    doc: WrittenDocument, title: str, columns: Mapping[str, tuple[str, Cell]], caption: str
) -> TextTable:
    """A row per mitigation, with the letter of its marks in front."""
    table = tabulated(doc, title, "/mitigations", columns, caption)
    letter = Markup('<span class="key-letter">{}</span>')
    rows = [(letter.format(LETTERS[place % len(LETTERS)]), *row) for place, row in enumerate(table.rows)]
    numbers = [number + 1 for number in table.numbers]
    return replace(table, headings=("", *table.headings), rows=rows, numbers=numbers, names=1)


def _trade(doc: WrittenDocument, trade: Plane | None) -> Block:
    if trade is None:
        return Paragraph("A plot needs at least two mitigations.")
    caption = Markup(
        '<strong>Amplification by F₁</strong> <span class="fine">low and right is good; the dashed line is increasing '
        "noise, which any mitigation should beat; letters as in the table</span>"
    )
    drawing = draw(trade, "trade-plot", "Amplification by F₁", noise=True)
    across = Markup("Across: macro F₁, %. Up: Δ in the same format, points, with its interval. {}")
    return Plot(caption, drawing, across.format(_named(doc, trade)), _plane_numbers(doc, trade, "f1", "amplification"))


def _named(doc: WrittenDocument, shown: Plane) -> Markup:
    """The letters of a plane and what they stand for."""
    named = [(point.letter, doc.text(f"/mitigations/{point.index}/name")) for point in shown.points]
    return Markup(", ").join(Markup("{} {}").format(*pair) for pair in named) + "."


def _plane_numbers(doc: WrittenDocument, shown: Plane, across: str, up: str) -> TextTable:
    """Both figures of each mitigation with their intervals."""
    rows = [
        [str(doc.value(f"/mitigations/{point.index}/name")), *_ends(doc, point, across), *_ends(doc, point, up)]
        for point in shown.points
    ]
    headings = ["mitigation", *(f"{name}{end}" for name in (across, up) for end in ("", " low", " high"))]
    return TextTable("Plane", headings, rows)


def _ends(doc: WrittenDocument, point: Point, name: str) -> list[str]:
    figure = doc.value(f"/mitigations/{point.index}/{name}")
    return ["" if figure[end] is None else str(figure[end]) for end in ("estimate", "low", "high")]


def _by_label(doc: WrittenDocument) -> Iterator[Block]:
    plain_model, *others = doc.value("/mitigations")
    shown = [place for place, row in enumerate(others, start=1) if row["kind"] != "noise"]
    if not shown:
        return
    plots = [
        Plot(doc.text(f"/mitigations/{place}/name"), draw_labels(plain_model, others[place - 1], f"labels-{number}"))
        for number, place in enumerate(shown)
    ]
    yield Plots(plots, "small-multiples", _label_numbers(doc))
    yield Paragraph(
        "Across: F₁ of the model without mitigation; up: with it, in per cent. On the dashed line nothing changes.",
        "fine",
    )
    each = doc.places("/mitigations")
    names = [doc.text(f"{at}/name") for at in each]
    rows = [
        [doc.text(f"{at}/name"), *(doc.number(f"{row}/label_f1/{number}/estimate", "fixed") for row in each)]
        for number, at in enumerate(doc.places("/labels"))
    ]
    yield TextTable("F1 by label", ("Label", *names), rows, "F₁ of each label, %", range(1, len(names) + 1))


def _label_numbers(doc: WrittenDocument) -> TextTable:
    """F1 of each label with each mitigation."""
    rows = doc.value("/mitigations")
    figures = [
        [doc.value(f"{at}/name"), *(str(row["label_f1"][number]["estimate"]) for row in rows)]
        for number, at in enumerate(doc.places("/labels"))
    ]
    return TextTable("F1 by label", ["label", *(row["name"] for row in rows)], figures)


def _audit(doc: WrittenDocument, causal: Plane | None) -> Iterator[Block]:
    if causal is None:
        return
    ranks = Markup()
    if doc.value("/leakage_and_effect") and doc.value("/leakage_and_effect/changed") is not None:
        ranks = Markup(
            " Over the mitigations, Δ and the share of changed answers have a rank correlation of {}."
        ).format(doc.number("/leakage_and_effect/changed", "fixed", 2, signed=True))
    yield Paragraph(
        Markup(
            "The audit shows the models the same {}, none of them in training data, at {} {} and {} with all "
            "else held. How many answers change?{}"
        ).format(
            doc.counted("/protocol/subjects", "subject"),
            doc.text("/protocol/attribute"),
            doc.number("/protocol/low"),
            doc.number("/protocol/high"),
            ranks,
        )
    )
    yield Plot(
        Markup("<strong>Answers that change with the appearance alone, by amplification</strong>"),
        draw(causal, "causal-plot", "Answers that change, by amplification"),
        Markup("Across: Δ in the same format, points. Up: answers that change, %. {}").format(_named(doc, causal)),
        _plane_numbers(doc, causal, "amplification", "changed"),
    )
    caption = Markup(
        'Effects of the appearance on answers, over seeds <span class="fine">size: the mean over labels of the '
        "effect's size, in points, which chance keeps above zero</span>"
    )
    yield _lettered_table(doc, "Effects", _EFFECTS, caption)


def _methods(doc: WrittenDocument) -> Iterator[Block]:
    counts = [doc.number(f"/pictures/{use}", "count") for use in ("train", "check", "test")]
    facts: list[tuple[str, str]] = [
        (
            "Pictures",
            Markup("{} to learn from, {} to stop by, {} to measure on, from {}").format(
                *counts, doc.text("/config/data/source")
            ),
        )
    ]
    if doc.value("/split"):
        facts.append(("Split", doc.text("/split")))
    left = [reason for reason, count in doc.value("/left_out").items() if count]
    reasons = [Markup("{} {}").format(doc.number(f"/left_out/{reason}", "count"), reason) for reason in left]
    if reasons:
        facts.append(("Left out", Markup("; ").join(reasons)))
    facts += [(f"{FACELESS}, {name}", doc.number(place, "count")) for name, place in _faceless(doc)]
    if not doc.value("/protocol"):
        needs = "none: it needs a generator that sets the appearance and nothing else, as FaceWorld does"
        facts.append(("Audit by transects", needs))
    seeds = Markup(", ").join(doc.number(place, "name") for place in doc.places("/config/seeds"))
    attackers = Markup("fresh, cross-fitted on the pictures to measure on: {}").format(doc.listed("/config/attackers"))
    yield Facts([*facts, ("Seeds", seeds), ("Attackers", attackers)], methods=True)
    yield from works_cited(doc)


def _faceless(doc: WrittenDocument) -> Iterator[tuple[str, str]]:
    """Mitigations that hide faces by a detector, and the place of the number of pictures in which it finds none."""
    for place in doc.places("/mitigations"):
        if FACELESS in (doc.value(f"{place}/seeds") or [{"notes": {}}])[0]["notes"]:
            yield str(doc.value(f"{place}/name")), f"{place}/seeds/0/notes/{FACELESS}"
