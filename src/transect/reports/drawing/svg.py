"""Axes and marks as SVG: the one place that draws.

Positions across are per cent of the width, so that a figure fits every screen while its letters keep their size.
Positions down are pixels, or per cent in a track. Colors are classes of the style sheet, which follow light and
dark. Every picture has a title and a description; the numbers stand beside it as text or in a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from markupsafe import Markup, escape

PLOT_HEIGHT: Final = 168
"""Pixels of a plot's height."""
SERIES: Final = 5
"""Series that colors and marks can tell apart."""

_PAIRED: Final = frozenset({"dd", "div", "li", "p", "span", "td", "th", "tbody", "ul"})
"""Elements of HTML that have an end tag even when they are empty."""
_TRIANGLE_DOWN, _TRIANGLE, _DIAMOND = "M0 5.4 5-4H-5Z", "M0-5.4 5 4H-5Z", "M0-5.8 5.8 0 0 5.8-5.8 0Z"


class Tick(NamedTuple):
    """A label on an axis: its position, its text, and its value where the text is a rounding of it."""

    at: float
    text: str | Markup
    value: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """A mark of a track: per cent across, its ends or None. series: color and shape; None is the page's accent.

    filled: whether the mark is, or hollow. down: per cent from the top. css: a class in place of the series' color.
    """

    at: float
    low: float | None = None
    high: float | None = None
    series: int | None = None
    filled: bool = True
    down: float = 50.0
    css: str = ""


