"""Two attributes at once: curves along one at each level of another, and error rates of pairs of groups.

The scatter is Balakrishnan et al. 2020, Fig. 14: each dot compares two groups that differ by one attribute alone; on
the line of equal rates it makes no difference. Every number is one of the rates in the tables of intersections.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from markupsafe import Markup

from transect.reports.document import Document, finite, pointer
from transect.reports.drawing import svg
from transect.reports.drawing.cells import RateIndex
from transect.reports.drawing.levels import Panel, Point, Series, axis_ticks, level_ticks, place_of, y_of
from transect.reports.drawing.scales import Scale, covering, tick_text
from transect.reports.results import AttributeEntry, RateEntry
from transect.reports.wording import level, measured, outcome_words, rate_style, with_unit
from transect.runs.wording import spaced

SIDE: Final = 220
"""Pixels of a side of the scatter's square."""
MOST_LEVELS: Final = 4
"""Levels that one crossed panel can tell apart."""
MOST_PANELS: Final = 12
MOST_LABELS: Final = 8
_DODGE: Final = 5
_SHORT: Final = 14
_LINE: Final = 12
_WORDS: Final = 60


@final
@dataclass(frozen=True)
class Dot:
    """A pair of groups: places of the two rates, position, ends of the intervals (pixels), and what they share."""

    places: tuple[str, str]
    x: float
    y: float
    across: tuple[float, float] | None
    along: tuple[float, float] | None
    label: str
    labelled: bool = True


@final
@dataclass(frozen=True)
class Scatter:
    """Rates at an attribute's last level (up) against its first (across), a dot per combination of the others."""

    attribute: str
    first: Markup
    last: Markup
    style: str
    ticks: tuple[svg.Tick, ...]
    dots: tuple[Dot, ...]
    description: str


@final
@dataclass(frozen=True)
class Crossing:
    """All figures of one target and outcome; cut: how many panels are left out."""

    target: Markup
    words: str
    panels: tuple[tuple[Markup, Panel], ...]
    scatters: tuple[Scatter, ...]
    cut: bool


def crossings(document: Document, study: int) -> tuple[Crossing, ...]:
    """The figures of a study that sets at least two attributes; none for a population."""
    entry = document.results.studies[study]
    if entry.basis != "experimental" or len(entry.attributes) < 2:
        return ()
    index = RateIndex.of(document.results, entry.name)
    crossings_of = [
        _crossing(document, study, index, number, outcome)
        for outcome, number in itertools.product(entry.outcomes, range(len(entry.targets)))
    ]
    return tuple(each for each in crossings_of if each.panels or each.scatters)


def _crossing(document: Document, study: int, index: RateIndex, number: int, outcome: str) -> Crossing:
    entry = document.results.studies[study]
    target = entry.targets[number]
    rates = [rate for rate in index.of_outcome(outcome) if rate.target == target.name and rate.order >= 1]
    unit = rates[0].unit if rates else "proportion"
    scale = covering(finite([end for rate in rates if rate.order <= 2 for end in (rate.rate, rate.low, rate.high)]))
    pairs = [
        (along, by)
        for along, by in itertools.permutations(entry.attributes, 2)
        if measured(along) and len(by.levels) <= MOST_LEVELS
    ]
    words = outcome_words(outcome, unit, target.task)
    panels = [
        (by, _panel(document, study, index, (target.name, outcome), along, by, scale))
        for along, by in pairs[:MOST_PANELS]
    ]
    return Crossing(
        target=document.text(pointer("studies", study, "targets", number, "name")),
        words=words,
        panels=tuple(
            (Markup("{}{}").format(spaced(by.name), with_unit(document, study, by.name)), panel)
            for by, panel in panels
            if panel.series
        ),
        scatters=tuple(_scatters(document, study, index, target.name, outcome)),
        cut=len(pairs) > MOST_PANELS,
    )


