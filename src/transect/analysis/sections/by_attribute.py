"""Accuracy, false positives and false negatives in all images and at each level of each attribute, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, table, words
from transect.analysis.sections.interrogation import conditions_of
from transect.effects.exclusions import Exclusions
from transect.effects.interrogation import Condition
from transect.effects.intervals import SOURCES
from transect.effects.rates import GroupedImages, Rate, grouped_rates
from transect.effects.sensitivity import SOURCE
from transect.reports.records import Section, Table
from transect.reports.wording import short_name

KEY: Final = "by_attribute"
_TITLE: Final = "Accuracy, false positives and false negatives by attribute"
_TEXT: Final = (
    "Each row counts the images of one level alone, as Denton et al. 2019 did in their Table 1: levels differ in what "
    "else is on their images, so that differences are no effects. FPR is the share of yes among images whose truth is "
    "no, FNR the share of no among those whose truth is yes. Images without a valid answer or a truth are not counted. "
    "Intervals are 95 %, by subject."
)
_NO_TRUTH: Final = "no valid answer, or no truth"
_MEASURES: Final = ("accuracy", "FPR", "FNR")


def section(answers: Answers) -> Section | None:
    """The table of one target on observed images; None where no answer is right or wrong, or there is no attribute."""
    conditions = conditions_of(answers) if answers.judged and not answers.design.levels else {}
    if not conditions:
        return None
    found = {measure: _rates(answers, values, conditions) for measure, values in _outcomes(answers).items()}
    methods = dict.fromkeys(rate.method for rates in found.values() for rate in rates if rate.method in SOURCES)
    return Section(
        key=KEY,
        study=answers.study,
        target=answers.target,
        title=f"{_TITLE}: {short_name(answers.target)}",
        text=[_TEXT],
        tables=[_table(found, conditions)],
        sources=[SOURCE, *(SOURCES[method] for method in methods)],
    )


def _outcomes(answers: Answers) -> dict[str, Float[np.ndarray, " n"]]:
    """0 or 1 by measure, NaN for images that it is not about."""
    wrong, truth = answers.errors, answers.truth
    about = (np.isfinite(truth), truth == 0, truth == 1)
    values = (1 - wrong, wrong, wrong)
    rows = zip(_MEASURES, about, values, strict=True)
    return {measure: np.where(counted, value, np.nan) for measure, counted, value in rows}


def _rates(answers: Answers, values: Float[np.ndarray, " n"], conditions: Mapping[str, Condition]) -> tuple[Rate, ...]:
    """Of all images, then of each group of each attribute."""
    people, subjects = np.unique(answers.subjects, return_inverse=True)
    reasons = np.where(np.isfinite(values), "", _NO_TRUTH).astype(object)
    images = GroupedImages(
        values=values,
        exclusions=Exclusions.of(values, reasons),
        subjects=subjects.reshape(-1),
        n_subjects=len(people),
        groups=np.column_stack([condition.codes for condition in conditions.values()]),
        levels={name: tuple(map(float, range(len(each.groups)))) for name, each in conditions.items()},
    )
    return grouped_rates(images, is_binary=True, max_order=1)


def _table(found: Mapping[str, tuple[Rate, ...]], conditions: Mapping[str, Condition]) -> Table:
    heads = [("images of", "text")]
    for measure in _MEASURES:
        heads += [(measure, "proportion"), (f"{measure}: low", "proportion"), (f"{measure}: high", "proportion")]
        heads.append((f"{measure}: images", "count"))
    heads += [("subjects", "count"), ("not counted", "count")]
    rows = []
    for name, rates in zip(_names(conditions), zip(*found.values(), strict=True), strict=True):
        cells: list[object] = [name]
        for rate in rates:
            cells += [rate.rate, rate.low, rate.high, rate.n_images]
        rows.append([*cells, rates[0].n_subjects, sum(rates[0].excluded.values())])
    return table(_TITLE, heads, rows)


def _names(conditions: Mapping[str, Condition]) -> Iterator[str]:
    yield "all"
    for name, each in conditions.items():
        yield from (f"{words(name)}: {group}" for group in each.groups)
