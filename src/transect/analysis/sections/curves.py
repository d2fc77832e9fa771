"""Outcomes along levels: curves with bands, and shares of answers that change each way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.findings import Findings
from transect.analysis.sections.answers import point, table, with_ends, words
from transect.analysis.sections.places import RunFindings, placed
from transect.effects.clusters import by_person, clusters_of, people_with
from transect.effects.contrasts import known_means, level_differences
from transect.effects.curves import SOURCES as BANDS_SOURCES
from transect.effects.curves import Band, difference_band, mean_band, rate_band
from transect.effects.rates import SOURCES as CHANGES_SOURCES
from transect.effects.rates import Changes, Share, changes
from transect.effects.samples import Measure
from transect.records import Attribute, Design
from transect.reports.records import Figure, Panel, Section, Series, Table, Unit

_Answered = tuple[Measure, Float[np.ndarray, " ..."]]
FEWEST_LEVELS: Final = 3
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
class _Along:
    """One outcome of one target by the levels of one attribute [subjects, levels, cells]. who: people who repeat."""

    measure: Measure
    attribute: Attribute
    levels: tuple[float, ...]
    grid: Float[np.ndarray, "n k cells"]
    seed: int
    who: Int[np.ndarray, " n"] | None


@final
@dataclass(frozen=True, slots=True)
class _Curve:
    """One curve along an attribute: of the rate, or of its change from the first level."""

    along: _Along
    change: bool
    levels: tuple[float, ...]
    values: Float[np.ndarray, " k"]
    subjects: Int[np.ndarray, " k"]
    band: Band


@placed(400, "run", page="numbers")
def run_sections(about: RunFindings) -> list[Section]:
    """The sections on curves along levels and on who changes; of steps λ the sensitivities show both."""
    study = about.findings
    if study.in_steps:
        return []
    answered = [(outcome.measure, outcome.values) for outcome in study.answered]
    who = next((clusters_of(outcome.people) for outcome in study.answered), None)
    curves = sections(study.spec.name, study.design, study.attributes, answered, who)
    return [*curves, *_changing(study, answered, who)]


def sections(
    study: str,
    design: Design,
    attributes: Mapping[str, Attribute],
    answered: Sequence[_Answered],
    who: Int[np.ndarray, " n"] | None = None,
) -> list[Section]:
    """The section of one experiment; none where no ordered attribute has three levels."""
    curves = []
    for measure, values in answered:
        for axis, (name, levels) in enumerate(design.levels.items()):
            if not attributes[name].discrete and len(levels) >= FEWEST_LEVELS:
                grid = np.moveaxis(values, axis + 1, 1).reshape(len(values), len(levels), -1)
                along = _Along(measure, attributes[name], levels, grid, design.seed, who)
                curves += [_rates(along), _changes(along)]
    if not curves:
        return []
    reasons = [curve.band.reason for curve in curves]
    without = [f"{reasons.count(why)} of {len(curves)} curves: {why}." for why in sorted({*reasons} - {""})]
    outcomes = dict.fromkeys(curve.along.measure.outcome for curve in curves)
    of_outcome = {name: [curve for curve in curves if curve.along.measure.outcome == name] for name in outcomes}
    return [
        Section(
            key="curves",
            study=study,
            title=f"Curves along levels: {words(study)}",
            text=[*_TEXT, *without],
            figures=[_figure(outcome, rows) for outcome, rows in of_outcome.items()],
            sources=list(BANDS_SOURCES),
        )
    ]


def _rates(along: _Along) -> _Curve:
    """Images count equally, as in the rates of cells."""
    counts, totals = np.isfinite(along.grid).sum(axis=2).astype(np.float64), np.nansum(along.grid, axis=2)
    if along.who is not None:
        totals, counts = by_person(totals, along.who)[0], by_person(counts, along.who)[0]
    images, several = counts.sum(axis=0), along.measure.answers
    mean = np.divide(totals.sum(axis=0), images, out=np.full(len(images), np.nan), where=images > 0)
    make = rate_band if along.measure.is_share else mean_band
    band = make(several * totals, several * counts, seed=along.seed)
    return _Curve(along, False, along.levels, mean, (counts > 0).sum(axis=0), band)


def _changes(along: _Along) -> _Curve:
    grid, who, seed = along.grid, along.who, along.seed
    d = np.stack([level_differences(grid[:, 0], grid[:, k]) for k in range(1, grid.shape[1])], axis=1)
    if along.measure.is_share:
        band = difference_band(d, grid.shape[2] * along.measure.answers, who, seed=seed)
    else:
        band = mean_band(d, seed=seed) if who is None else mean_band(*by_person(d, who), seed=seed)
    return _Curve(along, True, along.levels[1:], known_means(d, axis=0), people_with(d, who), band)


def _figure(outcome: str, curves: Sequence[_Curve]) -> Figure:
    lines: dict[tuple[str, bool], list[_Curve]] = {}
    for curve in curves:
        lines.setdefault((curve.along.attribute.name, curve.change), []).append(curve)
    panels = [_panel(outcome, each) for each in lines.values()]
    title = f"{words(outcome).capitalize()} along levels"
    return Figure(kind="curves", title=title, caption=_CAPTION, same_axis=False, panels=panels)


def _panel(outcome: str, lines: Sequence[_Curve]) -> Panel:
    change, attribute = lines[0].change, lines[0].along.attribute
    unit: Unit = "number"
    if lines[0].along.measure.unit == "proportion":
        unit = "points" if change else "proportion"
    return Panel(
        heading=words(attribute.name).capitalize() + (": change" if change else ""),
        x_words=words(attribute.name) + (f", {attribute.unit}" if attribute.unit else ""),
        y_words=f"change of the {words(outcome)} from the first level" if change else words(outcome),
        unit=unit,
        series=[_series(curve) for curve in lines],
    )


def _series(curve: _Curve) -> Series:
    rows = zip(curve.levels, curve.values, curve.band.low, curve.band.high, curve.subjects, strict=True)
    points = [point(v, low=lo, high=hi, x=x, n=int(n), reason=curve.band.reason) for x, v, lo, hi, n in rows]
    first = [point(0.0, x=curve.along.levels[0], reason=_ORIGIN)] if curve.change else []
    return Series(curve.along.measure.target, [*first, *points])


_CHANGING_TEXT: Final = (
    "A net effect is the share that changes from no to yes minus the share that changes from yes to no. For "
    "errors, misses and false alarms, yes is a wrong answer. The test of an effect asks whether the changes balance: "
    "p is 1 where equally many change each way, however many they are.",
)
_PAIRS: Final = (
    "Each subject is seen at both levels in several pairs of images. Shares refer to these pairs of images, each "
    "subject with equal weight; subjects are counted that have at least one such pair."
)
_PEOPLE: Final = (
    "Several photographs show one person. Shares are means over photographs, each of which counts once, as in the "
    "effects; intervals treat the photographs of one person as one cluster. Subjects are people, counted where at "
    "least one pair of images of theirs changes that way."
)


def _changing(study: Findings, answered: Sequence[_Answered], who: Int[np.ndarray, " n"] | None) -> list[Section]:
    """The section of one experiment; none where no outcome is a yes or no that is tested."""
    design = study.design
    several = any(design.n_cells > len(levels) for levels in design.levels.values())
    what = "photographs" if who is not None else "pairs" if several else "subjects"
    more = [_PEOPLE] if who is not None else [_PAIRS] if several else []
    tables = []
    for measure, values in answered:
        found = changes(values, design, study.attributes, who=who) if measure.is_binary and measure.tested else ()
        if found:
            tables.append(_table(found, f"{measure.outcome} of {measure.target}", what))
    if not tables:
        return []
    return [
        Section(
            key="changes",
            study=study.spec.name,
            title=f"Changes in both directions: {words(study.spec.name)}",
            text=[*_CHANGING_TEXT, *more],
            tables=tables,
            sources=list(CHANGES_SOURCES),
        )
    ]


def _table(found: Sequence[Changes], measure: str, what: str) -> Table:
    heads = [("effect", "text"), ("net, points", "points")]
    for way in ("no to yes", "yes to no"):
        heads += [*with_ends(way, "proportion"), (f"{way}: pairs", "count"), (f"{way}: subjects", "count")]
    heads += [("all pairs", "count"), ("all subjects", "count"), ("note", "text")]
    rows = [
        [words(row.name), row.net, *_cells(row.up), *_cells(row.down), row.n_pairs, row.n_subjects, row.reason]
        for row in found
    ]
    return table(f"Share of {what} that change each way: {measure}, with 95 % intervals", heads, rows)


def _cells(share: Share) -> list[object]:
    return [share.estimate, share.low, share.high, share.pairs, share.subjects]
