"""The page of a leakage analysis: what labels give away, whether models give away more, and every case side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup, escape

from transect.attacks.estimation import DEALT
from transect.attacks.numbers import NO_INTERVAL, SPREAD, LeakageNumbers, model_answers
from transect.reports import builder
from transect.reports.blocks import (
    Answer,
    Block,
    Cell,
    DotPlot,
    Facts,
    Folded,
    Page,
    Paragraph,
    Part,
    Plot,
    Row,
    TextTable,
    summary,
    tabulated,
    works_cited,
)
from transect.reports.document import WrittenDocument
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Interval, Scale, Tick
from transect.runs.json_records import plain

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


def for_terminal(
    numbers: LeakageNumbers, *, costs: bool
) -> Iterator[str | tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """The tables side by side and those of costs, with their notes, as the terminal shows them."""
    doc = WrittenDocument(plain(numbers))
    for block in (*side_by_side(doc), *(_costs(doc) if costs else ())):
        if isinstance(block, TextTable):
            yield _plain(block.caption or block.title)
            yield block.texts()
        elif isinstance(block, Paragraph):
            yield _plain(block.text)


def _plain(text: str) -> str:
    return text.striptags() if isinstance(text, Markup) else text


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
        "Model": (
            lambda doc, at: doc.text(f"{at}/model") if doc.value(f"{at}/model") else Markup("labels alone"),
            lambda row, _: bool(row["model"]),
        ),
        "Attacker": (lambda doc, at: doc.text(f"{at}/attacker"), varies("attacker")),
        "λ_D": (figure("dataset_leakage"), lambda *_: True),
        "λ_M": (figure("model_leakage"), there("model_leakage")),
        "Δ": (figure("amplification", signed=True), there("amplification")),
        "F₁": (number("f1"), there("f1")),
        "mAP": (number("mean_average_precision"), there("mean_average_precision")),
        "λ_D(a)": (figure("dataset_at_accuracy"), there("dataset_at_accuracy")),
        "Training items": (_sizes, lambda *_: True),
    }


def _items(doc: WrittenDocument, at: str) -> Markup:
    if doc.value(f"{at}/alpha") is not None:
        return Markup("α\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{}").format(doc.number(f"{at}/alpha"))
    return doc.text(f"{at}/within") if doc.value(f"{at}/within") else Markup("all")


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
    scale = _scale([*values, doc.value("/chance")], 5, 40)
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


def _scale(values: Sequence[float], unit: int, most: int) -> Scale:
    """From a multiple of the unit below everything to one above, ten wide at least; beyond `most` in double steps."""
    low, high = unit * math.floor(min(values) / unit), unit * math.ceil(max(values) / unit)
    high = max(high, low + 10)
    step = unit if high - low <= most else 2 * unit
    return Scale(float(low), float(high), tuple(float(tick) for tick in range(low, high + 1, step)))


_AS_PUBLISHED = Markup(
    "<strong>As published</strong>: the snapshot is chosen on development data, and each round is scored on a separate "
    "draw and folded about chance, which raises the figures."
)
_ATTRIBUTE = Markup(
    "The attribute {} is what the data set's annotators recorded: an appearance as others perceived it, not an "
    "identity."
)
MOST_CLASSES = 4
"""Classes of the protected attribute that the page names."""


def question(doc: WrittenDocument) -> Markup:
    """What the page answers."""
    asked = Markup("Can {} be guessed from the labels").format(_protected(doc))
    return asked + (", and does a model give away more than they explain?" if doc.value("/amplification") else "?")


def _protected(doc: WrittenDocument) -> Markup:
    """The protected attribute with its classes, where these are few."""
    classes = [doc.text(place) for place in doc.places("/classes")]
    named = Markup(" ({})").format(Markup(" or ").join(classes)) if len(classes) <= MOST_CLASSES else Markup()
    return doc.text("/protected") + named


def answer(doc: WrittenDocument, numbers: LeakageNumbers) -> Answer:
    """Of several models which gives away less, then labels and the first model; at last what the numbers are."""
    sentences = [*map(_claim_first, model_answers(numbers.differences)), _of_labels(doc)]
    if doc.value("/amplification"):
        sentences.append(_of_model(doc))
    return Answer(sentences, (Markup(" ").join(_remarks(doc)),))


def _claim_first(sentence: str) -> Markup:
    """The claim about a model in bold, before the numbers that it rests on."""
    claim, colon, rest = sentence.rpartition(": the attacker")
    return Markup("<b>{}{}</b> the attacker{}").format(claim, ":", rest) if colon else escape(sentence)


def cautions(doc: WrittenDocument) -> Iterator[Paragraph]:
    """The published protocol, the bound, and what the attribute is."""
    if doc.value("/published_protocol"):
        yield Paragraph(_AS_PUBLISHED, "notice")
    yield Paragraph(Markup("{} {}").format(doc.text("/caveat"), _ATTRIBUTE.format(_protected(doc))), "note")


def _of_labels(doc: WrittenDocument) -> Markup:
    claim = (
        Markup("The labels give {} away.") if _given_away(doc) else Markup("The labels are not shown to give {} away.")
    )
    if doc.value("/dataset_leakage/estimate") is None:
        claim = Markup("Whether the labels give {} away is not known.")
    found = Markup(
        "<b>{}</b> An attacker that sees only the labels of an item guesses it with a balanced accuracy of {}; "
        "guessing at random has {} %."
    )
    leak, chance = doc.interval("/dataset_leakage", unit=" %"), doc.number("/chance", "fixed")
    return found.format(claim.format(doc.text("/protected")), leak, chance)


def _given_away(doc: WrittenDocument) -> bool:
    """By the interval, which the published protocol lacks, and by permutations where they were made."""
    estimate, low, limit = (doc.value(at) for at in ("/dataset_leakage/estimate", "/dataset_leakage/low", "/null/high"))
    if estimate is None or low is None:
        return False
    if doc.value("/published_protocol"):
        return limit is not None and bool(estimate > limit)
    return bool(low > doc.value("/chance")) and (limit is None or bool(estimate > limit))


def _of_model(doc: WrittenDocument) -> Markup:
    low, high = (doc.value(f"/amplification/{end}") for end in ("low", "high"))
    against = "From labels with as many random errors"
    if doc.value("/amplification/noise") == DEALT:
        against = "From the same predictions, shuffled among items with the same label"
    whose = Markup("The model's predictions")
    if doc.value("/differences"):  # of several models it is the first
        whose = Markup("The predictions of {}").format(doc.text("/model"))
    claim = gives_away(low, high, published=doc.value("/published_protocol")).format(whose)
    found = Markup("<b>{}</b> From them the attacker has a balanced accuracy of {}. {}, it has {}: a difference of {}.")
    leak, more = doc.interval("/model_leakage", unit=" %"), doc.interval("/amplification", unit=" points", signed=True)
    return found.format(claim, leak, against, doc.interval("/comparisons/0/dataset_leakage", unit=" %"), more)


def gives_away(low: float | None, high: float | None, *, published: bool = False) -> Markup:
    """What the interval of the amplification says, which the published protocol lacks; {} is for whose predictions.

    >>> str(gives_away(0.2, 3.9))
    '{} give away more than the labels explain.'
    """
    if published or low is None or high is None:
        of_what = "The published protocol has" if published else "There is"
        return Markup("{{}} may or may not give away more than the labels explain. {} no interval.").format(of_what)
    if low > 0:
        return Markup("{} give away more than the labels explain.")
    if high < 0:
        return Markup("{} give away less than the labels explain.")
    return Markup("{} are not shown to give away more, or less, than the labels explain.")


def _remarks(doc: WrittenDocument) -> Iterator[Markup]:
    yield Markup(
        "In brackets: {}. Balanced accuracy is the share of right guesses as a mean over the classes; on {}."
    ).format(ends_in_words(doc), doc.counted("/dataset_leakage/n", "item"))
    if doc.value("/null/low") is not None:
        low, high = (doc.number(f"/null/{end}", "fixed") for end in ("low", "high"))
        yield Markup("If the labels said nothing, {} % of estimates would lie between {} and {} %.").format(
            doc.number("/confidence", "name"), low, high
        )
    if doc.value("/amplification"):
        precision = Markup()
        if doc.value("/model_mean_average_precision") is not None:
            precision = Markup(", mAP {} %").format(doc.number("/model_mean_average_precision", "fixed"))
        yield Markup("The macro F₁ of the model's own predictions is {} %{}.").format(
            doc.number("/model_f1", "fixed"), precision
        )


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
    """Write `leakage.html` and `leakage.json`; returns the page's path. The same analysis gives the same bytes."""
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
    grid, words = [(tick.at, 1.0) for tick in ticks], "A hollow mark is a comparison by chance."
    for number, (place, kind, mark) in enumerate(_page_marks(doc, axis)):
        drawing = svg.track(f"leakage-{number}", "Leakage and its interval", words, grid, [mark], band)
        row = Row(_words(doc, place, kind), drawing, doc.interval(place), kind in _STRONG)
        (first if place.startswith("/comparisons/0/") or kind == "dataset" else rest).append(row)
    caption = Markup(
        '<strong>Balanced accuracy of the attacker</strong>, % <span class="fine">with {}; the band shows where '
        "estimates lie if labels carry no information; hollow marks are for comparison</span>"
    ).format(ends_in_words(doc))
    yield DotPlot(caption, ticks, first)
    if rest:
        of_models = ", other formats of predictions" if len(doc.value("/comparisons")) > 1 else ""
        yield Folded(f"Labels with noise{of_models}, and fewer {_drawn(doc)}", (DotPlot("", ticks, rest),), long=True)


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
    return _scale([min(max(end, 0), 100) for end in ends if end is not None], 10, 60)


def _page_marks(doc: WrittenDocument, axis: Scale) -> Iterator[tuple[str, str, Interval]]:
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
    words = Markup(
        "How much more the model's predictions reveal than the same predictions <em>dealt out within labels</em>: "
        "exchanged among items with the same label, so that they keep which labels are mistaken for which."
    )
    if doc.value("/published_protocol"):
        words += Markup(
            " <em>Published</em> compares scores with flipped bits, so part of its difference is due to the format."
        )
    yield Paragraph(words)
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
