"""Errors against the threshold, by group, and the table at two thresholds (Balakrishnan et al. 2020, Fig. 16).

By each attribute, and by the attributes and combinations that the user names with `--by`, as raters saw them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections import threshold_rates
from transect.analysis.sections.answers import Answers, point, words
from transect.analysis.sections.conditions import texts
from transect.analysis.sections.interrogation import combinations_of
from transect.analysis.sections.regrouped import WITH_RATERS, Grouping, grouping, without_raters
from transect.effects.interrogation import Condition
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import SQUARED
from transect.effects.thresholds import ALL, threshold_curves
from transect.reports.records import Figure, Panel, Point, Section, Series, Table
from transect.reports.wording import short_name

OPEN: Final = 3
"""Groupings whose figures stand open on the page: what the user named, then those whose groups' errors differ most."""
_POINTS: Final = 51
_SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
_TEXT: Final = (
    "A group may have many errors at one threshold and few at another. The table has the target's own {own} "
    "and the threshold with the fewest errors over all images, {best:.3g}, measured on the images that "
    "selected it. {more}"
)
_NO_CUT: Final = (
    "The target does not decide by a cut of its score (a detector counts its boxes, a multiclass target takes "
    "the largest of its scores), so no threshold of the curves is its decision. "
)


def has_section(answers: Answers) -> bool:
    """Whether there are scores to cut, of images whose truth is yes and of others, and groups to compare."""
    known = answers.scores[np.isfinite(answers.scores) & np.isfinite(answers.truth)]
    both = len(np.unique(answers.truth[np.isfinite(answers.truth)])) == 2
    return answers.judged and len(np.unique(known)) > 2 and both and bool(_names(answers))


def _names(answers: Answers) -> list[tuple[str, ...]]:
    """What images are grouped by: what the user names, whole combinations first; then each attribute of the run."""
    own = [(name,) for name in answers.values if name != answers.truth_attribute and name in answers.attributes]
    return [*dict.fromkeys([*reversed(combinations_of(answers.by)), *own])]


def section(answers: Answers) -> Section:
    """The section of one target in one study."""
    named = len(combinations_of(answers.by))
    groupings = [grouping(answers, names) for names in _names(answers)]
    groupings[named:] = sorted(groupings[named:], key=lambda groups: -_spread(answers, groups.condition))
    best = threshold_curves(answers.scores, answers.truth).best
    words_of = {"own": "threshold", "more": ""} if answers.cut else {"own": "decision", "more": _NO_CUT}
    tables: list[Table] = []
    figures: list[Figure] = []
    reasons: dict[str, str] = {}
    for place, groups in enumerate(groupings):
        rates, reasons[groups.name] = threshold_rates.rates(answers, groups, best)
        tables.append(threshold_rates.rates_table(answers, groups, rates))
        figures += [threshold_rates.figure(answers, groups, rates, folded=place >= OPEN)] if place < named else []
        figures.append(_curves(answers, groups, folded=place >= OPEN))
    by_raters = any(groups.questions for groups in groupings) or bool(answers.judge)
    return Section(
        key="thresholds",
        study=answers.study,
        title=f"Thresholds of {short_name(answers.target)}",
        text=[_TEXT.format(best=best, **words_of).rstrip(), *([WITH_RATERS] if by_raters else [])],
        warnings=without_raters(answers, answers.by, reasons),
        figures=figures,
        tables=tables,
        sources=[_SOURCE, *([RATERS, SQUARED] if by_raters else [])],
    )


def _spread(answers: Answers, groups: Condition) -> float:
    """Largest difference of the error rate between two groups."""
    rates = [
        float(np.nanmean(answers.errors[groups.codes == code]))
        for code in range(len(groups.groups))
        if np.isfinite(answers.errors[groups.codes == code]).any()
    ]
    return max(rates) - min(rates) if rates else 0.0


def _curves(answers: Answers, groups: Grouping, *, folded: bool) -> Figure:
    """Of one attribute error, FPR and FNR; of several the error, with a panel for each group of all but the last."""
    known = answers.scores[np.isfinite(answers.scores)]
    cuts = np.linspace(known.min(), known.max(), _POINTS)
    curves = threshold_curves(answers.scores, answers.truth, texts(groups.condition), thresholds=cuts)

    def panel(heading: str, rates: Float[np.ndarray, "g t"], names: Mapping[str, str], measure: str) -> Panel:
        series = [
            Series(name=called, points=_course(cuts, rates[curves.groups.index(name)]))
            for name, called in names.items()
            if name in curves.groups
        ]
        return Panel(heading=heading, x_words="threshold", y_words=measure, unit="proportion", series=series)

    if len(groups.names) == 1:
        each = {name: name for name in (ALL, *groups.condition.groups)}
        measures = (("Error", curves.error), ("FPR", curves.fpr), ("FNR", curves.fnr))
        panels = [panel(heading, rates, each, "rate") for heading, rates in measures]
    else:
        panels = [
            panel(heading, curves.error, {ALL: ALL, **names}, "error rate")
            for heading, names in _nested(answers, groups).items()
        ]
    title = f"Errors against the threshold by {words(groups.name)}"
    return Figure(kind="curves", title=title, panels=panels, folded=folded)


def _nested(answers: Answers, groups: Grouping) -> dict[str, dict[str, str]]:
    """Each combination of all but the last attribute: whole combinations in it, and their groups of the last one."""
    outer, last = grouping(answers, groups.names[:-1]), grouping(answers, groups.names[-1:]).condition.groups
    called = [group if len(outer.names) > 1 else f"{words(outer.name)} {group}" for group in outer.condition.groups]
    whole = list(groups.condition.groups)  # the last attribute's groups change fastest
    return {
        name: dict(zip(whole[k * len(last) : (k + 1) * len(last)], last, strict=True)) for k, name in enumerate(called)
    }


def _course(cuts: Float[np.ndarray, " t"], rates: Float[np.ndarray, " t"]) -> list[Point]:
    return [point(float(rate), x=float(cut)) for cut, rate in zip(cuts, rates, strict=True)]
