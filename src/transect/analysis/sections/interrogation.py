"""Errors of all images and by condition, as Table 2 of McDuff et al. 2019 has them, and whose mean faces are shown.

Detection and the attribute are counted apart: a face that was missed is no wrong attribute, and beside it is one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis.sections import error_pairs
from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.regrouped import WITH_RATERS, Grouping, added, grouping, without_raters
from transect.effects.combinations import METHOD, SOURCE
from transect.effects.interrogation import (
    COUNTED,
    CROSSED,
    GIVEN,
    UNKNOWN,
    Condition,
    ErrorRate,
    crossing,
    error_rates,
)
from transect.effects.interrogation import SOURCE as TABLE
from transect.effects.interrogation import measures as measures_of
from transect.effects.intervals import SOURCES, WILSON, WILSON_CLUSTERED
from transect.effects.outcomes import category
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import SQUARED
from transect.records import Task, declared
from transect.reports.records import Figure, Panel, Point, Section, Series, Table
from transect.reports.wording import short_name

KEY: Final = "errors"
SHOWN: Final = 3
"""Conditions that are drawn where nobody chose any: those whose groups' error rates differ most."""
NO_FACE: Final = "no face"
_ALL: Final = "all images"
_EQUAL: Final = "all, weighted equally"
_SAMPLER: Final = {
    False: (
        "The sampler: images as sampled from {population}, so the rate over all images is the rate of that population."
    ),
    True: "The sampler: every subject at every combination of the levels that were set.",
}
_TEXT: Final = (
    "Errors are counted over all images and by condition, with 95 % intervals by subject. {sampler} “All, "
    "weighted equally” gives every group of a condition the same weight, however often it was sampled.",
    "A missed face has no attribute. Detection is therefore a separate rate; the attribute's errors are "
    "counted among detected faces, and again with every miss counted as an error.",
)
_DETECTED: Final = (
    "The truth of some images is no. There a detection is an error (a false alarm); elsewhere no detection is one (a "
    "miss)."
)
_DRAWN: Final = "The {shown} of {n} conditions whose groups differ most are drawn; the tables list all."


@final
@dataclass(frozen=True, slots=True)
class FaceGroup:
    """Images of whose right and wrong answers a mean face is shown: bool [n] each; measure, condition and group."""

    measure: str
    by: str
    group: str
    right: Bool[np.ndarray, " n"]
    wrong: Bool[np.ndarray, " n"]


def section(answers: Answers) -> Section | None:
    """The section of one target in one study; None where no answer is right or wrong."""
    rates = _rates(answers)
    if not rates:
        return None
    rates, reasons = _with_raters(answers, rates)
    conditions = conditions_of(answers)
    shown = _shown(answers, conditions, rates)
    text = [_TEXT[0].format(sampler=_sampler(answers))]
    text += [_TEXT[1]] if any(rate.measure == GIVEN for rate in rates) else []
    text += [_DETECTED] if _of_attribute(answers) else []
    by_raters = bool(answers.judge) or any(name in answers.seen for name in answers.by)
    text += [WITH_RATERS] if by_raters else []
    text += (
        [_DRAWN.format(n=len(conditions), shown=len(shown))] if not answers.by and len(shown) < len(conditions) else []
    )
    measured = list(dict.fromkeys(rate.measure for rate in rates))
    methods = {rate.method for rate in rates}
    return Section(
        key=KEY,
        study=answers.study,
        target=answers.target,
        title=f"Errors by condition: {short_name(answers.target)}",
        text=text,
        warnings=without_raters(answers, answers.by, reasons),
        figures=[_figure(measured, rates, shown), *error_pairs.figures(answers.by, conditions, rates)],
        tables=[_table(measure, [rate for rate in rates if rate.measure == measure]) for measure in measured],
        sources=[TABLE, *[SOURCES[m] for m in (WILSON, WILSON_CLUSTERED) if m in methods]]
        + ([SOURCE] if METHOD in methods else [])
        + ([RATERS, SQUARED] if by_raters else []),
    )


def face_groups(answers: Answers) -> list[FaceGroup]:
    """Whose mean faces are shown: of all images, then of each group of the conditions that are drawn."""
    conditions, rates = conditions_of(answers), _rates(answers)
    shown = _shown(answers, conditions, rates) if rates else []
    missed, wrong = misses_and_errors(answers)
    faces = []
    for measure, values in measures_of(missed, wrong).items():
        if measure == COUNTED or not rates:
            continue
        faces.append(_faces(measure, "", "", values, np.ones(len(values), dtype=np.bool_)))
        for by in shown:
            one_of = conditions[by]
            faces += [_faces(measure, by, name, values, one_of.codes == i) for i, name in enumerate(one_of.groups)]
    return [group for group in faces if group.right.any() or group.wrong.any()]


def _faces(
    measure: str, by: str, group: str, values: Float[np.ndarray, " n"], rows: Bool[np.ndarray, " n"]
) -> FaceGroup:
    return FaceGroup(measure, by, group, rows & (values == 0), rows & (values == 1))


def conditions_of(answers: Answers) -> dict[str, Condition]:
    """Each image's group by attribute, but the truth's own: a level, or a range of the values."""
    return {crossing(names): grouping(answers, names).condition for names in _groupings(answers)}


def _groupings(answers: Answers) -> list[tuple[str, ...]]:
    names = [name for name in answers.values if name != answers.truth_attribute and name in answers.attributes]
    return [*dict.fromkeys([*((name,) for name in names), *combinations_of(answers.by)])]


def combinations_of(by: Sequence[str]) -> list[tuple[str, ...]]:
    """Each of the attributes, each pair of them, and all of them."""
    return [names for size in range(1, len(by) + 1) for names in itertools.combinations(by, size)]


