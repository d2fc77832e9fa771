"""Rates along the levels of one attribute, and of two at once: curves, and error rates of pairs of groups.

Heights are pixels and horizontal positions per cent, so that a panel stretches without changing its letters. The
scatter is Balakrishnan et al. 2020, Fig. 14: each dot compares two groups that differ by one attribute alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, final

from markupsafe import Markup

from transect.reports.document import Document, finite, pointer
from transect.reports.drawing import svg
from transect.reports.drawing.sections import Mark
from transect.reports.drawing.svg import Scale, Tick, covering, tick_text
from transect.reports.results import AttributeEntry, RateEntry, Results
from transect.reports.wording import headed, level, measured, outcome_words, rate_style, task_of
from transect.runs.wording import spaced

_Key = tuple[str, str, frozenset[tuple[str, float]]]


@final
@dataclass(frozen=True)
class RateIndex:
    """Finds the position in `rates` of a cell of one study."""

    rates: tuple[RateEntry, ...]
    positions: Mapping[_Key, int]

    @classmethod
    def of(cls, results: Results, study: str) -> RateIndex:
        """The index of a study's rates."""
        positions = {
            (rate.target, rate.outcome, frozenset(rate.cell.items())): position
            for position, rate in enumerate(results.rates)
            if rate.study == study
        }
        return cls(tuple(results.rates), positions)

    def find(self, target: str, outcome: str, cell: Mapping[str, float]) -> int | None:
        """Position of the cell in `rates`, or None where the results have no such cell."""
        return self.positions.get((target, outcome, frozenset(cell.items())))

    def of_outcome(self, outcome: str) -> list[RateEntry]:
        """All rates of an outcome, over targets and cells."""
        return self._by_outcome.get(outcome, [])

    @cached_property
    def _by_outcome(self) -> Mapping[str, list[RateEntry]]:
        """Found once: a population has thousands of tables and hundreds of thousands of rates."""
        entries: dict[str, list[RateEntry]] = {}
        for (_, outcome, _), position in self.positions.items():
            entries.setdefault(outcome, []).append(self.rates[position])
        return entries


SERIES = 4
"""Targets that one panel can tell apart; more go to further panels."""

_DODGE = 7
_MOST_LABELS = 6
_MOST_NAMES = 4


@final
@dataclass(frozen=True)
class Series:
    """The points of one target; number picks mark, dash and color, shift sets it beside the others.

    ends: the rates at the first and the last level.
    """

    name: str
    target: Markup
    number: int
    shift: float
    points: tuple[Mark, ...]
    ends: tuple[float | None, float | None]

    @property
    def key(self) -> tuple[Markup, int]:
        """Its entry in the key of the figure."""
        return self.target, self.number


@final
@dataclass(frozen=True)
class Panel:
    """One attribute and one outcome: a series per target, joined by lines where the levels are ordered.

    bands: the levels are names or ranges and share the width evenly. wide: there are many of them.
    """

    attribute: str
    heading: Markup
    words: str
    style: str
    ordered: bool
    bands: bool
    wide: bool
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]
    slopes: tuple[int, ...]
    table: tuple[tuple[Markup, str], ...]
    description: str


@final
@dataclass(frozen=True)
class _Plane:
    """Where rates of one study are drawn: its number, where they are found, and the axis of their heights."""

    document: Document
    study: int
    index: RateIndex
    scale: Scale

    def positions(
        self, target: str, outcome: str, along: AttributeEntry, others: Mapping[str, float]
    ) -> list[int | None]:
        """Positions in `rates` of the cells along an attribute; None where the results have no such cell."""
        return [self.index.find(target, outcome, {**others, along.name: value}) for value in along.levels]

    def level(self, attribute: AttributeEntry, value: float) -> Markup:
        """A level as people read it."""
        return level(self.document, self.study, attribute.name, value, "")

    def headed(self, attribute: AttributeEntry) -> Markup:
        """An attribute with its unit."""
        return headed(self.document, self.study, attribute.name)


def panels(document: Document, study: int, outcome: str) -> tuple[Panel, ...]:
    """The panels of one outcome, one per attribute (and per group of four targets), on a common axis."""
    entry = document.results.studies[study]
    index = RateIndex.of(document.results, entry.name)
    single = [rate for rate in index.of_outcome(outcome) if rate.order == 1]
    scale = covering(finite([bound for rate in single for bound in (rate.rate, rate.low, rate.high)]))
    plane = _Plane(document, study, index, scale)
    names = [target.name for target in entry.targets]
    batches = [names[start : start + SERIES] for start in range(0, len(names), SERIES)]
    drawn = [_panel(plane, attribute, outcome, batch) for attribute in entry.attributes for batch in batches]
    return tuple(panel for panel in drawn if panel.table)


