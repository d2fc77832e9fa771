"""Errors against the threshold, by group, and the table at two thresholds (Balakrishnan et al. 2020, Fig. 16)."""

from __future__ import annotations

from typing import Final

import numpy as np

from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.conditions import condition, texts
from transect.effects.interrogation import Condition
from transect.effects.thresholds import ALL, GroupRate, at_thresholds, threshold_curves
from transect.reports.records import Figure, Panel, Section, Series, Table

ATTRIBUTES: Final = 3
"""Attributes that are shown: those whose groups' errors differ most at the target's threshold."""
_POINTS: Final = 51
_SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
_TEXT: Final = (
    "A group may have many errors at one threshold and few at another. The table has the target's own {own} "
    "and the threshold with the fewest errors over all images, {best:.3g}, measured on the images that "
    "selected it. {more}"
)
_DRAWN: Final = "The {shown} of {n} attributes whose groups differ most are shown."
_NO_CUT: Final = (
    "The target does not decide by a cut of its score (a detector counts its boxes, a multiclass target takes "
    "the largest of its scores), so no threshold of the curves is its decision. "
)


def has_section(answers: Answers) -> bool:
    """Whether there are scores to cut, of images whose truth is yes and of others, and groups to compare."""
    known = answers.scores[np.isfinite(answers.scores) & np.isfinite(answers.truth)]
    both = len(np.unique(answers.truth[np.isfinite(answers.truth)])) == 2
    return answers.judged and len(np.unique(known)) > 2 and both and bool(_names(answers))


def _names(answers: Answers) -> list[str]:
    """Attributes whose groups are compared: not the truth's own."""
    return [name for name in answers.values if name != answers.truth_attribute and name in answers.attributes]


def section(answers: Answers) -> Section:
    """The section of one target in one study."""
    names = _names(answers)
    groups = {name: condition(answers, name) for name in names}
    shown = sorted(names, key=lambda name: -_spread(answers, groups[name]))[:ATTRIBUTES]
    best = threshold_curves(answers.scores, answers.truth).best
    words_of = {"own": "threshold", "more": ""} if answers.cut else {"own": "decision", "more": _NO_CUT}
    drawn = _DRAWN.format(n=len(names), shown=len(shown))
    return Section(
        key="thresholds",
        study=answers.study,
        title=f"Thresholds of {answers.target}",
        text=[(_TEXT.format(best=best, **words_of) + (drawn if len(shown) < len(names) else "")).rstrip()],
        figures=[_figure(answers, name, groups[name]) for name in shown],
        tables=[_table(answers, name, groups[name], best) for name in shown],
        sources=[_SOURCE],
    )


def _spread(answers: Answers, groups: Condition) -> float:
    """Largest difference of the error rate between two groups."""
    rates = [
        float(np.nanmean(answers.errors[groups.codes == code]))
        for code in range(len(groups.groups))
        if np.isfinite(answers.errors[groups.codes == code]).any()
    ]
    return max(rates) - min(rates) if rates else 0.0


def _figure(answers: Answers, name: str, groups: Condition) -> Figure:
    known = answers.scores[np.isfinite(answers.scores)]
    cuts = np.linspace(known.min(), known.max(), _POINTS)
    curves = threshold_curves(answers.scores, answers.truth, texts(groups), thresholds=cuts)
    order = _order(groups)
    panels = []
    for heading, rates in (("Error", curves.error), ("FPR", curves.fpr), ("FNR", curves.fnr)):
        series = [
            Series(name=group, points=[point(float(rate), x=float(cut)) for cut, rate in zip(cuts, row, strict=True)])
            for group, row in sorted(zip(curves.groups, rates, strict=True), key=lambda pair: order[pair[0]])
        ]
        panels.append(Panel(heading=heading, x_words="threshold", y_words="rate", unit="proportion", series=series))
    return Figure(kind="curves", title=f"Errors against the threshold by {words(name)}", panels=panels)


def _table(answers: Answers, name: str, groups: Condition, best: float) -> Table:
    cuts = list(dict.fromkeys([answers.threshold, best] if answers.cut else [best]))
    order, named = _order(groups), texts(groups)
    rates = at_thresholds(answers.scores, answers.truth, named, thresholds=cuts, clusters=answers.subjects)
    rows = [_row(row) for row in sorted(rates, key=lambda row: (cuts.index(row.threshold), order[row.group]))]
    title = f"at {len(cuts)} thresholds"
    if not answers.cut:
        # Answers of 0 and 1, cut between, are the decisions themselves.
        rates = at_thresholds(answers.answers, answers.truth, named, thresholds=[0.5], clusters=answers.subjects)
        decided = sorted(rates, key=lambda row: order[row.group])
        rows = [[row.group, "own decision", *_row(row)[2:]] for row in decided] + [
            [group, f"cut of the score at {cut:.4g}", *more] for group, cut, *more in rows
        ]
        title = "by the target's decision and at a cut of its score"
    columns = [("group", "text"), ("threshold", "number" if answers.cut else "text"), ("measure", "text")]
    columns += [("rate", "proportion"), ("low", "proportion"), ("high", "proportion")]
    columns += [("images", "count"), ("note", "text")]
    return table(f"Errors by {words(name)} {title}", columns, rows)


def _order(groups: Condition) -> dict[str, int]:
    """The place of each group in a figure and a table: all images first."""
    return {name: place for place, name in enumerate((ALL, *groups.groups))}


def _row(row: GroupRate) -> list[object]:
    return [
        row.group,
        row.threshold,
        row.measure.upper() if row.measure in ("fpr", "fnr") else row.measure,
        row.rate,
        row.low,
        row.high,
        row.n_images,
        row.reason,
    ]
