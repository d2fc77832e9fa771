"""The page of a comparison: `comparison.html` beside `comparison.json`, which holds every number on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from transect.jobs.search.comparison import ComparisonNumbers, clear_of_zero, more_repeats
from transect.jobs.search.gallery import gallery
from transect.jobs.search.numbers import FailurePicture
from transect.reports import builder
from transect.reports.blocks import (
    Answer,
    Block,
    DotPlot,
    Facts,
    Heading,
    Page,
    Paragraph,
    Part,
    Plot,
    Plots,
    Row,
    TextTable,
    summary,
)
from transect.reports.document import WrittenDocument
from transect.reports.drawing import svg
from transect.reports.drawing.scales import Scale, covering, tick_text
from transect.reports.drawing.svg import PLOT_HEIGHT, Interval, Tick
from transect.runs.plain_json import plain

CHOSEN: Final = 0.6
"""The weight of mcduff2019 that is drawn beside the other methods, where it was compared: the paper's best."""
POINTS: Final = 60
"""Points of a curve."""
READINGS: Final = {
    "diversity": "α weighs diversity, as their Eq. 4 is printed: at 0 only failures count, at 1 only distance.",
    "failures": "α weighs failures, as the caption of their Fig. 4a suggests (Bayesian optimisation at α = 1 finds "
    "most there): at 1 only failures count, at 0 only distance.",
}
BOTH: Final = (
    "The paper can be read in two ways, and the two mirror each other: α in one reading is 1 − α in the other. The "
    'column "weight of diversity" is the α of Eq. 4 as printed in both. Their Fig. 4b has its best at α = 0.6; the '
    "paper does not state how distances were scaled, and on other targets another weight can be best, or worse than "
    "random points."
)


def write(numbers: ComparisonNumbers, pictures: Sequence[Sequence[FailurePicture]], folder: Path) -> Path:
    """Write `comparison.html` and `comparison.json` into a folder; return the page's path."""
    return builder.write(page_of(numbers, pictures), folder / "comparison.html", numbers)


def page_of(numbers: ComparisonNumbers, pictures: Sequence[Sequence[FailurePicture]] = ()) -> Page:
    """What the page shows. pictures: failures of the first repeat of each search."""
    doc = WrittenDocument(plain(numbers))
    parts = [
        summary(_answer(doc, numbers), *_cautions(doc)),
        Part("calls", "Failures by calls", tuple(_curves(doc))),
        Part("failures", "Failures after all calls", tuple(_totals(doc))),
        Part("pictures", "Pictures of failures", tuple(_pictures(doc, pictures))),
        Part("methods", "Methods", (_methods(doc),)),
    ]
    title = f"Which search finds most failures of {numbers.target}?"
    question = Markup("{} with {} each.").format(
        doc.counted("/repeats", "repeat of each search", "repeats of each search"), doc.counted("/budget", "call")
    )
    return Page(title, tuple(part for part in parts if part.blocks), title, question)


def _answer(doc: WrittenDocument, numbers: ComparisonNumbers) -> Answer:
    """Which searches differ from random points, and which of the best two is better: nothing without an interval."""
    sentences = [*_against_random(doc, numbers), *_of_the_best(doc, numbers)]
    if not sentences:
        alone = Markup("<strong>{}</strong> found {} failures, in the mean over {}; nothing is compared with it.")
        mean = doc.number("/arms/0/failures/mean")
        return Answer([alone.format(doc.text("/arms/0/name"), mean, doc.counted("/repeats", "repeat"))])
    how = Markup(
        "Median differences of failures over {} with the same seeds. Intervals of {} %, from six on, are of what "
        "half of all seeds find. A search is called better only where its whole interval is above zero.{}"
    ).format(doc.counted("/repeats", "repeat"), f"{100 * numbers.confidence:g}", _by_itself(doc, numbers))
    return Answer(sentences, [how, *_chosen(numbers)])


