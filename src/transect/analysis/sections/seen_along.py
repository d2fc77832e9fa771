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
from transect.reports.records import Figure, Panel, Point, Section, Series, Table

SHOWN: Final = 3
"""Subjects whose own transects are drawn, those with most answers; the table has the curve of all."""
STEPS: Final = 40
_TEXT: Final = (
    "Each dot is an answer (larger where several are equal), at the value that was set; the line is a logistic "
    "function fitted by least squares (Balakrishnan et al. 2020, Fig. 7). Where answers follow it within one "
    "level, raters see what was set; where they are flat, the control changed something that raters do not see.",
    "Intended and perceived (their Fig. 9b): what the generator was asked for, and the mean of what people saw "
    "on each image. Effects of what was seen use the latter.",
    "Answers about an attribute along the transect of another one show whether the manipulation moved it too: they "
    "should be flat.",
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
    """The section of one experiment: every question along every attribute that was varied; None without either."""
    along = [name for name in shown.design.levels if name in shown.intended and not shown.attributes[name].nominal]
    ordered = [question for question in rated if question.scale != "nominal"]
    pairs = [(question, name) for question in ordered for name in along]
    pairs.sort(key=lambda pair: not _own(*pair))
    unordered = [question for question in rated if _unordered(shown, question)]
    if not pairs and not unordered:
        return None
    curves = {(question.name, name): _curves(shown, question, name) for question, name in pairs}
    return Section(
        key="seen along",
        study=shown.study,
        title=f"What people saw along the transects of {words(shown.study)}",
        text=list(_TEXT if len(pairs) > sum(_own(*pair) for pair in pairs) else _TEXT[:2]),
        warnings=[],
        figures=[
            figure
            for question, name in pairs
            for figure in _figures(shown, question, name, curves[question.name, name])
        ],
        tables=[
            *([_curve_table(pairs, curves)] if pairs else []),
            *(_against(shown, question, name) for question, name in pairs),
            *(_levels_against(shown, question) for question in unordered),
        ],
        sources=[SOURCE],
    )


def _own(question: Rated, name: str) -> bool:
    return question.attribute == name


def _unordered(shown: Shown, question: Rated) -> bool:
    """Whether a question about what was varied has levels in no order."""
    if question.attribute not in shown.design.levels or question.attribute not in shown.intended:
        return False
    return question.scale == "nominal" or shown.attributes[question.attribute].nominal


_Curves = dict[int | None, LogisticCurve]
"""By subject; None: all of them."""


def _curves(shown: Shown, question: Rated, name: str) -> _Curves:
    """The curve of all subjects, and of those with most answers, along one attribute."""
    x = shown.intended[name]
    answers = np.isfinite(question.ratings).sum(axis=1)
    subjects, place = np.unique(shown.subjects, return_inverse=True)
    many = np.argsort(-np.bincount(place, weights=answers), kind="stable")[:SHOWN]
    curves: _Curves = {None: _fitted(x, question, np.ones(len(x), dtype=bool))}
    return curves | {int(subjects[k]): _fitted(x, question, place == k) for k in many}


def _fitted(x: Float[np.ndarray, " n"], question: Rated, rows: np.ndarray) -> LogisticCurve:
    ratings = question.ratings[rows]
    places = np.broadcast_to(x[rows, None], ratings.shape)
    return fit_logistic(places.ravel(), ratings.ravel(), question.low, question.low + question.width, question.level)


def _titled(question: Rated, name: str) -> str:
    """The question, and the attribute along which it was answered where that is another."""
    return words(question.name) + ("" if _own(question, name) else f", along {words(name)}")


def _figures(shown: Shown, question: Rated, name: str, curves: _Curves) -> list[Figure]:
    """Answers along the transects, and mean answers by image against the intended value."""
    named, folded = _named(shown, name), not _own(question, name)
    along = Figure(
        kind="scatter",
        title=f"Answers along the transect: {_titled(question, name)}",
        caption=f"(at most {SHOWN} subjects with most answers, then all; the numbers are answers)",
        folded=folded,
        panels=[_panel(shown, question, name, subject, curves[subject]) for subject in [*list(curves)[1:], None]],
    )
    x, means = shown.intended[name], question.mean
    dots = _dots(
        x[:, None], np.round((means[:, None] - question.low) / question.width * 20) / 20 * question.width + question.low
    )
    against = Panel(
        heading=f"{words(question.name)}, all images",
        x_words=f"intended {named}",
        y_words="mean answer",
        series=[Series(name="mean answers of images", points=dots)],
    )
    caption = "(a dot per mean answer, to a twentieth of the scale; larger for more images; the numbers are images)"
    title = f"Intended against perceived: {_titled(question, name)}"
    return [along, Figure(kind="scatter", title=title, caption=caption, folded=folded, panels=[against])]


def _named(shown: Shown, name: str) -> str:
    unit = shown.attributes[name].unit
    return words(name) + (f", {unit}" if unit else "")


def _panel(shown: Shown, question: Rated, name: str, subject: int | None, curve: LogisticCurve) -> Panel:
    rows = np.ones(len(question.ratings), dtype=bool) if subject is None else shown.subjects == subject
    x = shown.intended[name]
    series: list[Series] = [Series(name="answers", points=_dots(x[rows, None], question.ratings[rows]))]
    if not curve.reason:
        along = np.linspace(x[rows].min(), x[rows].max(), STEPS + 1)
        points = [point(y, x=float(at)) for at, y in zip(along, curve.at(along), strict=True)]
        series.append(Series(name="logistic curve", points=points, drawn="line"))
    return Panel(
        heading="all subjects" if subject is None else f"subject {subject}",
        x_words=f"intended {_named(shown, name)}",
        y_words="answer",
        series=series,
    )


def _dots(x: Float[np.ndarray, "n _"], y: Float[np.ndarray, "n r"]) -> list[Point]:
    """A point for each distinct pair, with how often it occurs."""
    across = np.broadcast_to(x, y.shape)[np.isfinite(y)]
    pairs, counts = np.unique(np.column_stack([across, y[np.isfinite(y)]]), axis=0, return_counts=True)
    return [point(pair[1], x=float(pair[0]), n=int(n)) for pair, n in zip(pairs, counts, strict=True)]


_Pair = tuple[Rated, str]
"""A question, and the attribute along which it was answered."""


def _curve_table(pairs: Sequence[_Pair], curves: Mapping[tuple[str, str], _Curves]) -> Table:
    heads = [("question", "text"), ("along", "text"), ("subjects", "text"), ("begins at", "number")]
    heads += [("ends at", "number")]
    heads += [("halfway at", "number"), ("slope", "number"), ("answers within one level of it", "proportion")]
    heads += [("answers", "count"), ("places", "count"), ("note", "text")]
    rows = []
    for question, name in pairs:
        for subject, c in curves[question.name, name].items():
            called = "all" if subject is None else f"subject {subject}"
            numbers = [c.start, c.end, c.middle, c.slope, c.near]
            rows.append([words(question.name), words(name), called, *numbers, c.answers, c.places, c.reason])
    return table("Logistic curves", heads, rows)


def _against(shown: Shown, question: Rated, name: str) -> Table:
    """Mean and quartiles of the images' mean answers at each intended value."""
    heads = [
        (f"intended {words(name)}", "text"),
        ("mean perceived", "number"),
        ("lower quartile", "number"),
    ]
    heads += [("upper quartile", "number"), ("images rated", "count"), ("not rated", "count")]
    means, rows = question.mean, []
    for value in shown.design.levels[name]:
        seen = means[np.isclose(shown.intended[name], value)]
        known = seen[np.isfinite(seen)]
        ends = [float(known.mean()), *np.quantile(known, [0.25, 0.75]).tolist()] if len(known) else [np.nan] * 3
        rows.append([shown.attributes[name].label(value), *ends, len(known), len(seen) - len(known)])
    return table(f"Intended against perceived: {_titled(question, name)}", heads, rows)


def _levels_against(shown: Shown, question: Rated) -> Table:
    """Images by intended level and the level that most raters saw."""
    named = [question.levels[k] if question.levels else f"{value:g}" for k, value in enumerate(question.values)]
    heads = [
        (f"intended {words(question.attribute)}", "text"),
        *((f"seen: {name}", "count") for name in named),
    ]
    heads += [("no majority", "count")]
    rows = []
    for value in shown.design.levels[question.attribute]:
        majority = question.majority[np.isclose(shown.intended[question.attribute], value)]
        counts = [int((majority == seen).sum()) for seen in question.values]
        rows.append([shown.attributes[question.attribute].label(value), *counts, int(np.isnan(majority).sum())])
    return table(f"Intended against perceived: {words(question.name)}", heads, rows)
