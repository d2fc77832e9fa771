"""Observation beside experiment, several targets beside each other, and how attributes go together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis.sections.answers import (
    BALAKRISHNAN,
    Answers,
    by_subject,
    condition,
    drawn,
    nominal,
    number,
    point,
    share,
    table,
    texts,
    with_ends,
    words,
)
from transect.analysis.sections.error_rates import combinations_of
from transect.analysis.sections.places import placed
from transect.analysis.sections.rater_uncertainty import Grouping, grouping, without_raters
from transect.effects import intervals
from transect.effects.identity_pairs import DISTRIBUTIONS_SOURCE, UNBALANCED, Distribution, distributions, smd
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import RaterUncertainty, raters_resampled
from transect.effects.sensitivity import SOURCE as SENSITIVITY_SOURCE
from transect.effects.sensitivity import Correlations, correlations
from transect.records import Annotations, Attribute
from transect.reports.records import Figure, Panel, Point, Section, Series, Table, Unit
from transect.reports.wording import short_name
from transect.runs.wording import counted

MOST_CELLS: Final = 24
NO_IMAGE: Final = "no image in this cell"
NO_ANSWER: Final = "no valid answer in this cell"
_COMPARISON_TEXT: Final = (
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
    "{n:,} of the {of:,} observed subjects are in the experiment too, as they were drawn. Each rate's interval is "
    "valid. But observation and experiment are not independent samples, so neither overlap of their intervals nor its "
    "absence shows whether two rates differ."
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


@placed(60, "beside")
def comparison_section(experiment: Answers, observation: Answers) -> Section:
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
        ", ".join(f"{words(name)} {experiment.attributes[name].label(v)}" for name, v in zip(names, cell, strict=True))
        for cell in cells
    ]
    rows: dict[str, list[Point]] = {}
    text = [_COMPARISON_TEXT]
    for side, called in sides:
        places = {n: _nearest(experiment, side, n) for n in names}
        masks = [np.logical_and.reduce([places[n] == v for n, v in zip(names, cell, strict=True)]) for cell in cells]
        outside = int((~np.any(masks, axis=0)).sum())
        if outside:
            text.append(_OUTSIDE.format(n=outside, of=len(side.cells)))
        rows[called] = [_rate(values[called], mask, side, label) for mask, label in zip(masks, labels, strict=True)]
    text.append(_shared_subjects(experiment, observation))
    panels, caption = {counted.capitalize(): rows}, "(bars are 95 % intervals by subject)"
    return Section(
        key="comparison",
        title=title,
        text=text,
        warnings=missing,
        figures=[drawn("rows", f"{counted.capitalize()} by cell", caption, panels, counted, unit)],
        tables=[_table(counted, unit, labels, rows)],
        sources=[BALAKRISHNAN],
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


def _nearest(experiment: Answers, side: Answers, name: str) -> Float[np.ndarray, " n"]:
    """The experiment's level nearest to each image's value; NaN without one."""
    levels = np.array(experiment.design.levels[name])
    if side is experiment:
        return experiment.settings[name]
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
    if not known.any():
        return point(np.nan, label=label, n=0, reason=NO_ANSWER if rows.any() else NO_IMAGE)
    if side.binary:
        return share(values[known], side.subjects[known]).dot(label)
    sums, counts = by_subject(values[known], side.subjects[known])
    interval = intervals.mean_interval(sums[:, None], counts[:, None])
    mean, n = float(sums.sum() / counts.sum()), int(counts.sum())
    return point(mean, low=float(interval.low[0]), high=float(interval.high[0]), label=label, n=n)


def _table(counted: str, unit: str, labels: list[str], rows: Mapping[str, list[Point]]) -> Table:
    heads = [("cell", "text")]
    for name in rows:
        heads += [*with_ends(name, unit), (f"{name}: images", "count")]
    lines = []
    for place, label in enumerate(labels):
        points = [series[place] for series in rows.values()]
        lines.append([label, *(cell for point in points for cell in (point.value, point.low, point.high, point.n))])
    return table(f"{counted.capitalize()} in the experiment and as observed", heads, lines)


_SEVERAL_TARGETS_TEXT: Final = (
    "These models saw the same images. To see which is better, on what and by how much, run transect compare on this "
    "folder: it compares rates and gaps, paired by subject."
)


@placed(200, "study")
def several_targets_section(answer_sets: Sequence[Answers]) -> Section | None:
    """The section of one study, where targets with answers of yes or no share its truth; None where none do."""
    first, *others = answer_sets
    alike = [each for each in others if each.stated == first.stated and len(each.answers) == len(first.answers)]
    rows = [row for each in alike if (row := _row(first, each))]
    if not rows:
        return None
    heads = [("target", "text"), ("answered by both", "number"), ("answered otherwise", "number")]
    return Section(
        key="several_targets",
        study=first.study,
        title=f"Models against {first.target}",
        text=[_SEVERAL_TARGETS_TEXT],
        tables=[table("Images on which models answer differently from the first", heads, rows)],
    )


def _row(first: Answers, other: Answers) -> list[str | int] | None:
    both = np.isfinite(first.answers) & np.isfinite(other.answers)
    if not both.any():
        return None
    return [other.target, int(both.sum()), int((first.answers != other.answers)[both].sum())]


PANELS: Final = 9
"""Panels of one figure."""
_CAPTION: Final = "(all shapes have equal width; dot and bar: median and quartiles; the numbers are images)"


def violin_figures(
    study: str, values: Mapping[str, Float[np.ndarray, " n"]], groups: Grouping, *, folded: bool = False
) -> list[Figure]:
    """Violins of every attribute but those that group the images. folded: also the first figure."""
    short = {group: without_names(group, groups.names) for group in groups.condition.groups}
    named = [short.get(group, "") for group in texts(groups.condition).tolist()]
    panels = [
        panel(name, distributions({name: column}, named), list(short.values()))
        for name, column in values.items()
        if name not in groups.names
    ]
    return figures(f"{study}: distributions by {words(groups.name)}", panels, folded=folded)


def without_names(group: str, names: Sequence[str]) -> str:
    """A combination without the names of its attributes, which the title has in the same order."""
    for name in names if len(names) > 1 else ():
        group = group.replace(f"{words(name)} ", "", 1)
    return group


def figures(title: str, panels: Sequence[Panel], *, folded: bool = False) -> list[Figure]:
    """All panels, in figures of nine; each after the first is folded."""
    pages = [panels[first : first + PANELS] for first in range(0, len(panels), PANELS)]
    return [
        Figure(
            kind="violins",
            title=title + (f", {k + 1} of {len(pages)}" if len(pages) > 1 else ""),
            caption=_CAPTION,
            same_axis=False,
            folded=folded or k > 0,
            panels=list(page),
        )
        for k, page in enumerate(pages)
    ]


def panel(name: str, shapes: Sequence[Distribution], order: Sequence[str] = ()) -> Panel:
    """A shape per group, in this order, else as they come."""
    places = {group: place for place, group in enumerate(order)}
    points = [
        point(
            shape.quartiles[1],
            low=shape.quartiles[0],
            high=shape.quartiles[2],
            label=shape.group,
            n=shape.n,
            counts=[int(count) for count in shape.counts],
            reason="" if shape.n else "no image",
        )
        for shape in sorted(shapes, key=lambda shape: places.get(shape.group, 0))
    ]
    series = [Series(name="", points=points)]
    return Panel(heading=words(name), y_words=words(name), unit="number", edges=shapes[0].edges.tolist(), series=series)


_BALANCE_TEXT: Final = (
    "An experiment sets attributes independently of each other. In a population or in photographs they are "
    "correlated, and an unadjusted difference mixes their effects. Standardized differences beyond {limit:g} "
    "are commonly called unbalanced."
)


@placed(220, "all", lambda studies: any(not answers.design.levels for answers in studies), "numbers")
def balance_section(answer_sets: Sequence[Answers]) -> Section | None:
    """One section over the studies, grouped by one attribute; None where there is nothing to group or to compare."""
    by = _group_attribute(answer_sets)
    if by is None:
        return None
    pairs, few = _balance_pairs(answer_sets)
    return Section(
        key="balance",
        title=f"Attributes by {words(by)}",
        text=[_BALANCE_TEXT.format(limit=UNBALANCED), *few],
        figures=_violins(answer_sets, by),
        tables=[_balance_differences(answer_sets, by), pairs],
        sources=[BALAKRISHNAN, DISTRIBUTIONS_SOURCE],
    )


def _group_attribute(answer_sets: Sequence[Answers]) -> str | None:
    """The truth's attribute where it is there, else the first that the studies share."""
    names = [
        name
        for name in answer_sets[0].values
        if all(name in answers.values and name in answers.attributes for answers in answer_sets)
    ]
    if len({name for answers in answer_sets for name in answers.values}) < 2 or not names:
        return None
    wanted = next((answers.truth_attribute for answers in answer_sets if answers.truth_attribute in names), names[0])
    return wanted if all(np.isfinite(answers.values[wanted]).any() for answers in answer_sets) else None


