"""The section on the images whose answer differs most from people's ratings (Balakrishnan et al. 2020, Fig. 17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import Answers, table, words
from transect.analysis.sections.raters import Rated
from transect.annotation.agreement.logistic_curve import SOURCE
from transect.effects.truth import Truth
from transect.records import Task
from transect.reports.records import Section
from transect.reports.wording import short_name

MOST: Final = 12
"""Images of each direction that are shown."""


@final
@dataclass(frozen=True, slots=True)
class Deviations:
    """A target's answers beside people's, both from 0 (no) to 1 (yes); of a regression in the units of the attribute.

    model, people [n]: NaN where there is none. over, under: rows of the images that are shown, on which the model is
    farthest above and below, farthest first.
    """

    study: str
    target: str
    text: str
    model: Float[np.ndarray, " n"]
    people: Float[np.ndarray, " n"]
    over: Int[np.ndarray, " o"]
    under: Int[np.ndarray, " u"]
    binary: bool


def deviations(answers: Answers, truth: Truth, rated: Rated) -> Deviations | None:
    """What lies farthest from people's mean answer; None where the target gives no answer that could be compared.

    Where people are asked about more than two levels their mean's place on the scale stands for a share of yes, as in
    the paper; of levels without order it is the share of answers that agree with the truth.
    """
    if answers.task is Task.REGRESSION:
        if truth.comparison:
            return None
        model, people, binary = answers.scores, rated.mean, False
    elif answers.task is Task.EMBEDDING:
        return None
    else:
        known = answers.scores[np.isfinite(answers.scores)]
        probable = answers.cut and len(known) > 0 and bool(((known >= 0) & (known <= 1)).all())
        model, people, binary = (answers.scores if probable else answers.answers), _yes(truth, rated), True
    gap = model - people
    order = np.argsort(-np.abs(np.nan_to_num(gap)), kind="stable")
    over, under = (order[(sign * gap[order]) > 0][:MOST] for sign in (1, -1))
    return Deviations(answers.study, answers.target, truth.text, model, people, over, under, binary)


def _yes(truth: Truth, rated: Rated) -> Float[np.ndarray, " n"]:
    """How far people's answers lie towards yes, 0 to 1."""
    if truth.comparison in ("==", "!=") or rated.scale == "nominal":
        answers = Truth(truth.text, rated.name, truth.comparison, truth.value).of({rated.name: rated.ratings.ravel()})
        grid = answers.reshape(rated.ratings.shape)
        known = np.isfinite(grid)
        n = known.sum(axis=1)
        sums = np.where(known, grid, 0.0).sum(axis=1)
        return np.asarray(np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0))
    share = (rated.mean - rated.low) / rated.width
    return 1 - share if truth.comparison in ("<", "<=") else share


def section(differences: Deviations, ids: list[str]) -> Section:
    """Both directions as a table; the pictures stand in a gallery of the page on the raters."""
    heads = [("image", "text"), ("the model", "number"), ("people, mean", "number"), ("apart", "number")]
    tables = []
    for title, rows in (("The model above people", differences.over), ("The model below people", differences.under)):
        cells = [
            [ids[k], differences.model[k], differences.people[k], abs(differences.model[k] - differences.people[k])]
            for k in rows.tolist()
        ]
        tables.append(table(title, heads, cells))
    gap = np.abs(differences.model - differences.people)
    both = gap[np.isfinite(gap)]
    mean = float(both.mean()) if len(both) else np.nan
    summary = [
        ("images with both", "count"),
        ("without", "count"),
        ("mean deviation", "number"),
        ("largest", "number"),
    ]
    largest = float(both.max()) if len(both) else np.nan
    tables.insert(0, table("How far apart", summary, [[len(both), len(gap) - len(both), mean, largest]]))
    return Section(
        key="deviations",
        study=differences.study,
        title=f"Farthest from people's answers: {short_name(differences.target)}",
        text=[
            f"The truth is {words(differences.text)}. People's mean answer is the reference, as where no "
            "physical truth exists. Images on which the model deviates most from it come first (Balakrishnan "
            "et al. 2020, Fig. 17). A deviation from the mean of a few people may also be their error."
        ],
        warnings=[],
        figures=[],
        tables=tables,
        sources=[SOURCE],
    )
