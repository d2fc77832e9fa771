"""From the answers of a project to its figures of agreement, as records and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.annotation.agreement import coefficients
from transect.annotation.agreement.numbers import (
    Agreement,
    LatentLevels,
    PairFigures,
    QuestionAgreement,
    RaterFigures,
    Share,
    notice,
    simulated_count,
)
from transect.annotation.project import Matrix, Project, Row, matrix, rows
from transect.annotation.questions import RaterQuestion
from transect.annotation.sources import Picture
from transect.effects.identity_pairs import ALL, SameRow, same_shares
from transect.effects.pair_perception import pair_ranking, perceived_difference
from transect.records import Estimate
from transect.runs.wording import counted

NO_LEVELS: Final = "the images differ in no attribute that was set, so that there are no levels to put in order"
NO_VALUES: Final = "the answers have neither an order nor values; give the levels values"


def pair_figures(project: Project) -> tuple[PairFigures, ...]:
    """Figures of every question about pairs that has answers, by study, without repeats and known answers."""
    given = [row for row in rows(project.database) if row.second and row.gold is None]
    given = [row for row in given if not (row.repeat or row.excluded)]
    return tuple(figures for study in project.pictures.sources for figures in _of_study(project, study, given))


def _of_study(project: Project, study: str, given: Sequence[Row]) -> Iterator[PairFigures]:
    pictures = {each.id: each for each in project.pictures.all if each.study == study}
    for question in project.questionnaire.question:
        mine = [row for row in given if row.study == study and row.question == question.name]
        if mine:
            yield _figures(project, study, question, mine, pictures)


def _figures(
    project: Project, study: str, question: RaterQuestion, mine: Sequence[Row], pictures: dict[str, Picture]
) -> PairFigures:
    source = project.pictures.sources[study]
    kinds = {(pair.first, pair.second): pair.kind for pair in source.pairs}
    same = _same(mine, question, kinds)
    subject, rater = [pictures[row.first].person for row in mine], [row.rater for row in mine]
    value = [math.nan if row.value is None else question.values[row.value] for row in mine]
    low, high = min(question.values), max(question.values)
    difference, ranking, reason = None, None, ""
    if question.sided:
        cells = [[pictures[image].cell for image in pair] for pair in ((row.first, row.second) for row in mine)]
        if source.levels:
            first, second = np.array(cells).T
            more = (np.array(value) - low) / (high - low)
            ranking = pair_ranking(first, second, more, subject, rater, levels=len(source.levels))
        reason = "" if source.levels else NO_LEVELS
    elif question.scale != "nominal" or question.levels[0].value is not None:  # levels are sizes of a difference
        pair = [f"{row.first}/{row.second}" for row in mine]
        no_difference = 0.0 if 0.0 in question.values else low
        difference = perceived_difference(value, pair, subject, rater, scale=(low, high), same=no_difference)
    elif not same:
        reason = NO_VALUES
    return PairFigures(
        study, question.name, question.text, question.attribute, len(set(rater)), len(mine), low, high, difference,
        ranking, tuple(source.levels) if ranking else (), same, reason, simulated_count(rater),
    )  # fmt: skip


def _same(mine: Sequence[Row], question: RaterQuestion, kinds: dict[tuple[str, str], str]) -> tuple[SameRow, ...]:
    """Shares of the first answer by kind of pair and by the follow-up's answer; none where no kind is known."""
    if not kinds or any((row.first, row.second) not in kinds for row in mine):
        return ()
    known = [math.nan if row.value is None else float(row.value == 0) for row in mine]
    familiarity = ["" if row.detail is None else question.details[row.detail] for row in mine]
    places = {pair: place for place, pair in enumerate(kinds)}
    pair = np.array([places[row.first, row.second] for row in mine])
    kind = [kinds[row.first, row.second] for row in mine]
    return same_shares(kind, np.array(known), {"follow-up": familiarity}, pair)


def pair_lines(figures: Sequence[PairFigures]) -> list[str]:
    """The figures in words: a line per question and study, then one per level, comparison or kind of pair."""
    return [line for each in figures for line in _lines(each)]


