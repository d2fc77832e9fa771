"""The figures of Denton et al. 2019: four panels (Fig. 5), absolute changes (footnote 1), flips (Fig. 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from transect.analysis.sections.answers import point
from transect.analysis.sections.sensitivity.measures import Measured, where
from transect.effects.sensitivity import ClassificationSensitivity, Curve, ScoreSensitivity
from transect.reports.records import Figure, Panel, Series, Unit

_AGAINST: Final = "(mean change against the subject's own image; the numbers are subjects)"
_ABSOLUTE: Final = (
    "(mean size of the change in either direction, and share of answers that flip either way: moves that cancel in the "
    "mean show here; the numbers are subjects)"
)
_FLIPS: Final = "(share of the subjects that answer no, or yes, at λ = 0; the numbers are those subjects)"


def figures(measured: Sequence[Measured]) -> list[Figure]:
    """The figures of one target, an attribute per line."""
    binary = measured[0].own.binary
    title = "Score and classification sensitivity" if binary else "Score sensitivity"
    absolute = "Absolute changes, E|Δ|" + (", and answers that flip" if binary else "")
    drawn = [
        _curves(title, _AGAINST, measured, _signed_score, _signed_classes, signed=True),
        _curves(absolute, _ABSOLUTE, measured, _absolute_score, _absolute_classes, signed=False),
    ]
    return [*drawn, _flips(measured)] if binary else drawn


def _signed_score(measured: ScoreSensitivity) -> Curve:
    return measured.signed


def _absolute_score(measured: ScoreSensitivity) -> Curve:
    return measured.absolute


def _signed_classes(measured: ClassificationSensitivity) -> Curve:
    return measured.signed


def _absolute_classes(measured: ClassificationSensitivity) -> Curve:
    return measured.absolute


def _curves(
    title: str,
    caption: str,
    measured: Sequence[Measured],
    of_score: Callable[[ScoreSensitivity], Curve],
    of_classes: Callable[[ClassificationSensitivity], Curve],
    *,
    signed: bool,
) -> Figure:
    """Scores above, answers below; all subjects left, those near the boundary right."""
    places = [near for near in (False, True) if all(near in m.places for m in measured)]
    panels = []
    if all(m.scored for m in measured):
        text = "mean change of the score" if signed else "mean size of the score's change"
        for near in places:
            lines = [line(m.name, of_score(m.score[near])) for m in measured]
            panels.append(_panel(measured[0].axis, f"Score, {where(near)}", text, "number", lines))
    if measured[0].own.binary:
        text = "change of the rate of yes" if signed else "share that flips"
        unit: Unit = "points" if signed else "proportion"
        for near in places:
            lines = [line(m.name, of_classes(m.classes[near])) for m in measured]
            panels.append(_panel(measured[0].axis, f"Classification, {where(near)}", text, unit, lines))
    return Figure(kind="curves", title=title, caption=caption, same_axis=False, panels=panels)


def line(name: str, curve: Curve) -> Series:
    """One line of a figure, with the band of the whole curve."""
    rows = zip(curve.steps, curve.values, curve.band.low, curve.band.high, curve.subjects, curve.reasons, strict=True)
    without = curve.band.reason
    points = [point(v, low=lo, high=hi, x=float(x), n=int(n), reason=why or without) for x, v, lo, hi, n, why in rows]
    return Series(name=name, points=points)


def _panel(axis: str, heading: str, y_words: str, unit: Unit, lines: list[Series]) -> Panel:
    return Panel(heading=heading, x_words=axis, y_words=y_words, unit=unit, series=lines)


def _flips(measured: Sequence[Measured]) -> Figure:
    """Flips at either end of λ; an end where an attribute was not moved does not show it."""
    ends = ((0, -1.0, "attribute removed"), (-1, 1.0, "attribute added"))
    panels = []
    for end, sign, what in ends:
        moved = [m for m in measured if m.steps[end] * sign > 0]
        places = [near for near in (False, True) if moved and all(near in m.places for m in measured)]
        panels += [_flip_panel(moved, end, what, near, several=len(places) > 1) for near in places]
    return Figure(kind="bars", title="Answers that flip", caption=_FLIPS, panels=panels)


def _flip_panel(moved: Sequence[Measured], end: int, what: str, near: bool, *, several: bool) -> Panel:
    """Both one-way flips of every attribute at its first step or its last."""
    different = len({float(m.steps[end]) for m in moved}) > 1
    series = []
    for label, name in (("S 0→1", "up"), ("S 1→0", "down")):
        points = []
        for m in moved:
            curve: Curve = getattr(m.classes[near], name)
            called = f"{m.name}, {_at(m.steps[end])}" if different else m.name
            ends, n = {"low": curve.low[end], "high": curve.high[end]}, int(curve.subjects[end])
            points.append(point(curve.values[end], **ends, label=called, n=n, reason=curve.reasons[end]))
        series.append(Series(name=label, points=points))
    at = "Farthest step" if different else _at(moved[0].steps[end])
    heading = f"{at}: {what}" + (f", {where(near)}" if several else "")
    return Panel(heading=heading, y_words="share that flips", unit="proportion", series=series)


def _at(step: float) -> str:
    return f"λ = {step:+g}".replace("-", "−")
