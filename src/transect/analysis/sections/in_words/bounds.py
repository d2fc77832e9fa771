"""What effects could be if every wording had been answered: worst-case bounds, from the answers that there are."""

from __future__ import annotations

import numpy as np

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, table
from transect.analysis.sections.in_words.levels import by_level, contrasts, people
from transect.analysis.sections.in_words.measures import compared
from transect.effects.incomplete import incomplete_bounds
from transect.reports.records import Table, Unit
from transect.targets.words.questions import Kind

TEXT = (
    "Worst-case bounds set every missing answer to the one that makes an effect smallest, and largest (Manski 1990). "
    "They need no assumption about what the model would have said."
)


def bounds_table(answers: Answers, asked: Asked) -> Table | None:
    """A row per contrast that misses an answer; None without one, and of observed images."""
    question = asked.question
    number = question.kind is Kind.NUMBER
    scale = (question.low, question.high) if number else (0.0, 1.0)
    shown = np.array([bool(of_image) for of_image in asked.said], dtype=np.bool_)
    rows: list[list[object]] = []
    for name in answers.design.levels:
        sent = by_level(answers, shown, name)
        for measured in compared(asked):
            levels = by_level(answers, measured.values, name)
            for place, text in contrasts(answers, name):
                pairs = sent[:, 0] & sent[:, place]
                missing = ~np.isfinite(levels[:, [0, place]])[np.stack([pairs, pairs], axis=1)]
                if not missing.any():
                    continue
                first, second = levels[:, 0], levels[:, place]
                found = incomplete_bounds(
                    first,
                    second,
                    scale=scale,
                    binary=measured.binary,
                    sent=pairs,
                    people=people(answers),
                    seed=answers.design.seed,
                )
                ends = [found.smallest, found.largest, found.low, found.high]
                rows.append([f"{text}, {measured.name}", int(missing.sum()), *ends, found.reason])
    if not rows:
        return None
    unit: Unit = "number" if number else "points"
    heads = [("effect", "text"), ("missing answers", "count"), ("smallest", unit), ("largest", unit)]
    heads += [("interval low", unit), ("interval high", unit), ("note", "text")]
    return table("What the effects could be with the missing answers", heads, rows)