def _panel(
    document: Document,
    study: int,
    index: RateIndex,
    where: tuple[str, str],
    along: AttributeEntry,
    by: AttributeEntry,
    scale: Scale,
) -> Panel:
    positions = {
        value: [index.find(*where, {along.name: step, by.name: value}) for step in along.levels] for value in by.levels
    }
    unit = next((index.rates[p].unit for row in positions.values() for p in row if p is not None), "proportion")
    style = rate_style(unit)
    return Panel(
        attribute=f"{spaced(along.name)} and {spaced(by.name)}",
        heading=Markup("{}{}").format(spaced(along.name), with_unit(document, study, along.name)),
        words=outcome_words(where[1], unit),
        style=style,
        ordered=True,
        bands=False,
        wide=False,
        x_ticks=level_ticks(document, study, along),
        y_ticks=axis_ticks(scale, style == "percent"),
        series=tuple(
            _series(document, study, along, by, value, positions[value], number, scale)
            for number, value in enumerate(by.levels)
            if any(position is not None for position in positions[value])
        ),
        slopes=(),
        table=(),
        description=_course(document, along, by, positions),
    )


def _series(
    document: Document,
    study: int,
    along: AttributeEntry,
    by: AttributeEntry,
    value: float,
    positions: Sequence[int | None],
    number: int,
    scale: Scale,
) -> Series:
    points = []
    for step, position in zip(along.levels, positions, strict=True):
        rate = None if position is None else document.results.rates[position]
        if rate is None or rate.rate is None:
            continue
        ends = [None if end is None else y_of(scale, end) for end in (rate.low, rate.high)]
        points.append(Point(pointer("rates", position or 0), place_of(along, step), y_of(scale, rate.rate), *ends))
    label = level(document, study, by.name, value, "")
    return Series(by.labels[number], label, number, _DODGE * (number - (len(by.levels) - 1) / 2), tuple(points))


def _course(
    document: Document, along: AttributeEntry, by: AttributeEntry, rates_at: Mapping[float, Sequence[int | None]]
) -> str:
    """What the panel shows, in words: the course at each level of the second attribute."""
    clauses = []
    for label, positions in zip(by.labels, rates_at.values(), strict=True):
        ends = [None if p is None else document.results.rates[p].rate for p in (positions[0], positions[-1])]
        if ends[0] is not None and ends[1] is not None:
            course = "rises" if ends[1] > ends[0] else "falls" if ends[1] < ends[0] else "stays"
            clauses.append(f"{spaced(by.name)} {label}: {course} along {spaced(along.name)}")
    return "; ".join(clauses) or "No rate could be estimated at both ends."


def draw(scatter: Scatter, name: str) -> Markup:
    """The square of a scatter, its dots above their intervals."""
    crosses = [_cross(dot) for dot in scatter.dots]
    marks = svg.joined([*crosses, *(_mark(dot) for dot in scatter.dots)])
    return svg.square(name, "Equal-error scatter", scatter.description, marks, SIDE, scatter.ticks)


def _cross(dot: Dot) -> Markup:
    lines = Markup()
    if dot.across:
        lines += svg.tag("line", class_="cross", x1=dot.across[0], x2=dot.across[1], y1=dot.y, y2=dot.y)
    if dot.along:
        lines += svg.tag("line", class_="cross", y1=dot.along[0], y2=dot.along[1], x1=dot.x, x2=dot.x)
    return lines


def _mark(dot: Dot) -> Markup:
    title = svg.tag("title", dot.label)
    circle = svg.tag("circle", title, class_="dot", cx=dot.x, cy=dot.y, r=4, data_place=dot.places[1])
    if not dot.labelled:
        return circle
    right = dot.x > SIDE / 2
    x, anchor = (dot.x - 7, "end") if right else (dot.x + 7, "start")
    return circle + svg.tag("text", dot.label, class_="dot-label", x=x, y=dot.y - 6, text_anchor=anchor)


