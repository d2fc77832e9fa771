"""Computes the positions of the points of a section's figures: per cent of the width, pixels of the height."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from markupsafe import Markup

from transect.reports.document import Style, finite, pointer
from transect.reports.drawing import svg
from transect.reports.drawing.svg import SERIES, Scale, Tick, covering, tick_text
from transect.reports.records import Figure, Panel, Point, Section

_STYLES: dict[str, Style] = {"proportion": "percent", "points": "points", "number": "plain", "count": "count", "p": "p"}
_HALF_VIOLIN = 0.44
_BAR_ROOM = 0.8
_LARGEST_DOT = 6.0


@final
@dataclass(frozen=True)
class Mark:
    """A point drawn: x per cent, y pixels (or per cent in rows); ends None where there is no interval."""

    place: str
    x: float
    y: float
    low: float | None
    high: float | None
    outline: str = ""
    width: float = 0.0


@final
@dataclass(frozen=True)
class Line:
    """A series: number picks color and mark; path and band are polygons in a box 100 wide and PLOT_HEIGHT high."""

    place: str
    number: int
    marks: tuple[Mark, ...]
    path: str = ""
    band: str = ""


@final
@dataclass(frozen=True)
class Axes:
    """One panel. ticks: position, text, value; labels: per category, the place of its text."""

    place: str
    style: Style
    y_ticks: tuple[Tick, ...]
    x_ticks: tuple[Tick, ...]
    labels: tuple[str, ...]
    zero: float | None
    lines: tuple[Line, ...]
    description: str


@final
@dataclass(frozen=True)
class FigureView:
    """One figure of a section."""

    place: str
    entry: Figure
    panels: tuple[Axes, ...]
    key: tuple[tuple[str, int], ...]


@final
@dataclass(frozen=True)
class TableView:
    """One table; each column's style, "" for text."""

    place: str
    styles: tuple[str, ...]
    rows: int


@final
@dataclass(frozen=True)
class SectionView:
    """One section: where it stands, its figures and its tables."""

    index: int
    place: str
    entry: Section
    figures: tuple[FigureView, ...]
    tables: tuple[TableView, ...]


def sections(entries: Sequence[Section]) -> tuple[SectionView, ...]:
    """All sections of the page, which stand under "sections" in its document."""
    return tuple(_section(index, entry) for index, entry in enumerate(entries))


def _section(index: int, entry: Section) -> SectionView:
    place = pointer("sections", index)
    figures = tuple(_figure(f"{place}/figures/{k}", figure) for k, figure in enumerate(entry.figures))
    tables = tuple(
        TableView(f"{place}/tables/{k}", tuple(_STYLES.get(unit, "") for unit in table.units), len(table.rows))
        for k, table in enumerate(entry.tables)
    )
    return SectionView(index, place, entry, figures, tables)


def _figure(place: str, entry: Figure) -> FigureView:
    shared = (
        _scale([point for panel in entry.panels for point in _points(panel)], entry.kind) if entry.same_axis else None
    )
    names = list(dict.fromkeys(series.name for panel in entry.panels for series in panel.series))
    draw = {"curves": _curves, "bars": _bars, "rows": _rows, "violins": _violins, "scatter": _scatter}[entry.kind]
    panels = tuple(
        draw(f"{place}/panels/{k}", panel, shared or _scale(_points(panel), entry.kind), names)
        for k, panel in enumerate(entry.panels)
    )
    first = {
        series.name: f"{place}/panels/{k}/series/{j}/name"
        for k, panel in reversed(list(enumerate(entry.panels)))
        for j, series in reversed(list(enumerate(panel.series)))
    }
    key = tuple((first[name], number % SERIES) for number, name in enumerate(names) if name) if len(names) > 1 else ()
    return FigureView(place, entry, panels, key)


def draw(figure: FigureView, panel: Axes, entry: Panel, name: str, labels: Sequence[Markup]) -> Markup:
    """The plot of one panel. labels: the texts of its categories."""
    kind = figure.entry.kind
    title = entry.y_words.capitalize() + (f" by {entry.x_words}" if entry.x_words else "")
    content = svg.joined(
        svg.tag("g", svg.joined(_drawn(line, panel, kind)), class_=f"series s{line.number}") for line in panel.lines
    )
    return svg.plot(
        name,
        title,
        panel.description,
        content,
        up=panel.y_ticks,
        across=panel.x_ticks,
        labels=labels,
        zero=kind != "violins",
        css="section-plot",
    )


