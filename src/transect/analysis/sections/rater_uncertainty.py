"""How far numbers hold for other raters: groups, right answers and adjustments as other raters would have seen them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import (
    Answers,
    Split,
    condition,
    covariates,
    half,
    nominal,
    renumbered,
    table,
    words,
)
from transect.analysis.sections.places import placed
from transect.effects.interrogation import Condition, crossed, crossing
from transect.effects.logistic import CoefficientTable, penalised
from transect.effects.outcomes import Truth
from transect.effects.rater_uncertainty import (
    SOURCE,
    AddedByRaters,
    RaterUncertainty,
    added_by_raters,
    error_difference,
    instrumented,
    raters_resampled,
)
from transect.effects.samples import one_hot
from transect.ratings.perceived_attributes import PerceivedAttribute, deciding, most_common
from transect.records import Annotations
from transect.reports.records import Section, Table
from transect.reports.wording import short_name

REGROUPED_RESAMPLES: Final = 200
WITH_RATERS: Final = (
    "Where raters decide the group of an image or the right answer, intervals hold for other subjects and other "
    "raters: both are resampled. A group holds the images whose mean answer, of as many raters as were asked, lies in "
    "it; with more raters an image near a cut point might be in another group."
)
_Means = Float[np.ndarray, "n p"]
_Recode = Callable[[_Means], Int[np.ndarray, " n"]]
Measured = Callable[[Answers], Float[np.ndarray, "m n"]]
"""From answers, whose truth other raters may have changed, to m outcomes of each image; NaN: does not count."""


@final
@dataclass(frozen=True, slots=True)
class Grouping:
    """Images by one attribute, or by the combinations of several.

    condition: the groups as they are. questions: single answers that decide them, none where raters do not; recode:
    from mean answers to these questions to the group of each image.
    """

    names: tuple[str, ...]
    condition: Condition
    questions: tuple[Annotations, ...]
    recode: _Recode

    @property
    def name(self) -> str:
        """What the grouping is called."""
        return crossing(self.names)


def grouping(answers: Answers, names: Sequence[str]) -> Grouping:
    """The groups of images by these attributes, as set, observed or perceived; of several all combinations."""
    conditions = {name: condition(answers, name) for name in names}
    questions: list[Annotations] = []
    recodes: list[_Recode] = []
    for name, groups in conditions.items():
        seen = answers.seen.get(name)
        columns = seen.columns() if seen is not None else []
        recodes.append(_recode(answers, name, groups, slice(len(questions), len(questions) + len(columns))))
        questions += columns
    whole = conditions[names[0]] if len(names) == 1 else crossed(conditions)

    def recode(means: _Means) -> Int[np.ndarray, " n"]:
        parts = [
            Condition(groups.groups, part(means)) for groups, part in zip(conditions.values(), recodes, strict=True)
        ]
        together = dict(zip(conditions, parts, strict=True))
        return parts[0].codes if len(parts) == 1 else crossed(together).codes

    return Grouping(tuple(names), whole, tuple(questions), recode)


def _recode(answers: Answers, name: str, groups: Condition, columns: slice) -> _Recode:
    if columns.start == columns.stop:
        return lambda _: groups.codes
    seen: PerceivedAttribute = answers.seen[name]
    cuts = seen.cuts(answers.bins.get(name))
    present = [cuts.names.index(group) for group in groups.groups]
    return lambda means: renumbered(cuts.codes(means[:, columns]), present, len(cuts.names))


def rates(codes: Int[np.ndarray, " n"], values: Float[np.ndarray, "m n"], groups: int) -> Float[np.ndarray, "m g"]:
    """Mean of each outcome over all images, in each group, and over all groups weighted equally."""
    rate_table = np.full((len(values), groups + 2), np.nan)
    for row, column in enumerate(values):
        known = np.isfinite(column)
        rate_table[row, 0] = column[known].mean() if known.any() else np.nan
        known &= codes >= 0
        n = np.bincount(codes[known], minlength=groups)
        sums = np.bincount(codes[known], weights=column[known], minlength=groups)
        by_group = np.divide(sums, n, out=np.full(groups, np.nan), where=n > 0)
        rate_table[row, 1:-1], rate_table[row, -1] = by_group, by_group.mean() if groups else np.nan
    return rate_table


@final
@dataclass(frozen=True, slots=True)
class Added:
    """What raters add to the rates of m outcomes [m, groups + 2]: all images, each group, all weighted equally."""

    variance: Float[np.ndarray, "m g"]
    raters: int

    def widened(self, row: int, place: int, ends: tuple[float, float, float]) -> tuple[float, float]:
        """The interval of one rate: its estimate, low and high in [0, 1]; as it is where nothing is added."""
        variance = float(np.nan_to_num(self.variance[row, place]))
        if not variance > 0 or not np.isfinite(ends).all():
            return ends[1:]
        low, high = AddedByRaters(np.array([variance]), self.raters).widened(*ends)
        return max(float(low[0]), 0.0), min(float(high[0]), 1.0)


def added(answers: Answers, groups: Grouping, measured: Measured) -> tuple[Added | None, str]:
    """What raters add to rates by group; None where no rater decides anything, or why it is not known."""
    judge = judging(answers)
    questions = [*groups.questions, *judge]
    if not questions:
        return None, ""
    fixed = measured(answers)
    k, m = len(groups.condition.groups), len(fixed)

    def statistic(means: _Means, _: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        values = measured(rejudged(answers, means[:, -len(judge) :])) if judge else fixed
        return rates(groups.recode(means), values, k).ravel()

    more = added_by_raters(
        statistic, questions, answers.subjects, resamples=REGROUPED_RESAMPLES, seed=answers.design.seed
    )
    return (None, more.reason) if more.reason else (Added(more.variance.reshape(m, k + 2), more.raters), "")


def judging(answers: Answers) -> list[Annotations]:
    """Questions whose mean answers decide what is right, as `deciding` has them; none where raters do not decide it."""
    if not answers.judge or answers.judge not in answers.said or not answers.binary:
        return []
    return deciding(answers.said[answers.judge], answers.known.get(answers.judge))


def rejudged(answers: Answers, means: _Means) -> Answers:
    """The answers where raters with these means to `judging` say what is right. Images without a truth keep none."""
    label = np.empty(0) if answers.stated is None else right_answers(answers, answers.stated, means)
    if len(label) != len(means):
        return answers
    truth = np.where(np.isfinite(answers.truth), label, np.nan)
    return replace(answers, truth=truth, errors=np.abs(answers.answers - truth))


def right_answers(answers: Answers, truth: Truth, means: _Means) -> Float[np.ndarray, " _"]:
    """The truth by mean answers to the questions that decide it: 0 or 1, NaN for none; empty where it is a number.

    Of levels in no order an image has the most common one, and none at a tie.
    """
    attribute = answers.known.get(truth.attribute)
    values = means[:, 0]
    if attribute is not None and attribute.nominal:
        codes = most_common(means)
        values = np.where(codes < 0, np.nan, codes)
    return truth.as_rated(values, attribute)


def without_raters(answers: Answers, names: Sequence[str], reasons: Mapping[str, str]) -> list[str]:
    """Warnings on intervals that hold for these raters alone. reasons: by grouping, why their variance is not known."""
    warnings = [
        f"Ratings of {words(name)} are one value per image: intervals hold for these ratings, not for other raters; "
        "give single answers with --ratings"
        for name in names
        if name in answers.seen and answers.seen[name].answers is None
    ]
    distinct_reasons = dict.fromkeys(reason for reason in reasons.values() if reason)
    return [*warnings, *(f"Intervals hold for these raters alone: {reason}" for reason in distinct_reasons)]


ADJUSTED_RATERS_RESAMPLES: Final = 200
_Columns = Mapping[str, Float[np.ndarray, " n"]]


@final
@dataclass(frozen=True, slots=True)
class Raters:
    """Single answers behind columns, by column; judge: those that decide what is right, see `judging`."""

    answers: Mapping[str, Annotations]
    judge: Sequence[Annotations]

    @property
    def questions(self) -> list[Annotations]:
        """All of them, the judge last."""
        return [*self.answers.values(), *self.judge]

    def columns(self, columns: _Columns, means: Float[np.ndarray, "n q"]) -> dict[str, Float[np.ndarray, " n"]]:
        """The columns, with other mean answers where raters gave them."""
        places = {name: place for place, name in enumerate(self.answers)}
        return {name: means[:, places[name]] if name in places else x for name, x in columns.items()}

    def errors(self, answers: Answers, means: Float[np.ndarray, "n q"]) -> Float[np.ndarray, " n"]:
        """Errors, as these raters judge them where raters do."""
        return rejudged(answers, means[:, -len(self.judge) :]).errors if self.judge else answers.errors


def raters_of(answers: Answers, columns: _Columns) -> Raters | None:
    """The raters behind perceived columns with an order; None where none is of single answers."""
    if not answers.perceived or answers.by_machine:
        return None
    seen = {each.about: each.answers for each in answers.seen.values() if each.answers is not None}
    said = {name: seen[name] for name in columns if name in seen and not nominal(answers.known.get(name))}
    return Raters(said, judging(answers)) if said else None


def coefficients(
    answers: Answers, columns: _Columns, raters: Raters, fit: CoefficientTable, levels: Mapping[str, Sequence[str]]
) -> AddedByRaters:
    """What raters add to the variance of each coefficient, in the order of the table."""
    first = one_hot(columns, edges=fit.edges, levels=levels)
    order = [first.names.index(name) for name in fit.names]
    edges = {name: fit.edges[name] if name in fit.edges else _middles(columns[name]) for name in columns}
    cut = {name: points for name, points in edges.items() if name in raters.answers or name in fit.edges}

    def statistic(means: Float[np.ndarray, "n q"], _: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        named = {name: texts for name, texts in levels.items() if name not in raters.answers or name in fit.edges}
        x = one_hot(raters.columns(columns, means), edges=cut, levels=named).x
        return penalised(raters.errors(answers, means), x)[order]

    return added_by_raters(
        statistic, raters.questions, answers.subjects, resamples=ADJUSTED_RATERS_RESAMPLES, seed=answers.design.seed
    )


def _middles(values: Float[np.ndarray, " n"]) -> tuple[float, ...]:
    """Cut points between the values that occur."""
    known = np.unique(values[np.isfinite(values)])
    return tuple(((known[1:] + known[:-1]) / 2).tolist())


def differences(answers: Answers, parted: Mapping[str, Split], raters: Raters) -> dict[str, AddedByRaters]:
    """What raters add to the variance of each attribute's unadjusted difference, and of that by least squares."""

    def statistic(means: Float[np.ndarray, "n q"], _: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        errors = raters.errors(answers, means)
        estimates: list[float] = []
        for name, split in parted.items():
            values = raters.columns({name: split.chosen}, means)[name]
            chosen = half(values, split.at) if name in raters.answers else split.chosen
            estimates += _two(errors, chosen, list(raters.columns(split.others, means).values()))
        return np.array(estimates)

    if not parted:
        return {}
    whole = added_by_raters(
        statistic, raters.questions, answers.subjects, resamples=ADJUSTED_RATERS_RESAMPLES, seed=answers.design.seed
    )
    each = len(whole.variance) // len(parted)
    return {
        name: AddedByRaters(whole.variance[each * k : each * (k + 1)], whole.raters, whole.reason)
        for k, name in enumerate(parted)
    }


def _two(
    errors: Float[np.ndarray, " n"], chosen: Float[np.ndarray, " n"], others: Sequence[Float[np.ndarray, " n"]]
) -> list[float]:
    """The difference in means, and the coefficient of `chosen` by least squares; NaN where a side is empty."""
    known = np.isfinite(errors) & np.isfinite(chosen)
    sides = [errors[known & (chosen == side)] for side in (1.0, 0.0)]
    plain = float(sides[0].mean() - sides[1].mean()) if all(map(len, sides)) else np.nan
    if not others or not all(map(len, sides)):
        return [plain, plain]
    x = np.column_stack([np.ones(len(errors)), chosen, *others])
    complete = known & np.isfinite(x).all(axis=1)
    if complete.sum() <= x.shape[1] or np.ptp(chosen[complete]) == 0:
        return [plain, np.nan]
    return [plain, float(np.linalg.lstsq(x[complete], errors[complete], rcond=None)[0][1])]


OTHER_RATERS_RESAMPLES: Final = 300
_TEXT: Final = (
    "Other raters might answer differently: a rater who uses a scale more widely, or leans to one end, moves "
    "all images that they rated. Intervals here resample raters as well as subjects (Cameron, Gelbach & Miller "
    "2011); the share is the part of the variance that comes from the choice of raters. Effects per unit of "
    "what people saw use the intended values as instruments, so that noise in single answers does not weaken "
    "them."
)


@placed(100, "answers", page="numbers")
def section(answers: Answers) -> Section | None:
    """The section of one target in one experiment; None without people's single answers on what was varied."""
    if not answers.design.levels or not answers.said:
        return None
    tables = [table for table in (_perceived(answers), _errors(answers)) if table]
    if not tables:
        return None
    return Section(
        key="other raters",
        study=answers.study,
        title=f"Other raters: {short_name(answers.target)}",
        text=[_TEXT],
        tables=tables,
        sources=[SOURCE],
    )


def _heads(first: str, unit: str) -> list[tuple[str, str]]:
    heads = [(first, "text"), ("estimate", unit), ("low", unit), ("high", unit), ("standard error", unit)]
    heads += [("by subject alone", unit), ("share of raters in the variance", "proportion")]
    return [*heads, ("subjects", "count"), ("raters", "count"), ("note", "text")]


def _row(name: str, uncertainty: RaterUncertainty, place: int = 0) -> list[object]:
    found = uncertainty
    columns = (found.estimate, found.low, found.high, found.error, found.by_subject, found.rater_share)
    return [name, *(float(column[place]) for column in columns), found.subjects, found.raters, found.reason]


def _perceived(answers: Answers) -> Table | None:
    """The effect per unit of what people saw, of every varied attribute that they rated and that has a mean."""
    names = [name for name in answers.design.levels if name in answers.said and not nominal(answers.known.get(name))]
    if not names:
        return None
    intended = answers.settings
    held = covariates(answers.attributes, {name: column for name, column in intended.items() if name not in names})
    counted, unit = answers.counted
    outside = np.column_stack([np.empty((len(counted), 0)), *held.values()])
    statistic = instrumented(counted, np.column_stack([intended[name] for name in names]), outside)
    uncertainty = raters_resampled(
        statistic,
        [answers.said[name] for name in names],
        answers.subjects,
        resamples=OTHER_RATERS_RESAMPLES,
        seed=answers.design.seed,
    )
    rows = [_row(words(name), uncertainty, place) for place, name in enumerate(names)]
    style = "points" if answers.binary else "number"
    return table(f"Effect on the {unit} per unit of what people saw", _heads("perceived attribute", style), rows)


def _errors(answers: Answers) -> Table | None:
    """Errors by people's word, the last level of each attribute minus the first."""
    truth, annotations = answers.stated, answers.said.get(answers.truth_attribute)
    if truth is None or annotations is None or not answers.binary:
        return None
    questions = deciding(annotations, answers.known.get(truth.attribute))
    rows = []
    for name, column in answers.settings.items():
        levels = answers.design.levels[name]
        first, last = (np.isclose(column, levels[place]) for place in (0, -1))
        statistic = error_difference(answers.answers, lambda seen: _label(truth, seen, answers), first, last)
        uncertainty = raters_resampled(
            statistic, questions, answers.subjects, resamples=OTHER_RATERS_RESAMPLES, seed=answers.design.seed
        )
        attribute = answers.attributes[name]
        rows.append(
            _row(f"{words(name)}: {attribute.label(levels[-1])} minus {attribute.label(levels[0])}", uncertainty)
        )
    return table("Error rate where raters say what is right, differences", _heads("levels", "points"), rows)


def _label(truth: Truth, seen: Float[np.ndarray, "n p"], answers: Answers) -> Float[np.ndarray, " n"]:
    rated = right_answers(answers, truth, seen)
    return rated if len(rated) == len(seen) else np.full(len(seen), np.nan)
