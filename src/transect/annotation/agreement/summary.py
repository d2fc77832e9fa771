"""All figures of agreement of one project, as JSON or lines."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.annotation.agreement.coefficients import (
    fleiss_kappa,
    mean_cohen_kappa,
    percent_agreement,
    rater_reliability,
    spread,
)
from transect.annotation.agreement.dawid_skene import DawidSkene, dawid_skene
from transect.annotation.agreement.krippendorff import krippendorff_alpha
from transect.annotation.project import Project
from transect.annotation.questions import Asked
from transect.annotation.reading import Matrix, Row, matrix, rows

_VIEWS: Final = 3
"""Answers on a unit below which Dawid and Skene's model cannot tell who errs (Allman, Matias & Rhodes 2009,
doi:10.1214/09-AOS689)."""


def summary(project: Project, resamples: int = 1000) -> dict[str, Any]:
    """Per question: raters, units, agreement, alpha with interval, spread, repeats, and each rater; None: not known."""
    said = rows(project.database)
    return {
        "answers": len(said),
        "excluded_raters": sorted({one.rater for one in said if one.excluded}),
        "questions": [_question(said, one, resamples) for one in project.asked.question],
    }


def _question(said: list[Row], asked: Asked, resamples: int) -> dict[str, Any]:
    made = matrix(said, asked.name)
    values = level_values(asked)
    valued = made._replace(ratings=valued_as(made.ratings, values))
    alpha = krippendorff_alpha(valued.ratings, asked.scale, resamples=resamples)
    apart = spread(valued.ratings, values.min(), values.max())
    known = apart[np.isfinite(apart) & (asked.scale != "nominal")]
    latent = dawid_skene(made.ratings, len(asked.levels))
    mine = [one for one in said if one.question == asked.name and not one.excluded]
    return {
        "question": asked.name,
        "scale": asked.scale,
        "units": len(made.units),
        "raters": len(made.raters),
        "answers": int(np.isfinite(made.ratings).sum()),
        "cannot_tell": sum(one.value is None for one in mine),
        "percent_agreement": _or_none(percent_agreement(made.ratings)),
        "fleiss_kappa": _or_none(fleiss_kappa(made.ratings)),
        "mean_cohen_kappa": _or_none(mean_cohen_kappa(made.ratings)),
        "alpha": _or_none(alpha.value),
        "alpha_low": _or_none(alpha.low),
        "alpha_high": _or_none(alpha.high),
        "alpha_reason": alpha.reason,
        "median_spread": float(np.median(known)) if len(known) else None,
        "known_right": _share([one.value == one.gold for one in mine if one.gold is not None]),
        "repeats_alike": _share(_repeats(said, asked.name)),
        "by_rater": _raters(made, latent, None if asked.scale == "nominal" else valued.ratings, _step(values)),
        "dawid_skene": _latent(made, latent, len(asked.levels)),
    }


def level_values(asked: Asked) -> Float[np.ndarray, " levels"]:
    """Each level in the units of the question, in which the raters' page and the report count too."""
    made = np.asarray(asked.values)
    return made if np.ptp(made) else np.asarray(asked.places)  # all of one value: begun before that was refused


def valued_as(
    ratings: Float[np.ndarray, "units raters"], values: Float[np.ndarray, " levels"]
) -> Float[np.ndarray, "units raters"]:
    """The value of each answer, which is given as the number of its level; NaN where there is none."""
    known = np.isfinite(ratings)
    return np.where(known, values[np.where(known, ratings, 0).astype(np.int64)], np.nan)


def _step(values: Float[np.ndarray, " levels"]) -> float:
    """Distance of neighbouring answers, on average."""
    return float(np.ptp(values) / (len(np.unique(values)) - 1))