def _halves(answers: Answers, by: str) -> np.ndarray:
    """The named levels or the user's ranges; any other range is cut in two at its middle value."""
    attribute, values = answers.attributes[by], answers.values[by]
    if attribute.discrete or by in answers.bins:
        return texts(condition(answers, by))
    known = values[np.isfinite(values)]
    middle = float(np.median(known))
    middle = middle if middle > known.min() else float(known[known > known.min()].min()) if np.ptp(known) else middle
    names = np.where(values >= middle, f"{words(by)} {middle:.3g} or above", f"{words(by)} below {middle:.3g}").astype(
        object
    )
    names[~np.isfinite(values)] = ""
    return np.asarray(names)


def _violins(answer_sets: Sequence[Answers], by: str) -> list[Figure]:
    """Figures of each study, one panel per other attribute that varies."""
    drawn: list[Figure] = []
    for answers in answer_sets:
        groups = _halves(answers, by)
        panels = [
            panel(name, distributions({name: values}, groups))
            for name, values in _varying(answers.values).items()
            if name != by
        ]
        drawn += figures(f"{answers.study}: distributions by {words(by)}", panels)
    return drawn


def _balance_differences(answer_sets: Sequence[Answers], by: str) -> Table:
    """Last group against first, a column per study."""
    names = [name for name in dict.fromkeys(name for answers in answer_sets for name in answers.values) if name != by]
    rows = [[words(name), *(_smd(answers, by, name) for answers in answer_sets)] for name in names]
    counts = [int(np.isfinite(answers.values[by]).sum()) for answers in answer_sets]
    heads = [("attribute", "text")]
    heads += [(f"{each.study} ({n:,} images)", "number") for each, n in zip(answer_sets, counts, strict=True)]
    return table(f"Standardized differences between the first and the last group of {words(by)}", heads, rows)


