"""One effect in several worlds, a row for each: a forest plot as in a meta-analysis.

A filled mark is an effect that its world shows by itself, a hollow one is not. The diamond is the mean world with its
interval, the dashed line the interval of one more world; both are left out where the worlds are too few to tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.reports.drawing import svg
from transect.reports.drawing.scales import Scale, covering, tick_text
from transect.reports.drawing.svg import Interval, Tick, tag


@final
@dataclass(frozen=True, slots=True)
class Mark:
    """An estimate with its interval, NaN where there is none. filled: shown by the world itself."""

    label: str
    estimate: float
    low: float
    high: float
    filled: bool


def scale_of(values: Sequence[float]) -> Scale:
    """The axis that holds every finite value, and 0."""
    return covering([value for value in values if math.isfinite(value)])


def ticks_of(scale: Scale, *, points: bool) -> list[Tick]:
    """The axis's labels, in points for rates."""
    return [Tick(100 * scale.fraction(at), tick_text(scale, at, points, signed=True), at) for at in scale.ticks]


def world(name: str, mark: Mark, scale: Scale) -> Markup:
    """The row of one world; without a mark where it has no estimate."""
    at, low, high = (_place(scale, value) for value in (mark.estimate, mark.low, mark.high))
    marks = [] if at is None else [Interval(at, low, high, filled=mark.filled)]
    return svg.track(name, mark.label, _told(mark), _grid(scale), marks)


def summary(name: str, mark: Mark, next_world: tuple[float, float], scale: Scale) -> Markup:
    """The row of the mean world: its diamond, over the interval of one more world."""
    at, low, high = (_place(scale, value) for value in (mark.estimate, mark.low, mark.high))
    ends = [_place(scale, value) for value in next_world]
    line = tag(
        "line", class_="next-world", x1=svg.percent(ends[0] or 0.0), x2=svg.percent(ends[1] or 0.0), y1="50%", y2="50%"
    )
    corners = f"{low or 0.0:.2f},50 {at or 0.0:.2f},20 {high or 0.0:.2f},50 {at or 0.0:.2f},80"
    diamond = svg.stretched(tag("polygon", class_="diamond", points=corners), 100)
    words = "The diamond is the mean world with its interval, the dashed line the interval of one more world."
    return svg.track(name, mark.label, words, _grid(scale), [], over=line + diamond)


def _place(scale: Scale, value: float) -> float | None:
    """Per cent across, within the axis; None without a value."""
    return 100 * min(max(scale.fraction(value), 0.0), 1.0) if math.isfinite(value) else None


def _grid(scale: Scale) -> list[tuple[float, float | None]]:
    return [(100 * scale.fraction(at), at) for at in scale.ticks]


def _told(mark: Mark) -> str:
    """What the row shows, in words without numbers: these stand beside it."""
    if not math.isfinite(mark.estimate):
        return "No mark: not estimable."
    side = "right of" if mark.estimate > 0 else "left of" if mark.estimate < 0 else "on"
    return (
        f"The estimate lies {side} zero; {'the world shows it' if mark.filled else 'the world alone shows no effect'}."
    )
