"""Effects of what people saw, and errors by people's word, with the uncertainty of who was asked carried through."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, covariates, nominal, table, words
from transect.effects.rater_uncertainty import (
    SOURCE,
    RaterUncertainty,
    error_difference,
    instrumented,
    raters_resampled,
)
from transect.effects.truth import Truth
from transect.report.records import Section, Table

RESAMPLES: Final = 300
_TEXT: Final = (
    "Other people might have been asked: a rater who uses a scale more widely, or leans to one end, moves all images "
    "that they rated. Intervals here resample raters as well as subjects (Cameron, Gelbach & Miller 2011); the share "
    "says how much of the variance comes from who was asked. Effects per unit of what people saw take the intended "
    "values as instruments, so that noise of single answers does not weaken them."
)


def section(one: Answers) -> Section | None:
    """The section of one target in one experiment; None without people's single answers on what was varied."""
    if not one.design.levels or not one.said:
        return None
    tables = [found for found in (_perceived(one), _errors(one)) if found]
    if not tables:
        return None
    return Section(
        key="other raters",
        study=one.study,
        title=f"If other people had been asked: {one.target}",
        text=[_TEXT],
        warnings=[],
        figures=[],
        tables=tables,
        sources=[SOURCE],
    )


def _heads(first: str, unit: str) -> list[tuple[str, str]]:
    heads = [(first, "text"), ("estimate", unit), ("low", unit), ("high", unit), ("standard error", unit)]
    heads += [("by subject alone", unit), ("share of raters in the variance", "proportion")]
    return [*heads, ("subjects", "count"), ("raters", "count"), ("note", "text")]


def _row(name: str, made: RaterUncertainty, place: int = 0) -> list[Any]:
    columns = (made.estimate, made.low, made.high, made.error, made.by_subject, made.rater_share)
    return [name, *(float(column[place]) for column in columns), made.subjects, made.raters, made.reason]


def _settings(one: Answers) -> dict[str, Float[np.ndarray, " n"]]:
    """Intended values, image by image."""
    cells = np.array([list(cell.values()) for cell in one.design.cells()])[one.cells]
    return {name: cells[:, k] for k, name in enumerate(one.design.levels)}


def _perceived(one: Answers) -> Table | None:
    """The effect per unit of what people saw, of every varied attribute that they rated and that has a mean."""
    names = [name for name in one.design.levels if name in one.said and not nominal(one.known.get(name))]
    if not names:
        return None
    intended = _settings(one)
    held = covariates(one.attributes, {name: column for name, column in intended.items() if name not in names})
    counted, unit = (one.errors, "error") if one.judged else (one.answers if one.binary else one.scores, "answer")
    outside = np.column_stack([np.empty((len(counted), 0)), *held.values()])
    statistic = instrumented(counted, np.column_stack([intended[name] for name in names]), outside)
    made = raters_resampled(
        statistic, [one.said[name] for name in names], one.subjects, resamples=RESAMPLES, seed=one.design.seed
    )
    rows = [_row(words(name), made, place) for place, name in enumerate(names)]
    style = "points" if one.binary else "number"
    return table(f"Effect on the {unit} per unit of what people saw", _heads("perceived attribute", style), rows)


def _errors(one: Answers) -> Table | None:
    """Errors by people's word, the last level of each attribute minus the first."""
    truth, said = one.stated, one.said.get(one.truth_attribute)
    if truth is None or said is None or not one.binary:
        return None
    rows = []
    for name, column in _settings(one).items():
        levels = one.design.levels[name]
        first, last = (np.isclose(column, levels[place]) for place in (0, -1))
        statistic = error_difference(one.answers, lambda seen: _label(truth, seen, one), first, last)
        made = raters_resampled(statistic, [said], one.subjects, resamples=RESAMPLES, seed=one.design.seed)
        own = one.attributes[name]
        rows.append(_row(f"{words(name)}: {own.label(levels[-1])} minus {own.label(levels[0])}", made))
    return table("Error rate where raters say what is right, differences", _heads("levels", "points"), rows)


def _label(truth: Truth, seen: Float[np.ndarray, " n"], one: Answers) -> Float[np.ndarray, " n"]:
    made, _ = truth.as_rated(seen, one.known.get(truth.attribute))
    return made if len(made) == len(seen) else np.full(len(seen), np.nan)