def draw(panel: Panel, name: str) -> Markup:
    """The plot of a panel."""
    title = f"{panel.words.capitalize()} by {panel.attribute}"
    content = svg.joined(_line(series, panel.ordered) for series in panel.series)
    if panel.bands:
        labels = [Markup("{}").format(tick.text) for tick in panel.x_ticks]
        return svg.plot(name, title, panel.description, content, up=panel.y_ticks, labels=labels)
    return svg.plot(name, title, panel.description, content, up=panel.y_ticks, across=panel.x_ticks)


def _line(series: Series, joined: bool) -> Markup:
    points, marks = series.points, []
    for k, point in enumerate(points):
        x = f"{point.x}%"
        if joined and k + 1 < len(points):
            end = points[k + 1]
            marks.append(svg.tag("line", x1=x, y1=point.y, x2=f"{end.x}%", y2=end.y))
        marks += [svg.upright(x, point.low, point.high, "bar"), svg.placed(series.number, x, point.y, point.place)]
    return svg.tag("g", svg.joined(marks), class_=f"series s{series.number}", transform=f"translate({series.shift} 0)")


def _panel(plane: _Plane, attribute: AttributeEntry, outcome: str, targets: list[str]) -> Panel:
    every = {name: plane.positions(name, outcome, attribute, {}) for name in targets}
    rows = {name: positions for name, positions in every.items() if _known(positions)}
    series = []
    for place, (name, positions) in enumerate(rows.items()):
        target = plane.document.text(f"{pointer('rates', _known(positions)[0])}/target")
        shift = _DODGE * (place - (len(rows) - 1) / 2)
        series.append(_series(plane, attribute, positions, (name, target), targets.index(name), shift))
    unit = _unit(plane, rows.values(), "")
    entry = plane.document.results.studies[plane.study]
    words = outcome_words(outcome, unit, task_of(target for target in entry.targets if target.name in targets))
    table = tuple(
        (plane.level(attribute, value), pointer("rates", position))
        for step, value in enumerate(attribute.levels)
        for positions in rows.values()
        if (position := positions[step]) is not None
    )
    panel = _framed(plane, attribute, words, unit, series, "from the first level to the last")
    where = (entry.name, "slope", attribute.name, outcome)
    slopes = (
        number
        for number, effect in enumerate(plane.document.results.effects)
        if (effect.study, effect.kind, effect.attribute, effect.outcome) == where and effect.target in targets
    )
    return replace(panel, slopes=tuple(slopes), table=table)


def _known(positions: Sequence[int | None]) -> list[int]:
    return [position for position in positions if position is not None]


def _unit(plane: _Plane, rows: Iterable[Sequence[int | None]], otherwise: str) -> str:
    return next((plane.index.rates[position].unit for row in rows for position in _known(row)), otherwise)


def _framed(
    plane: _Plane, attribute: AttributeEntry, words: str, unit: str, series: Sequence[Series], where: str
) -> Panel:
    """The panel of some series along an attribute. where: between which ends they rise or fall, in words."""
    style = rate_style(unit)
    courses = [
        f"{one.name}: {svg.direction(one.ends[0], one.ends[1])} {where}"
        for one in series
        if one.ends[0] is not None and one.ends[1] is not None
    ]
    return Panel(
        attribute=spaced(attribute.name),
        heading=plane.headed(attribute),
        words=words,
        style=style,
        ordered=attribute.kind in ("continuous", "ordinal"),
        bands=not measured(attribute),
        wide=not measured(attribute) and len(attribute.levels) > _MOST_NAMES,
        x_ticks=_level_ticks(plane, attribute),
        y_ticks=svg.ticks_down(plane.scale, style == "percent"),
        series=tuple(series),
        slopes=(),
        table=(),
        description="; ".join(courses) or "No rate could be estimated at both ends.",
    )


def _series(
    plane: _Plane,
    attribute: AttributeEntry,
    positions: Sequence[int | None],
    called: tuple[str, Markup],
    number: int,
    shift: float,
) -> Series:
    """The rates along the levels of an attribute as points. called: the name of the series, and that in the key."""
    rates = [None if position is None else plane.index.rates[position] for position in positions]
    points = []
    for value, position, rate in zip(attribute.levels, positions, rates, strict=True):
        if position is None or rate is None or rate.rate is None:
            continue
        y, low, high = (svg.down(plane.scale, end) for end in (rate.rate, rate.low, rate.high))
        points.append(Mark(pointer("rates", position), _place_of(attribute, value), y or 0.0, low, high))
    first, last = (None if rate is None else rate.rate for rate in (rates[0], rates[-1]))
    return Series(*called, number, shift, tuple(points), (first, last))


