"""Rates at every combination of two or three attributes, as tables with shading; maps of counts, and bars of shares.

The shade repeats what the number in the cell says: from none at the lowest end of the outcome's range to the
deepest at its highest rate, on one scale per target and outcome.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from markupsafe import Markup

from transect.reports.document import Document, Style, finite, pointer
from transect.reports.drawing import svg
from transect.reports.drawing.levels import RateIndex
from transect.reports.drawing.svg import Tick, percent, tag
from transect.reports.results import AttributeEntry, StudyEntry
from transect.reports.wording import headed, level, outcome_words, rate_style
from transect.runs.wording import spaced

DEEPEST = 0.5
"""Opacity of the deepest shade; text keeps a contrast above 4.5 : 1 on it in both color schemes."""

OPEN_CELLS = 60
"""Cells of pairs that stand open per target and outcome; further tables, and all triples, are folded."""

MANY_TABLES = 12
"""More folded tables than this are folded together, and left to results.json in print."""

MOST_CELLS = 2400
"""Cells printed on one page; the rest stands in results.json alone, and the page says so."""


@final
@dataclass(frozen=True)
class Cell:
    """One rate and the opacity of its shade; place is None where the results have no such cell."""

    place: str | None
    shade: float
    excluded: tuple[tuple[str, str], ...] = ()


@final
@dataclass(frozen=True)
class Line:
    """One row of a table: its headers (with the number of rows that each spans) and its cells."""

    headers: tuple[tuple[Markup, int], ...]
    cells: tuple[Cell, ...]


@final
@dataclass(frozen=True)
class Matrix:
    """The rates over two or three attributes; the last attribute runs along the columns."""

    title: str
    row_headings: tuple[Markup, ...]
    column_heading: Markup
    columns: tuple[Markup, ...]
    lines: tuple[Line, ...]
    style: Style
    folded: bool
    shared_subjects: str | None

    @property
    def size(self) -> int:
        """Number of cells."""
        return sum(len(line.cells) for line in self.lines)


@final
@dataclass(frozen=True)
class Sheet:
    """All tables of one target and outcome."""

    target: Markup
    words: str
    matrices: tuple[Matrix, ...]


def sheets(document: Document, study: int) -> tuple[tuple[Sheet, ...], bool]:
    """The intersection tables of a study, and whether some had to be left to results.json."""
    entry = document.results.studies[study]
    index = RateIndex.of(document.results, entry.name)
    room, cut, drawn = MOST_CELLS // len(document.results.studies), False, []
    for outcome, (number, target) in itertools.product(entry.outcomes, enumerate(entry.targets)):
        matrices: list[Matrix] = []
        shading = _range(outcome, target.name, index)
        for members in _combinations(entry):
            positions = _positions(members, target.name, outcome, index)
            size = sum(map(len, positions))
            if not any(position is not None for line in positions for position in line):
                continue
            cut = cut or size > room
            if size <= room:
                matrix = _matrix(document, study, members, positions, shading)
                unfolded = sum(each.size for each in matrices if not each.folded) + size
                folded = len(members) > 2 or unfolded > OPEN_CELLS
                matrices.append(replace(matrix, folded=folded))
                room -= size
        if matrices:
            name = document.text(pointer("studies", study, "targets", number, "name"))
            unit = next((rate.unit for rate in index.of_outcome(outcome)), "proportion")
            drawn.append(Sheet(name, outcome_words(outcome, unit, target.task), tuple(matrices)))
    return tuple(drawn), cut


def _combinations(study: StudyEntry) -> Iterator[tuple[AttributeEntry, ...]]:
    """Pairs, then triples; in each the attribute with the fewest levels comes last and forms the columns."""
    for order in (2, 3):
        for members in itertools.combinations(study.attributes, order):
            columns = min(reversed(members), key=lambda attribute: len(attribute.levels))
            yield (*(attribute for attribute in members if attribute is not columns), columns)


def _positions(
    members: Sequence[AttributeEntry], target: str, outcome: str, index: RateIndex
) -> list[list[int | None]]:
    """Where each cell's rate stands, line by line; None where the results have no such cell."""
    *rows, columns = members
    names = [attribute.name for attribute in members]
    return [
        [index.find(target, outcome, dict(zip(names, (*row, value), strict=True))) for value in columns.levels]
        for row in itertools.product(*(attribute.levels for attribute in rows))
    ]


def _matrix(
    document: Document,
    study: int,
    members: Sequence[AttributeEntry],
    lines: Sequence[Sequence[int | None]],
    shading: tuple[float, float],
) -> Matrix:
    """The table of cells that were found; shading: highest and lowest rate of the outcome."""
    *rows, columns = members
    positions = [position for line in lines for position in line if position is not None]
    top, bottom = shading
    return Matrix(
        title=" × ".join(spaced(attribute.name) for attribute in members),
        row_headings=tuple(headed(document, study, attribute.name) for attribute in rows),
        column_heading=headed(document, study, columns.name),
        columns=tuple(level(document, study, columns.name, value, "") for value in columns.levels),
        lines=tuple(
            Line(_headers(document, study, rows, number), tuple(_cell(document, p, bottom, top) for p in line))
            for number, line in enumerate(lines)
        ),
        style=rate_style(document.results.rates[positions[0]].unit),
        folded=True,
        shared_subjects=_shared_subjects(document, positions),
    )


def _headers(
    document: Document, study: int, rows: Sequence[AttributeEntry], number: int
) -> tuple[tuple[Markup, int], ...]:
    """The headers that begin in this row: the outer one only where its span begins."""
    if len(rows) == 1:
        return ((level(document, study, rows[0].name, rows[0].levels[number], ""), 1),)
    outer, inner = rows
    span = len(inner.levels)
    headers = [(level(document, study, inner.name, inner.levels[number % span], ""), 1)]
    if number % span == 0:
        headers.insert(0, (level(document, study, outer.name, outer.levels[number // span], ""), span))
    return tuple(headers)


def _range(outcome: str, target: str, index: RateIndex) -> tuple[float, float]:
    """Highest and lowest end of the shading: all cells of the target and outcome; proportions begin at zero."""
    rates = [rate for rate in index.of_outcome(outcome) if rate.target == target]
    values = finite([rate.rate for rate in rates])
    proportion = bool(rates) and rates[0].unit == "proportion"
    return max(values, default=1.0), 0.0 if proportion else min(values, default=0.0)


def _cell(document: Document, position: int | None, bottom: float, top: float) -> Cell:
    if position is None:
        return Cell(None, 0.0)
    rate = document.results.rates[position]
    place = pointer("rates", position)
    excluded = tuple((f"{place}{pointer('excluded', reason)}", reason) for reason, n in rate.excluded.items() if n)
    if rate.rate is None or top <= bottom:
        return Cell(place, 0.0, excluded)
    return Cell(place, round(DEEPEST * (rate.rate - bottom) / (top - bottom), 3), excluded)


def _shared_subjects(document: Document, positions: Sequence[int]) -> str | None:
    """Place of the number of subjects if it is the same in every cell."""
    counts = {document.results.rates[position].n_subjects for position in positions}
    return pointer("rates", positions[0], "n_subjects") if len(counts) == 1 else None


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
