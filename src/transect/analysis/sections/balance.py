"""Do attributes come together? Violins by group, standardized differences and correlations, studies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from transect.analysis.sections.answers import Answers, number, table, words
from transect.analysis.sections.conditions import condition, texts
from transect.analysis.sections.correlated import enough
from transect.analysis.sections.violins import figures, panel
from transect.effects.distributions import SOURCE, UNBALANCED, distributions, smd
from transect.effects.perception import Correlations, correlations
from transect.reports.records import Figure, Section, Table

_BALAKRISHNAN: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
_TEXT: Final = (
    "An experiment sets attributes independently of each other. In a population or in photographs they are "
    "correlated, and an unadjusted difference mixes their effects. Standardized differences beyond {limit:g} "
    "are commonly called unbalanced."
)


def section(answer_sets: Sequence[Answers]) -> Section | None:
    """One section over the studies, grouped by one attribute; None where there is nothing to group or to compare."""
    by = _group_attribute(answer_sets)
    if by is None:
        return None
    pairs, few = _pairs(answer_sets)
    return Section(
        key="balance",
        title=f"Attributes by {words(by)}",
        text=[_TEXT.format(limit=UNBALANCED), *few],
        figures=_violins(answer_sets, by),
        tables=[_differences(answer_sets, by), pairs],
        sources=[_BALAKRISHNAN, SOURCE],
    )


def _group_attribute(answer_sets: Sequence[Answers]) -> str | None:
    """The truth's attribute where it is there, else the first that the studies share."""
    names = [
        name
        for name in answer_sets[0].values
        if all(name in answers.values and name in answers.attributes for answers in answer_sets)
    ]
    if len({name for answers in answer_sets for name in answers.values}) < 2 or not names:
        return None
    wanted = next((answers.truth_attribute for answers in answer_sets if answers.truth_attribute in names), names[0])
    return wanted if all(np.isfinite(answers.values[wanted]).any() for answers in answer_sets) else None


def _halves(answers: Answers, by: str) -> np.ndarray:
    """The named levels or the user's ranges; any other range is cut in two at its middle value."""
    attribute, values = answers.attributes[by], answers.values[by]
    if attribute.discrete or by in answers.bins:
        return texts(condition(answers, by))
    known = values[np.isfinite(values)]
    middle = float(np.median(known))
    middle = middle if middle > known.min() else float(known[known > known.min()].min()) if np.ptp(known) else middle
    names = np.where(values >= middle, f"{words(by)} from {middle:.3g} on", f"{words(by)} below {middle:.3g}").astype(
        object
    )
    names[~np.isfinite(values)] = ""
    return np.asarray(names)


def _violins(answer_sets: Sequence[Answers], by: str) -> list[Figure]:
    """Figures of each study, one panel per other attribute that varies."""
    drawn: list[Figure] = []
    for answers in answer_sets:
        groups = _halves(answers, by)
        panels = [
            panel(name, distributions({name: values}, groups))
            for name, values in answers.values.items()
            if name != by and np.isfinite(values).any() and np.nanmax(values) > np.nanmin(values)
        ]
        drawn += figures(f"{answers.study}: distributions by {words(by)}", panels)
    return drawn


def _differences(answer_sets: Sequence[Answers], by: str) -> Table:
    """Last group against first, a column per study."""
    names = [name for name in dict.fromkeys(name for answers in answer_sets for name in answers.values) if name != by]
    rows = []
    for name in names:
        cells: list[object] = [words(name)]
        for answers in answer_sets:
            cells.append(_smd(answers, by, name))
        rows.append(cells)
    heads = [
        ("attribute", "text"),
        *(
            (f"{answers.study} ({int(np.isfinite(answers.values[by]).sum()):,} images)", "number")
            for answers in answer_sets
        ),
    ]
    return table(f"Standardized differences between the first and the last group of {words(by)}", heads, rows)


def _smd(answers: Answers, by: str, name: str) -> float | None:
    if name not in answers.values:
        return None
    groups = _halves(answers, by)
    chosen = sorted({group for group in groups.tolist() if group})
    if len(chosen) < 2:
        return None
    return number(smd(answers.values[name][groups == chosen[0]], answers.values[name][groups == chosen[-1]]))


def _pairs(answer_sets: Sequence[Answers]) -> tuple[Table, list[str]]:
    """Correlations of pairs, a column per study, the strongest first; and what is blank in which study, and why."""
    checked = [(answers.study, *enough(correlations(answers.values))) for answers in answer_sets]
    matrices = [(study, matrix) for study, matrix, _ in checked]
    names = list(dict.fromkeys(name for _, matrix in matrices for name in matrix.names))
    found_pairs: list[tuple[str, list[float | None]]] = []
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            values = [_correlation(matrix, first, second) for _, matrix in matrices]
            found_pairs.append((f"{words(first)} and {words(second)}", values))
    found_pairs.sort(key=lambda pair: -max((abs(value) for value in pair[1] if value is not None), default=0.0))
    rows = [[name, *values] for name, values in found_pairs]
    heads = [("pair", "text"), *((study, "number") for study, _ in matrices)]
    blank = [f"Correlations of pairs, {study}: {line}" for study, _, lines in checked for line in lines]
    return table("Correlations of pairs of attributes", heads, rows), blank


def _correlation(matrix: Correlations, first: str, second: str) -> float | None:
    if first not in matrix.names or second not in matrix.names:
        return None
    return number(float(matrix.values[matrix.names.index(first), matrix.names.index(second)]))