def _place_of(attribute: AttributeEntry, value: float) -> float:
    """Per cent from the left: in proportion to a number, with a margin for the marks; named levels share the width."""
    if not measured(attribute):
        return round(100 * (attribute.levels.index(value) + 0.5) / len(attribute.levels), 3)
    return svg.along(value, min(attribute.levels), max(attribute.levels))


def _level_ticks(plane: _Plane, attribute: AttributeEntry) -> tuple[Tick, ...]:
    """Labels along the levels of an attribute."""
    every = -(-len(attribute.levels) // _MOST_LABELS) if measured(attribute) else 1
    return tuple(
        Tick(_place_of(attribute, value), plane.level(attribute, value)) for value in attribute.levels[::every]
    )


SIDE: Final = 220
"""Pixels of a side of the scatter's square."""
MOST_LEVELS: Final = 4
"""Levels that one crossed panel can tell apart."""
MOST_PANELS: Final = 12
MOST_LABELS: Final = 8
_CROSSED_DODGE: Final = 5
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
    ticks: tuple[Tick, ...]
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
    plane = _Plane(document, study, index, scale)
    pairs = [
        (along, by)
        for along, by in itertools.permutations(entry.attributes, 2)
        if measured(along) and len(by.levels) <= MOST_LEVELS
    ]
    panels = [(plane.headed(by), _crossed(plane, target.name, outcome, along, by)) for along, by in pairs[:MOST_PANELS]]
    return Crossing(
        target=document.text(pointer("studies", study, "targets", number, "name")),
        words=outcome_words(outcome, unit, target.task),
        panels=tuple((by, panel) for by, panel in panels if panel.series),
        scatters=tuple(_scatters(document, study, index, target.name, outcome)),
        cut=len(pairs) > MOST_PANELS,
    )


def _crossed(plane: _Plane, target: str, outcome: str, along: AttributeEntry, by: AttributeEntry) -> Panel:
    """The curves along one attribute, one at each level of another."""
    rows = [plane.positions(target, outcome, along, {by.name: value}) for value in by.levels]
    series = []
    for number, positions in enumerate(rows):
        if _known(positions):
            called = f"{spaced(by.name)} {by.labels[number]}", plane.level(by, by.levels[number])
            shift = _CROSSED_DODGE * (number - (len(by.levels) - 1) / 2)
            series.append(_series(plane, along, positions, called, number, shift))
    unit = _unit(plane, rows, "proportion")
    panel = _framed(plane, along, outcome_words(outcome, unit), unit, series, f"along {spaced(along.name)}")
    return replace(panel, attribute=f"{spaced(along.name)} and {spaced(by.name)}")


def draw_scatter(scatter: Scatter, name: str) -> Markup:
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
    plane = _Plane(document, study, index, scale)
    scatters = [_scatter(plane, rates, attribute) for attribute in entry.attributes]
    return [scatter for scatter in scatters if scatter.dots]


def _scatter(plane: _Plane, rates: Sequence[RateEntry], attribute: AttributeEntry) -> Scatter:
    first, last = attribute.levels[0], attribute.levels[-1]
    dots: list[Dot] = []
    for rate in rates:
        if rate.cell.get(attribute.name) != first:
            continue
        others = {name: value for name, value in rate.cell.items() if name != attribute.name}
        positions = plane.positions(rate.target, rate.outcome, attribute, others)
        dots += _dots(plane, (positions[0], positions[-1]), others)
    above = sum(dot.y < SIDE - dot.x - 1e-6 for dot in dots)
    ticks = [
        Tick(round(SIDE * plane.scale.fraction(t), 2), tick_text(plane.scale, t, True), t) for t in plane.scale.ticks
    ]
    return Scatter(
        attribute=plane.headed(attribute),
        first=plane.level(attribute, first),
        last=plane.level(attribute, last),
        style="percent",
        ticks=tuple(ticks),
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


def _dots(plane: _Plane, pair: Sequence[int | None], others: Mapping[str, float]) -> Iterator[Dot]:
    """The dot of two rates, of the first level and the last; none where one of them is missing."""
    positions, scale = _known(pair), plane.scale
    rates = [plane.index.rates[position] for position in positions]
    values = [rate.rate for rate in rates if rate.rate is not None]
    if len(values) < 2:
        return
    known = {entry.name: entry for entry in plane.document.results.studies[plane.study].attributes}
    labels = [known[name].labels[known[name].levels.index(value)] for name, value in others.items()]
    across, along = (
        None if rate.low is None or rate.high is None else (_within(scale, rate.low), _within(scale, rate.high))
        for rate in rates
    )
    yield Dot(
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
