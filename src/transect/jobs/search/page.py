"""The page of a search: `search.html` beside `search.json`, which holds every number on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from markupsafe import Markup

from transect.jobs.search.numbers import AnswerFaces, SearchNumbers
from transect.jobs.search.results import verb_of
from transect.reports.document import WrittenDocument
from transect.reports.drawing import svg
from transect.reports.environment import data_address, render
from transect.runs.plain_json import plain

STEPS: Final = 60
"""Points of the curve of failures by calls."""


@final
@dataclass(frozen=True)
class Cell:
    """A cell of a map: its index, failures and calls, and how strongly it is colored, in per cent."""

    index: int
    row: int
    column: int
    failures: int
    calls: int
    strength: int


@final
@dataclass(frozen=True)
class MapView:
    """One map: cells from the highest row down, and the rules' boxes in per cent of width and height from the top."""

    place: str
    entry: Mapping[str, Any]
    rows: tuple[tuple[Cell, ...], ...]
    boxes: tuple[tuple[int, float, float, float, float], ...]


@final
@dataclass(frozen=True)
class ErrorRow:
    """A line of the error table: where its rates stand, one place per sampler and measure."""

    by: str
    group: str
    uniform: bool
    places: tuple[str, ...]


@final
@dataclass(frozen=True)
class MeanFace:
    """Mean pictures of right and of wrong answers, as data addresses ("" for none), and how many answers they are."""

    name: str
    right: str
    wrong: str
    n_right: int
    n_wrong: int


def build(numbers: SearchNumbers, faces: Sequence[AnswerFaces] = ()) -> str:
    """The whole page as one HTML text: no network, no script, no other file."""
    content = plain(numbers)
    return render(
        "search",
        doc=WrittenDocument(content),
        found=content,
        verb=verb_of(numbers.outcome),
        maps=[_map(f"/maps/{i}", entry) for i, entry in enumerate(content["maps"])],
        curve=_drawn(_curve(content["curve"])),
        errors=_error_rows(content["errors"]),
        faces=[_mean_face(face) for face in faces],
    )


def _error_rows(errors: Mapping[str, Any] | None) -> list[ErrorRow]:
    """Lines of the table, measures and samplers beside each other."""
    if not errors or not errors["samples"][0]["rows"]:
        return []
    rows = errors["samples"][0]["rows"]
    lines = sum(row["measure"] == rows[0]["measure"] for row in rows)
    starts = [(i, first) for i in range(len(errors["samples"])) for first in range(0, len(rows), lines)]
    return [
        ErrorRow(
            row["by"],
            row["group"],
            row["uniform"],
            tuple(f"/errors/samples/{i}/rows/{first + at}" for i, first in starts),
        )
        for at, row in enumerate(rows[:lines])
    ]


def _mean_face(face: AnswerFaces) -> MeanFace:
    name = f"{face.by.replace('_', ' ')}: {face.group}" if face.by else "all calls"
    name = face.group if "×" in face.by else name  # the group names its attributes
    return MeanFace(name, data_address(face.right_picture), data_address(face.wrong_picture), face.right, face.wrong)


def _map(place: str, entry: Mapping[str, Any]) -> MapView:
    size = len(entry["calls"])
    rows = tuple(tuple(_cell(entry, row, column, size) for column in range(size)) for row in reversed(range(size)))
    boxes = tuple(
        (
            int(box["rule"]),
            100 * box["x"][0],
            100 * (1 - box["y"][1]),
            100 * (box["x"][1] - box["x"][0]),
            100 * (box["y"][1] - box["y"][0]),
        )
        for box in entry["rules"]
    )
    return MapView(place, entry, rows, boxes)


def _cell(entry: Mapping[str, Any], row: int, column: int, size: int) -> Cell:
    calls, failures = entry["calls"][row][column], entry["failures"][row][column]
    return Cell(row * size + column, row, column, failures, calls, round(100 * failures / calls) if calls else 0)


def _drawn(points: str) -> Markup:
    """The plot of a curve; empty without one."""
    if not points:
        return Markup()
    line = svg.tag("g", svg.course(points, height=100), class_="series s0")
    words = "The line rises with each failure that is far from those before."
    return svg.plot("course-plot", "Failures far apart by calls", words, line, up=(), height=192)


def _curve(counts: list[int]) -> str:
    """The course of failures by calls as points of a box 100 wide and 100 high."""
    if not counts or not counts[-1]:
        return ""
    last = len(counts)
    shown = sorted({0, *(round(k * last / STEPS) for k in range(1, STEPS + 1))})
    ends = [(100 * n / last, 100 - 100 * (counts[n - 1] if n else 0) / counts[-1]) for n in shown]
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in ends)
