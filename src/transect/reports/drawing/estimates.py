"""The one drawing of estimates: marks in panels by their place across, and in rows below each other.

Heights are pixels and horizontal positions per cent, so that a panel stretches without changing its letters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, final

from markupsafe import Markup

from transect.reports.drawing import svg
from transect.reports.drawing.svg import Interval, Scale, Tick, covering, tag, tick_text

Kind = Literal["levels", "curves", "bars", "violins", "scatter"]
"""levels: an interval at each mark; curves: a line with its band; the others as in `records.Figure`."""
_HALF_VIOLIN: Final = 0.44
_BAR_ROOM: Final = 0.8
_LARGEST_DOT: Final = 6.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An estimate with its interval, None where there is none. x: per cent across, of a category its middle.

    place: where the number stands in the document. n: what the area of a dot grows with; counts: of a violin.
    """

    x: float
    value: float | None
    low: float | None = None
    high: float | None = None
    place: str | None = None
    n: int = 1
    counts: Sequence[int] = ()


@final
@dataclass(frozen=True, slots=True)
class Line:
    """Marks that belong together. number: color and shape; shift: pixels beside the others; dots: else a line alone."""

    name: str
    number: int
    marks: Sequence[Mark]
    shift: float = 0.0
    dots: bool = True

    def told(self, name: str, where: str) -> list[str]:
        """What it does between its ends, in words without numbers; nothing of fewer than two."""
        values = [mark.value for mark in self.marks if mark.value is not None]
        return [f"{name}: {svg.direction(values[0], values[-1])} {where}"] if len(values) > 1 else []


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Lines on a pair of axes. across: labels by position; labels: of categories, which share the width.

    ordered: marks of levels are joined. edges: of the bins of violins.
    """

    kind: Kind
    title: str
    description: str
    lines: Sequence[Line]
    scale: Scale
    hundredfold: bool = False
    across: Sequence[Tick] = ()
    labels: Sequence[Markup] = ()
    ordered: bool = True
    edges: Sequence[float] = ()


def panel(name: str, drawn: Panel) -> Markup:
    """The plot of a panel. name: begins the ids of its title and its description."""
    content = svg.joined(
        svg.tag(
            "g",
            svg.joined(_marks(drawn, place, line)),
            class_=f"series s{line.number}",
            transform=f"translate({line.shift} 0)" if line.shift else None,
        )
        for place, line in enumerate(drawn.lines)
    )
    return svg.plot(
        name,
        drawn.title,
        drawn.description,
        content,
        up=_ticks_up(drawn),
        across=drawn.across,
        labels=drawn.labels,
        zero=drawn.kind not in ("levels", "violins"),
        css="" if drawn.kind == "levels" else "section-plot",
    )


def within(low: float, high: float) -> list[tuple[float, str]]:
    """Round values between two ends, with their labels."""
    axis = covering([low, high])
    return [(at, tick_text(axis, at, False)) for at in axis.ticks if low - 1e-9 <= at <= high + 1e-9]


def _ticks_up(drawn: Panel) -> list[Tick]:
    scale = drawn.scale
    ticks = [(at, svg.tick_text(scale, at, drawn.hundredfold)) for at in scale.ticks]
    shown = within(scale.low, scale.high) if drawn.kind == "violins" else ticks
    return [Tick(svg.down(scale, at) or 0.0, text, at) for at, text in shown]


def _marks(drawn: Panel, place: int, line: Line) -> Iterator[Markup]:
    known = [mark for mark in line.marks if mark.value is not None]
    match drawn.kind:
        case "levels":
            yield from _levels(drawn, line, known)
        case "curves":
            yield _course(drawn, known, banded=True)
            for mark in known:
                yield svg.placed(line.number, f"{mark.x}%", svg.down(drawn.scale, mark.value))
        case "scatter" if not line.dots:
            yield _course(drawn, known, banded=False)
        case "scatter":
            most = max((mark.n for each in drawn.lines if each.dots for mark in each.marks), default=1)
            for mark in known:
                radius = round(max(_LARGEST_DOT * math.sqrt(mark.n / most), 1.2), 2)  # the area is in proportion to n
                yield svg.tag("circle", class_="seen", cx=f"{mark.x}%", cy=svg.down(drawn.scale, mark.value), r=radius)
        case "bars":
            yield from _bars(drawn, place, known)
        case "violins":
            for mark in line.marks:
                yield from _violin(drawn, mark)


def _ends(drawn: Panel, mark: Mark) -> tuple[float | None, float | None]:
    return svg.down(drawn.scale, mark.low), svg.down(drawn.scale, mark.high)


def _levels(drawn: Panel, line: Line, known: Sequence[Mark]) -> Iterator[Markup]:
    for k, mark in enumerate(known):
        x, y = f"{mark.x}%", svg.down(drawn.scale, mark.value)
        if drawn.ordered and k + 1 < len(known):
            end = known[k + 1]
            yield svg.tag("line", x1=x, y1=y, x2=f"{end.x}%", y2=svg.down(drawn.scale, end.value))
        yield svg.upright(x, *_ends(drawn, mark), "bar")
        yield svg.placed(line.number, x, y, mark.place)


def _course(drawn: Panel, known: Sequence[Mark], *, banded: bool) -> Markup:
    """A line through marks; one without an interval (λ = 0, where a change is 0) closes the band to a point."""
    points = [(mark.x, svg.down(drawn.scale, mark.value), *_ends(drawn, mark)) for mark in known]
    upper = [f"{x},{y if high is None else high}" for x, y, _, high in points]
    lower = [f"{x},{y if low is None else low}" for x, y, low, _ in reversed(points)]
    path = " ".join(f"{x},{y}" for x, y, *_ in points)
    return svg.course(path, band=" ".join([*upper, *lower]) if banded else "") if path else Markup()


def _bars(drawn: Panel, place: int, known: Sequence[Mark]) -> Iterator[Markup]:
    room = 100 / max(len(drawn.labels), 1)
    width = round(_BAR_ROOM * room / max(len(drawn.lines), 1), 3)
    for mark in known:
        left = round(mark.x - _BAR_ROOM * room / 2 + place * width, 3)
        top, bottom = sorted((svg.down(drawn.scale, mark.value) or 0.0, svg.down(drawn.scale, 0.0) or 0.0))
        yield svg.tag("rect", class_="column", x=f"{left}%", width=f"{width}%", y=top, height=bottom - top)
        yield svg.upright(f"{left + width / 2}%", *_ends(drawn, mark), "error")


def _violin(drawn: Panel, mark: Mark) -> Iterator[Markup]:
    """A histogram, mirrored; its greatest count spans the width, as in the paper."""
    half, most = _HALF_VIOLIN * 100 / max(len(drawn.labels), 1), max(mark.counts, default=0)
    if most:
        right = [
            (half * count / most, svg.down(drawn.scale, edge))
            for count, *ends in zip(mark.counts, drawn.edges[:-1], drawn.edges[1:], strict=True)
            for edge in ends
        ]
        outline = [*right, *((-width, y) for width, y in reversed(right))]
        points = " ".join(f"{round(mark.x + width, 3)},{y}" for width, y in outline)
        yield svg.stretched(svg.tag("polygon", class_="violin", points=points))
    x, middle = f"{round(mark.x, 3)}%", svg.down(drawn.scale, mark.value)
    yield svg.upright(x, *_ends(drawn, mark), "error")
    if middle is not None:
        yield svg.tag("circle", class_="median", cx=x, cy=middle, r=3.5)


def row(
    name: str, title: str, description: str, marks: Sequence[tuple[Mark, int | None, bool]], scale: Scale,
    ticks: Iterable[Tick], series: int = 1,
) -> Markup:  # fmt: skip
    """A row of a dot plot. marks: each with the number of its series (None: there is one) and whether it is filled.

    series: how many there are, whose marks stand below each other, at the place that their `x` is.
    """
    drawn = []
    for mark, number, filled in marks:
        at, low, high = (_across(scale, end) for end in (mark.value, mark.low, mark.high))
        if at is not None:
            down = 50 if series == 1 else 30 + 40 * mark.x / (series - 1)
            drawn.append(Interval(at, low, high, number, filled=filled, down=down))
    return svg.track(name, title, description, ticks, drawn)


class Verdict(NamedTuple):
    """How a verdict is drawn: class of its color, shape of its mark, and whether that is filled."""

    css: str
    shape: int
    filled: bool = True


VERDICTS: Final[Mapping[str, Verdict]] = {
    "found": Verdict("found", 0),
    "violated": Verdict("found", 0),
    "worse": Verdict("found", 0),
    "differs": Verdict("found", 3),
    "better": Verdict("better", 2),
    "check": Verdict("better", 2),
    "no difference": Verdict("same", 1),
    "met": Verdict("same", 1),
    "cannot tell": Verdict("unclear", 0, filled=False),
    "not shown": Verdict("unclear", 0, filled=False),
    "not judged": Verdict("unclear", 3, filled=False),
    "not estimable": Verdict("unclear", 1, filled=False),
}
"""Each kind of verdict has its own color and its own mark, so that color is never needed."""


def judged_row(
    name: str, title: str, description: str, mark: Mark, verdict: str, scale: Scale, ticks: Iterable[Tick],
    margin: float | None = None,
) -> Markup:  # fmt: skip
    """A row of the picture of an answer: the mark of its verdict, before the band of what counts as no difference."""
    css, shape, filled = VERDICTS[verdict]
    at, low, high = (_across(scale, end) for end in (mark.value, mark.low, mark.high))
    drawn = [] if at is None else [Interval(at, low, high, shape, filled=filled, css=css)]
    left, right = (_across(scale, None if margin is None else end * margin) for end in (-1, 1))
    band = None if left is None or right is None else (left, right - left)
    return svg.track(name, title, description, ticks, drawn, band)


def verdict_key(words: Mapping[str, str | Markup], band_words: str) -> Markup:
    """The key of such rows. words: what each verdict that is drawn means, and the band; "" where none is drawn."""
    items = []
    for verdict, meaning in words.items():
        css, shape, filled = VERDICTS[verdict]
        mark = tag("svg", svg.placed(shape, "8", 8), width=16, height=16, aria_hidden="true")
        items.append(tag("span", mark + " " + meaning, class_=f"series {css}{'' if filled else ' open'}"))
    if band_words:
        band = tag("rect", class_="range-band", width=16, height=16)
        band = tag("svg", band, width=16, height=16, aria_hidden="true")
        items.append(tag("span", band + " " + band_words))
    return tag("p", Markup(" ").join(items), class_="key")


def _across(scale: Scale, value: float | None) -> float | None:
    """Per cent across, within the axis."""
    return None if value is None else round(100 * min(max(scale.fraction(value), 0.0), 1.0), 3)


def told(mark: Mark, verdict: str) -> str:
    """What a row shows, in words without numbers: these stand beside it."""
    if mark.value is None:
        return "No mark: not estimable."
    side = "right of" if mark.value > 0 else "left of" if mark.value < 0 else "on"
    return f"The estimate lies {side} zero{verdict}."
