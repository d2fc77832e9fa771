"""Observation beside experiment, cell by cell with counts (Balakrishnan et al. 2020, Fig. 1 and 13)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis.sections.answers import Answers, point, table, words
from transect.effects import intervals
from transect.records import Attribute
from transect.reports.records import Figure, Panel, Point, Section, Series, Table, Unit
from transect.reports.wording import short_name

MOST_CELLS: Final = 24
NO_IMAGE: Final = "no image in this cell"
NO_ANSWER: Final = "no valid answer in this cell"
_SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
_TEXT: Final = (
    "The experiment shows every subject in every cell. The observation has the images that were collected, and "
    "a cell may hold few or none. An observed image belongs to the cell whose levels are nearest to its "
    "values. Where the two differ, the cause may be something correlated with the attributes in the "
    "population, or other differences between the faces."
)
_OUTSIDE: Final = (
    "{n:,} of the {of:,} observed images are in no cell: a value is missing, the image was pruned, or its "
    "level is not in the experiment."
)
_SAME: Final = (
    "{n:,} of the {of:,} observed subjects are in the experiment too, as they were drawn. The interval of each rate is "
    "right by itself. But observation and experiment are no independent samples, and whether two of their rates differ "
    "cannot be told from whether the intervals overlap."
)
_OTHERS: Final = "No observed subject is in the experiment."
_UNKNOWN: Final = (
    "Whether people on the observed photographs are in the experiment too is not known: the two studies do not name "
    "people alike."
)


def shared(experiment: Answers, observation: Answers) -> list[str]:
    """Attributes that the experiment varies and the observation has, of one kind, few enough for the page."""
    names = [
        name
        for name in experiment.design.levels
        if name in observation.values and _alike(experiment.attributes[name], observation.attributes.get(name))
    ]
    while names and np.prod([len(experiment.design.levels[name]) for name in names]) > MOST_CELLS:
        names.pop()
    return names


def left_out(experiment: Answers, observation: Answers) -> list[str]:
    """Why attributes that the experiment sets are not compared, a sentence each."""
    compared = shared(experiment, observation)
    sentences = []
    for name in experiment.design.levels:
        if name not in compared:
            why = _unlike(experiment.attributes[name], observation.attributes.get(name), name in observation.values)
            sentences.append(f"{words(name).capitalize()} was set and is not compared: {why}.")
    return sentences


def _unlike(attribute: Attribute, other: Attribute | None, observed: bool) -> str:
    if other is None or not observed:
        return "the observed images have no values of it"
    if attribute.discrete != other.discrete:
        kinds = {True: "levels", False: "a range"}
        return f"the experiment has {kinds[attribute.discrete]} of it, the observation {kinds[other.discrete]}"
    if not _alike(attribute, other):
        return f"the levels differ ({', '.join(attribute.levels)}; observed: {', '.join(other.levels)})"
    return f"with it there would be more than {MOST_CELLS} cells"


def _alike(attribute: Attribute, other: Attribute | None) -> bool:
    if other is None or attribute.discrete != other.discrete:
        return False
    return (
        not attribute.discrete
        or set(attribute.levels) <= set(other.levels)
        or len(attribute.levels) == len(other.levels) == 2
    )


def section(experiment: Answers, observation: Answers) -> Section:
    """The section of one target; a warning for each attribute that was set and cannot be compared."""
    names, missing = shared(experiment, observation), left_out(experiment, observation)
    title = f"Observation compared with {experiment.study}: {short_name(experiment.target)}"
    if not names:
        return Section(key="comparison", title=title, text=[], warnings=missing)
    counted, unit, column = _counted(experiment, observation)
    sides = [(experiment, "experiment"), (observation, "observation")]
    values = {name: getattr(side, column) for side, name in sides}
    levels = [experiment.design.levels[name] for name in names]
    cells = list(itertools.product(*levels))
    labels = [
        ", ".join(_label(experiment.attributes[n], n, v) for n, v in zip(names, cell, strict=True)) for cell in cells
    ]
    rows: dict[str, list[Point]] = {}
    text = [_TEXT]
    for side, called in sides:
        places = {n: _nearest(experiment, side, n) for n in names}
        masks = [np.logical_and.reduce([places[n] == v for n, v in zip(names, cell, strict=True)]) for cell in cells]
        outside = int((~np.any(masks, axis=0)).sum())
        if outside:
            text.append(_OUTSIDE.format(n=outside, of=len(side.cells)))
        rows[called] = [_rate(values[called], mask, side, label) for mask, label in zip(masks, labels, strict=True)]
    text.append(_shared_subjects(experiment, observation))
    return Section(
        key="comparison",
        title=title,
        text=text,
        warnings=missing,
        figures=[_figure(counted, unit, rows)],
        tables=[_table(counted, unit, labels, rows)],
        sources=[_SOURCE],
    )


def _shared_subjects(experiment: Answers, observation: Answers) -> str:
    """How many observed subjects the experiment has; subjects of one generator are known by their numbers."""
    if not (experiment.drawn_by or observation.drawn_by):
        return _UNKNOWN
    if experiment.drawn_by != observation.drawn_by:  # photographs beside generated images, or two generators
        return _OTHERS
    observed = np.unique(observation.subjects)
    n = int(np.isin(observed, experiment.subjects).sum())
    return _SAME.format(n=n, of=len(observed)) if n else _OTHERS


def _counted(experiment: Answers, observation: Answers) -> tuple[str, Unit, str]:
    """What is compared, in words; its unit; and the field of the answers that holds it."""
    sides = experiment, observation
    if experiment.binary:
        judged = experiment.judged and observation.judged
        return ("error rate", "proportion", "errors") if judged else ("rate of yes", "proportion", "answers")
    judged = all(np.isfinite(side.errors).any() for side in sides)
    return ("mean error", "number", "errors") if judged else ("mean answer", "number", "scores")


def _label(attribute: Attribute, name: str, value: float) -> str:
    text = attribute.label(value)
    return f"{words(name)} {text}"


def _nearest(experiment: Answers, side: Answers, name: str) -> Float[np.ndarray, " n"]:
    """The experiment's level nearest to each image's value; NaN without one."""
    levels = np.array(experiment.design.levels[name])
    if side is experiment:
        axis = list(experiment.design.levels).index(name)
        return np.asarray(np.array(list(itertools.product(*experiment.design.levels.values())))[side.cells, axis])
    values, attribute, other = side.values[name], experiment.attributes[name], side.attributes[name]
    if attribute.discrete:
        return _by_name(values, attribute, other)
    nearest = levels[np.argmin(np.abs(np.nan_to_num(values)[:, None] - levels), axis=1)]
    return np.where(np.isfinite(values), nearest, np.nan)


def _by_name(values: Float[np.ndarray, " n"], attribute: Attribute, other: Attribute) -> Float[np.ndarray, " n"]:
    """Levels of the same name; of two binary attributes with other names, the first and the second."""
    places: Mapping[int, float] = {
        k: float(attribute.levels.index(name)) for k, name in enumerate(other.levels) if name in attribute.levels
    } or {k: float(k) for k in range(len(other.levels))}
    table = np.array([places.get(k, np.nan) for k in range(len(other.levels))])
    known = np.isfinite(values)
    return np.where(known, table[np.where(known, values, 0).astype(np.int64)], np.nan)


def _rate(values: Float[np.ndarray, " n"], rows: Bool[np.ndarray, " n"], side: Answers, label: str) -> Point:
    known = rows & np.isfinite(values)
    _, groups = np.unique(side.subjects[known], return_inverse=True)
    counts = np.bincount(groups, minlength=1).astype(np.float64)
    sums = np.bincount(groups, weights=values[known], minlength=1).astype(np.float64)
    n = int(counts.sum())
    if not n:
        return point(np.nan, label=label, n=0, reason=NO_ANSWER if rows.any() else NO_IMAGE)
    if side.binary:
        low, high = intervals.wilson_clustered(sums[:, None], counts[:, None])
    else:
        interval = intervals.mean_interval(sums[:, None], counts[:, None], seed=side.design.seed)
        low, high = interval.low, interval.high
    return point(float(sums.sum() / n), low=float(low[0]), high=float(high[0]), label=label, n=n, reason="")


def _figure(counted: str, unit: Unit, rows: Mapping[str, list[Point]]) -> Figure:
    series = [Series(name=name, points=points) for name, points in rows.items()]
    panel = Panel(heading=counted.capitalize(), y_words=counted, unit=unit, series=series)
    return Figure(
        kind="rows",
        title=f"{counted.capitalize()} by cell",
        caption="(bars are 95 % intervals by subject)",
        panels=[panel],
    )


def _table(counted: str, unit: str, labels: list[str], rows: Mapping[str, list[Point]]) -> Table:
    heads = [("cell", "text")]
    for name in rows:
        heads += [
            (name, unit),
            (f"{name}: low", unit),
            (f"{name}: high", unit),
            (f"{name}: images", "count"),
        ]
    lines = []
    for place, label in enumerate(labels):
        points = [series[place] for series in rows.values()]
        lines.append([label, *(cell for point in points for cell in (point.value, point.low, point.high, point.n))])
    return table(f"{counted.capitalize()} in the experiment and as observed", heads, lines)