def _drawn(line: Line, panel: Axes, kind: str) -> Iterator[Markup]:
    if line.path:
        yield svg.course(line.path, band=line.band)
    for mark in line.marks:
        x = f"{mark.x}%"
        if kind == "bars":
            top, bottom = sorted((mark.y, panel.zero or 0.0))
            yield svg.tag("rect", class_="column", x=x, width=f"{mark.width}%", y=top, height=bottom - top)
            yield svg.upright(f"{mark.x + mark.width / 2}%", mark.low, mark.high, "error")
        elif kind == "violins":
            if mark.outline:
                yield svg.stretched(svg.tag("polygon", class_="violin", points=mark.outline))
            yield svg.upright(x, mark.low, mark.high, "error")
            if mark.y >= 0:
                yield svg.tag("circle", class_="median", cx=x, cy=mark.y, r=3.5)
        elif kind == "scatter":
            yield svg.tag("circle", class_="seen", cx=x, cy=mark.y, r=mark.width)
        else:
            yield svg.placed(line.number, x, mark.y)


def draw_row(panel: Axes, entry: Panel, row: int, name: str) -> Markup:
    """One row of a dot plot: a mark per series."""
    count = len(panel.lines)
    marks = [
        svg.Interval(mark.x, mark.low, mark.high, line.number, down=50 if count == 1 else 30 + 40 * place / (count - 1))
        for place, line in enumerate(panel.lines)
        for mark in line.marks
        if mark.y == row and mark.x >= 0
    ]
    return svg.track(name, f"{entry.y_words.capitalize()} and its bars", "", panel.x_ticks, marks)


def _points(panel: Panel) -> list[Point]:
    return [point for series in panel.series for point in series.points]


def _scale(points: Sequence[Point], kind: str) -> Scale:
    if kind == "violins":
        return covering([])
    return covering(finite([bound for point in points for bound in (point.value, point.low, point.high)]))


def _axes(place: str, panel: Panel, scale: Scale, lines: Sequence[Line], labels: Iterable[str] = ()) -> Axes:
    """Upright values over labels, or over ticks that are yet to be set."""
    ticks, zero = svg.ticks_down(scale, panel.unit != "number"), svg.down(scale, 0.0)
    return Axes(place, _STYLES[panel.unit], ticks, (), tuple(labels), zero, tuple(lines), _courses(panel))


def _lines(
    place: str, panel: Panel, names: Sequence[str], mark: Callable[[str, int, Point], Mark | None]
) -> tuple[Line, ...]:
    """A line for each series, with the mark of each point. mark: from its place, the number of its series, and it."""
    lines = []
    for j, series in enumerate(panel.series):
        marks = [mark(f"{place}/series/{j}/points/{k}", j, point) for k, point in enumerate(series.points)]
        drawn = tuple(one for one in marks if one is not None)
        lines.append(Line(f"{place}/series/{j}", names.index(series.name) % SERIES, drawn))
    return tuple(lines)


def _curves(place: str, panel: Panel, scale: Scale, names: Sequence[str]) -> Axes:
    across = [point.x for point in _points(panel) if point.x is not None]
    low, high = (min(across), max(across)) if across else (0.0, 1.0)

    def x_of(x: float) -> float:
        return svg.along(x, low, high)

    lines = tuple(
        _curve(f"{place}/series/{j}", series.points, names.index(series.name), scale, x_of)
        for j, series in enumerate(panel.series)
    )
    axis = covering([low, high])
    ticks = tuple(Tick(x_of(t), tick_text(axis, t, False), t) for t in axis.ticks if low - 1e-9 <= t <= high + 1e-9)
    return replace(_axes(place, panel, scale, lines), x_ticks=ticks)


def _scatter(place: str, panel: Panel, scale: Scale, names: Sequence[str]) -> Axes:
    """Dots whose area grows with n, and lines without dots."""
    axes = _curves(place, panel, scale, names)
    most = max(
        (point.n or 1 for series in panel.series if series.drawn == "marks" for point in series.points), default=1
    )
    lines = []
    for line, series in zip(axes.lines, panel.series, strict=True):
        if series.drawn == "line":
            lines.append(replace(line, marks=(), band=""))
            continue
        counts = [point.n or 1 for point in series.points if point.value is not None and point.x is not None]
        # The dot's area is in proportion to n.
        radii = [round(max(_LARGEST_DOT * math.sqrt(n / most), 1.2), 2) for n in counts]
        marks = [replace(mark, width=radius) for mark, radius in zip(line.marks, radii, strict=True)]
        lines.append(replace(line, marks=tuple(marks), path="", band=""))
    return replace(axes, zero=None, lines=tuple(lines))