def _lines(each: PairFigures) -> Iterator[str]:
    name = f"{each.study}, {each.question}" if each.study else each.question
    if each.reason:
        yield f"{name}: no figure about pairs: {each.reason}"
    if each.difference is not None:
        difference = each.difference
        yield (
            f"{name}: a difference is seen in {shown(difference.share, percent=True)} of answers; mean difference "
            f"{shown(difference.size)} on a scale from {each.low:g} to {each.high:g}; {difference.pairs} pairs of "
            f"{difference.subjects} subjects, {difference.raters} raters, {difference.answers} answers, "
            f"{difference.unanswered} could not tell"
        )
    if each.ranking is not None:
        ranking = each.ranking
        yield (
            f"{name}: {ranking.answers} answers about {ranking.subjects} subjects by {ranking.raters} raters, "
            f"{ranking.unanswered} could not tell; {ranking.circular} of {ranking.triads} triads are circular"
        )
        for level, strength in zip(each.levels[1:], ranking.strengths[1:], strict=True):
            yield f"  {level} against {each.levels[0]}: log odds {shown(strength)}"
        for pair in ranking.compared:
            first, second = each.levels[pair.first], each.levels[pair.second]
            yield f"  {second} shows more than {first}: {shown(pair.more, percent=True)} of {pair.answers} answers"
    for row in each.same:
        share = Estimate(row.share, row.low, row.high)
        group = "all answers" if row.by == ALL else f"{row.by} {row.group}"
        yield f"{name}, {group}, {row.kind}: same in {shown(share, percent=True)} of {counted(row.answers, 'answer')}"


def shown(figure: Estimate, *, percent: bool = False) -> str:
    """A figure with its interval, or the reason why there is none."""
    if not math.isfinite(figure.estimate):
        return f"not estimable ({figure.reason or 'no answer'})"
    value, low, high = (
        f"{100 * each:.1f}" if percent else f"{each:z.3f}" for each in (figure.estimate, figure.low, figure.high)
    )
    value += " %" if percent else ""
    return f"{value} ({low} to {high})" if math.isfinite(figure.low) else f"{value} (no interval: {figure.reason})"


_VIEWS: Final = 3
"""Answers on a unit below which Dawid and Skene's model cannot tell who errs (Allman, Matias & Rhodes 2009,
doi:10.1214/09-AOS689)."""


def summary(project: Project) -> Agreement:
    """All figures of agreement, by question."""
    answers = rows(project.database)
    people = {(picture.study, picture.id): (picture.study, picture.person) for picture in project.pictures.all}
    return Agreement(
        len(answers),
        simulated_count(answer.rater for answer in answers),
        tuple(sorted({answer.rater for answer in answers if answer.excluded})),
        tuple(_question(answers, question, people) for question in project.questionnaire.question),
        pair_figures(project),
    )


def _question(
    answers: list[Row], question: RaterQuestion, people: Mapping[tuple[str, str], tuple[str, int]]
) -> QuestionAgreement:
    table = matrix(answers, question.name)
    values = np.asarray(question.values)
    valued = table._replace(ratings=valued_as(table.ratings, values))
    number = {person: place for place, person in enumerate(dict.fromkeys(people.values()))}
    subjects = [number[people[study, first]] for study, first, _ in table.units]
    alpha = coefficients.krippendorff_alpha(valued.ratings, question.scale, subjects=subjects)
    spreads = coefficients.spread(valued.ratings, values.min(), values.max())
    known = spreads[np.isfinite(spreads) & (question.scale != "nominal")]
    latent = coefficients.dawid_skene(table.ratings, len(question.levels))
    counted = [answer for answer in answers if answer.question == question.name and not answer.excluded]
    step = float(np.ptp(values) / (len(np.unique(values)) - 1))
    return QuestionAgreement(
        question=question.name,
        scale=question.scale,
        units=len(table.units),
        raters=len(table.raters),
        answers=int(np.isfinite(table.ratings).sum()),
        cannot_tell=sum(answer.value is None for answer in counted),
        percent_agreement=coefficients.percent_agreement(table.ratings),
        alpha=alpha.value,
        alpha_low=alpha.low,
        alpha_high=alpha.high,
        alpha_reason=alpha.reason,
        median_spread=float(np.median(known)) if len(known) else math.nan,
        known_right=_share([answer.value == answer.gold for answer in counted if answer.gold is not None]),
        repeats_equal=_share(_repeats(answers, question.name)),
        by_rater=_raters(table, latent, None if question.scale == "nominal" else valued.ratings, step),
        dawid_skene=_latent(table, latent, len(question.levels)),
    )


def valued_as(
    ratings: Float[np.ndarray, "units raters"], values: Float[np.ndarray, " levels"]
) -> Float[np.ndarray, "units raters"]:
    """The value of each answer, which is given as the number of its level; NaN where there is none."""
    known = np.isfinite(ratings)
    return np.where(known, values[np.where(known, ratings, 0).astype(np.int64)], np.nan)