def _by_itself(doc: WrittenDocument, numbers: ComparisonNumbers) -> Markup:
    """Several intervals against random points do not hold together."""
    compared = sum(arm.more_than_random is not None for arm in numbers.arms)
    if compared < 2 or doc.value("/arms/0/failures/reason"):
        return Markup()
    return Markup(
        " Each interval against random points stands by itself and is not corrected for the {} searches: one of many "
        "can look better, or worse, by chance."
    ).format(compared)


def _chosen(numbers: ComparisonNumbers) -> Iterator[str]:
    if numbers.best_two is not None:
        yield "The best two are those with the highest means of these repeats."
    if all(arm.more_than_random is None for arm in numbers.arms):
        yield "Random points were not compared: add random to --compare."


def _against_random(doc: WrittenDocument, numbers: ComparisonNumbers) -> Iterator[Markup]:
    found = [
        (f"/arms/{number}", arm.more_than_random)
        for number, arm in enumerate(numbers.arms)
        if arm.more_than_random is not None
    ]
    for sign, words in ((1, "More"), (-1, "Fewer")):
        if clear := [at for at, more in found if clear_of_zero(more) == sign]:
            yield Markup("{} failures than random points: {}.").format(words, _differences(doc, clear))
    if open_ := [at for at, more in found if not clear_of_zero(more)]:
        yield Markup("Not decided against random points: {}; {}.").format(_differences(doc, open_), _advice(doc))


def _differences(doc: WrittenDocument, arms: Sequence[str]) -> Markup:
    return Markup("; ").join(
        Markup("<strong>{}</strong> {}").format(doc.text(f"{at}/name"), _median(doc, f"{at}/more_than_random"))
        for at in arms
    )


def _of_the_best(doc: WrittenDocument, numbers: ComparisonNumbers) -> Iterator[Markup]:
    if numbers.best_two is None:
        return
    both = [Markup("<strong>{}</strong>").format(doc.text(f"/best_two/{place}")) for place in ("first", "second")]
    difference = _median(doc, "/best_two/more")
    if clear_of_zero(numbers.best_two.more):
        yield Markup("Of the best two, {} finds more failures than {}: {}.").format(*both, difference)
    else:
        yield Markup("Not decided between the best two, {} and {}: {}; {}.").format(*both, difference, _advice(doc))


def _median(doc: WrittenDocument, place: str) -> Markup:
    return doc.interval(place, "median", "plain", signed=True)


def _advice(doc: WrittenDocument) -> Markup:
    words = more_repeats(doc.value("/repeats"))
    return Markup("{} (had {})").format(words, doc.number("/repeats", "count"))


def _cautions(doc: WrittenDocument) -> Iterator[Block]:
    for section in doc.places("/sections"):
        yield from (Paragraph(doc.text(warning), "notice") for warning in doc.places(f"{section}/warnings"))
    yield Facts(
        [
            ("answers used", doc.number("/answers", "count")),
            ("pictures asked about", doc.number("/pictures", "count")),
            ("calls paid", doc.number("/paid_calls", "count")),
            ("cost", doc.number("/cost")),
        ]
    )
    yield Paragraph(
        "A picture that several searches show is asked about once, and its answer counts for each of them: calls on "
        "this page are answers used, and what was paid is the number of different pictures. Failures that lie close "
        'together count each in "failures" and once in "far apart".',
        "note",
    )
    if any(doc.value(f"{at}/alpha") is not None for at in doc.places("/arms")):
        yield Paragraph(f"{READINGS[doc.value('/alpha_weighs')]} {BOTH}", "note")


def _each(doc: WrittenDocument, place: str, *, signed: bool = False) -> Markup:
    """The numbers of all repeats."""
    return Markup(", ").join(doc.number(at, signed=signed) for at in doc.places(f"{place}/repeats"))


