"""DET and ROC curves of groups: their points in a box of 100 x 100, axes in powers of ten, and their drawing."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
from jaxtyping import Float
from markupsafe import Markup, escape

from transect.effects.recognition import GroupErrors
from transect.records import Estimate
from transect.reports.blocks import DotPlot, Plot, Row, TextTable
from transect.reports.drawing import svg
from transect.reports.drawing.svg import SERIES, Interval, Tick, covering, tick_text

TITLES: Final = {"all": "All images", "matched": "Matched images"}
_FEWEST_DECADES, _MOST_DECADES = 2, 6
SAVED: Final = 100
"""Points of a line among the numbers that the page saves."""
HEIGHT: Final = 256
"""Pixels of a plot's height."""


Drawn: TypeAlias = tuple[str, Estimate, bool]
"""A row of a dot plot: its label, what it shows, and whether its mark is filled."""


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """One group's line: its name, its number among the colors, and points in a box of 100 x 100."""

    name: str
    number: int
    points: str


@final
@dataclass(frozen=True, slots=True)
class Panel:
    """Both plots of one sample, ticks in per cent along the axis. without: groups that have no line in the DET plot."""

    title: str
    det: tuple[Curve, ...]
    roc: tuple[Curve, ...]
    x_ticks: tuple[Tick, ...]
    det_ticks: tuple[Tick, ...]
    roc_ticks: tuple[Tick, ...]
    without: tuple[str, ...]


def drawn_groups(groups: Sequence[GroupErrors]) -> tuple[str, ...]:
    """The groups whose curves are drawn: as many as colors can tell apart, those with most images."""
    largest = sorted(groups, key=lambda group: -group.images)[:SERIES]
    return tuple(group.group for group in groups if group in largest)


def decades(groups: Sequence[GroupErrors], rate: str) -> int:
    """The lowest power of ten of an axis: that of the smallest rate above 0 that a curve has, -2 to -6."""
    curves = [getattr(group, f"{rate}_curve") for group in groups]
    some = [float(curve[curve > 0].min()) for curve in curves if (curve > 0).any()]
    lowest = math.floor(math.log10(min(some, default=1.0)))
    return min(max(lowest, -_MOST_DECADES), -_FEWEST_DECADES)


def panel(title: str, groups: Sequence[GroupErrors], low_fmr: int, low_fnmr: int) -> Panel:
    """Curves of one sample: FMR on a logarithmic axis from 10^low_fmr, FNMR likewise (DET) or 1 - FNMR (ROC)."""
    det, roc = [], []
    for number, group in enumerate(groups):
        known = (group.fmr_curve > 0) & np.isfinite(group.fnmr_curve)
        x = _along(group.fmr_curve[known], low_fmr)
        missed = group.fnmr_curve[known]
        some = missed > 0
        det.append(Curve(group.group, number, _points(x[some], _along(missed[some], low_fnmr))))
        roc.append(Curve(group.group, number, _points(x, 100 * (1 - missed))))
    linear = tuple(Tick(20.0 * k, f"{20 * k}", 0.2 * k) for k in range(6))
    without = tuple(group.name for group in det if not group.points)
    return Panel(title, tuple(det), tuple(roc), _log_ticks(low_fmr), _log_ticks(low_fnmr), linear, without)


def _along(values: Float[np.ndarray, " p"], low: int) -> Float[np.ndarray, " p"]:
    """Per cent along a logarithmic axis from 10^low to 1."""
    return np.asarray(np.clip(100 * (1 - np.log10(values) / low), 0, 100))


