"""Krippendorff's alpha for levels in no order, in order, or equal steps apart, with an interval by subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.annotation.agreement.alpha_interval import alpha_interval
from transect.annotation.agreement.coefficients import ratings_array
from transect.annotation.agreement.coincidences import Metric, answer_counts, coincidences, distances
from transect.errors import BadInput

SOURCE: Final = (
    "Krippendorff 2011, Computing Krippendorff's alpha-reliability, https://repository.upenn.edu/asc_papers/43"
)
ONE_SUBJECT: Final = "one subject alone: no interval"


@final
@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha, its 95 % interval, and the units, answers and subjects that it rests on.

    NaN with the reason; an interval may have a reason to be missing where alpha has a value.
    """

    value: float
    low: float
    high: float
    units: int
    answers: int
    subjects: int
    reason: str = ""


def krippendorff_alpha(ratings: ArrayLike, metric: Metric = "ordinal", *, subjects: ArrayLike | None = None) -> Alpha:
    """1 minus observed over expected disagreement: 1 where all agree, 0 where agreement is at chance level.

    ratings [units, raters]: values, NaN for no answer; units with fewer than two answers are ignored. subjects [units]:
    which units belong together (default: each is its own). The interval is for these raters and for subjects like
    these (see `alpha_interval`); it says nothing of other raters.

    Returns Alpha; NaN with the reason where no unit has two answers, or all answers are equal. The interval is NaN,
    with the reason, of one subject alone. Raises BadInput for ratings that are no table, or another number of subjects.
    Source: Krippendorff 2011.
    """
    table = ratings_array(ratings)
    names = np.arange(len(table)) if subjects is None else np.asarray(subjects)
    if names.shape != (len(table),):
        raise BadInput(f"subjects: expected one of each of {len(table)} units, got {names.size}; pass one for each")
    several = np.isfinite(table).sum(axis=1) > 1
    table, subject = table[several], np.unique(names[several], return_inverse=True)[1]
    levels = np.unique(table[np.isfinite(table)])
    people = len(np.unique(subject))
    size = len(table), int(np.isfinite(table).sum()), people
    if len(levels) < 2:
        reason = "all answers are equal" if len(table) else "no unit has two answers"
        return Alpha(np.nan, np.nan, np.nan, *size, reason)
    counts = answer_counts(table, levels)
    value = _alpha(counts, levels, metric)
    if people < 2:
        return Alpha(value, np.nan, np.nan, *size, ONE_SUBJECT)
    return Alpha(value, *alpha_interval(counts, levels, metric, subject), *size)


def _alpha(counts: Float[np.ndarray, "units k"], levels: Float[np.ndarray, " k"], metric: Metric) -> float:
    totals = counts.sum(axis=0)
    apart = distances(totals, levels, metric)
    observed = float((coincidences(counts).sum(axis=0) * apart).sum())
    return float(1 - observed * (totals.sum() - 1) / float(totals @ apart @ totals))