def _latent(made: Matrix, latent: DawidSkene, levels: int) -> dict[str, Any]:
    """Of units with three answers or more those whose most probable level by Dawid and Skene's model is another than
    the answer given most often.
    """
    ratings, level = made.ratings, latent.level
    counts = np.stack([(ratings == one).sum(axis=1) for one in range(levels)], axis=1)
    several = counts.sum(axis=1) >= _VIEWS
    clear = several & ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1)
    other = clear & np.isfinite(level) & (level != counts.argmax(axis=1))
    named = [list(unit) for unit, is_other in zip(made.units, other, strict=True) if is_other]
    reason = "" if several.any() else f"no image has {_VIEWS} answers"
    return {
        "of": int(clear.sum()),
        "other_than_most_say": named,
        "tied": int((several & ~clear).sum()),
        "reason": reason,
    }


def _repeats(said: list[Row], name: str) -> list[bool]:
    """Whether each repeated item got the same answer again."""
    first, again = matrix(said, name), matrix(said, name, repeats=True)
    values = {
        (unit, rater): first.ratings[i, j] for i, unit in enumerate(first.units) for j, rater in enumerate(first.raters)
    }
    return [
        bool(values[unit, rater] == value)
        for i, unit in enumerate(again.units)
        for j, rater in enumerate(again.raters)
        if math.isfinite(value := again.ratings[i, j]) and (unit, rater) in values
    ]


def _raters(
    made: Matrix, latent: DawidSkene, valued: Float[np.ndarray, "units raters"] | None, step: float
) -> list[dict[str, Any]]:
    """Each rater beside the mean of the others, and how often they are right if Dawid and Skene's model is.

    valued: answers as numbers, None for levels in no order, of which there is neither correlation nor bias; step:
    between neighbouring levels, in which bias is counted. How often they are right is the mean, over the rater's
    answers to units with three or more, of how probable the answered level is; None without one.
    """
    each = rater_reliability(made.ratings if valued is None else valued)
    several = np.isfinite(made.ratings).sum(axis=1) >= _VIEWS
    told = np.where(several[:, None], made.ratings, np.nan)
    right = [_right(told[:, place], latent) for place in range(len(made.raters))]
    return [
        {
            "rater": name,
            "units": int(n),
            "correlation": None if valued is None else _or_none(float(r)),
            "bias": None if valued is None else _or_none(float(bias) / step),
            "right_by_dawid_skene": _or_none(float(share)),
        }
        for name, r, bias, n, share in zip(made.raters, each.correlation, each.bias, each.units, right, strict=True)
    ]


def _right(said: Float[np.ndarray, " units"], latent: DawidSkene) -> float:
    rows = np.flatnonzero(np.isfinite(said))
    return float(latent.shares[rows, said[rows].astype(np.int64)].mean()) if len(rows) else math.nan


def _share(found: list[bool]) -> dict[str, Any]:
    return {"share": sum(found) / len(found) if found else None, "of": len(found)}


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def lines(made: dict[str, Any]) -> list[str]:
    """The summary for people."""

    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    told = []
    for one in made["questions"]:
        interval = f" ({shown(one['alpha_low'])}, {shown(one['alpha_high'])})" if one["alpha"] is not None else ""
        reason = f" ({one['alpha_reason']})" if one["alpha_reason"] else ""
        known, again = one["known_right"], one["repeats_alike"]
        told.append(
            f"{one['question']}: {one['units']} units, {one['raters']} raters, {one['answers']} answers; agreement "
            f"{shown(one['percent_agreement'])}, Fleiss' kappa {shown(one['fleiss_kappa'])}, mean of Cohen's "
            f"{shown(one['mean_cohen_kappa'])}, alpha ({one['scale']}) {shown(one['alpha'])}{interval}{reason}, "
            f"median spread {shown(one['median_spread'])}; known right {shown(known['share'])} of {known['of']}, "
            f"repeats alike {shown(again['share'])} of {again['of']}; Dawid and Skene's level is another than "
            f"most say for {len(one['dawid_skene']['other_than_most_say'])} of {one['dawid_skene']['of']}"
            + (f" ({one['dawid_skene']['reason']})" if one["dawid_skene"]["reason"] else "")
        )
        told += [
            f"  {each['rater']}: {each['units']} units, correlation with the others {shown(each['correlation'])}, "
            f"bias {shown(each['bias'])}, right by Dawid and Skene {shown(each['right_by_dawid_skene'])}"
            for each in one["by_rater"]
        ]
    return told or ["no questions"]