def _latent(table: Matrix, latent: coefficients.DawidSkene, levels: int) -> LatentLevels:
    ratings, level = table.ratings, latent.level
    counts = np.stack([(ratings == number).sum(axis=1) for number in range(levels)], axis=1)
    several = counts.sum(axis=1) >= _VIEWS
    clear = several & ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1)
    differs = clear & np.isfinite(level) & (level != counts.argmax(axis=1))
    units = tuple(tuple(unit) for unit, differing in zip(table.units, differs, strict=True) if differing)
    reason = "" if several.any() else f"no image has {_VIEWS} answers"
    return LatentLevels(int(clear.sum()), units, int((several & ~clear).sum()), reason)


def _repeats(answers: list[Row], name: str) -> list[bool]:
    """Whether each repeated item got the same answer again."""
    first, again = matrix(answers, name), matrix(answers, name, repeats=True)
    values = {
        (unit, rater): first.ratings[i, j] for i, unit in enumerate(first.units) for j, rater in enumerate(first.raters)
    }
    return [
        bool(values[unit, rater] == value)
        for i, unit in enumerate(again.units)
        for j, rater in enumerate(again.raters)
        if math.isfinite(value := again.ratings[i, j]) and (unit, rater) in values
    ]


def _raters(
    table: Matrix, latent: coefficients.DawidSkene, valued: Float[np.ndarray, "units raters"] | None, step: float
) -> tuple[RaterFigures, ...]:
    """Each rater's figures. valued: answers as numbers, None for levels in no order; step: between adjacent levels."""
    each = coefficients.rater_reliability(table.ratings if valued is None else valued)
    several = np.isfinite(table.ratings).sum(axis=1) >= _VIEWS
    counted = np.where(several[:, None], table.ratings, np.nan)
    return tuple(
        RaterFigures(
            rater,
            int(each.units[place]),
            math.nan if valued is None else float(each.correlation[place]),
            math.nan if valued is None else float(each.bias[place]) / step,
            _right(counted[:, place], latent),
        )
        for place, rater in enumerate(table.raters)
    )


def _right(answers: Float[np.ndarray, " units"], latent: coefficients.DawidSkene) -> float:
    rows = np.flatnonzero(np.isfinite(answers))
    return float(latent.shares[rows, answers[rows].astype(np.int64)].mean()) if len(rows) else math.nan


def _share(outcomes: list[bool]) -> Share:
    return Share(sum(outcomes) / len(outcomes) if outcomes else math.nan, len(outcomes))


def lines(agreement: Agreement) -> list[str]:
    """The figures in words: a notice of simulated raters, a line per question, then one per rater."""
    notices = [notice(agreement.simulated, agreement.answers)] if agreement.simulated else []
    questions = [line for question in agreement.questions for line in _lines_of(question)]
    return [*notices, *questions, *pair_lines(agreement.pairs)] or ["no questions"]


def _lines_of(question: QuestionAgreement) -> list[str]:
    ends = question.alpha_low, question.alpha_high
    interval = f" ({_shown(ends[0])}, {_shown(ends[1])})" if math.isfinite(ends[0]) else ""
    reason = f" ({question.alpha_reason})" if question.alpha_reason else ""
    known, again, latent = question.known_right, question.repeats_equal, question.dawid_skene
    first = (
        f"{question.question}: {question.units} units, {question.raters} raters, {question.answers} answers; agreement "
        f"{_shown(question.percent_agreement)}, alpha ({question.scale}) {_shown(question.alpha)}{interval}{reason}, "
        f"median spread {_shown(question.median_spread)}; known answers met {_shown(known.share)} of {known.of}, "
        f"repeats answered equally {_shown(again.share)} of {again.of}; Dawid and Skene's level differs from the "
        f"majority on {len(latent.differs_from_majority)} of {latent.of}"
    )
    raters = [
        f"  {rater.rater}: {rater.units} units, correlation with the others {_shown(rater.correlation)}, bias "
        f"{_shown(rater.bias)}, right by Dawid and Skene {_shown(rater.right_by_dawid_skene)}"
        for rater in question.by_rater
    ]
    return [first + (f" ({latent.reason})" if latent.reason else ""), *raters]


def _shown(value: float) -> str:
    return f"{value:z.3f}" if math.isfinite(value) else "–"
