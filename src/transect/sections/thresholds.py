"""Errors against the threshold, by group, and the table at two thresholds (Balakrishnan et al. 2020, Fig. 16)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from transect.effects.thresholds import GroupRate, at_thresholds, threshold_curves
from transect.sections.answers import Answers, grouped, point, table, words

ATTRIBUTES: Final = 3
"""Attributes that are shown: those whose groups' errors differ most at the target's threshold."""
_POINTS: Final = 51
_SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
_TEXT: Final = (
    "A group's errors may be many at one threshold and few at another. The table has the target's own threshold and "
    "the one with the fewest errors over all images, {best:.3g}, whose errors are those of the images that chose it. "
    "Of {n} attributes those {shown} are shown whose groups differ most."
)


def has_section(one: Answers) -> bool:
    """Whether there are scores to cut, of images whose truth is yes and of others, and groups to compare."""
    known = one.scores[np.isfinite(one.scores) & np.isfinite(one.truth)]
    both = len(np.unique(one.truth[np.isfinite(one.truth)])) == 2
    return one.judged and len(np.unique(known)) > 2 and both and bool(_names(one))


def _names(one: Answers) -> list[str]:
    """Attributes whose groups are compared: not the truth's own."""
    return [name for name in one.values if name != one.truth_attribute and name in one.attributes]


def section(one: Answers) -> dict[str, Any]:
    """The section of one target in one study."""
    names = _names(one)
    groups = {name: grouped(one.attributes[name], one.values[name]) for name in names}
    shown = sorted(names, key=lambda name: -_spread(one, groups[name]))[:ATTRIBUTES]
    best = threshold_curves(one.scores, one.truth).best
    return {
        "key": "thresholds",
        "study": one.study,
        "title": f"Thresholds of {one.target}",
        "text": [_TEXT.format(best=best, n=len(names), shown=len(shown))],
        "figures": [_figure(one, name, groups[name]) for name in shown],
        "tables": [_table(one, name, groups[name], best) for name in shown],
        "sources": [_SOURCE],
    }


def _spread(one: Answers, groups: np.ndarray) -> float:
    """Largest difference of the error rate between two groups."""
    rates = [
        float(np.nanmean(one.errors[groups == name]))
        for name in np.unique(groups.astype(str))
        if name and np.isfinite(one.errors[groups == name]).any()
    ]
    return max(rates) - min(rates) if rates else 0.0


def _figure(one: Answers, name: str, groups: np.ndarray) -> dict[str, Any]:
    known = one.scores[np.isfinite(one.scores)]
    cuts = np.linspace(known.min(), known.max(), _POINTS)
    made = threshold_curves(one.scores, one.truth, groups, thresholds=cuts)
    panels = []
    for heading, rates in (("Error", made.error), ("FPR", made.fpr), ("FNR", made.fnr)):
        series = [
            {"name": group, "points": [point(float(rate), x=float(cut)) for cut, rate in zip(cuts, row, strict=True)]}
            for group, row in zip(made.groups, rates, strict=True)
        ]
        panels.append(
            {"heading": heading, "x_words": "threshold", "y_words": "rate", "unit": "proportion", "series": series}
        )
    return {"kind": "curves", "title": f"Errors against the threshold by {words(name)}", "panels": panels}


def _table(one: Answers, name: str, groups: np.ndarray, best: float) -> dict[str, Any]:
    thresholds = list(dict.fromkeys([one.threshold, best]))
    rows = at_thresholds(one.scores, one.truth, groups, thresholds=thresholds, clusters=one.subjects)
    columns = [("group", "text"), ("threshold", "number"), ("measure", "text"), ("rate", "proportion")]
    columns += [("low", "proportion"), ("high", "proportion"), ("images", "count"), ("note", "text")]
    return table(f"Errors by {words(name)} at {len(thresholds)} thresholds", columns, [_row(row) for row in rows])


def _row(row: GroupRate) -> list[Any]:
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