def _scatters(document: Document, study: int, index: RateIndex, target: str, outcome: str) -> list[Scatter]:
    """One per attribute: its first level against its last, in cells as fine as the results have them."""
    entry = document.results.studies[study]
    order = min(3, len(entry.attributes))
    rates = [rate for rate in index.of_outcome(outcome) if rate.target == target and rate.order == order]
    if not rates or any(rate.unit != "proportion" for rate in rates):
        return []
    scale = covering(finite([rate.rate for rate in rates]))
    scatters = [_scatter(document, study, index, rates, attribute, scale) for attribute in entry.attributes]
    return [scatter for scatter in scatters if scatter.dots]


def _scatter(
    document: Document,
    study: int,
    index: RateIndex,
    rates: Sequence[RateEntry],
    attribute: AttributeEntry,
    scale: Scale,
) -> Scatter:
    first, last = attribute.levels[0], attribute.levels[-1]
    dots = []
    for rate in rates:
        if rate.cell.get(attribute.name) != first:
            continue
        others = {name: value for name, value in rate.cell.items() if name != attribute.name}
        pair = [index.find(rate.target, rate.outcome, {**others, attribute.name: value}) for value in (first, last)]
        dot = _dot(document, study, pair, others, scale)
        dots += [dot] if dot is not None else []
    above = sum(dot.y < SIDE - dot.x - 1e-6 for dot in dots)
    return Scatter(
        attribute=Markup("{}{}").format(spaced(attribute.name), with_unit(document, study, attribute.name)),
        first=level(document, study, attribute.name, first, ""),
        last=level(document, study, attribute.name, last, ""),
        style="percent",
        ticks=tuple(svg.Tick(round(SIDE * scale.fraction(t), 2), tick_text(scale, t, True), t) for t in scale.ticks),
        dots=_apart(dots) if len(dots) <= MOST_LABELS else tuple(replace(dot, labelled=False) for dot in dots),
        description=_balance(above, len(dots)),
    )


def _apart(dots: Sequence[Dot]) -> tuple[Dot, ...]:
    """The dots, without the labels that would stand on another's; all have theirs as a tooltip."""
    placed: list[Dot] = []
    for dot in dots:
        near = any(abs(dot.y - k.y) < _LINE and abs(dot.x - k.x) < _WORDS for k in placed if k.labelled)
        placed.append(replace(dot, labelled=not near))
    return tuple(placed)


def _balance(above: int, dots: int) -> str:
    if not dots:
        return "No pair of groups has both rates."
    share = "All" if above == dots else "No" if above == 0 else "Most" if 2 * above > dots else "A half or fewer"
    return f"{share} groups have a higher rate at the last level than at the first."


def _dot(
    document: Document, study: int, pair: Sequence[int | None], others: Mapping[str, float], scale: Scale
) -> Dot | None:
    positions = [position for position in pair if position is not None]
    rates = [document.results.rates[position] for position in positions]
    values = [rate.rate for rate in rates if rate.rate is not None]
    if len(values) < 2:
        return None
    known = {entry.name: entry for entry in document.results.studies[study].attributes}
    labels = [known[name].labels[known[name].levels.index(value)] for name, value in others.items()]
    across, along = (
        None if rate.low is None or rate.high is None else (_within(scale, rate.low), _within(scale, rate.high))
        for rate in rates
    )
    return Dot(
        places=(pointer("rates", positions[0], "rate"), pointer("rates", positions[1], "rate")),
        x=_within(scale, values[0]),
        y=round(SIDE - _within(scale, values[1]), 2),
        across=across,
        along=None if along is None else (SIDE - along[0], SIDE - along[1]),
        label=", ".join(label if len(label) <= _SHORT else f"{label[:_SHORT]}…" for label in labels),
    )


def _within(scale: Scale, value: float) -> float:
    """Pixels from the low end, cut off at the ends of the axis."""
    return round(SIDE * min(max(scale.fraction(value), 0.0), 1.0), 2)
