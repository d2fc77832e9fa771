"""The page of a mitigation: `mitigate.html`; `mitigate.json` holds every number on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from markupsafe import Markup

from transect.mitigation.found_faces import FACELESS
from transect.mitigation.numbers import MitigateNumbers
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
from transect.reports.drawing.scales import Scale, covering, tick_text
from transect.reports.drawing.svg import Tick
from transect.runs.plain_json import plain

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HEIGHT: Final = 340
SIDE: Final = 150
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


@final
@dataclass(frozen=True)
class Point:
    """A mitigation on a plane: per cent across and down, its letter and kind."""

    index: int
    letter: str
    kind: str
    x: float
    y: float


@final
@dataclass(frozen=True)
class Plane:
    """Points with their axes; curve: a polyline through the noise."""

    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curve: str


@final
@dataclass(frozen=True)
class Scatter:
    """F1 of each label before (across) and after (up) one mitigation; positions in per cent."""

    index: int
    points: tuple[tuple[float, float], ...]


def write(numbers: MitigateNumbers, folder: Path) -> Path:
    """Write `mitigate.html` and return its path; the same numbers give the same bytes."""
    return builder.write(page_of(numbers), folder / "mitigate.html")


def page_of(numbers: MitigateNumbers) -> Page:
    """What the page shows."""
    doc = WrittenDocument(plain(numbers))
    rows = doc.value("/mitigations")
    trade, causal = plane(rows, "f1", "amplification"), plane(rows, "amplification", "changed")
    scatters = [_scatter(rows, index) for index in range(1, len(rows)) if rows[index]["kind"] != "noise"]
    parts = [
        summary(Answer(tuple(_answers(doc))), *_cautions(doc)),
        Part("table", "Leakage and performance", tuple(_tables(doc)), "Table"),
        Part("trade", "Trade-off", (_trade(trade),)),
        Part("labels", "F₁ by label, before and after", tuple(_by_label(doc, scatters)), "Labels"),
        Part("audit", "Does less leakage mean less effect?", tuple(_audit(doc, causal)), "Audit"),
        Part("methods", "Methods", tuple(_methods(doc))),
    ]
    question = Markup("What reduces leakage of {} from the model's answers, and what does it cost?")
    shown = tuple(part for part in parts if part.blocks)
    return Page(numbers.title, shown, doc.text("/title"), question.format(doc.text("/protected")))


def _answers(doc: WrittenDocument) -> Iterator[Markup]:
    """What is shown to work, what is not decided, and where the model starts; nothing is named without intervals."""
    others = doc.places("/mitigations")[1:]
    by_verdict = {
        verdict: [at for at in others if doc.value(f"{at}/good_trade") is verdict] for verdict in (True, None)
    }
    for at in by_verdict[True]:
        yield Markup("<b>{}</b> at least halves what leaks: Δ is {} points, F₁ falls by {} points.").format(
            doc.text(f"{at}/name"), _signed(doc, f"{at}/amplification"), doc.interval(f"{at}/f1_lost", signed=True)
        )
    if not by_verdict[True]:
        yield Markup("No mitigation is shown to halve what leaks (Δ) at an accepted cost in F₁.")
    if by_verdict[None]:
        yield _undecided(doc, by_verdict[None])
    yield Markup(
        "Without mitigation, an attacker guesses the class from the answers in {} % of cases, all classes weighted "
        "equally: Δ, what leaks beyond answers with as many random errors, is {} points, at a macro F₁ of {} %."
    ).format(
        doc.interval("/mitigations/0/model_leakage"),
        _signed(doc, "/mitigations/0/amplification"),
        doc.interval("/mitigations/0/f1"),
    )


def _signed(doc: WrittenDocument, place: str) -> Markup:
    return doc.interval(place, signed=True)


def _undecided(doc: WrittenDocument, open_: Sequence[str]) -> Markup:
    """Mitigations that may or may not be a good trade: for want of intervals, or because these hold both answers."""
    names = Markup(", ").join(doc.text(f"{at}/name") for at in open_)
    if len(doc.value("/mitigations/0/seeds")) < 2:
        why = "one seed gives no interval, so that any difference may be chance; give at least three seeds"
    else:
        why = "the intervals over seeds hold both answers; more seeds make them narrower"
    return Markup("Not decided for {}: {}.").format(names, why)


def _cautions(doc: WrittenDocument) -> Iterator[Paragraph]:
    if not doc.value("/finished"):
        yield Paragraph("Some mitigations of the file are not finished: rerun the command to resume.", "notice")
    yield Paragraph(doc.text("/caveat"), "notice")
    yield Paragraph("The protected attribute is an appearance as others perceive it, not an identity.", "note")


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
    letters = [
        Markup('<span class="key-letter">{}</span>').format(_letter(number)) for number in range(len(table.rows))
    ]
    rows = [(letter, *row) for letter, row in zip(letters, table.rows, strict=True)]
    numbers = [number + 1 for number in table.numbers]
    return replace(table, headings=("", *table.headings), rows=rows, numbers=numbers, names=1)


def _letter(index: int) -> str:
    return LETTERS[index % len(LETTERS)]


def _trade(trade: Plane | None) -> Block:
    if trade is None:
        return Paragraph("A plot needs at least two mitigations.")
    caption = Markup(
        '<strong>Amplification by F₁</strong> <span class="fine">low and right is good; the dashed line is increasing '
        "noise, which any mitigation should beat; letters as in the table</span>"
    )
    drawing = draw(trade, "trade-plot", "Amplification by F₁", noise=True)
    return Plot(caption, drawing, "Across: macro F₁, %. Up: Δ in the same format, points.")


def _by_label(doc: WrittenDocument, scatters: Sequence[Scatter]) -> Iterator[Block]:
    if not scatters:
        return
    yield Plots(
        [
            Plot(doc.text(f"/mitigations/{scatter.index}/name"), draw_labels(scatter, f"labels-{number}"))
            for number, scatter in enumerate(scatters)
        ],
        "small-multiples",
    )
    yield Paragraph(
        "Across: F₁ of the model without mitigation; up: with it, in per cent. On the dashed line nothing changes.",
        "fine",
    )
    names = [doc.text(f"{at}/name") for at in doc.places("/mitigations")]
    rows = [
        [doc.text(f"{at}/name"), *(_f1(doc, f"{row}/label_f1/{number}") for row in doc.places("/mitigations"))]
        for number, at in enumerate(doc.places("/labels"))
    ]
    yield TextTable("F1 by label", ("Label", *names), rows, "F₁ of each label, %", range(1, len(names) + 1))


def _f1(doc: WrittenDocument, place: str) -> Markup:
    return doc.number(f"{place}/estimate", "fixed")


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
        "Across: Δ in the same format, points. Up: answers that change, %.",
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


def plane(rows: list[dict[str, Any]], across: str, up: str) -> Plane | None:
    """The mitigations on the plane of two figures; None where fewer than two have both."""
    known = [(i, row) for i, row in enumerate(rows) if _value(row, across) is not None and _value(row, up) is not None]
    if len(known) < 2:
        return None
    x = covering_tightly(_value(row, across) for _, row in known)
    y = covering([_value(row, up) or 0.0 for _, row in known])
    points = tuple(
        Point(
            index,
            _letter(index),
            row["kind"],
            round(100 * x.fraction(_value(row, across) or 0.0), 2),
            round(100 - 100 * y.fraction(_value(row, up) or 0.0), 2),
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
    marks = svg.joined(_lettered(point) for point in plane.points)
    words = "Letters as in the table."
    content = svg.joined([line, marks])
    return svg.plot(
        name,
        title,
        words,
        content,
        up=plane.y_ticks,
        across=plane.x_ticks,
        zero=True,
        css="lettered-plot",
        height=HEIGHT,
    )


def _lettered(point: Point) -> Markup:
    x, y = f"{point.x}%", f"{point.y}%"
    circle = svg.tag("circle", cx=x, cy=y, r=12)
    letter = svg.tag("text", point.letter, x=x, y=y, dy=".35em", text_anchor="middle")
    return svg.tag("g", circle + letter, class_=f"lettered {point.kind}")


def draw_labels(scatter: Scatter, name: str) -> Markup:
    """F1 of each label before and after, in a square."""
    dots = svg.joined(
        svg.tag("circle", class_="dot", cx=round(SIDE * x / 100, 2), cy=round(SIDE * y / 100, 2), r=3.5)
        for x, y in scatter.points
    )
    words = "A dot per label: before, across, and after, up; on the line nothing changes."
    ticks = [Tick(SIDE * share, f"{100 * share:.0f}", share) for share in (0.0, 0.5, 1.0)]
    return svg.square(name, "F1 of each label before and after", words, dots, SIDE, ticks, "diagonal")


def covering_tightly(values: Iterable[float | None]) -> Scale:
    """As `covering`, from near the lowest value instead of from zero.

    >>> covering_tightly([71.0, 78.0]).ticks
    (70.0, 72.0, 74.0, 76.0, 78.0)
    """
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


def _scatter(rows: list[dict[str, Any]], index: int) -> Scatter:
    pairs = [
        (before["estimate"], after["estimate"])
        for before, after in zip(rows[0]["label_f1"], rows[index]["label_f1"], strict=True)
    ]
    return Scatter(index, tuple((a, 100 - b) for a, b in pairs if a is not None and b is not None))