def _smd(answers: Answers, by: str, name: str) -> float | None:
    if name not in answers.values:
        return None
    groups = _halves(answers, by)
    chosen = sorted({group for group in groups.tolist() if group})
    if len(chosen) < 2:
        return None
    return number(smd(answers.values[name][groups == chosen[0]], answers.values[name][groups == chosen[-1]]))


def _balance_pairs(answer_sets: Sequence[Answers]) -> tuple[Table, list[str]]:
    """Correlations of pairs, a column per study, the strongest first; and what is blank in which study, and why."""
    checked = [(answers.study, *enough(correlations(answers.values))) for answers in answer_sets]
    matrices = [(study, matrix) for study, matrix, _ in checked]
    names = list(dict.fromkeys(name for _, matrix in matrices for name in matrix.names))
    found_pairs: list[tuple[str, list[float | None]]] = []
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            values = [_correlation(matrix, first, second) for _, matrix in matrices]
            found_pairs.append((f"{words(first)} and {words(second)}", values))
    found_pairs.sort(key=lambda pair: -max((abs(value) for value in pair[1] if value is not None), default=0.0))
    rows = [[name, *values] for name, values in found_pairs]
    heads = [("pair", "text"), *((study, "number") for study, _ in matrices)]
    blank = [f"Correlations of pairs, {study}: {line}" for study, _, lines in checked for line in lines]
    return table("Correlations of pairs of attributes", heads, rows), blank


def _correlation(matrix: Correlations, first: str, second: str) -> float | None:
    if first not in matrix.names or second not in matrix.names:
        return None
    return number(float(matrix.values[matrix.names.index(first), matrix.names.index(second)]))


