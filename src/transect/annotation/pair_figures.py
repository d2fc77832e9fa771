"""From the answers about pairs to what raters saw between two images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from transect.annotation.agreement.numbers import PairFigures
from transect.annotation.pictures import Picture
from transect.annotation.project import Project
from transect.annotation.questions import RaterQuestion
from transect.annotation.reading import Row, rows
from transect.annotation.simulated import simulated_count
from transect.effects.identity_pairs import ALL, SameRow, same_shares
from transect.effects.pair_perception import Bounded, pair_ranking, perceived_difference
from transect.runs.wording import counted

NO_LEVELS: Final = "the images differ in no attribute that was set, so that there are no levels to put in order"
NO_VALUES: Final = "the answers have neither an order nor values; give the levels values"


def pair_figures(project: Project) -> tuple[PairFigures, ...]:
    """Figures of every question about pairs that has answers, by study.

    Repeats, known answers and excluded raters do not count. A question is about a difference where its levels have
    values or an order, and about which image shows more where it is `sided`.
    """
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
    elif _measures(question):
        pair = [f"{row.first}/{row.second}" for row in mine]
        difference = perceived_difference(value, pair, subject, rater, scale=(low, high), same=_none(question))
    elif not same:
        reason = NO_VALUES
    return PairFigures(
        study, question.name, question.text, question.attribute, len(set(rater)), len(mine), low, high, difference,
        ranking, tuple(source.levels) if ranking else (), same, reason, simulated_count(rater),
    )  # fmt: skip


def _measures(question: RaterQuestion) -> bool:
    """Whether the levels are sizes of a difference."""
    return question.scale != "nominal" or question.levels[0].value is not None


def _none(question: RaterQuestion) -> float:
    """The value of "no difference": 0, or the lowest one."""
    return 0.0 if 0.0 in question.values else min(question.values)


def _same(mine: Sequence[Row], question: RaterQuestion, kinds: dict[tuple[str, str], str]) -> tuple[SameRow, ...]:
    """Shares of the first answer by kind of pair and by the follow-up's answer; none where no kind is known."""
    if not kinds or any((row.first, row.second) not in kinds for row in mine):
        return ()
    known = [math.nan if row.value is None else float(row.value == 0) for row in mine]
    follow_up = question.follow_up.levels if question.follow_up else ()
    familiarity = ["" if row.detail is None else follow_up[row.detail] for row in mine]
    places = {pair: place for place, pair in enumerate(kinds)}
    pair = np.array([places[row.first, row.second] for row in mine])
    kind = [kinds[row.first, row.second] for row in mine]
    return same_shares(kind, np.array(known), {"follow-up": familiarity}, pair)


def lines(figures: Sequence[PairFigures]) -> list[str]:
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
        share = Bounded(row.share, row.low, row.high)
        group = "all answers" if row.by == ALL else f"{row.by} {row.group}"
        yield f"{name}, {group}, {row.kind}: same in {shown(share, percent=True)} of {counted(row.answers, 'answer')}"


def shown(figure: Bounded, *, percent: bool = False) -> str:
    """A figure with its interval, or the reason why there is none."""
    if not math.isfinite(figure.estimate):
        return f"not estimable ({figure.reason or 'no answer'})"
    value, low, high = (
        f"{100 * each:.1f}" if percent else f"{each:.3f}" for each in (figure.estimate, figure.low, figure.high)
    )
    value += " %" if percent else ""
    return f"{value} ({low} to {high})" if math.isfinite(figure.low) else f"{value} (no interval: {figure.reason})"
