"""Where mitigations lie on the plane of two figures, and the drawings of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from markupsafe import Markup

from transect.reports.drawing import svg
from transect.reports.drawing.scales import Scale, covering, tick_text
from transect.reports.drawing.svg import Tick

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


@final
@dataclass(frozen=True)
class Scatter:
    """F1 of each label before (across) and after (up) one mitigation; positions in per cent."""

    index: int
    points: tuple[tuple[float, float], ...]


def letter_of(index: int) -> str:
    """The letter of a mitigation."""
    return LETTERS[index % len(LETTERS)]


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
            letter_of(index),
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
    bar = Markup()
    if point.low is not None and point.high is not None:
        bar = svg.tag("line", class_="whisker open", x1=x, x2=x, y1=f"{point.low}%", y2=f"{point.high}%")
    circle = svg.tag("circle", cx=x, cy=y, r=12)
    letter = svg.tag("text", point.letter, x=x, y=y, dy=".35em", text_anchor="middle")
    return svg.tag("g", bar + circle + letter, class_=f"lettered {point.kind}")


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


def scatter_of(rows: list[dict[str, Any]], index: int) -> Scatter:
    """F1 of each label before and after one mitigation."""
    pairs = [
        (before["estimate"], after["estimate"])
        for before, after in zip(rows[0]["label_f1"], rows[index]["label_f1"], strict=True)
    ]
    return Scatter(index, tuple((a, 100 - b) for a, b in pairs if a is not None and b is not None))