def tag(name: str, content: str | Markup = "", /, **attributes: object) -> Markup:
    """An element, escaped; attributes of None are left out, `class_` is class and `_` in a name is a hyphen."""
    pairs = ((key.strip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    head = "".join(f' {key}="{escape(value)}"' for key, value in pairs)
    inner = escape(content)  # a page has ten thousand elements: joined as texts they take half the time of `format`
    whole = f"<{name}{head}>{inner}</{name}>" if inner or name in _PAIRED else f"<{name}{head}/>"
    return Markup(whole)  # noqa: S704 - its values are escaped above


def percent(value: float) -> str:
    """A length in per cent."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def picture(name: str, title: str | Markup, description: str, content: Markup, **attributes: object) -> Markup:
    """An SVG with its title and description, under an id that begins with `name`."""
    words = tag("title", title, id=f"{name}-title") + (
        tag("desc", description, id=f"{name}-desc") if description else ""
    )
    labels = f"{name}-title {name}-desc" if description else f"{name}-title"
    return tag("svg", words + content, role="img", aria_labelledby=labels, width="100%", **attributes)


def joined(elements: Iterable[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("\n").join(elements)


def stretched(content: Markup, height: float = PLOT_HEIGHT) -> Markup:
    """Content in a box 100 wide and `height` high that fills the picture."""
    box = f"0 0 100 {height}"
    return tag("svg", content, x=0, y=0, width="100%", height="100%", viewBox=box, preserveAspectRatio="none")


def shape(number: int) -> Markup:
    """The mark of a series: circle, square, triangle, diamond, triangle pointing down."""
    if number == 0:
        return tag("circle", r=4.5)
    if number == 4:
        return tag("path", d=_TRIANGLE_DOWN)
    if number % 4 == 1:
        return tag("rect", x=-4, y=-4, width=8, height=8)
    return tag("path", d=_TRIANGLE if number % 4 == 2 else _DIAMOND)


def placed(number: int, x: str, y: object, place: str | None = None) -> Markup:
    """The mark of a series at a position. place: where its number stands in the document."""
    return tag("svg", shape(number), x=x, y=y, overflow="visible", data_place=place)


def legend(entries: Sequence[tuple[Markup, int]], element: str = "p") -> Markup:
    """The key of a figure: each series' line, mark and name."""
    line = tag("line", x1=1, x2=29, y1=7, y2=7)
    items = [
        tag(
            "span",
            tag("svg", line + placed(number, "15", 7), width=30, height=14, aria_hidden="true") + " " + name,
            class_=f"series s{number}",
        )
        for name, number in entries
    ]
    return tag(element, Markup(" ").join(items), class_="key")


def track(
    name: str,
    title: str | Markup,
    description: str,
    grid: Iterable[Tick | tuple[float, float | None]],
    marks: Sequence[Interval],
    band: tuple[float, float] | None = None,
    over: Markup | None = None,
) -> Markup:
    """A row of a dot plot: grid lines (ticks, or position and value; that of 0 stands out), intervals and dots."""
    back = Markup()
    if band is not None:
        back = tag("rect", class_="range-band", x=percent(band[0]), width=percent(band[1]), y=0, height="100%")
    lines = [
        tag("line", class_="zero" if value == 0 else "grid", x1=percent(at), x2=percent(at), y1=0, y2="100%")
        for at, *_, value in grid
    ]
    content = joined([back, *lines, *(_interval(mark) for mark in marks), *([] if over is None else [over])])
    return tag("div", picture(name, title, description, content, height="100%"), class_="track")


def _interval(mark: Interval) -> Markup:
    down, hollow = percent(mark.down), "" if mark.filled else " open"
    has_ends = mark.low is not None and mark.high is not None
    ends = {"x1": percent(mark.low or 0.0), "x2": percent(mark.high or 0.0), "y1": down, "y2": down}
    if mark.series is None:
        line = tag("line", class_=f"whisker{hollow}", **ends) if has_ends else Markup()
        return line + tag("circle", class_=f"dot{hollow}", cx=percent(mark.at), cy=down, r=5)
    line = tag("line", class_="bar", **ends) if has_ends else Markup()
    return tag(
        "g",
        line + placed(mark.series, percent(mark.at), down),
        class_=f"series {mark.css or f's{mark.series}'}{hollow}",
    )


def ticks(values: Iterable[Tick]) -> Markup:
    """The labels above or below tracks."""
    return tag("div", _labels(values, "left", "%"), class_="ticks")


def _labels(values: Iterable[Tick], side: str, unit: str) -> Markup:
    return Markup("").join(
        tag("span", text, class_="tick", data_tick=value, style=f"{side}:{at:.6g}{unit}") for at, text, value in values
    )


def plot(
    name: str,
    title: str,
    description: str,
    content: Markup,
    *,
    up: Sequence[Tick],
    across: Sequence[Tick] = (),
    labels: Sequence[Markup] = (),
    zero: bool = False,
    css: str = "",
    height: float = PLOT_HEIGHT,
) -> Markup:
    """Axes around content. up: ticks in pixels from the top; across: in per cent, or labels that share the width."""
    grid = [
        tag("line", class_="zero" if zero and value == 0 else "grid", x1=0, x2="100%", y1=at, y2=at)
        for at, _, value in up
    ]
    drawing = picture(name, title, description, joined([*grid, content]), class_="curve", height=height)
    if labels:
        named = Markup("").join(tag("span", label, class_="tick") for label in labels)
        foot = tag("div", named, class_="x-axis bands", aria_hidden="true")
    else:
        foot = tag("div", _labels(across, "left", "%"), class_="x-axis", aria_hidden="true")
    side = tag("div", _labels(up, "top", "px"), class_="y-axis", aria_hidden="true")
    return tag("div", side + drawing + foot, class_=f"plot {css}".strip())


def course(points: str, css: str = "course", band: str = "", height: float = PLOT_HEIGHT) -> Markup:
    """A line through points ("x,y x,y") of a box 100 wide, and the band around it."""
    shade = tag("polygon", class_="band", points=band) if band else Markup()
    line = tag("polyline", class_=css, points=points, vector_effect="non-scaling-stroke")
    return stretched(shade + line, height)


def upright(x: str, low: float | None, high: float | None, css: str) -> Markup:
    """An interval from `low` to `high` pixels; nothing without one."""
    if low is None or high is None:
        return Markup()
    return tag("line", class_=css, x1=x, x2=x, y1=low, y2=high)


def square(
    name: str, title: str, description: str, content: Markup, side: int, scale: Sequence[Tick], diagonal: str = "zero"
) -> Markup:
    """A square with one scale on both axes (pixels from the low end) and the line on which both are equal."""
    lines = [
        line
        for at, _, _ in scale
        for line in (
            tag("line", class_="grid", x1=0, x2=side, y1=round(side - at, 2), y2=round(side - at, 2)),
            tag("line", class_="grid", y1=0, y2=side, x1=at, x2=at),
        )
    ]
    equal = tag("line", class_=diagonal, x1=0, y1=side, x2=side, y2=0)
    words = tag("title", title, id=f"{name}-title") + tag("desc", description, id=f"{name}-desc")
    drawing = tag(
        "svg",
        joined([words, *lines, equal, content]),
        class_="scatter",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        width=side,
        height=side,
    )
    up = _labels([Tick(round(side - at, 2), text, value) for at, text, value in scale], "top", "px")
    axes = (
        tag("div", up, class_="y-axis", aria_hidden="true"),
        tag("div", _labels(scale, "left", "px"), class_="x-axis", aria_hidden="true"),
    )
    return tag("div", axes[0] + drawing + axes[1], class_="square")


def histograms(name: str, title: str, above: Sequence[float], below: Sequence[float]) -> Markup:
    """Two groups' bars back to back; heights are per cent of the half."""
    width = 100 / max(len(above), 1)
    bars = [
        tag(
            "rect",
            class_=f"column s{number}",
            x=percent(place * width),
            width=percent(0.9 * width),
            y=percent(top),
            height=percent(height / 2),
        )
        for number, heights in ((0, above), (1, below))
        for place, height in enumerate(heights)
        for top in [50 - height / 2 if number == 0 else 50]
        if height
    ]
    middle = tag("line", class_="zero", x1=0, x2="100%", y1="50%", y2="50%")
    return picture(name, title, "", joined([*bars, middle]), class_="histograms", height=192)


_MANTISSAS = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROUNDING = 1e-10


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis from low to high with ticks at round numbers."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def fraction(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)


def covering(values: Iterable[float], about: int = 5) -> Scale:
    """The scale with round ends that covers the values and zero with at most `about` steps.

    Without values, or with zeros alone up to rounding (1e-10), it runs from 0 to 1.

    >>> covering([-0.04, 0.31]).ticks
    (-0.1, 0.0, 0.1, 0.2, 0.3, 0.4)
    >>> covering([0.0, -2e-16]).low, covering([0.0, -2e-16]).high
    (0.0, 1.0)
    """
    low, high = min([0.0, *values]), max([0.0, *values])
    if high - low < _ROUNDING:
        low, high = 0.0, 1.0
    for step in _steps((high - low) / about):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= about:
            break
    ticks = tuple(round(index * step, 12) for index in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def _steps(at_least: float) -> list[float]:
    """Round steps from the first that is not below `at_least` on."""
    power = 10.0 ** math.floor(math.log10(at_least))
    candidates = [mantissa * power * lift for lift in (1.0, 10.0) for mantissa in _MANTISSAS]
    return [step for step in candidates if step >= at_least * (1 - 1e-9)]


_MARGIN: Final = 5.0
"""Per cent of a plot's width that stay free on either side, for the marks."""


def along(value: float, low: float, high: float) -> float:
    """Per cent from the left of a plot from low to high; the middle where they are the same."""
    return round(_MARGIN + (100 - 2 * _MARGIN) * ((value - low) / (high - low) if high > low else 0.5), 3)


def down(scale: Scale, value: float | None) -> float | None:
    """Pixels from the top of a plot; None without a value."""
    return None if value is None else round(PLOT_HEIGHT * (1 - scale.fraction(value)), 2)


def direction(first: float, last: float) -> str:
    """What a course does between its ends."""
    return "rises" if last > first else "falls" if last < first else "stays"


def ticks_across(scale: Scale, hundredfold: bool, *, signed: bool = True) -> tuple[Tick, ...]:
    """Labels along tracks."""
    return tuple(Tick(100 * scale.fraction(at), tick_text(scale, at, hundredfold, signed), at) for at in scale.ticks)


def tick_text(scale: Scale, value: float, hundredfold: bool, signed: bool = False) -> str:
    """The label of a tick with as many decimals as the steps of the scale need."""
    factor = 100.0 if hundredfold else 1.0
    step = factor * (scale.ticks[1] - scale.ticks[0])
    decimals = next((digits for digits in range(8) if abs(round(step, digits) - step) < 1e-9 * step), 8)
    shown = factor * value
    text = f"{abs(shown):.{decimals}f}"
    sign = "−" if shown < 0 else "+" if signed and shown > 0 else ""
    return sign + text
