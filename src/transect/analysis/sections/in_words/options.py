"""Which option is chosen at which level: shares, contrasts with the first level, and one test of any change."""

from __future__ import annotations

from typing import Final

import numpy as np

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.in_words.levels import by_level, called, people
from transect.effects.option_shares import SOURCES, OptionShares, chosen_shares, shares_by_option
from transect.reports.records import Figure, Panel, Section, Series, Table

_TEXT: Final = (
    "Shares are of the answers to all wordings, paraphrases weighted equally. An interval of a difference holds "
    "together with those of the other options at the same level; p is corrected (Holm) for all options and levels of "
    "the attribute. One permutation test asks whether the level changes the choice at all.",
)
_LIKELY: Final = (
    "The model also gives each option a probability, as its whole answer, before it says anything. What it finds more "
    "likely at one level may differ from what it says."
)


def section(answers: Answers, asked: Asked) -> Section | None:
    """The section of a choice in an experiment; None of other questions, and of observed images."""
    if not asked.is_choice or not answers.design.levels:
        return None
    options = asked.question.options
    chosen, likely = chosen_shares(asked.values(), len(options)), asked.likelihoods()
    asks = len(asked.question.paraphrases) * asked.question.repeats
    tables, panels = [], []
    who, seed = people(answers), answers.design.seed
    for name in answers.design.levels:
        found = shares_by_option(by_level(answers, chosen, name), asked=asks, people=who, seed=seed)
        tables.append(_table(answers, name, options, found, "chosen"))
        panels.append(_panel(answers, name, options, found))
        if np.isfinite(likely).any():
            scored = shares_by_option(by_level(answers, likely, name), binary=False, people=who, seed=seed)
            tables.append(_table(answers, name, options, scored, "likelihood"))
    title = "Which option, at which level?"
    return Section(
        key="options",
        study=answers.study,
        target=answers.target,
        title="Options chosen",
        text=[*_TEXT, *([_LIKELY] if np.isfinite(likely).any() else [])],
        figures=[Figure(kind="rows", title=title, caption="(share of answers, %, with 95 % intervals)", panels=panels)],
        tables=tables,
        sources=list(SOURCES),
    )


def _table(answers: Answers, name: str, options: tuple[str, ...], found: OptionShares, what: str) -> Table:
    contrasts = {(each.option, each.level): each for each in found.contrasts}
    rows: list[list[object]] = []
    for level, shares in enumerate(found.shares):
        for option, share in enumerate(shares):
            row = [called(answers, name, level), options[option], share.estimate, share.low, share.high]
            if level == 0:
                rows.append([*row, None, None, None, None])
                continue
            each = contrasts[option, level]
            rows.append([*row, each.difference.estimate, each.difference.low, each.difference.high, each.p_corrected])
    heads = [("level", "text"), ("option", "text"), ("share", "proportion"), ("low", "proportion")]
    heads += [("high", "proportion")]
    heads += [("difference from the first level", "points"), ("its low", "points"), ("its high", "points")]
    p = f"p = {found.p:.2g}" if np.isfinite(found.p) else "not testable"
    title = f"Options by {words(name)} ({what}); any change: {p}, {found.subjects:,} subjects"
    return table(title, [*heads, ("corrected p", "p")], rows)


def _panel(answers: Answers, name: str, options: tuple[str, ...], found: OptionShares) -> Panel:
    series = []
    for level, shares in enumerate(found.shares):
        points = [
            point(share.estimate, low=share.low, high=share.high, label=option, reason=share.reason)
            for option, share in zip(options, shares, strict=True)
        ]
        series.append(Series(name=called(answers, name, level), points=points))
    return Panel(heading=words(name), y_words="share of answers", unit="proportion", series=series)
