"""The numbers of an audit's figures as tables, unrounded, for their CSV."""

from __future__ import annotations

import itertools
from typing import Final

from transect.reports.blocks import TextTable
from transect.reports.document import Printer
from transect.reports.drawing.crossed import Crossing
from transect.reports.records import Figure

_POINT: Final = ("value", "low", "high", "n", "reason")
_RATE: Final = ("study", "target", "outcome", "cell", "rate", "low", "high", "unit", "n_subjects", "n_images", "reason")


def figure_numbers(figure: Figure) -> TextTable:
    """Every point of a section's figure: its place, value, interval and number of images or subjects."""
    rows = [
        (panel.heading, series.name, _text(point.label or point.x), *(_text(getattr(point, key)) for key in _POINT))
        for panel in figure.panels
        for series in panel.series
        for point in series.points
    ]
    return TextTable(figure.title, ("panel", "series", "at", *_POINT), rows)


def crossing_numbers(doc: Printer, crossing: Crossing) -> TextTable:
    """The rates behind the curves and the dots of two attributes at once, each once, in the order of results.json."""
    curves = (point.place for _, panel in crossing.panels for series in panel.series for point in series.points)
    dots = (place for scatter in crossing.scatters for dot in scatter.dots for place in dot.places)
    rates = {place.removesuffix("/rate") for place in itertools.chain(curves, dots)}
    places = sorted(rates, key=lambda place: int(place.rsplit("/", 1)[1]))
    rows = [[_text(doc.value(place).get(key)) for key in _RATE] for place in places]
    return TextTable(f"Rates of {crossing.words}", _RATE, rows)


def _text(value: object) -> str:
    """A cell: empty for null, the levels of a cell as name=level."""
    if isinstance(value, dict):
        return "; ".join(f"{name}={level}" for name, level in value.items())
    return "" if value is None else str(value)
