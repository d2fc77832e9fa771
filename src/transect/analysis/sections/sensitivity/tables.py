"""Every sensitivity at every step, with intervals by subject: of scores, of answers, of flips one way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from transect.analysis.sections.answers import table
from transect.analysis.sections.sensitivity.measures import Measured, left_out, where
from transect.effects.sensitivity import Curve
from transect.reports.records import Table

_HEADS: Final = [("attribute", "text"), ("λ", "number"), ("over", "text")]
_TAIL: Final = [("subjects", "count"), ("not counted", "text"), ("note", "text")]


def tables(measured: Sequence[Measured]) -> list[Table]:
    """The tables of one target; those without a row are left out."""
    drawn = [_together(measured), _scores(measured), _answers(measured), _one_way(measured)]
    return [table for table in drawn if table.rows]


def _places(measured: Sequence[Measured]) -> Iterator[tuple[Measured, int, bool, list[object]]]:
    """Every attribute, step and group of subjects, with the cells that begin its row."""
    for m in measured:
        for place in m.moved:
            for near in m.places:
                yield m, place, near, [m.name, m.steps[place], where(near)]


def _with_ends(name: str, unit: str) -> list[tuple[str, str]]:
    return [(name, unit), (f"{name}: low", unit), (f"{name}: high", unit)]


def _with_band(name: str, unit: str) -> list[tuple[str, str]]:
    return [*_with_ends(name, unit), (f"{name}: band low", unit), (f"{name}: band high", unit)]


def _cells(curve: Curve, place: int) -> list[object]:
    return [curve.values[place], curve.low[place], curve.high[place]]


def _banded(curve: Curve, place: int) -> list[object]:
    return [*_cells(curve, place), curve.band.low[place], curve.band.high[place]]


def _note(curve: Curve, place: int) -> str:
    return curve.reasons[place] or curve.band.reason


def _together(measured: Sequence[Measured]) -> Table:
    """Every measure of every attribute at every step in one table; flips one way are frequencies."""
    names = [("S of the score", "number"), ("S of the answer, points", "points"), ("flips", "proportion")]
    names += [("S 0→1", "proportion"), ("S 1→0", "proportion")]
    columns = [*_HEADS, *(column for name, unit in names for column in _with_ends(name, unit)), ("subjects", "count")]
    rows = []
    for m, place, near, head in _places([m for m in measured if m.classes]):
        flips = m.classes[near]
        scores = _cells(m.score[near].signed, place) if m.scored else [None] * 3
        curves = (flips.signed, flips.absolute, flips.up, flips.down)
        cells = [cell for curve in curves for cell in _cells(curve, place)]
        rows.append([*head, *scores, *cells, int(flips.signed.subjects[place])])
    return table("Sensitivities of all attributes", columns, rows)


def _scores(measured: Sequence[Measured]) -> Table:
    columns = [*_HEADS, *_with_band("S", "number"), *_with_band("E|Δ|", "number"), *_TAIL]
    rows = []
    for m, place, near, head in _places([m for m in measured if m.scored]):
        signed, absolute = m.score[near].signed, m.score[near].absolute
        end = [int(signed.subjects[place]), left_out(signed, place), _note(signed, place)]
        rows.append([*head, *_banded(signed, place), *_banded(absolute, place), *end])
    return table("Changes of the score at every step", columns, rows)


def _answers(measured: Sequence[Measured]) -> Table:
    columns = [*_HEADS, *_with_band("S, points", "points"), *_with_band("flips", "proportion"), *_TAIL]
    rows = []
    for m, place, near, head in _places([m for m in measured if m.classes]):
        signed, flips = m.classes[near].signed, m.classes[near].absolute
        end = [int(signed.subjects[place]), left_out(signed, place), _note(signed, place)]
        rows.append([*head, *_banded(signed, place), *_banded(flips, place), *end])
    return table("Changes of the answer at every step", columns, rows)


def _one_way(measured: Sequence[Measured]) -> Table:
    columns = [*_HEADS, ("flip", "text"), *_with_ends("signed, points", "points")]
    columns += [*_with_ends("frequency", "proportion"), ("subjects", "count"), ("note", "text")]
    rows = []
    for m, place, near, head in _places([m for m in measured if m.classes]):
        flips = m.classes[near]
        for name, signed, frequency in (("0→1", flips.up_signed, flips.up), ("1→0", flips.down_signed, flips.down)):
            end = [int(signed.subjects[place]), frequency.reasons[place]]
            rows.append([*head, name, *_cells(signed, place), *_cells(frequency, place), *end])
    return table("Flips one way at every step", columns, rows)
