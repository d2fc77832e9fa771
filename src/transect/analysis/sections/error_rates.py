"""Errors by condition (McDuff et al. 2018), at two thresholds (Balakrishnan et al. 2020, Fig. 16), and by attribute
(Denton et al. 2019, Table 1).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis.sections.answers import BALAKRISHNAN, Answers, drawn, point, table, texts, with_ends, words
from transect.analysis.sections.places import placed
from transect.analysis.sections.rater_uncertainty import WITH_RATERS, Grouping, added, grouping, without_raters
from transect.effects import interrogation
from transect.effects.curves import ALL, MEASURES, GroupRate, at_thresholds, of_tuned, threshold_curves
from transect.effects.interrogation import Condition, ErrorRate
from transect.effects.intervals import METHOD, SOURCES, WILSON, WILSON_CLUSTERED
from transect.effects.intervals import SOURCE as COMBINATIONS_SOURCE
from transect.effects.outcomes import category
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import SQUARED
from transect.effects.rates import GroupedImages, Rate, grouped_rates
from transect.effects.samples import Exclusions
from transect.effects.sensitivity import SOURCE as SENSITIVITY_SOURCE
from transect.records import Task, declared
from transect.reports.records import Figure, Panel, Point, Section, Series, Table
from transect.reports.wording import short_name

_CAPTION: Final = (
    "(each dot compares two groups that differ in this attribute alone; on the line both have equal errors; the table "
    "of errors has the intervals)"
)
_ERROR_PAIRS_EQUAL: Final = "equal errors"


def figures(by: Sequence[str], conditions: Mapping[str, Condition], rates: Sequence[ErrorRate]) -> list[Figure]:
    """A scatter per attribute of several: its last group's error against its first's."""
    whole = [rate for rate in rates if rate.by == interrogation.crossing(by) and rate.group and not rate.uniform]
    if len(by) < 2 or not whole:
        return []
    of_group = {rate.group: rate for rate in whole if rate.measure == whole[0].measure}
    panels = [_panel(by, name, conditions, of_group) for name in by if len(conditions[name].groups) > 1]
    title = f"Do errors depend on one attribute, all else equal? ({whole[0].measure})"
    return [Figure(kind="scatter", title=title, caption=_CAPTION, panels=panels)] if panels else []


def _panel(
    by: Sequence[str], name: str, conditions: Mapping[str, Condition], of_group: Mapping[str, ErrorRate]
) -> Panel:
    first, last = conditions[name].groups[0], conditions[name].groups[-1]
    others = [other for other in by if other != name]
    series = [_line(of_group)]
    for groups in itertools.product(*(conditions[other].groups for other in others)):
        chosen = dict(zip(others, groups, strict=True))
        x, y = (of_group.get(_error_pairs_called(by, {**chosen, name: end})) for end in (first, last))
        called = ", ".join(f"{words(other)} {group}" for other, group in chosen.items())
        dots = [point(y.estimate, x=100 * x.estimate, n=y.images)] if x and y and x.images and y.images else []
        series.append(Series(name=called, points=dots))
    return Panel(
        heading=words(name),
        x_words=f"error rate, {words(name)} {first}, %",
        y_words=f"error rate, {last}",
        unit="proportion",
        series=series,
    )


def _error_pairs_called(by: Sequence[str], groups: Mapping[str, str]) -> str:
    """What the combination is called among the rates."""
    none = np.empty(0, dtype=np.int64)
    return interrogation.crossed({name: Condition((groups[name],), none) for name in by}).groups[0]


def _line(of_group: Mapping[str, ErrorRate]) -> Series:
    most = max((rate.estimate for rate in of_group.values() if rate.images), default=1.0) or 1.0
    return Series(name=_ERROR_PAIRS_EQUAL, points=[point(end, x=100 * end) for end in (0.0, most)], drawn="line")


INTERROGATION_KEY: Final = "errors"
SHOWN: Final = 3
"""Conditions that are drawn where nobody chose any: those whose groups' error rates differ most."""
NO_FACE: Final = "no face"
_ALL: Final = "all images"
_INTERROGATION_EQUAL: Final = "all, weighted equally"
_SAMPLER: Final = {
    False: (
        "The sampler: images as sampled from {population}, so the rate over all images is the rate of that population."
    ),
    True: "The sampler: every subject at every combination of the levels that were set.",
}
_INTERROGATION_TEXT: Final = (
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


@placed(40, "answers")
def condition_section(answers: Answers) -> Section | None:
    """The section of one target in one study; None where no answer is right or wrong."""
    rates = _interrogation_rates(answers)
    if not rates:
        return None
    rates, reasons = _with_raters(answers, rates)
    conditions = conditions_of(answers)
    shown = _shown(answers, conditions, rates)
    sampler = _SAMPLER[bool(answers.design.levels)].format(population=answers.design.population or "the world")
    text = [_INTERROGATION_TEXT[0].format(sampler=sampler)]
    text += [_INTERROGATION_TEXT[1]] if any(rate.measure == interrogation.GIVEN for rate in rates) else []
    text += [_DETECTED] if _of_attribute(answers) else []
    by_raters = bool(answers.judge) or any(name in answers.seen for name in answers.by)
    text += [WITH_RATERS] if by_raters else []
    text += (
        [_DRAWN.format(n=len(conditions), shown=len(shown))] if not answers.by and len(shown) < len(conditions) else []
    )
    measured = list(dict.fromkeys(rate.measure for rate in rates))
    methods = {rate.method for rate in rates}
    return Section(
        key=INTERROGATION_KEY,
        study=answers.study,
        target=answers.target,
        title=f"Errors by condition: {short_name(answers.target)}",
        text=text,
        warnings=without_raters(answers, answers.by, reasons),
        figures=[_figure(measured, rates, shown), *figures(answers.by, conditions, rates)],
        tables=[
            _interrogation_table(measure, [rate for rate in rates if rate.measure == measure]) for measure in measured
        ],
        sources=[interrogation.SOURCE, *[SOURCES[m] for m in (WILSON, WILSON_CLUSTERED) if m in methods]]
        + ([COMBINATIONS_SOURCE] if METHOD in methods else [])
        + ([RATERS, SQUARED] if by_raters else []),
    )


def face_groups(answers: Answers) -> list[FaceGroup]:
    """Whose mean faces are shown: of all images, then of each group of the conditions that are drawn."""
    conditions, rates = conditions_of(answers), _interrogation_rates(answers)
    shown = _shown(answers, conditions, rates) if rates else []
    missed, wrong = misses_and_errors(answers)
    faces = []
    for measure, values in interrogation.measures(missed, wrong).items():
        if measure == interrogation.COUNTED or not rates:
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
    return {interrogation.crossing(names): grouping(answers, names).condition for names in _groupings(answers)}


def _groupings(answers: Answers) -> list[tuple[str, ...]]:
    names = [name for name in answers.values if name != answers.truth_attribute and name in answers.attributes]
    return [*dict.fromkeys([*((name,) for name in names), *combinations_of(answers.by)])]


def combinations_of(by: Sequence[str]) -> list[tuple[str, ...]]:
    """Each of the attributes, each pair of them, and all of them."""
    sizes = sorted({1, min(2, len(by)), len(by)} - {0})
    return [names for size in sizes for names in itertools.combinations(by, size)]


def _with_raters(answers: Answers, rates: Sequence[ErrorRate]) -> tuple[tuple[ErrorRate, ...], dict[str, str]]:
    """The rates with intervals for other raters too, and by condition why there are none."""
    order = list(dict.fromkeys(rate.measure for rate in rates))

    def measured(judged: Answers) -> Float[np.ndarray, "m n"]:
        return np.stack(list(interrogation.measures(*misses_and_errors(judged)).values()))

    widened: list[ErrorRate] = list(rates)
    reasons: dict[str, str] = {}
    for names in _groupings(answers):
        groups = grouping(answers, names)
        more, reasons[groups.name] = added(answers, groups, measured)
        for k, rate in enumerate(rates) if more else ():
            place = _place(rate, groups)
            if more and place is not None:
                ends = more.widened(order.index(rate.measure), place, (rate.estimate, rate.low, rate.high))
                widened[k] = replace(rate, low=ends[0], high=ends[1])
    return tuple(widened), reasons


def _place(rate: ErrorRate, groups: Grouping) -> int | None:
    """Where `regrouped.rates` has the rate; None of another condition, and of images whose group is not known."""
    if not rate.by:
        return 0
    if rate.by != groups.name or rate.group == interrogation.UNKNOWN:
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


def _interrogation_rates(answers: Answers) -> tuple[ErrorRate, ...]:
    missed, wrong = misses_and_errors(answers)
    known = [column for column in (missed, wrong) if column is not None and np.isfinite(column).any()]
    return interrogation.error_rates(missed, wrong, conditions_of(answers), answers.subjects) if known else ()


def _shown(answers: Answers, conditions: Mapping[str, Condition], rates: Sequence[ErrorRate]) -> list[str]:
    """What was asked for, or else the conditions whose groups differ most in a measure."""
    if answers.by:
        return [interrogation.crossing(answers.by)]
    return sorted(conditions, key=lambda name: -_interrogation_spread(name, rates))[:SHOWN]


def _interrogation_spread(name: str, rates: Sequence[ErrorRate]) -> float:
    """Largest difference between two groups' rates of one measure."""
    spreads = [0.0]
    for measure in {rate.measure for rate in rates}:
        rates_of = [rate.estimate for rate in rates if (rate.measure, rate.by) == (measure, name) and rate.group]
        known = [value for value in rates_of if np.isfinite(value)]
        spreads.append(float(np.ptp(known)) if known else 0.0)
    return max(spreads)


def _label(rate: ErrorRate) -> str:
    if interrogation.CROSSED in rate.by and rate.group not in ("", interrogation.UNKNOWN):
        return rate.group  # it names the attributes itself
    return f"{words(rate.by)}: {_INTERROGATION_EQUAL if rate.uniform else rate.group}" if rate.by else _ALL


def _figure(measured: Sequence[str], rates: Sequence[ErrorRate], shown: Sequence[str]) -> Figure:
    panels = {
        measure[0].upper() + measure[1:]: {"error rate": list(_points(measure, rates, shown))} for measure in measured
    }
    title = "How often is the target wrong, and in which group?"
    caption = "(share of the images that count, %, with 95 % intervals)"
    return drawn("rows", title, caption, panels, "error rate", "proportion")


def _points(measure: str, rates: Sequence[ErrorRate], shown: Sequence[str]) -> Iterator[Point]:
    for rate in rates:
        if rate.measure == measure and (not rate.by or rate.by in shown):
            label = _label(rate)
            yield point(rate.estimate, low=rate.low, high=rate.high, label=label, n=rate.images, reason=rate.reason)


def _interrogation_table(measure: str, rates: Sequence[ErrorRate]) -> Table:
    heads = [("images", "text"), ("error rate", "proportion"), ("low", "proportion"), ("high", "proportion")]
    heads += [("errors", "count"), ("images that count", "count"), ("subjects", "count"), ("left out", "count")]
    rows = []
    for rate in rates:
        counts = [rate.errors, rate.images, rate.subjects, rate.left_out]
        rows.append([_label(rate), rate.estimate, rate.low, rate.high, *counts, rate.reason])
    return table(f"Errors: {measure}", [*heads, ("note", "text")], rows)


@final
@dataclass(frozen=True, slots=True)
class Decided:
    """One rate, and what it is decided by: a threshold, or the target itself. place: of the group, 0 for all images."""

    cut: float
    own: bool
    place: int
    rate: GroupRate


def _decisions(answers: Answers, best: float) -> list[tuple[Float[np.ndarray, " n"], float]]:
    """What is cut and where: a target's own decisions are answers of 0 and 1, cut between, where no threshold is."""
    others = answers.at_thresholds or (best,)
    if answers.cut:
        return [(answers.scores, cut) for cut in dict.fromkeys([answers.threshold, *others])]
    return [(answers.answers, 0.5), *((answers.scores, cut) for cut in others)]


def threshold_rates_rates(answers: Answers, groups: Grouping, best: float) -> tuple[list[Decided], str]:
    """All rates in the order of the table, with why it is not known what other raters would add, "" else."""
    decisions = _decisions(answers, best)
    order = {name: place for place, name in enumerate((ALL, *groups.condition.groups))}
    named = texts(groups.condition)

    def measured(judged: Answers) -> Float[np.ndarray, "m n"]:
        return np.concatenate([_measures(values, cut, judged.truth) for values, cut in decisions])

    more, reason = added(answers, groups, measured)
    decided = []
    for k, (values, cut) in enumerate(decisions):
        rows = at_thresholds(values, answers.truth, named, thresholds=[cut], clusters=answers.subjects)
        for row in sorted(rows, key=lambda row: order[row.group]):
            place = order[row.group]
            ends = (row.estimate, row.low, row.high)
            low, high = more.widened(4 * k + MEASURES.index(row.measure), place, ends) if more else ends[1:]
            stated = replace(row, low=low, high=high)
            shown = of_tuned(row) if k and not answers.at_thresholds else stated
            decided.append(Decided(cut, not answers.cut and k == 0, place, shown))
    return decided, reason


def _measures(values: Float[np.ndarray, " n"], cut: float, truth: Float[np.ndarray, " n"]) -> Float[np.ndarray, "4 n"]:
    """Accuracy, error, FPR and FNR of each image, in the order of `MEASURES`; NaN where an image does not count."""
    known = np.isfinite(values) & np.isfinite(truth)
    wrong = np.where(known, (values >= cut) != (truth == 1), np.nan)
    return np.stack([1 - wrong, wrong, np.where(truth == 0, wrong, np.nan), np.where(truth == 1, wrong, np.nan)])


def _threshold_rates_called(decided: Decided) -> str:
    return "own decision" if decided.own else f"cut of the score at {decided.cut:.4g}"


def rates_table(answers: Answers, groups: Grouping, decided: list[Decided]) -> Table:
    """A row per decision, group and measure."""
    columns = [("group", "text"), ("threshold", "number" if answers.cut else "text"), ("measure", "text")]
    columns += [("rate", "proportion"), ("low", "proportion"), ("high", "proportion")]
    columns += [("images", "count"), ("note", "text")]
    rows = [
        [row.rate.group, row.cut if answers.cut else _threshold_rates_called(row), *_row(row.rate)] for row in decided
    ]
    n = len(dict.fromkeys(row.cut for row in decided))
    how = f"at {n} thresholds" if answers.cut else "by the target's decision and at a cut of its score"
    return table(f"Errors by {words(groups.name)} {how}", columns, rows)


def _row(row: GroupRate) -> list[object]:
    measure = row.measure.upper() if row.measure in ("fpr", "fnr") else row.measure
    return [measure, row.estimate, row.low, row.high, row.n_images, row.reason]


def figure(answers: Answers, groups: Grouping, decided: list[Decided], *, folded: bool) -> Figure:
    """The error of each group at each threshold, with intervals: Fig. 16 of the paper for any attributes."""
    series: dict[str, list[Point]] = {}
    for row in decided:
        if row.rate.measure == "error":
            name = f"threshold {row.cut:.4g}" if answers.cut else _threshold_rates_called(row)
            label = row.rate.group if row.place else "all images"
            rate = row.rate
            series.setdefault(name, []).append(
                point(rate.estimate, low=rate.low, high=rate.high, label=label, n=rate.n_images, reason=rate.reason)
            )
    title = f"Errors by {words(groups.name)} at {len(dict.fromkeys(row.cut for row in decided))} thresholds"
    caption = "(share of images, %, with 95 % intervals)"
    return drawn("rows", title, caption, {"Error": series}, "error rate", "proportion", folded=folded)


OPEN: Final = 3
"""Groupings whose figures stand open on the page: what the user named, then those whose groups' errors differ most."""
_POINTS: Final = 51
_THRESHOLDS_TEXT: Final = (
    "A group may have many errors at one threshold and few at another. The table shows the target's own {own} and the "
    "threshold with the fewest errors over all images, {best:.3g}, measured on the images that selected it, so its "
    "errors are optimistic and have no interval; state a threshold to get one. {more}"
)
_STATED: Final = (
    "A group may have many errors at one threshold and few at another. The table shows the target's own {own} and the "
    "stated {stated}. {more}"
)
_NO_CUT: Final = (
    "The target does not decide by a cut of its score (a detector counts its boxes, a multiclass target takes "
    "the largest of its scores), so no threshold of the curves is its decision. "
)


def has_section(answers: Answers) -> bool:
    """Whether there are scores to cut, of images whose truth is yes and of others, and groups to compare."""
    known = answers.scores[np.isfinite(answers.scores) & np.isfinite(answers.truth)]
    both = len(np.unique(answers.truth[np.isfinite(answers.truth)])) == 2
    return answers.judged and len(np.unique(known)) > 2 and both and bool(_thresholds_names(answers))


def _thresholds_names(answers: Answers) -> list[tuple[str, ...]]:
    """What images are grouped by: what the user names, whole combinations first; then each attribute of the run."""
    own = [(name,) for name in answers.values if name != answers.truth_attribute and name in answers.attributes]
    return [*dict.fromkeys([*reversed(combinations_of(answers.by)), *own])]


@placed(130, "answers", has_section, "numbers")
def threshold_section(answers: Answers) -> Section:
    """The section of one target in one study."""
    named = len(combinations_of(answers.by))
    groupings = [grouping(answers, names) for names in _thresholds_names(answers)]
    groupings[named:] = sorted(groupings[named:], key=lambda groups: -_thresholds_spread(answers, groups.condition))
    best = threshold_curves(answers.scores, answers.truth).best
    stated = ", ".join(f"{cut:.3g}" for cut in answers.at_thresholds)
    words_of = {"own": "threshold", "more": ""} if answers.cut else {"own": "decision", "more": _NO_CUT}
    tables: list[Table] = []
    figures: list[Figure] = []
    reasons: dict[str, str] = {}
    for place, groups in enumerate(groupings):
        rates, reasons[groups.name] = threshold_rates_rates(answers, groups, best)
        tables.append(rates_table(answers, groups, rates))
        figures += [figure(answers, groups, rates, folded=place >= OPEN)] if place < named else []
        figures.append(_curves(answers, groups, folded=place >= OPEN))
    by_raters = any(groups.questions for groups in groupings) or bool(answers.judge)
    return Section(
        key="thresholds",
        study=answers.study,
        title=f"Thresholds of {short_name(answers.target)}",
        text=[
            (_STATED if stated else _THRESHOLDS_TEXT).format(best=best, stated=stated, **words_of).rstrip(),
            *([WITH_RATERS] if by_raters else []),
        ],
        warnings=without_raters(answers, answers.by, reasons),
        figures=figures,
        tables=tables,
        sources=[BALAKRISHNAN, *([RATERS, SQUARED] if by_raters else [])],
    )


def _thresholds_spread(answers: Answers, groups: Condition) -> float:
    """Largest difference of the error rate between two groups."""
    rates = [
        float(np.nanmean(answers.errors[groups.codes == code]))
        for code in range(len(groups.groups))
        if np.isfinite(answers.errors[groups.codes == code]).any()
    ]
    return max(rates) - min(rates) if rates else 0.0


def _curves(answers: Answers, groups: Grouping, *, folded: bool) -> Figure:
    """Of one attribute error, FPR and FNR; of several the error, with a panel for each group of all but the last."""
    known = answers.scores[np.isfinite(answers.scores)]
    cuts = np.linspace(known.min(), known.max(), _POINTS)
    curves = threshold_curves(answers.scores, answers.truth, texts(groups.condition), thresholds=cuts)

    def panel(heading: str, rates: Float[np.ndarray, "g t"], names: Mapping[str, str], measure: str) -> Panel:
        series = [
            Series(
                name=called,
                points=[
                    point(float(rate), x=float(cut))
                    for cut, rate in zip(cuts, rates[curves.groups.index(name)], strict=True)
                ],
            )
            for name, called in names.items()
            if name in curves.groups
        ]
        return Panel(heading=heading, x_words="threshold", y_words=measure, unit="proportion", series=series)

    if len(groups.names) == 1:
        each = {name: name for name in (ALL, *groups.condition.groups)}
        measures = (("Error", curves.error), ("FPR", curves.fpr), ("FNR", curves.fnr))
        panels = [panel(heading, rates, each, "rate") for heading, rates in measures]
    else:
        panels = [
            panel(heading, curves.error, {ALL: ALL, **names}, "error rate")
            for heading, names in _nested(answers, groups).items()
        ]
    title = f"Errors against the threshold by {words(groups.name)}"
    return Figure(kind="curves", title=title, panels=panels, folded=folded)


def _nested(answers: Answers, groups: Grouping) -> dict[str, dict[str, str]]:
    """Each combination of all but the last attribute: whole combinations in it, and their groups of the last one."""
    outer, last = grouping(answers, groups.names[:-1]), grouping(answers, groups.names[-1:]).condition.groups
    called = [group if len(outer.names) > 1 else f"{words(outer.name)} {group}" for group in outer.condition.groups]
    whole = list(groups.condition.groups)  # the last attribute's groups change fastest
    return {
        name: dict(zip(whole[k * len(last) : (k + 1) * len(last)], last, strict=True)) for k, name in enumerate(called)
    }


BY_ATTRIBUTE_KEY: Final = "by_attribute"
_TITLE: Final = "Accuracy, false positives and false negatives by attribute"
_BY_ATTRIBUTE_TEXT: Final = (
    "Each row counts the images of one level alone, as Denton et al. 2019 did in their Table 1: levels also differ in "
    "what else their images show, so differences are not effects. FPR is the share of yes among images whose truth is "
    "no, FNR the share of no among those whose truth is yes. Images without a valid answer or a truth are not "
    "counted. Intervals are 95 %, by subject."
)
_NO_TRUTH: Final = "no valid answer, or no truth"
_MEASURES: Final = ("accuracy", "FPR", "FNR")


@placed(120, "answers")
def attribute_section(answers: Answers) -> Section | None:
    """The table of one target on observed images; None where no answer is right or wrong, or there is no attribute."""
    conditions = conditions_of(answers) if answers.judged and not answers.design.levels else {}
    if not conditions:
        return None
    found = {
        measure: _by_attribute_rates(answers, values, conditions) for measure, values in _outcomes(answers).items()
    }
    methods = dict.fromkeys(rate.method for rates in found.values() for rate in rates if rate.method in SOURCES)
    return Section(
        key=BY_ATTRIBUTE_KEY,
        study=answers.study,
        target=answers.target,
        title=f"{_TITLE}: {short_name(answers.target)}",
        text=[_BY_ATTRIBUTE_TEXT],
        tables=[_by_attribute_table(found, conditions)],
        sources=[SENSITIVITY_SOURCE, *(SOURCES[method] for method in methods)],
    )


def _outcomes(answers: Answers) -> dict[str, Float[np.ndarray, " n"]]:
    """0 or 1 by measure, NaN for images that it is not about."""
    wrong, truth = answers.errors, answers.truth
    about = (np.isfinite(truth), truth == 0, truth == 1)
    values = (1 - wrong, wrong, wrong)
    rows = zip(_MEASURES, about, values, strict=True)
    return {measure: np.where(counted, value, np.nan) for measure, counted, value in rows}


def _by_attribute_rates(
    answers: Answers, values: Float[np.ndarray, " n"], conditions: Mapping[str, Condition]
) -> tuple[Rate, ...]:
    """Of all images, then of each group of each attribute."""
    people, subjects = np.unique(answers.subjects, return_inverse=True)
    reasons = np.where(np.isfinite(values), "", _NO_TRUTH).astype(object)
    images = GroupedImages(
        values=values,
        exclusions=Exclusions.of(values, reasons),
        subjects=subjects.reshape(-1),
        n_subjects=len(people),
        groups=np.column_stack([condition.codes for condition in conditions.values()]),
        levels={name: tuple(map(float, range(len(each.groups)))) for name, each in conditions.items()},
    )
    return grouped_rates(images, is_binary=True, max_order=1)


def _by_attribute_table(found: Mapping[str, tuple[Rate, ...]], conditions: Mapping[str, Condition]) -> Table:
    heads = [("images of", "text")]
    for measure in _MEASURES:
        heads += [*with_ends(measure, "proportion"), (f"{measure}: images", "count")]
    heads += [("subjects", "count"), ("not counted", "count")]
    rows = []
    names = ["all", *(f"{words(name)}: {group}" for name, each in conditions.items() for group in each.groups)]
    for name, rates in zip(names, zip(*found.values(), strict=True), strict=True):
        cells: list[object] = [name]
        for rate in rates:
            cells += [rate.estimate, rate.low, rate.high, rate.n_images]
        rows.append([*cells, rates[0].n_subjects, sum(rates[0].excluded.values())])
    return table(_TITLE, heads, rows)
