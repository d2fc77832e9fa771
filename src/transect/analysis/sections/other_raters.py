"""Effects of what people saw, and errors by people's word, with the uncertainty of who was asked carried through."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, covariates, nominal, table, words
from transect.analysis.sections.regrouped import right_answers
from transect.effects.rater_uncertainty import (
    SOURCE,
    RaterUncertainty,
    error_difference,
    instrumented,
    raters_resampled,
)
from transect.effects.truth import Truth
from transect.ratings.perceived_attributes import deciding
from transect.reports.records import Section, Table
from transect.reports.wording import short_name

RESAMPLES: Final = 300
_TEXT: Final = (
    "Other raters might answer differently: a rater who uses a scale more widely, or leans to one end, moves "
    "all images that they rated. Intervals here resample raters as well as subjects (Cameron, Gelbach & Miller "
    "2011); the share is the part of the variance that comes from the choice of raters. Effects per unit of "
    "what people saw use the intended values as instruments, so that noise in single answers does not weaken "
    "them."
)


def section(answers: Answers) -> Section | None:
    """The section of one target in one experiment; None without people's single answers on what was varied."""
    if not answers.design.levels or not answers.said:
        return None
    tables = [table for table in (_perceived(answers), _errors(answers)) if table]
    if not tables:
        return None
    return Section(
        key="other raters",
        study=answers.study,
        title=f"With other raters: {short_name(answers.target)}",
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


def _row(name: str, uncertainty: RaterUncertainty, place: int = 0) -> list[object]:
    columns = (
        uncertainty.estimate,
        uncertainty.low,
        uncertainty.high,
        uncertainty.error,
        uncertainty.by_subject,
        uncertainty.rater_share,
    )
    return [
        name,
        *(float(column[place]) for column in columns),
        uncertainty.subjects,
        uncertainty.raters,
        uncertainty.reason,
    ]


def _settings(answers: Answers) -> dict[str, Float[np.ndarray, " n"]]:
    """Intended values, image by image."""
    cells = np.array([list(cell.values()) for cell in answers.design.cells()])[answers.cells]
    return {name: cells[:, k] for k, name in enumerate(answers.design.levels)}


def _perceived(answers: Answers) -> Table | None:
    """The effect per unit of what people saw, of every varied attribute that they rated and that has a mean."""
    names = [name for name in answers.design.levels if name in answers.said and not nominal(answers.known.get(name))]
    if not names:
        return None
    intended = _settings(answers)
    held = covariates(answers.attributes, {name: column for name, column in intended.items() if name not in names})
    counted, unit = (
        (answers.errors, "error")
        if answers.judged
        else (answers.answers if answers.binary else answers.scores, "answer")
    )
    outside = np.column_stack([np.empty((len(counted), 0)), *held.values()])
    statistic = instrumented(counted, np.column_stack([intended[name] for name in names]), outside)
    uncertainty = raters_resampled(
        statistic,
        [answers.said[name] for name in names],
        answers.subjects,
        resamples=RESAMPLES,
        seed=answers.design.seed,
    )
    rows = [_row(words(name), uncertainty, place) for place, name in enumerate(names)]
    style = "points" if answers.binary else "number"
    return table(f"Effect on the {unit} per unit of what people saw", _heads("perceived attribute", style), rows)


def _errors(answers: Answers) -> Table | None:
    """Errors by people's word, the last level of each attribute minus the first."""
    truth, annotations = answers.stated, answers.said.get(answers.truth_attribute)
    if truth is None or annotations is None or not answers.binary:
        return None
    questions = deciding(annotations, answers.known.get(truth.attribute))
    rows = []
    for name, column in _settings(answers).items():
        levels = answers.design.levels[name]
        first, last = (np.isclose(column, levels[place]) for place in (0, -1))
        statistic = error_difference(answers.answers, lambda seen: _label(truth, seen, answers), first, last)
        uncertainty = raters_resampled(
            statistic, questions, answers.subjects, resamples=RESAMPLES, seed=answers.design.seed
        )
        attribute = answers.attributes[name]
        rows.append(
            _row(f"{words(name)}: {attribute.label(levels[-1])} minus {attribute.label(levels[0])}", uncertainty)
        )
    return table("Error rate where raters say what is right, differences", _heads("levels", "points"), rows)


def _label(truth: Truth, seen: Float[np.ndarray, "n p"], answers: Answers) -> Float[np.ndarray, " n"]:
    rated = right_answers(answers, truth, seen)
    return rated if len(rated) == len(seen) else np.full(len(seen), np.nan)