KEY: Final = "correlated"
_CORRELATED_TEXT: Final = (
    "Pearson's correlation of every pair of attributes over the images that have both, {least:,} to {most:,} of them "
    "(Denton et al. 2019, Fig. 3). The shade is its size: orange above 0, blue below. Where two attributes occur "
    "together, images at one level of one are mostly at one level of the other: their effects, and their directions "
    "in a latent space, are hard to separate."
)
FEWEST: Final = 10
"""Images that have both attributes, below which a correlation is not shown: chance alone often makes it large."""
_FEW: Final = (
    "Blank where fewer than {fewest} images have both attributes, since chance alone often makes a large correlation "
    "of so few: {pairs}, of {least:,} to {most:,} images."
)
_LEFT_OUT: Final = "Left out, since they do not vary or their levels have no order: {names}."


@placed(230, "first", page="numbers")
def correlation_section(answers: Answers) -> Section | None:
    """The matrix of one study's observed images; None with fewer than two attributes that vary."""
    if answers.design.levels:
        return None
    varies = {name: values for name, values in answers.values.items() if _varies(answers, name)}
    if len(varies) < 2:
        return None
    matrix, few = enough(correlations(varies))
    pairs = matrix.rows[~np.eye(len(varies), dtype=bool)]
    lost = [words(name) for name in answers.values if name not in varies]
    text = [_CORRELATED_TEXT.format(least=int(pairs.min()), most=int(pairs.max()))]
    return Section(
        key=KEY,
        study=answers.study,
        title=f"Correlations of attributes: {answers.study}",
        text=[*text, *few, *([_LEFT_OUT.format(names=", ".join(lost))] if lost else [])],
        tables=[matrix_table("Correlations of attributes", matrix.names, matrix.values)],
        sources=[SENSITIVITY_SOURCE],
    )


def enough(matrix: Correlations) -> tuple[Correlations, list[str]]:
    """The correlations of pairs that at least `FEWEST` images have, the others NaN; and a sentence on those."""
    few = matrix.rows < FEWEST
    images = matrix.rows[np.triu(few, 1)]
    text = _FEW.format(
        fewest=FEWEST,
        pairs=counted(len(images), "pair"),
        least=int(images.min(initial=FEWEST)),
        most=int(images.max(initial=0)),
    )
    return replace(matrix, values=np.where(few, np.nan, matrix.values)), [text] if len(images) else []


def _varies(answers: Answers, name: str) -> bool:
    known = answers.values[name][np.isfinite(answers.values[name])]
    return len(known) > 0 and bool(np.ptp(known) > 0) and not nominal(answers.attributes.get(name))


def matrix_table(title: str, names: tuple[str, ...], values: np.ndarray) -> Table:
    """A shaded table of values from -1 to 1 [k, k]; columns are named by the numbers of the rows."""
    heads = [("attribute", "text"), *((str(place), "number") for place in range(1, len(names) + 1))]
    rows = [[f"{place} {words(name)}", *values[place - 1]] for place, name in enumerate(names, start=1)]
    return replace(table(title, heads, rows), shaded=True)


RESAMPLES: Final = 200
_SEEN_TOGETHER_TEXT: Final = (
    "An attribute whose distribution differs between groups is mixed with them: a difference in errors between the "
    "groups may be due to it. All shapes have equal width. A standardized difference is the last group's "
    "mean minus the first's, over their standard deviation; beyond {limit:g} it is commonly called unbalanced."
)
_SEEN: Final = (
    "Values are mean answers of raters. Intervals resample subjects and raters. Noise in the answers pulls "
    "standardized differences and correlations towards 0."
)
_ONE_VALUE: Final = "one value per image: raters are not known"


@final
@dataclass(frozen=True, slots=True)
class _Columns:
    """What is shown: values by attribute, and the single answers behind them where there are any."""

    values: Mapping[str, Float[np.ndarray, " n"]]
    answers: Mapping[str, Annotations]
    rated: bool


