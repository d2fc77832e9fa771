"""Rates along the levels of each attribute: a curve along an ordered attribute, points at the levels of a named one.

Heights are pixels and horizontal positions per cent, so that a panel stretches without changing its letters.
One mark, dash and color per target; all panels of an outcome share their axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.reports.document import Document, finite, pointer
from transect.reports.drawing import svg
from transect.reports.drawing.cells import RateIndex
from transect.reports.drawing.scales import Scale, covering, tick_text
from transect.reports.drawing.svg import Tick
from transect.reports.results import AttributeEntry
from transect.reports.wording import level, measured, outcome_words, rate_style, with_unit
from transect.runs.wording import spaced

SERIES = 4
"""Targets that one panel can tell apart; more go to further panels."""

_DODGE = 7
_MOST_LABELS = 6
_MOST_NAMES = 4
_MARGIN = 5.0


@final
@dataclass(frozen=True)
class Point:
    """One rate: where it stands and its position; y, low, high in pixels from the top."""

    place: str
    x: float
    y: float
    low: float | None
    high: float | None


@final
@dataclass(frozen=True)
class Series:
    """The points of one target; number picks mark, dash and color, shift sets it beside the others."""

    name: str
    target: Markup
    number: int
    shift: float
    points: tuple[Point, ...]

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


def panels(document: Document, study: int, outcome: str) -> tuple[Panel, ...]:
    """The panels of one outcome, one per attribute (and per group of four targets), on a common axis."""
    entry = document.results.studies[study]
    index = RateIndex.of(document.results, entry.name)
    single = [rate for rate in index.of_outcome(outcome) if rate.order == 1]
    scale = covering(finite([bound for rate in single for bound in (rate.rate, rate.low, rate.high)]))
    names = [target.name for target in entry.targets]
    batches = [names[start : start + SERIES] for start in range(0, len(names), SERIES)]
    drawn = [
        _panel(document, study, attribute, outcome, batch, index, scale)
        for attribute in entry.attributes
        for batch in batches
    ]
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


def _panel(
    document: Document,
    study: int,
    attribute: AttributeEntry,
    outcome: str,
    targets: list[str],
    index: RateIndex,
    scale: Scale,
) -> Panel:
    ordered = attribute.kind in ("continuous", "ordinal")
    places = {
        (target, value): index.find(target, outcome, {attribute.name: value})
        for value in attribute.levels
        for target in targets
    }
    positions = {key: position for key, position in places.items() if position is not None}
    unit = next((index.rates[position].unit for position in positions.values()), "")
    style = rate_style(unit)
    return Panel(
        attribute=spaced(attribute.name),
        heading=Markup("{}{}").format(spaced(attribute.name), with_unit(document, study, attribute.name)),
        words=outcome_words(outcome, unit, _task(document, study, targets)),
        style=style,
        ordered=ordered,
        bands=not measured(attribute),
        wide=not measured(attribute) and len(attribute.levels) > _MOST_NAMES,
        x_ticks=level_ticks(document, study, attribute),
        y_ticks=axis_ticks(scale, style == "percent"),
        series=_series(document, attribute, targets, positions, scale),
        slopes=_slopes(document, study, attribute.name, outcome, targets),
        table=tuple(
            (level(document, study, attribute.name, value, ""), pointer("rates", position))
            for (_, value), position in positions.items()
        ),
        description=_description(document, attribute, positions),
    )


def _task(document: Document, study: int, targets: list[str]) -> str:
    tasks = {target.task for target in document.results.studies[study].targets if target.name in targets}
    return tasks.pop() if len(tasks) == 1 else ""


def place_of(attribute: AttributeEntry, value: float) -> float:
    """Per cent from the left: in proportion to a number, with a margin for the marks; named levels share the width."""
    if not measured(attribute):
        return round(100 * (attribute.levels.index(value) + 0.5) / len(attribute.levels), 3)
    low, high = min(attribute.levels), max(attribute.levels)
    return round(_MARGIN + (100 - 2 * _MARGIN) * ((value - low) / (high - low) if high > low else 0.5), 3)


def y_of(scale: Scale, value: float) -> float:
    """Pixels from the top of a panel."""
    return round(svg.PLOT_HEIGHT * (1 - scale.fraction(value)), 2)


def level_ticks(document: Document, study: int, attribute: AttributeEntry) -> tuple[Tick, ...]:
    """Labels along the levels of an attribute."""
    every = -(-len(attribute.levels) // _MOST_LABELS) if measured(attribute) else 1
    return tuple(
        Tick(place_of(attribute, value), level(document, study, attribute.name, value, ""))
        for value in attribute.levels[::every]
    )


def axis_ticks(scale: Scale, hundredfold: bool) -> tuple[Tick, ...]:
    """Labels of the upright axis of a panel."""
    return tuple(Tick(y_of(scale, tick), tick_text(scale, tick, hundredfold), tick) for tick in scale.ticks)


def _series(
    document: Document,
    attribute: AttributeEntry,
    targets: list[str],
    positions: dict[tuple[str, float], int],
    scale: Scale,
) -> tuple[Series, ...]:
    drawn = [target for target in targets if any(key[0] == target for key in positions)]
    center = (len(drawn) - 1) / 2
    return tuple(
        Series(
            name=target,
            target=document.text(f"{pointer('rates', next(p for k, p in positions.items() if k[0] == target))}/target"),
            number=targets.index(target),
            shift=_DODGE * (place - center),
            points=_points(document, attribute, target, positions, scale),
        )
        for place, target in enumerate(drawn)
    )


def _points(
    document: Document, attribute: AttributeEntry, target: str, positions: dict[tuple[str, float], int], scale: Scale
) -> tuple[Point, ...]:
    points = []
    for value in attribute.levels:
        position = positions.get((target, value))
        rate = None if position is None else document.results.rates[position]
        if position is None or rate is None or rate.rate is None:
            continue
        ends = [None if end is None else y_of(scale, end) for end in (rate.low, rate.high)]
        points.append(
            Point(pointer("rates", position), place_of(attribute, value), y_of(scale, rate.rate), ends[0], ends[1])
        )
    return tuple(points)


def _slopes(document: Document, study: int, attribute: str, outcome: str, targets: list[str]) -> tuple[int, ...]:
    name = document.results.studies[study].name
    return tuple(
        index
        for index, effect in enumerate(document.results.effects)
        if (effect.study, effect.kind, effect.attribute, effect.outcome) == (name, "slope", attribute, outcome)
        and effect.target in targets
    )


def _description(document: Document, attribute: AttributeEntry, positions: dict[tuple[str, float], int]) -> str:
    """What the panel shows, in words: where each target's rate goes from the first level to the last."""
    clauses = []
    for target in dict.fromkeys(key[0] for key in positions):
        ends = [positions.get((target, value)) for value in (attribute.levels[0], attribute.levels[-1])]
        first, last = (None if end is None else document.results.rates[end].rate for end in ends)
        if first is not None and last is not None:
            course = "rises" if last > first else "falls" if last < first else "stays"
            clauses.append(f"{target}: {course} from the first level to the last")
    return "; ".join(clauses) or "No rate could be estimated at both ends."
