"""The page of a recognition benchmark: errors by group before and after matching, DET and ROC curves, differentials.

`recognition.html` needs no network, no script and no other file; its numbers, curves too, stand in `recognition.json`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float
from markupsafe import Markup, escape

from transect.effects.recognition import GroupErrors
from transect.reports.drawing import svg
from transect.reports.drawing.scales import Scale, covering, tick_text
from transect.reports.drawing.svg import SERIES, Interval, Tick
from transect.reports.environment import render
from transect.runs.folder import write_atomically
from transect.runs.plain_json import dumps

if TYPE_CHECKING:
    from transect.jobs.recognition.run import RecognitionResult

TITLES: Final = {"all": "All images", "matched": "Matched images"}
_FEWEST_DECADES, _MOST_DECADES = 2, 6
HEIGHT: Final = 256
"""Pixels of a plot's height."""


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
    """Both plots of one sample. x_ticks, det_ticks, roc_ticks: per cent along the axis, and the text.

    without: groups that have no line in the DET plot.
    """

    title: str
    det: tuple[Curve, ...]
    roc: tuple[Curve, ...]
    x_ticks: tuple[Tick, ...]
    det_ticks: tuple[Tick, ...]
    roc_ticks: tuple[Tick, ...]
    without: tuple[str, ...]


def write(result: RecognitionResult, folder: Path) -> Path:
    """Writes `recognition.html` and `recognition.json`; returns the page's path. Makes the folder where it is missing.

    The JSON is that of `--json`, and the curves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    curves = {name: [_curve_entry(group) for group in groups] for name, groups in result.errors.items()}
    text = dumps({**result.to_json(), "curves": curves}, 1)
    write_atomically(folder / "recognition.json", (text + "\n").encode())
    write_atomically(folder / "recognition.html", build(result).encode())
    return folder / "recognition.html"


def build(result: RecognitionResult) -> str:
    """The page as one HTML text."""
    summary, errors = result.to_json(), result.errors
    shown = drawn_groups(errors["all"])
    low = [decades([group for groups in errors.values() for group in groups], rate) for rate in ("fmr", "fnmr")]
    panels = [
        panel(TITLES[name], [group for group in groups if group.group in shown], *low)
        for name, groups in errors.items()
    ]
    return render(
        "recognition",
        summary=summary,
        titles=TITLES,
        panels=panels,
        draw=draw,
        key=[(escape(curve.name), curve.number) for curve in panels[0].roc],
        drawn=len(shown),
        left=max(len(errors["all"]) - len(shown), 0),
        rates=[_rate_rows(summary, place) for place in range(len(summary["thresholds"]))],
    )


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


def _rate_rows(summary: Mapping[str, Any], place: int) -> dict[str, Any]:
    """FNMR and FMR by group and sample at one threshold, with the scale of each."""
    rates: dict[str, Any] = {"limit": summary["thresholds"][place], "place": place}
    for rate in ("fnmr", "fmr"):
        rows = [
            {"group": other["group"], "sample": TITLES[name], "value": at[rate], "low": at[f"{rate}_low"],
             "high": at[f"{rate}_high"], "after": name == "matched"}
            for one_group in summary["samples"]["all"]["groups"]
            for name, sample in summary["samples"].items()
            for other in sample["groups"]
            if other["group"] == one_group["group"]
            for at in [other["rates"][place]]
        ]  # fmt: skip
        values = [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None]
        scale = covering(values)
        ticks = [Tick(100 * scale.fraction(t), tick_text(scale, t, hundredfold=True), t) for t in scale.ticks]
        grid = [(tick.at, tick.value) for tick in ticks]
        rates[rate] = {"rows": [{**row, "marks": _marks(row, scale)} for row in rows], "ticks": ticks, "grid": grid}
    return rates


def _marks(row: Mapping[str, Any], scale: Scale) -> list[Interval]:
    """The interval of a row, filled for matched images; none where the rate is unknown."""
    at, low, high = (None if row[key] is None else 100 * scale.fraction(row[key]) for key in ("value", "low", "high"))
    return [] if at is None else [Interval(at, low, high, filled=row["after"])]


def _curve_entry(group: GroupErrors) -> dict[str, Any]:
    curves = {"distance": group.curve, "fmr": group.fmr_curve, "fnmr": group.fnmr_curve}
    return {"group": group.group, **{name: values.round(8) for name, values in curves.items()}}