def _curves(doc: WrittenDocument) -> Iterator[Block]:
    yield Paragraph(
        "Mean failures after each call. Bands reach from the repeat with the fewest to the one with the most failures "
        "at each call; they are no confidence intervals."
    )
    arms = doc.value("/arms")
    others = [i for i, arm in enumerate(arms) if arm["alpha"] is None]
    weighted = [i for i, arm in enumerate(arms) if arm["alpha"] is not None]
    chosen = [i for i in weighted if arms[i]["alpha"] == CHOSEN] or weighted[:1]
    yield from _curve(doc, [*others, *chosen], "methods", "By method")
    random = [i for i in others if arms[i]["method"] == "random"]
    room = svg.SERIES - len(random)
    for start in range(0, len(weighted) if len(weighted) > 1 else 0, room):
        yield from _curve(
            doc, [*random, *weighted[start : start + room]], f"weights-{start}", "By weight of mcduff2019"
        )


def _curve(doc: WrittenDocument, chosen: Sequence[int], name: str, title: str) -> Iterator[Block]:
    arms = [doc.value(f"/arms/{i}") for i in chosen]
    highest = [value for arm in arms for value in arm["most"]]
    scale, calls = covering(highest), doc.value("/budget")
    up = [Tick(PLOT_HEIGHT * (1 - scale.fraction(at)), tick_text(scale, at, False), at) for at in scale.ticks]
    across = [Tick(100.0 * at, f"{round(calls * at)}", round(calls * at)) for at in (0.0, 0.5, 1.0)]
    lines = [
        svg.tag("g", svg.course(_points(arm["curve"], scale), band=_band(arm, scale)), class_=f"series s{number}")
        for number, arm in enumerate(arms)
    ]
    yield Heading(title)
    key = svg.legend([(doc.text(f"/arms/{i}/name"), number) for number, i in enumerate(chosen)])
    words = "One line a search, its band from the fewest to the most failures of any repeat."
    drawing = svg.plot(
        f"curve-{name}", f"Failures by calls, {title.lower()}", words, svg.joined(lines), up=up, across=across
    )
    yield Plots([Plot("Failures by calls", drawing, "calls")], "panels", _curve_numbers(arms), key)


def _curve_numbers(arms: Sequence[dict[str, Any]]) -> TextTable:
    """Mean failures after each step of calls, with the fewest and the most of any repeat."""
    rows = [
        (arm["name"], str(call), *(str(arm[end][call - 1]) for end in ("curve", "fewest", "most")))
        for arm in arms
        for call in _steps(len(arm["curve"]))
    ]
    return TextTable("Failures by calls", ("search", "call", "mean failures", "fewest", "most"), rows)


def _steps(calls: int) -> list[int]:
    return sorted({1, *(max(1, round(calls * step / POINTS)) for step in range(1, POINTS + 1))})


def _points(values: Sequence[float], scale: Scale) -> str:
    calls = len(values)
    inner = [(100 * n / calls, _down(values[n - 1], scale)) for n in _steps(calls)]
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in [(0.0, _down(0.0, scale)), *inner])


def _band(arm: dict[str, Any], scale: Scale) -> str:
    """From the fewest to the most failures of any repeat; none for one repeat."""
    if len(arm["failures"]["repeats"]) < 2:
        return ""
    calls = len(arm["curve"])
    above, below = (
        [(100 * n / calls, _down(arm[end][n - 1], scale)) for n in _steps(calls)] for end in ("most", "fewest")
    )
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in [*above, *reversed(below)])


def _down(value: float, scale: Scale) -> float:
    return PLOT_HEIGHT * (1 - scale.fraction(value))