@placed(210, "first", page="numbers")
def distribution_section(answers: Answers) -> Section | None:
    """The section of one study; None where nothing was rated and the user names no groups."""
    columns = _columns(answers)
    groupings = [grouping(answers, names) for names in combinations_of(_by(answers))]
    groupings = [groups for groups in groupings if len(groups.condition.groups) > 1]
    if not groupings or not columns.values:
        return None
    figures = [
        figure
        for place, groups in enumerate(groupings)
        for figure in violin_figures(answers.study, columns.values, groups, folded=place > 0)
    ]
    return Section(
        key="distributions",
        study=answers.study,
        title=f"Attributes by {words(groupings[-1].name)}",
        text=[_SEEN_TOGETHER_TEXT.format(limit=UNBALANCED), *([_SEEN] if columns.rated else [])],
        warnings=without_raters(answers, answers.by, {}),
        figures=figures,
        tables=[
            *(_seen_together_differences(answers, columns, groups) for groups in groupings),
            _seen_together_pairs(answers, columns),
        ],
        sources=[BALAKRISHNAN, DISTRIBUTIONS_SOURCE, *([RATERS] if columns.rated else [])],
    )


def _by(answers: Answers) -> tuple[str, ...]:
    """What the user names; of rated images else what the raters judge, or the first rating."""
    judged = [name for name, seen in answers.seen.items() if answers.judge and seen.about == answers.judge]
    return answers.by or (*judged, *answers.seen)[:1]


def _columns(answers: Answers) -> _Columns:
    """Perceived attributes with an order where there are any, else the values that the world or the labels have."""
    ordered = {name: seen for name, seen in answers.seen.items() if not seen.attribute.nominal}
    if ordered:
        values = {name: seen.values for name, seen in ordered.items()}
        said = {name: seen.answers for name, seen in ordered.items() if seen.answers is not None}
        return _Columns(_varying(values), said, True)
    values = {name: column for name, column in answers.values.items() if not nominal(answers.known.get(name))}
    return _Columns(_varying(values), {}, False)