def _points(x: Float[np.ndarray, " p"], y: Float[np.ndarray, " p"]) -> str:
    """Points of a polyline, the origin below on the left; of several at one place the first."""
    pairs = dict.fromkeys(f"{a:.2f},{100 - b:.2f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return " ".join(pairs)


def _log_ticks(low: int) -> tuple[Tick, ...]:
    """Powers of ten in per cent: 100, 10, 1, 0.1."""
    return tuple(
        Tick(100 * (1 - k / low), f"{10.0 ** (k + 2):.10f}".rstrip("0").rstrip("."), 10.0**k) for k in range(low, 1)
    )


def draw(name: str, title: str, curves: Sequence[Curve], across: Sequence[Tick], up: Sequence[Tick]) -> Markup:
    """The plot of some curves; both axes' ticks are in per cent."""
    lines = svg.joined(
        svg.tag("g", svg.course(curve.points, height=100), class_=f"series s{curve.number}")
        for curve in curves
        if curve.points
    )
    heights = [Tick(HEIGHT * (1 - tick.at / 100), tick.text, tick.value) for tick in up]
    words = "One line per group; each point is a threshold."
    return svg.plot(name, title, words, lines, up=heights, across=across, css="section-plot", height=HEIGHT)


def curve_numbers(errors: Mapping[str, Sequence[GroupErrors]], shown: Collection[str]) -> TextTable:
    """Rates of the drawn groups at thresholds in equal steps of the curves; the JSON file has every threshold."""
    rows = [
        (
            TITLES[name],
            str(group.group),
            *(f"{curve[place]:.6g}" for curve in (group.curve, group.fmr_curve, group.fnmr_curve)),
        )
        for name, groups in errors.items()
        for group in groups
        if group.group in shown
        for place in np.linspace(0, len(group.curve) - 1, min(SAVED, len(group.curve))).round().astype(int).tolist()
    ]
    return TextTable("Curves", ("images", "group", "threshold", "FMR", "FNMR"), rows)


def plot(panel: Panel, kind: str, number: int) -> Plot:
    """The DET or ROC plot of a panel."""
    curves, ticks, up = (
        (panel.det, panel.det_ticks, "FNMR, %") if kind == "det" else (panel.roc, panel.roc_ticks, "1 − FNMR, %")
    )
    drawing = draw(f"{kind}-{number}", f"{kind.upper()}, {panel.title}", curves, panel.x_ticks, ticks)
    caption = Markup('<strong>{}</strong> <span class="fine">{}</span>').format(panel.title, up)
    missing = "no threshold has both rates above 0, so there is no line"
    without = f" ({', '.join(panel.without)}: {missing})" if kind == "det" and panel.without else ""
    return Plot(caption, drawing, f"FMR, %{without}")


def curve_entry(group: GroupErrors) -> dict[str, Any]:
    """The curves of a group with every threshold."""
    curves = {"distance": group.curve, "fmr": group.fmr_curve, "fnmr": group.fnmr_curve}
    return {"group": group.group, **{name: values.round(8) for name, values in curves.items()}}


def dot_plot(
    caption: str,
    name: str,
    rows: Sequence[Drawn],
    value: Callable[[Estimate], str],
    axis: Sequence[Estimate],
    unit: str,
) -> DotPlot:
    """Estimates with their intervals, in per cent, a row each. name: of the drawings; axis: what it covers."""
    scale = covering([end for one in axis for end in (one.estimate, one.low, one.high) if math.isfinite(end)])
    ticks = [Tick(100 * scale.fraction(at), tick_text(scale, at, hundredfold=True), at) for at in scale.ticks]
    grid, drawn = [(tick.at, tick.value) for tick in ticks], []
    for number, (label, found, filled) in enumerate(rows):
        words = f"{escape(caption).striptags()}: {escape(label).striptags()}"
        ends = (found.estimate, found.low, found.high)
        at, low, high = (100 * scale.fraction(end) if math.isfinite(end) else None for end in ends)
        marks = [] if at is None else [Interval(at, low, high, filled=filled)]
        drawn.append(Row(label, svg.track(f"{name}-{number}", words, "", grid, marks), value(found)))
    return DotPlot(caption, ticks, drawn, unit)
