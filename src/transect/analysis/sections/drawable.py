"""Leaves out of a section's figures what has no value to draw, and says so: an empty plot looks like a finding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from transect.reports.records import Figure, Panel, Point, Section


def without_empty(section: Section) -> Section:
    """The section without points, series, panels and figures that have no value; a last paragraph names them."""
    figures = [(figure, _drawn(figure)) for figure in section.figures]
    left_out = [name for figure, drawn in figures for name in _missing(figure, drawn)]
    kept = [drawn for _, drawn in figures if drawn.panels]
    note = [f"Not drawn, since no image has the answers that it needs: {'; '.join(left_out)}."] if left_out else []
    return replace(section, figures=kept, text=[*section.text, *note])


def _known(point: Point) -> bool:
    return point.value is not None and math.isfinite(point.value)


def _drawn(figure: Figure) -> Figure:
    panels = []
    for panel in figure.panels:
        series = [replace(one, points=[point for point in one.points if _known(point)]) for one in panel.series]
        if shown := [one for one in series if one.points]:
            panels.append(replace(panel, series=shown))
    return replace(figure, panels=panels)


def _missing(figure: Figure, drawn: Figure) -> Iterator[str]:
    """The names of what was left out: the whole figure, a panel of it, or labels within."""
    if not drawn.panels:
        yield figure.title
        return
    kept = {panel.heading: _labels(panel) for panel in drawn.panels}
    for panel in figure.panels:
        if panel.heading not in kept:
            yield f"{figure.title}, {panel.heading}"
        elif labels := [label for label in _labels(panel) if label not in kept[panel.heading]]:
            yield f"{figure.title}, {', '.join(labels)}"


def _labels(panel: Panel) -> list[str]:
    return list(dict.fromkeys(point.label for series in panel.series for point in series.points if point.label))