def _totals(doc: WrittenDocument) -> Iterator[Block]:
    yield _dots(doc)
    rows = [
        [
            doc.text(f"{at}/name"),
            "–" if doc.value(f"{at}/diversity") is None else doc.number(f"{at}/diversity"),
            *_spread(doc, f"{at}/failures"),
            doc.number(f"{at}/failed", "count"),
        ]
        for at in doc.places("/arms")
    ]
    spread = ("Mean", "Median (95% interval)", "Each repeat")
    headings = ("Search", "Weight of diversity", *spread, "Without an answer")
    yield TextTable("Failures of each search", headings, rows, numbers=range(1, 6))
    rows = [[doc.text(f"{at}/name"), *_spread(doc, f"{at}/apart")] for at in doc.places("/arms")]
    yield Heading("Far apart")
    yield TextTable("Failures far apart", ("Search", *spread), rows, numbers=range(1, 4))
    compared = [at for at in doc.places("/arms") if doc.value(f"{at}/more_than_random") is not None]
    rows = [[doc.text(f"{at}/name"), *_spread(doc, f"{at}/more_than_random", signed=True)] for at in compared]
    if rows:
        yield Heading("More than random points with the same seed")
        yield TextTable("Failures more than random points", ("Search", *spread), rows, numbers=range(1, 4))
    if doc.value("/arms/0/failures/reason"):
        yield Paragraph(f"A median without an interval: {doc.text('/arms/0/failures/reason')}.", "fine")
    yield Paragraph(
        "Seeds decide what a search comes upon. A mean over a few repeats has no interval: where some searches find a "
        "region of failures and others do not, no repeat may show it. The interval of the median says what half of all "
        "seeds find. The difference to random points compares the same seeds, and each interval stands by itself: with "
        "many weights, the best of them looks better than it is.",
        "fine",
    )


def _spread(doc: WrittenDocument, place: str, *, signed: bool = False) -> tuple[Markup, Markup, Markup]:
    """Mean, median with its interval, and the number of each repeat."""
    return (
        doc.number(f"{place}/mean", signed=signed),
        doc.interval(place, "median", "plain", signed=signed),
        _each(doc, place, signed=signed),
    )


def _dots(doc: WrittenDocument) -> DotPlot:
    """The mean of each search, on a line from the fewest to the most failures of any repeat."""
    entries = [doc.value(f"{at}/failures") for at in doc.places("/arms")]
    scale = covering([value for entry in entries for value in entry["repeats"]])
    grid = [(100 * scale.fraction(at), at) for at in scale.ticks]
    rows = []
    for number, (at, entry) in enumerate(zip(doc.places("/arms"), entries, strict=True)):
        mean, low, high = (
            100 * scale.fraction(value) for value in (entry["mean"], min(entry["repeats"]), max(entry["repeats"]))
        )
        mark = Interval(mean, low, high)
        drawing = svg.track(f"arm-{number}", doc.text(f"{at}/name"), "", grid, [mark])
        rows.append(Row(doc.text(f"{at}/name"), drawing, doc.number(f"{at}/failures/mean")))
    ticks = [Tick(at, tick_text(scale, value, False), value) for at, value in grid]
    return DotPlot("Failures of each search: mean, from the fewest to the most of any repeat", ticks, rows, "failures")


def _pictures(doc: WrittenDocument, pictures: Sequence[Sequence[FailurePicture]]) -> Iterator[Block]:
    for at, shown in zip(doc.places("/arms"), pictures, strict=False):
        blocks = gallery(shown, round(doc.value(f"{at}/failures/repeats/0")))
        if blocks:
            yield from (Heading(doc.text(f"{at}/name")), *blocks)


def _methods(doc: WrittenDocument) -> Facts:
    ranges = [
        Markup("{} {} to {}").format(doc.text(f"{at}/name"), doc.number(f"{at}/low"), doc.number(f"{at}/high"))
        for at in doc.places("/space")
    ]
    return Facts(
        [
            ("A failure", doc.text("/outcome")),
            (
                "Intervals",
                "of the median over seeds, 95%, from one repeat's number to another's (the sign test inverted; Scheffé "
                "and Tukey 1945), from six repeats on. They hold whatever the target, and are of other seeds on this "
                "target",
            ),
            ("Seeds", Markup("{} and those after it, one a repeat").format(doc.number("/seed", "name"))),
            ("Searched space", Markup("; ").join(ranges)),
            ("After", "McDuff et al. 2019, Fig. 4, whose bands are one standard deviation"),
        ],
        methods=True,
    )
