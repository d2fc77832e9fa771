"""Rates by group at a target's own threshold and at the best one, also as other raters would have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.conditions import texts
from transect.analysis.sections.regrouped import Grouping, added
from transect.effects.thresholds import ALL, MEASURES, GroupRate, at_thresholds
from transect.reports.records import Figure, Panel, Point, Series, Table


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
    if answers.cut:
        return [(answers.scores, cut) for cut in dict.fromkeys([answers.threshold, best])]
    return [(answers.answers, 0.5), (answers.scores, best)]


def rates(answers: Answers, groups: Grouping, best: float) -> tuple[list[Decided], str]:
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
            ends = (row.rate, row.low, row.high)
            low, high = more.widened(4 * k + MEASURES.index(row.measure), place, ends) if more else ends[1:]
            decided.append(Decided(cut, not answers.cut and k == 0, place, replace(row, low=low, high=high)))
    return decided, reason


def _measures(values: Float[np.ndarray, " n"], cut: float, truth: Float[np.ndarray, " n"]) -> Float[np.ndarray, "4 n"]:
    """Accuracy, error, FPR and FNR of each image, in the order of `MEASURES`; NaN where an image does not count."""
    known = np.isfinite(values) & np.isfinite(truth)
    wrong = np.where(known, (values >= cut) != (truth == 1), np.nan)
    return np.stack([1 - wrong, wrong, np.where(truth == 0, wrong, np.nan), np.where(truth == 1, wrong, np.nan)])


def _called(decided: Decided) -> str:
    return "own decision" if decided.own else f"cut of the score at {decided.cut:.4g}"


def rates_table(answers: Answers, groups: Grouping, decided: list[Decided]) -> Table:
    """A row per decision, group and measure."""
    columns = [("group", "text"), ("threshold", "number" if answers.cut else "text"), ("measure", "text")]
    columns += [("rate", "proportion"), ("low", "proportion"), ("high", "proportion")]
    columns += [("images", "count"), ("note", "text")]
    rows = [[row.rate.group, row.cut if answers.cut else _called(row), *_row(row.rate)] for row in decided]
    n = len(dict.fromkeys(row.cut for row in decided))
    how = f"at {n} thresholds" if answers.cut else "by the target's decision and at a cut of its score"
    return table(f"Errors by {words(groups.name)} {how}", columns, rows)


def _row(row: GroupRate) -> list[object]:
    measure = row.measure.upper() if row.measure in ("fpr", "fnr") else row.measure
    return [measure, row.rate, row.low, row.high, row.n_images, row.reason]


def figure(answers: Answers, groups: Grouping, decided: list[Decided], *, folded: bool) -> Figure:
    """The error of each group at each threshold, with intervals: Fig. 16 of the paper for any attributes."""
    series: dict[str, list[Point]] = {}
    for row in decided:
        if row.rate.measure == "error":
            name = f"threshold {row.cut:.4g}" if answers.cut else _called(row)
            label = row.rate.group if row.place else "all images"
            rate = row.rate
            drawn = point(rate.rate, low=rate.low, high=rate.high, label=label, n=rate.n_images, reason=rate.reason)
            series.setdefault(name, []).append(drawn)
    panel = Panel(
        heading="Error",
        y_words="error rate",
        unit="proportion",
        series=[Series(name=name, points=points) for name, points in series.items()],
    )
    return Figure(
        kind="rows",
        title=f"Errors by {words(groups.name)} at two thresholds",
        caption="(share of images, %, with 95 % intervals)",
        panels=[panel],
        folded=folded,
    )
