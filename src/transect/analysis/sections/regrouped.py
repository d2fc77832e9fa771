"""Rates by group as other raters would have them: answers are resampled, images change groups, right answers change.

Where raters say in which group an image is, or which answer is right, the choice of raters moves the rate. Intervals by
subject are widened by what it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import Answers, words
from transect.analysis.sections.conditions import condition, renumbered
from transect.effects.interrogation import Condition, crossed, crossing
from transect.effects.rater_uncertainty import AddedByRaters, added_by_raters
from transect.effects.truth import Truth
from transect.ratings.perceived_attributes import PerceivedAttribute, deciding, most_common
from transect.records import Annotations

RESAMPLES: Final = 200
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

    more = added_by_raters(statistic, questions, answers.subjects, resamples=RESAMPLES, seed=answers.design.seed)
    return (None, more.reason) if more.reason else (Added(more.variance.reshape(m, k + 2), more.raters), "")


def judging(answers: Answers) -> list[Annotations]:
    """Questions whose mean answers decide what is right, as `deciding` has them; none where raters do not decide it."""
    if not answers.judge or answers.judge not in answers.said or not answers.binary:
        return []
    return deciding(answers.said[answers.judge], answers.known.get(answers.judge))


def rejudged(answers: Answers, means: _Means) -> Answers:
    """The same answers where raters with these mean answers to `judging` say what is right.

    Images without a truth keep none.
    """
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
    return truth.as_rated(values, attribute)[0]


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
