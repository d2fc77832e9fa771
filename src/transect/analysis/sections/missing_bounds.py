"""What the effects on yes-or-no outcomes could be if the missing answers were known: a table of the section on them."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis.sections.answers import Answers, compared, table, words
from transect.analysis.sections.conditions import condition
from transect.effects.contrasts import level_differences
from transect.effects.missing_answers import Bounds, group_bounds, paired_bounds
from transect.reports.records import Table

WORST: Final = (
    "Worst-case bounds set every missing answer to the one that makes the effect smallest, and largest (Manski 1990). "
    "They need no assumption about the missing answers. The interval covers the whole range between them."
)
WITHIN: Final = (
    "Effects from pairs that are answered at both levels apply only to images that the target answers at every level. "
    "Worst-case bounds are of all pairs that were sent."
)
BETWEEN: Final = (
    "Trimming bounds (Lee 2009) are of the images that would be answered in either group. They hold if the two groups "
    "are alike in everything but the attribute, and if the attribute moves answering one way only: no image that is "
    "answered in the group with fewer answers would stay unanswered in the other."
)


def bounds_table(answers: Answers) -> Table | None:
    """A row per contrast that misses an answer; None without one, and for outcomes other than yes or no."""
    if not answers.binary:
        return None
    name, values = compared(answers)
    experiment = bool(answers.design.levels)
    rows = [row for each in answers.values for row in (_paired if experiment else _grouped)(answers, each, values)]
    if not rows:
        return None
    heads = [("effect", "text"), ("answered, first", "proportion"), ("answered, second", "proportion")]
    heads += [("effect of answered, points", "points")]
    for kind in ("worst case",) if experiment else ("worst case", "trimming"):
        heads += [(f"{kind}: {end}", "points") for end in ("smallest", "largest", "interval low", "interval high")]
    return table(f"What the effects on the {name} could be with the missing answers", [*heads, ("note", "text")], rows)


def _sent(answers: Answers, values: Float[np.ndarray, " n"], name: str) -> Bool[np.ndarray, " n"]:
    """Images that were answered, or sent without an answer; not those that rules leave out or that have no truth."""
    failed = np.array([bool(reason) for reason in answers.failures], dtype=np.bool_)
    possible = answers.truth if answers.judged else answers.values[name]
    return np.asarray(np.isfinite(values) | (failed & np.isfinite(possible)))


def _paired(answers: Answers, name: str, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    levels, attribute = answers.design.levels.get(name, ()), answers.attributes[name]
    shape = (answers.design.subjects, *answers.design.shape)
    people = answers.subjects[:: answers.design.n_cells].astype(np.int64)
    axis = list(answers.design.levels).index(name) + 1 if levels else 0
    rows: list[list[object]] = []
    for level in range(1, len(levels)) if attribute.discrete else [len(levels) - 1][: len(levels)]:
        grids = [
            np.moveaxis(x.reshape(shape).astype(np.float64), axis, 1) for x in (values, _sent(answers, values, name))
        ]
        (first, sent_first), (second, sent_second) = (
            tuple(grid[:, place].reshape(len(grid), -1) for grid in grids) for place in (0, level)
        )
        sent = (sent_first == 1) & (sent_second == 1)
        if np.isfinite(first[sent]).all() and np.isfinite(second[sent]).all():
            continue
        both = level_differences(np.where(sent, first, np.nan), np.where(sent, second, np.nan))
        found = float(both[np.isfinite(both)].mean()) if np.isfinite(both).any() else np.nan
        shares = [float(np.isfinite(x[sent]).mean()) for x in (first, second)]
        text = f"{words(name)}: {attribute.label(levels[0])} to {attribute.label(levels[level])}"
        bounds = paired_bounds(first, second, sent, people=people, seed=answers.design.seed)
        rows.append([text, *shares, found, *_cells(bounds), bounds.reason])
    return rows


def _grouped(answers: Answers, name: str, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    groups, sent = condition(answers, name), _sent(answers, values, name)
    last = range(1, len(groups.groups)) if answers.known[name].discrete else [len(groups.groups) - 1]
    rows: list[list[object]] = []
    for code in (code for code in last if code > 0):
        used = sent & np.isin(groups.codes, (0, code))
        y, second = values[used], groups.codes[used] == code
        if np.isfinite(y).all() or not second.any() or second.all():
            continue
        worst, trimmed = group_bounds(y, second, answers.subjects[used].astype(np.int64))
        sides = [y[~second], y[second]]
        shares = [float(np.isfinite(side).mean()) for side in sides]
        means = [float(np.nanmean(side)) if np.isfinite(side).any() else np.nan for side in sides]
        text = f"{words(name)}: {groups.groups[0]} to {groups.groups[code]}"
        reason = worst.reason or trimmed.reason
        rows.append([text, *shares, means[1] - means[0], *_cells(worst), *_cells(trimmed), reason])
    return rows


def _cells(bounds: Bounds) -> list[object]:
    return [bounds.smallest, bounds.largest, bounds.low, bounds.high]