def _varying(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    return {
        name: column
        for name, column in values.items()
        if np.isfinite(column).any() and np.nanmax(column) > np.nanmin(column)
    }


_Compare = Callable[[Float[np.ndarray, "n k"], Int[np.ndarray, " n"], Float[np.ndarray, " n"]], Float[np.ndarray, " p"]]
"""From values by attribute, codes of groups and weights to estimates."""


def _resampled(
    answers: Answers, columns: _Columns, groups: Grouping | None, compare: _Compare, known: Bool[np.ndarray, " p"]
) -> RaterUncertainty | None:
    """The estimates that are known, for other subjects and raters; None where a column or the groups have no raters."""
    names = list(columns.values)
    questions = [*(groups.questions if groups else ()), *columns.answers.values()]
    if not questions or not known.any():
        return None
    first = len(groups.questions) if groups else 0
    places = {name: first + k for k, name in enumerate(columns.answers)}
    codes = groups.condition.codes if groups else np.zeros(len(answers.subjects), dtype=np.int64)

    def statistic(means: Float[np.ndarray, "n q"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " p"]:
        values = np.column_stack([means[:, places[name]] if name in places else columns.values[name] for name in names])
        grouped = groups.recode(means) if groups and groups.questions else codes
        return np.asarray(compare(values, grouped, weights)[known])

    return raters_resampled(statistic, questions, answers.subjects, resamples=RESAMPLES, seed=answers.design.seed)


def standardized(last: int) -> _Compare:
    """The standardized difference of each column, group `last` minus group 0, from weighted images."""

    def compare(
        values: Float[np.ndarray, "n k"], codes: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " k"]:
        moments = [_moments(values[codes == code], weights[codes == code]) for code in (0, last)]
        (first, low), (second, high) = moments
        spread = np.sqrt((low + high) / 2)
        size = np.abs(values[np.isfinite(values).all(axis=1)]).max(axis=0, initial=0.0)
        estimates = np.full(values.shape[1], np.nan)
        return np.asarray(
            np.divide(second - first, spread, out=estimates, where=spread > 1e-12 * np.maximum(size, 1e-300))
        )

    return compare


def _moments(
    values: Float[np.ndarray, "m k"], weights: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Weighted mean and variance (over n - 1) of each column's known values; NaN with fewer than two."""
    weight = np.where(np.isfinite(values), weights[:, None], 0.0)
    n = weight.sum(axis=0)
    filled = np.nan_to_num(values)
    nothing = np.full(values.shape[1], np.nan)
    mean = np.divide((weight * filled).sum(axis=0), n, out=nothing.copy(), where=n > 1)
    squares = (weight * (filled - np.nan_to_num(mean)) ** 2).sum(axis=0)
    return mean, np.divide(squares, n - 1, out=nothing, where=n > 1)


def _seen_together_differences(answers: Answers, columns: _Columns, groups: Grouping) -> Table:
    names = list(columns.values)
    every = np.column_stack(list(columns.values.values()))
    codes, last = groups.condition.codes, len(groups.condition.groups) - 1
    compare = standardized(last)
    estimate = compare(every, codes, np.ones(len(codes)))
    resampled = _resampled(answers, columns, groups, compare, np.isfinite(estimate))
    places = np.cumsum(np.isfinite(estimate)) - 1
    rows = []
    for k, name in enumerate(names):
        if name in groups.names:  # it makes the groups
            continue
        interval = _interval(columns, resampled, int(places[k]), [name]) if np.isfinite(estimate[k]) else _withheld("")
        counts = [int((np.isfinite(every[:, k]) & (codes == code)).sum()) for code in (0, last)]
        rows.append([words(name), estimate[k], *interval[:3], *counts, interval[3]])
    heads = [("attribute", "text"), ("standardized difference", "number"), ("low", "number"), ("high", "number")]
    heads += [("share of raters in the variance", "proportion"), ("images, first", "count")]
    heads += [("images, last", "count"), ("note", "text")]
    first, final_group = groups.condition.groups[0], groups.condition.groups[last]
    return table(f"{words(groups.name)}: {final_group} minus {first}", heads, rows)


_Interval = tuple[float, float, float, str]


def _withheld(reason: str) -> _Interval:
    return (np.nan, np.nan, np.nan, reason)


def _interval(columns: _Columns, resampled: RaterUncertainty | None, place: int, names: Sequence[str]) -> _Interval:
    """Low, high and the raters' share of one estimate about these columns, or why there are none."""
    if not columns.rated:
        return _withheld("")
    if resampled is None or any(name not in columns.answers for name in names):
        return _withheld(_ONE_VALUE)
    if resampled.reason:
        return _withheld(resampled.reason)
    return float(resampled.low[place]), float(resampled.high[place]), float(resampled.rater_share[place]), ""


def correlated(
    values: Float[np.ndarray, "n k"], _: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " p"]:
    """Fisher's z of the correlation of each pair of columns, over the images that have both; NaN without a spread."""
    pairs = []
    for first, second in itertools.combinations(range(values.shape[1]), 2):
        pair = values[:, [first, second]]
        known = np.isfinite(pair).all(axis=1) & (weights > 0)
        weight = weights[known] / max(weights[known].sum(), 1e-300)
        centred = pair[known] - weight @ pair[known]
        (a, b), (_, c) = (centred * weight[:, None]).T @ centred
        scale = np.sqrt(a * c)
        pairs.append(np.arctanh(np.clip(b / scale, -1 + 1e-12, 1 - 1e-12)) if scale > 1e-12 else np.nan)
    return np.array(pairs)


def _seen_together_pairs(answers: Answers, columns: _Columns) -> Table:
    """Correlations of all pairs, the strongest first."""
    names = list(columns.values)
    pairs = list(itertools.combinations(names, 2))
    every = np.column_stack(list(columns.values.values()))
    ones = np.ones(len(every))
    estimate = correlated(every, np.zeros(len(every), dtype=np.int64), ones) if pairs else np.empty(0)
    resampled = _resampled(answers, columns, None, correlated, np.isfinite(estimate)) if pairs else None
    places = np.cumsum(np.isfinite(estimate)) - 1
    rows = []
    for k in np.argsort(-np.abs(np.nan_to_num(estimate)), kind="stable").tolist():
        known = np.isfinite(estimate[k])
        low, high, share, note = (
            _interval(columns, resampled, int(places[k]), pairs[k]) if known else _withheld("no spread")
        )
        called = " and ".join(words(name) for name in pairs[k])
        rows.append([called, *np.tanh([estimate[k], low, high]).tolist(), share, note])
    heads = [("pair", "text"), ("correlation", "number"), ("low", "number"), ("high", "number")]
    heads += [("share of raters in the variance", "proportion"), ("note", "text")]
    return table("Correlations of pairs of attributes", heads, rows)