def _curve(place: str, points: Sequence[Point], number: int, scale: Scale, x_of: Callable[[float], float]) -> Line:
    marks, banded = [], []
    for k, point in enumerate(points):
        if point.value is None or point.x is None:
            continue
        x, ends = x_of(point.x), (svg.down(scale, point.low), svg.down(scale, point.high))
        marks.append(Mark(f"{place}/points/{k}", x, svg.down(scale, point.value) or 0.0, *ends))
        # A point without an interval (λ = 0, where the change is 0 by construction) closes the band to a point.
        banded.append((x, *(marks[-1].y if end is None else end for end in ends)))
    path = " ".join(f"{mark.x},{mark.y}" for mark in marks)
    band = " ".join([*(f"{x},{high}" for x, _, high in banded), *(f"{x},{low}" for x, low, _ in reversed(banded))])
    return Line(place, number % SERIES, tuple(marks), path, band)


def _courses(panel: Panel) -> str:
    """The course of each series in words without numbers."""
    clauses = []
    for series in panel.series:
        values = [point.value for point in series.points if point.value is not None]
        if len(values) > 1:
            course = svg.direction(values[0], values[-1])
            clauses.append(f"{series.name or panel.y_words}: {course} from left to right")
    return "; ".join(clauses) or "No value could be estimated at two places."


def _labels(place: str, panel: Panel) -> dict[str, str]:
    """Each label and the place of its text, in order of first use."""
    labels: dict[str, str] = {}
    for j, series in enumerate(panel.series):
        for k, point in enumerate(series.points):
            labels.setdefault(point.label, f"{place}/series/{j}/points/{k}/label")
    return labels


def _bars(place: str, panel: Panel, scale: Scale, names: Sequence[str]) -> Axes:
    labels = _labels(place, panel)
    room = 100 / max(len(labels), 1)
    each = _BAR_ROOM * room / max(len(panel.series), 1)

    def bar(at: str, series: int, point: Point) -> Mark | None:
        if point.value is None:
            return None
        left = room * list(labels).index(point.label) + (1 - _BAR_ROOM) / 2 * room + series * each
        top, low, high = (svg.down(scale, value) for value in (point.value, point.low, point.high))
        return Mark(at, round(left, 3), top or 0.0, low, high, width=round(each, 3))

    return _axes(place, panel, scale, _lines(place, panel, names, bar), labels.values())


def _rows(place: str, panel: Panel, scale: Scale, names: Sequence[str]) -> Axes:
    """Dots by label, one row of the page each: marks carry per cent across and the row's number down."""
    labels = _labels(place, panel)

    def dot(at: str, _: int, point: Point) -> Mark:
        value, low, high = (
            None if end is None else round(100 * scale.fraction(end), 3) for end in (point.value, point.low, point.high)
        )
        return Mark(at, -1.0 if value is None else value, float(list(labels).index(point.label)), low, high)

    axes = _axes(place, panel, scale, _lines(place, panel, names, dot), labels.values())
    ticks = svg.ticks_across(scale, panel.unit != "number", signed=panel.unit != "proportion")
    return replace(axes, y_ticks=(), x_ticks=ticks)


def _violins(place: str, panel: Panel, _: Scale, names: Sequence[str]) -> Axes:
    """Each group's histogram, mirrored; its greatest count spans the width, as in the paper."""
    low, high = (panel.edges[0], panel.edges[-1]) if panel.edges else (0.0, 1.0)
    scale = Scale(low, high if high > low else low + 1.0, ())
    labels = _labels(place, panel)
    room = 100 / max(len(labels), 1)

    def violin(at: str, _: int, point: Point) -> Mark:
        center = room * (list(labels).index(point.label) + 0.5)
        outline = _outline(point.counts, panel.edges, scale, center, _HALF_VIOLIN * room)
        middle, lower, upper = (svg.down(scale, value) for value in (point.value, point.low, point.high))
        return Mark(at, round(center, 3), -1.0 if middle is None else middle, lower, upper, outline)

    axis = covering([low, high])
    ticks = tuple(
        Tick(svg.down(scale, t) or 0.0, tick_text(axis, t, False), t)
        for t in axis.ticks
        if low - 1e-9 <= t <= high + 1e-9
    )
    lines = _lines(place, panel, names, violin)
    told = "Shapes show how many images lie where."
    return Axes(place, "plain", ticks, (), tuple(labels.values()), None, lines, told)


def _outline(counts: Sequence[int], edges: Sequence[float], scale: Scale, center: float, half: float) -> str:
    most = max(counts, default=0)
    if not most:
        return ""
    right = []
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        width = half * count / most
        right += [(width, svg.down(scale, low)), (width, svg.down(scale, high))]
    left = [(-width, y) for width, y in reversed(right)]
    return " ".join(f"{round(center + width, 3)},{y}" for width, y in [*right, *left])
