"""Answers along each transect with a logistic curve, and what was seen against what was intended, image by image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import point, table, words
from transect.analysis.sections.raters import Rated
from transect.annotation.agreement.logistic_curve import SOURCE, LogisticCurve, fit_logistic
from transect.records import Attribute, Design
from transect.report.records import Figure, Panel, Point, Section, Series, Table

SHOWN: Final = 3
"""Subjects whose own transects are drawn, those with most answers; the table has the curve of all."""
STEPS: Final = 40
_TEXT: Final = (
    "Each dot is an answer (larger where several are equal), at the value that was set; the line is a logistic "
    "function through them by least squares (Balakrishnan et al. 2020, Fig. 7). Where answers follow it within one "
    "level, raters see what was set; where they lie flat, the control moved something that they do not see.",
    "Intended against perceived (their Fig. 9b): what was asked of the generator, and the mean of what people saw on "
    "each image. Effects of what was seen take the latter.",
)


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """One experiment: its design, attributes, the intended values [n] by name, and the subject of each image [n]."""

    study: str
    design: Design
    attributes: Mapping[str, Attribute]
    intended: Mapping[str, Float[np.ndarray, " n"]]
    subjects: Int[np.ndarray, " n"]


def section(shown: Shown, rated: Sequence[Rated]) -> Section | None:
    """The section of one experiment; None where no question is about what was varied."""
    asked = [one for one in rated if one.attribute in shown.design.levels and one.attribute in shown.intended]
    if not asked:
        return None
    ordered = [one for one in asked if not _unordered(shown, one)]
    curves = {one.name: _curves(shown, one) for one in ordered}
    unordered = [one for one in asked if _unordered(shown, one)]
    return Section(
        key="seen along",
        study=shown.study,
        title=f"What people saw along the transects of {words(shown.study)}",
        text=list(_TEXT),
        warnings=[],
        figures=[figure for one in ordered for figure in _figures(shown, one, curves[one.name])],
        tables=[
            *([_curve_table(ordered, curves)] if ordered else []),
            *(_against(shown, one) for one in ordered),
            *(_levels_against(shown, one) for one in unordered),
        ],
        sources=[SOURCE],
    )


def _unordered(shown: Shown, one: Rated) -> bool:
    return one.scale == "nominal" or shown.attributes[one.attribute].nominal


_Curves = dict[int | None, LogisticCurve]
"""By subject; None: all of them."""


def _curves(shown: Shown, one: Rated) -> _Curves:
    """The curve of all subjects, and of those with most answers."""
    x = shown.intended[one.attribute]
    answers = np.isfinite(one.ratings).sum(axis=1)
    subjects, place = np.unique(shown.subjects, return_inverse=True)
    many = np.argsort(-np.bincount(place, weights=answers), kind="stable")[:SHOWN]
    made: _Curves = {None: _fitted(x, one, np.ones(len(x), dtype=bool))}
    return made | {int(subjects[k]): _fitted(x, one, place == k) for k in many}


def _fitted(x: Float[np.ndarray, " n"], one: Rated, rows: np.ndarray) -> LogisticCurve:
    said = one.ratings[rows]
    places = np.broadcast_to(x[rows, None], said.shape)
    return fit_logistic(places.ravel(), said.ravel(), one.low, one.low + one.width, one.level)


def _figures(shown: Shown, one: Rated, curves: _Curves) -> list[Figure]:
    """Answers along the transects, and mean answers by image against the intended value."""
    named = _named(shown, one.attribute)
    along = Figure(
        kind="scatter",
        title=f"Answers along the transect: {words(one.name)}",
        caption=f"(at most {SHOWN} subjects with most answers, then all; the numbers are answers)",
        panels=[_panel(shown, one, subject, curves[subject]) for subject in [*list(curves)[1:], None]],
    )
    x, means = shown.intended[one.attribute], one.mean
    dots = _dots(x[:, None], np.round((means[:, None] - one.low) / one.width * 20) / 20 * one.width + one.low)
    against = Panel(
        heading=f"{words(one.name)}, all images",
        x_words=f"intended {named}",
        y_words="mean answer",
        series=[Series(name="mean answers of images", points=dots)],
    )
    caption = "(a dot per mean answer, to a twentieth of the scale; larger for more images; the numbers are images)"
    title = f"Intended against perceived: {words(one.name)}"
    return [along, Figure(kind="scatter", title=title, caption=caption, panels=[against])]


def _named(shown: Shown, name: str) -> str:
    unit = shown.attributes[name].unit
    return words(name) + (f", {unit}" if unit else "")


def _panel(shown: Shown, one: Rated, subject: int | None, curve: LogisticCurve) -> Panel:
    rows = np.ones(len(one.ratings), dtype=bool) if subject is None else shown.subjects == subject
    x = shown.intended[one.attribute]
    series: list[Series] = [Series(name="answers", points=_dots(x[rows, None], one.ratings[rows]))]
    if not curve.reason:
        along = np.linspace(x[rows].min(), x[rows].max(), STEPS + 1)
        points = [point(y, x=float(at)) for at, y in zip(along, curve.at(along), strict=True)]
        series.append(Series(name="logistic curve", points=points, drawn="line"))
    return Panel(
        heading="all subjects" if subject is None else f"subject {subject}",
        x_words=f"intended {_named(shown, one.attribute)}",
        y_words="answer",
        series=series,
    )


def _dots(x: Float[np.ndarray, "n _"], y: Float[np.ndarray, "n r"]) -> list[Point]:
    """A point for each distinct pair, with how often it occurs."""
    across = np.broadcast_to(x, y.shape)[np.isfinite(y)]
    pairs, counts = np.unique(np.column_stack([across, y[np.isfinite(y)]]), axis=0, return_counts=True)
    return [point(pair[1], x=float(pair[0]), n=int(n)) for pair, n in zip(pairs, counts, strict=True)]


def _curve_table(rated: Sequence[Rated], curves: Mapping[str, _Curves]) -> Table:
    heads = [("question", "text"), ("subjects", "text"), ("begins at", "number"), ("ends at", "number")]
    heads += [("halfway at", "number"), ("slope", "number"), ("answers within one level of it", "proportion")]
    heads += [("answers", "count"), ("places", "count"), ("note", "text")]
    rows = []
    for one in rated:
        for subject, c in curves[one.name].items():
            called = "all" if subject is None else f"subject {subject}"
            numbers = [c.start, c.end, c.middle, c.slope, c.near]
            rows.append([words(one.name), called, *numbers, c.answers, c.places, c.reason])
    return table("Logistic curves", heads, rows)


def _against(shown: Shown, one: Rated) -> Table:
    """Mean and quartiles of the images' mean answers at each intended value."""
    heads = [
        (f"intended {words(one.attribute)}", "text"),
        ("mean perceived", "number"),
        ("lower quartile", "number"),
    ]
    heads += [("upper quartile", "number"), ("images rated", "count"), ("not rated", "count")]
    means, rows = one.mean, []
    for value in shown.design.levels[one.attribute]:
        found = means[np.isclose(shown.intended[one.attribute], value)]
        known = found[np.isfinite(found)]
        ends = [float(known.mean()), *np.quantile(known, [0.25, 0.75]).tolist()] if len(known) else [np.nan] * 3
        rows.append([shown.attributes[one.attribute].label(value), *ends, len(known), len(found) - len(known)])
    return table(f"Intended against perceived: {words(one.name)}", heads, rows)


def _levels_against(shown: Shown, one: Rated) -> Table:
    """Images by intended level and the level that most raters saw."""
    named = [one.levels[k] if one.levels else f"{value:g}" for k, value in enumerate(one.values)]
    heads = [
        (f"intended {words(one.attribute)}", "text"),
        *((f"seen: {name}", "count") for name in named),
    ]
    heads += [("no majority", "count")]
    rows = []
    for value in shown.design.levels[one.attribute]:
        found = one.majority[np.isclose(shown.intended[one.attribute], value)]
        counts = [int((found == seen).sum()) for seen in one.values]
        rows.append([shown.attributes[one.attribute].label(value), *counts, int(np.isnan(found).sum())])
    return table(f"Intended against perceived: {words(one.name)}", heads, rows)
