"""Maps of counts: fields whose shade is their share, under frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from markupsafe import Markup

from transect.reports.drawing import svg
from transect.reports.drawing.svg import Tick, percent, tag

DEEPEST: Final = 0.5
"""Opacity of the deepest shade; text keeps a contrast above 4.5 : 1 on it in both color schemes."""
MAP_HEIGHT: Final = 240
"""Pixels of a map's height."""


@final
@dataclass(frozen=True, slots=True)
class Field:
    """One field of a map: its text, and how deep its shade is, 0 to 1; None for a field without data."""

    text: str
    shade: float | None


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """A frame on a map: left, right, bottom and top as shares of its width and height."""

    left: float
    right: float
    bottom: float
    top: float


def heat_map(
    name: str,
    title: str,
    fields: Sequence[Sequence[Field]],
    frames: Sequence[Frame],
    across: Sequence[Tick],
    up: Sequence[Tick],
) -> Markup:
    """A map whose rows go from the bottom up, with its axes; the frames lie above the fields."""
    width, height = 100 / max(len(fields[0]), 1), MAP_HEIGHT / len(fields)
    drawn = [
        _field(field, column * width, MAP_HEIGHT - (row + 1) * height, width, height)
        for row, line in enumerate(fields)
        for column, field in enumerate(line)
    ]
    boxes = [
        tag(
            "rect",
            class_="map-frame",
            x=percent(100 * frame.left),
            width=percent(100 * (frame.right - frame.left)),
            y=round(MAP_HEIGHT * (1 - frame.top), 2),
            height=round(MAP_HEIGHT * (frame.top - frame.bottom), 2),
        )
        for frame in frames
    ]
    content = svg.joined([*drawn, *boxes])
    return svg.plot(name, title, _described(fields), content, up=up, across=across, height=MAP_HEIGHT, css="map-plot")


def _field(field: Field, x: float, y: float, width: float, height: float) -> Markup:
    shade = None if field.shade is None else round(DEEPEST * field.shade, 3)
    css = "map-field empty" if shade is None else "map-field"
    box = tag(
        "rect",
        class_=css,
        x=percent(x),
        width=percent(width),
        y=round(y, 2),
        height=round(height, 2),
        fill_opacity=0 if shade is None else shade,
    )
    middle = percent(x + width / 2), round(y + height / 2, 2)
    return box + tag("text", field.text, class_=css, x=middle[0], y=middle[1], dy=".35em", text_anchor="middle")


def _described(fields: Sequence[Sequence[Field]]) -> str:
    """Where the deepest field lies, in words without numbers."""
    known = [
        (field.shade, row, column)
        for row, line in enumerate(fields)
        for column, field in enumerate(line)
        if field.shade is not None
    ]
    if not known or max(known)[0] == 0:
        return "No field is shaded."
    _, row, column = max(known)
    down = "upper" if row >= len(fields) / 2 else "lower"
    side = "right" if column >= len(fields[0]) / 2 else "left"
    return f"The deepest shade lies in the {down} {side} quarter."
