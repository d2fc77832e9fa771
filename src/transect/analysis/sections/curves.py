"""Outcomes along levels: curves with bands, and shares of answers that change each way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import point, table, words
from transect.effects.clusters import by_person, people_with
from transect.effects.contrasts import level_differences
from transect.effects.curves import SOURCES as BANDS_SOURCES
from transect.effects.curves import Band, difference_band, mean_band, rate_band
from transect.effects.rates import SOURCES as CHANGES_SOURCES
from transect.effects.rates import Changes, Share, changes
from transect.effects.samples import Measure
from transect.records import Attribute, Design
from transect.reports.records import Figure, Panel, Section, Series, Table, Unit

FEWEST_LEVELS: Final = 3
_Who: TypeAlias = Int[np.ndarray, " n"] | None
_TEXT: Final = (
    "A band contains the whole true curve with 95 % confidence. It is wider than intervals of each level alone: six "
    "independent ones miss a curve somewhere in a quarter of all audits. Use the band to judge the course of a curve, "
    "and the interval of a level to judge that level.",
    "For each attribute, one panel has the rate (or mean) at each level, the other the mean change of a subject from "
    "the first level. Both are by subject.",
)
_ORIGIN: Final = "the first level, where a change is 0"
_CAPTION: Final = "(with simultaneous 95 % bands; the numbers are subjects)"


@final
@dataclass(frozen=True, slots=True)
class _Curve:
    """One curve of one target along one attribute: of the rate, or of its change from the first level."""

    measure: Measure
    attribute: Attribute
    change: bool
    origin: float
    levels: tuple[float, ...]
    values: Float[np.ndarray, " k"]
    subjects: Int[np.ndarray, " k"]
    band: Band


def sections(
    study: str,
    design: Design,
    attributes: Mapping[str, Attribute],
    answered: Sequence[tuple[Measure, Float[np.ndarray, ...]]],
    who: _Who = None,
) -> list[Section]:
    """The section of one experiment; none where no ordered attribute has three levels."""
    curves = [
        curve
        for measure, values in answered
        for axis, name in enumerate(design.levels)
        if not attributes[name].discrete and len(design.levels[name]) >= FEWEST_LEVELS
        for curve in _both(measure, values, design, attributes[name], axis, who)
    ]
    if not curves:
        return []
    outcomes = list(dict.fromkeys(curve.measure.outcome for curve in curves))
    of_outcome = {name: [curve for curve in curves if curve.measure.outcome == name] for name in outcomes}
    return [
        Section(
            key="curves",
            study=study,
            title=f"Curves along levels: {words(study)}",
            text=[*_TEXT, *_without(curves)],
            figures=[_figure(outcome, rows) for outcome, rows in of_outcome.items()],
            sources=list(BANDS_SOURCES),
        )
    ]


def _both(
    measure: Measure,
    values: Float[np.ndarray, ...],
    design: Design,
    attribute: Attribute,
    axis: int,
    who: _Who,
) -> list[_Curve]:
    levels = design.levels[attribute.name]
    grid = np.moveaxis(values, axis + 1, 1).reshape(len(values), len(levels), -1)
    return [
        _rates(measure, grid, attribute, levels, design.seed, who),
        _changes(measure, grid, attribute, levels, design.seed, who),
    ]


def _rates(
    measure: Measure,
    grid: Float[np.ndarray, "n k cells"],
    attribute: Attribute,
    levels: tuple[float, ...],
    seed: int,
    who: _Who,
) -> _Curve:
    """Images count equally, as in the rates of cells."""
    counts = np.isfinite(grid).sum(axis=2).astype(np.float64)
    totals = np.nansum(grid, axis=2)
    if who is not None:
        totals, counts = by_person(totals, who)[0], by_person(counts, who)[0]
    images = counts.sum(axis=0)
    mean = np.divide(totals.sum(axis=0), images, out=np.full(len(levels), np.nan), where=images > 0)
    several = measure.answers
    band = (rate_band if measure.is_share else mean_band)(several * totals, several * counts, seed=seed)
    return _Curve(measure, attribute, False, levels[0], levels, mean, (counts > 0).sum(axis=0), band)


def _changes(
    measure: Measure,
    grid: Float[np.ndarray, "n k cells"],
    attribute: Attribute,
    levels: tuple[float, ...],
    seed: int,
    who: _Who,
) -> _Curve:
    d = np.stack([level_differences(grid[:, 0], grid[:, k]) for k in range(1, len(levels))], axis=1)
    n = np.isfinite(d).sum(axis=0)
    mean = np.divide(np.nansum(d, axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    band = _band_of_changes(d, grid.shape[2] * measure.answers, who, measure.is_share, seed)
    return _Curve(measure, attribute, True, levels[0], levels[1:], mean, people_with(d, who), band)


def _band_of_changes(d: Float[np.ndarray, "n k"], pairs: int, who: _Who, is_share: bool, seed: int) -> Band:
    if is_share:
        return difference_band(d, pairs, who, seed=seed)
    return mean_band(d, seed=seed) if who is None else mean_band(*by_person(d, who), seed=seed)


def _figure(outcome: str, curves: Sequence[_Curve]) -> Figure:
    panels = []
    for name, change in dict.fromkeys((curve.attribute.name, curve.change) for curve in curves):
        lines = [curve for curve in curves if (curve.attribute.name, curve.change) == (name, change)]
        panels.append(_panel(outcome, lines))
    return Figure(
        kind="curves",
        title=f"{words(outcome).capitalize()} along levels",
        caption=_CAPTION,
        same_axis=False,
        panels=panels,
    )


def _panel(outcome: str, lines: Sequence[_Curve]) -> Panel:
    first = lines[0]
    what = f"change of the {words(outcome)} from the first level" if first.change else words(outcome)
    return Panel(
        heading=words(first.attribute.name).capitalize() + (": change" if first.change else ""),
        x_words=words(first.attribute.name) + (f", {first.attribute.unit}" if first.attribute.unit else ""),
        y_words=what,
        unit=_unit(first),
        series=[_series(curve) for curve in lines],
    )


def _series(curve: _Curve) -> Series:
    rows = zip(curve.levels, curve.values, curve.band.low, curve.band.high, curve.subjects, strict=True)
    points = [point(v, low=lo, high=hi, x=x, n=int(n), reason=curve.band.reason) for x, v, lo, hi, n in rows]
    first = [point(0.0, x=curve.origin, reason=_ORIGIN)] if curve.change else []
    return Series(curve.measure.target, [*first, *points])


def _without(curves: Sequence[_Curve]) -> list[str]:
    """A sentence for each reason why curves have no band."""
    reasons = [curve.band.reason for curve in curves]
    return [f"{reasons.count(why)} of {len(curves)} curves: {why}." for why in sorted(set(reasons) - {""})]


def _unit(curve: _Curve) -> Unit:
    if curve.measure.unit != "proportion":
        return "number"
    return "points" if curve.change else "proportion"


_CHANGING_TEXT: Final = (
    "A net effect is the share that changes from no to yes minus the share that changes from yes to no. For "
    "errors, misses and false alarms, yes is a wrong answer. The test of an effect asks whether the changes balance: "
    "p is 1 where equally many change each way, however many they are.",
)
_PAIRS: Final = (
    "Each subject is seen at both levels in several pairs of images. Shares are of these pairs of "
    "images, each subject with equal weight; subjects are counted that have at least one such pair."
)
_PEOPLE: Final = (
    "Several photographs show one person. Shares are means over photographs, each of which counts once, as in the "
    "effects; intervals treat the photographs of one person as one cluster. Subjects are people, counted where at "
    "least one pair of images of theirs changes that way."
)


def changing_sections(
    study: str,
    design: Design,
    attributes: Mapping[str, Attribute],
    answered: Sequence[tuple[Measure, Float[np.ndarray, ...]]],
    who: Int[np.ndarray, " n"] | None = None,
) -> list[Section]:
    """The section of one experiment; none where no outcome is a yes or no that is tested."""
    several = any(design.n_cells > len(levels) for levels in design.levels.values())
    what = "photographs" if who is not None else "pairs" if several else "subjects"
    more = [_PEOPLE] if who is not None else [_PAIRS] if several else []
    tables = []
    for measure, values in answered:
        rows = (
            [_row(row) for row in changes(values, design, attributes, who=who)]
            if measure.is_binary and measure.tested
            else []
        )
        if rows:
            tables.append(_table(rows, f"{measure.outcome} of {measure.target}", what))
    if not tables:
        return []
    return [
        Section(
            key="changes",
            study=study,
            target="",
            title=f"Changes in each direction behind each net effect: {words(study)}",
            text=[*_CHANGING_TEXT, *more],
            warnings=[],
            figures=[],
            tables=tables,
            sources=list(CHANGES_SOURCES),
        )
    ]


def _table(rows: Sequence[Sequence[object]], measure: str, what: str) -> Table:
    heads = [("effect", "text"), ("net, points", "points")]
    for way in ("no to yes", "yes to no"):
        heads += [(way, "proportion"), (f"{way}: low", "proportion"), (f"{way}: high", "proportion")]
        heads += [(f"{way}: pairs", "count"), (f"{way}: subjects", "count")]
    heads += [("all pairs", "count"), ("all subjects", "count"), ("note", "text")]
    return table(f"Share of {what} that change each way: {measure}, with 95 % intervals", heads, rows)


def _row(row: Changes) -> list[object]:
    return [words(row.name), row.net, *_cells(row.up), *_cells(row.down), row.n_pairs, row.n_subjects, row.reason]


def _cells(share: Share) -> list[object]:
    return [share.share, share.low, share.high, share.pairs, share.subjects]
