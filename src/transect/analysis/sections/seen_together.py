"""How attributes are distributed in groups that the user names, one-way and crossed (Balakrishnan et al. 2020, 11, 12).

Of images that people rated the attributes are as they saw them, with the uncertainty of who was asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis.sections.answers import Answers, nominal, table, words
from transect.analysis.sections.interrogation import combinations_of
from transect.analysis.sections.regrouped import Grouping, grouping, without_raters
from transect.analysis.sections.violins import violin_figures
from transect.effects.distributions import SOURCE, UNBALANCED
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import RaterUncertainty, raters_resampled
from transect.records import Annotations
from transect.reports.records import Section, Table

RESAMPLES: Final = 200
_BALAKRISHNAN: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
_TEXT: Final = (
    "An attribute whose distribution differs between groups is mixed with them: a difference in errors between the "
    "groups may be its own. Each shape is scaled to its widest place. A standardized difference is the last group's "
    "mean minus the first's, over their standard deviation; beyond {limit:g} it is commonly called unbalanced."
)
_SEEN: Final = (
    "Values are mean answers of raters. Intervals resample subjects and raters. Noise in the answers pulls "
    "standardized differences and correlations towards 0."
)
_ONE_VALUE: Final = "one value per image: raters are not known"
_NO_RATERS: Final = "no rating"


@final
@dataclass(frozen=True, slots=True)
class _Columns:
    """What is shown: values by attribute, and the single answers behind them where there are any."""

    values: Mapping[str, Float[np.ndarray, " n"]]
    answers: Mapping[str, Annotations]
    rated: bool


def section(answers: Answers) -> Section | None:
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
        text=[_TEXT.format(limit=UNBALANCED), *([_SEEN] if columns.rated else [])],
        warnings=without_raters(answers, answers.by, {}),
        figures=figures,
        tables=[*(_differences(answers, columns, groups) for groups in groupings), _pairs(answers, columns)],
        sources=[_BALAKRISHNAN, SOURCE, *([RATERS] if columns.rated else [])],
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


def _differences(answers: Answers, columns: _Columns, groups: Grouping) -> Table:
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


def _pairs(answers: Answers, columns: _Columns) -> Table:
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
