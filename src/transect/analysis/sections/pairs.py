"""What raters saw between two images: whether they differ, which shows more, whether one person is on both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from transect.analysis.sections.answers import drawn, ends, point, table, words
from transect.annotation.agreement.numbers import PairFigures, notice
from transect.effects.identity_pairs import SOURCE as SINGH
from transect.effects.pair_perception import BRADLEY_TERRY, SOURCES, PairRanking, PerceivedDifference
from transect.reports.records import Figure, Section, Table

_INTERVALS: Final = "These intervals (95 %) hold for other subjects and other raters; a note says why one is missing."
_DIFFERENCE: Final = (
    "The share of answers that see a difference, and its mean size in the units of the question; every pair counts "
    "equally (Denton et al. 2019, Eq. 4)."
)
_RANKING: Final = (
    "Bradley and Terry's model puts the levels in order by which image raters chose. Log odds of 1 mean that a level "
    "is chosen over the first one in 73 % of answers. A triad is three levels of one subject that one rater compared "
    "with each other; it is circular where the answers contradict each other, as a quarter of them do if raters guess."
)
_SAME: Final = (
    "The share of answers that take both images for the same person, by kind of pair: real (two photographs), fake (a "
    "photograph and a reconstruction), dup (a photograph and a crop of it, which shows whether raters are attentive). "
    "Intervals (95 %, Wilson) are by pair and hold for these raters."
)
_INTERVAL = [("low", "number"), ("high", "number")]


def sections(study: str, figures: Sequence[PairFigures]) -> list[Section]:
    """The section on the pairs of a study; none where no question was about pairs."""
    if not figures:
        return []
    texts, sources = _texts(figures)
    return [
        Section(
            key="pairs",
            study=study,
            title=f"Raters on pairs: {words(study)}",
            text=texts,
            warnings=_warnings(figures),
            figures=[figure for each in figures if each.ranking for figure in _drawn(each, each.ranking)],
            tables=list(_tables(figures)),
            sources=sources,
        )
    ]


def _warnings(figures: Sequence[PairFigures]) -> list[str]:
    missing = [f"No figure for {words(each.question)}: {each.reason}" for each in figures if each.reason]
    simulated = [
        f"{words(each.question)}: {notice(each.simulated, each.answers)}" for each in figures if each.simulated
    ]
    return missing + simulated


def _texts(figures: Sequence[PairFigures]) -> tuple[list[str], list[str]]:
    kinds: list[tuple[bool, str, Sequence[str]]] = [
        (any(each.difference for each in figures), _DIFFERENCE, SOURCES),
        (any(each.ranking for each in figures), _RANKING, BRADLEY_TERRY),
        (any(each.same for each in figures), _SAME, [SINGH]),
    ]
    used = [(text, works) for there, text, works in kinds if there]
    texts = [text for text, _ in used]
    if used and used[0][0] != _SAME:
        texts.insert(len(texts) - (texts[-1] == _SAME), _INTERVALS)
    return texts, [work for _, works in used for work in works]


def _tables(figures: Sequence[PairFigures]) -> Iterator[Table]:
    differences = [(each, each.difference) for each in figures if each.difference]
    if differences:
        yield _differences(differences)
    for each in figures:
        if each.ranking:
            yield from _rankings(each, each.ranking)
        if each.same:
            heads = [("by", "text"), ("group", "text"), ("kind", "text"), ("same", "proportion")]
            heads += [("low", "proportion"), ("high", "proportion"), ("answers", "count"), ("cannot tell", "count")]
            rows = [
                [row.by, row.group, row.kind, row.share, row.low, row.high, row.answers, row.unanswered]
                for row in each.same
            ]
            yield table(f"Taken for the same person: {words(each.question)}", heads, rows)


def _differences(figures: Sequence[tuple[PairFigures, PerceivedDifference]]) -> Table:
    heads = [("question", "text"), ("share that sees one", "proportion"), ("low", "proportion"), ("high", "proportion")]
    heads += [("mean difference", "number"), *_INTERVAL, ("pairs", "count"), ("subjects", "count"), ("raters", "count")]
    heads += [("answers", "count"), ("cannot tell", "count"), ("note", "text")]
    rows = []
    for each, found in figures:
        counts = [found.pairs, found.subjects, found.raters, found.answers, found.unanswered]
        rows.append([words(each.question), *ends(found.share), *ends(found.size), *counts, found.size.reason])
    return table("Perceived differences", heads, rows)


def _rankings(each: PairFigures, ranking: PairRanking) -> Iterator[Table]:
    heads = [("level", "text"), ("log odds against the first", "number"), *_INTERVAL, ("note", "text")]
    rows = [
        [level, *ends(strength), strength.reason]
        for level, strength in zip(each.levels, ranking.strengths, strict=True)
    ]
    yield table(f"Levels in order: {words(each.question)}", heads, rows)
    heads = [("second against first", "text"), ("share that sees more", "proportion"), ("low", "proportion")]
    heads += [("high", "proportion"), ("answers", "count"), ("note", "text")]
    rows = [
        [f"{each.levels[pair.second]} / {each.levels[pair.first]}", *ends(pair.more), pair.answers, pair.more.reason]
        for pair in ranking.compared
    ]
    yield table(f"Comparisons: {words(each.question)}", heads, rows)
    heads = [("question", "text"), ("subjects", "count"), ("raters", "count"), ("answers", "count")]
    heads += [("cannot tell", "count")]
    heads += [("triads", "count"), ("circular", "count"), ("pairs of one level", "count")]
    counts = [ranking.subjects, ranking.raters, ranking.answers, ranking.unanswered]
    counts += [ranking.triads, ranking.circular, ranking.within]
    yield table(f"Answers: {words(each.question)}", heads, [[words(each.question), *counts]])


def _drawn(each: PairFigures, ranking: PairRanking) -> Iterator[Figure]:
    if not math.isfinite(ranking.strengths[-1].estimate):
        return
    points = [
        point(strength.estimate, low=strength.low, high=strength.high, label=level)
        for level, strength in zip(each.levels, ranking.strengths, strict=True)
    ]
    title = f"Order of the levels: {words(each.question)}"
    yield drawn("rows", title, "", {each.text: {"strength": points}}, "log odds")