def _with_raters(answers: Answers, rates: Sequence[ErrorRate]) -> tuple[tuple[ErrorRate, ...], dict[str, str]]:
    """The rates with intervals for other raters too, and by condition why there are none."""
    order = list(dict.fromkeys(rate.measure for rate in rates))

    def measured(judged: Answers) -> Float[np.ndarray, "m n"]:
        return np.stack(list(measures_of(*misses_and_errors(judged)).values()))

    widened: list[ErrorRate] = list(rates)
    reasons: dict[str, str] = {}
    for names in _groupings(answers):
        groups = grouping(answers, names)
        more, reasons[groups.name] = added(answers, groups, measured)
        for k, rate in enumerate(rates) if more else ():
            place = _place(rate, groups)
            if more and place is not None:
                ends = more.widened(order.index(rate.measure), place, (rate.rate, rate.low, rate.high))
                widened[k] = replace(rate, low=ends[0], high=ends[1])
    return tuple(widened), reasons


def _place(rate: ErrorRate, groups: Grouping) -> int | None:
    """Where `regrouped.rates` has the rate; None of another condition, and of images whose group is not known."""
    if not rate.by:
        return 0
    if rate.by != groups.name or rate.group == UNKNOWN:
        return None
    return len(groups.condition.groups) + 1 if rate.uniform else 1 + groups.condition.groups.index(rate.group)


def misses_and_errors(answers: Answers) -> tuple[Float[np.ndarray, " n"] | None, Float[np.ndarray, " n"] | None]:
    """Misses and wrong attributes: float64 [n], 1 or 0, NaN where it is not known; None where there is no such thing.

    A detector misses faces; where the truth of some images is no, it is judged as one of the truth's attribute, and its
    false alarms are errors as in every other table. Another target misses a face where it says itself that it found
    none; a target that never says so has wrong attributes alone.
    """
    if not answers.judged:
        return None, None
    if answers.task is Task.DETECTION:
        return (None, answers.errors) if _of_attribute(answers) else (answers.errors, None)
    unseen = np.array([declared(why) and category(why) == NO_FACE for why in answers.failures], dtype=np.bool_)
    if not unseen.any():
        return None, answers.errors
    unseen &= np.isfinite(answers.truth)
    return np.where(unseen, 1.0, np.where(np.isfinite(answers.errors), 0.0, np.nan)), answers.errors


def _of_attribute(answers: Answers) -> bool:
    """Whether a detector should find nothing on some images, so that it may err in two ways."""
    return answers.task is Task.DETECTION and bool((answers.truth[np.isfinite(answers.errors)] == 0).any())


def _rates(answers: Answers) -> tuple[ErrorRate, ...]:
    missed, wrong = misses_and_errors(answers)
    known = [column for column in (missed, wrong) if column is not None and np.isfinite(column).any()]
    return error_rates(missed, wrong, conditions_of(answers), answers.subjects) if known else ()


def _sampler(answers: Answers) -> str:
    return _SAMPLER[bool(answers.design.levels)].format(population=answers.design.population or "the world")


def _shown(answers: Answers, conditions: Mapping[str, Condition], rates: Sequence[ErrorRate]) -> list[str]:
    """What was asked for, or else the conditions whose groups differ most in a measure."""
    if answers.by:
        return [crossing(answers.by)]
    return sorted(conditions, key=lambda name: -_spread(name, rates))[:SHOWN]


def _spread(name: str, rates: Sequence[ErrorRate]) -> float:
    """Largest difference between two groups' rates of one measure."""
    spreads = [0.0]
    for measure in {rate.measure for rate in rates}:
        rates_of = [rate.rate for rate in rates if (rate.measure, rate.by) == (measure, name) and rate.group]
        known = [value for value in rates_of if np.isfinite(value)]
        spreads.append(float(np.ptp(known)) if known else 0.0)
    return max(spreads)


def _label(rate: ErrorRate) -> str:
    if CROSSED in rate.by and rate.group not in ("", UNKNOWN):
        return rate.group  # it names the attributes itself
    return f"{words(rate.by)}: {_EQUAL if rate.uniform else rate.group}" if rate.by else _ALL


def _figure(measured: Sequence[str], rates: Sequence[ErrorRate], shown: Sequence[str]) -> Figure:
    panels = [
        Panel(
            heading=measure[0].upper() + measure[1:],
            y_words="error rate",
            unit="proportion",
            series=[Series(name="error rate", points=list(_points(measure, rates, shown)))],
        )
        for measure in measured
    ]
    title = "How often is the target wrong, and in which group?"
    return Figure(
        kind="rows",
        title=title,
        caption="(share of the images that count, %, with 95 % intervals)",
        panels=panels,
    )


def _points(measure: str, rates: Sequence[ErrorRate], shown: Sequence[str]) -> Iterator[Point]:
    for rate in rates:
        if rate.measure == measure and (not rate.by or rate.by in shown):
            label = _label(rate)
            yield point(rate.rate, low=rate.low, high=rate.high, label=label, n=rate.images, reason=rate.reason)


def _table(measure: str, rates: Sequence[ErrorRate]) -> Table:
    heads = [
        ("images", "text"),
        ("error rate", "proportion"),
        ("low", "proportion"),
        ("high", "proportion"),
    ]
    heads += [("errors", "count"), ("images that count", "count"), ("subjects", "count"), ("left out", "count")]
    rows = [
        [
            _label(rate),
            rate.rate,
            rate.low,
            rate.high,
            rate.errors,
            rate.images,
            rate.subjects,
            rate.left_out,
            rate.reason,
        ]
        for rate in rates
    ]
    return table(f"Errors: {measure}", [*heads, ("note", "text")], rows)
