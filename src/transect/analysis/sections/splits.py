"""Each attribute parted in two, with what to hold equal meanwhile: how attributes that were not set are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, covariates, nominal
from transect.records import Attribute


@final
@dataclass(frozen=True, slots=True)
class Split:
    """told: the two sides in words; chosen: 1 or 0 [n], NaN without a value; others: columns to hold equal."""

    told: str
    chosen: Float[np.ndarray, " n"]
    others: Mapping[str, Float[np.ndarray, " _"]]


def splits(
    answers: Answers, columns: Mapping[str, Float[np.ndarray, " _"]], held: Mapping[str, Float[np.ndarray, " _"]]
) -> dict[str, Split]:
    """Every attribute that varies and has no more than two names, parted at its median (or off and on).

    columns: values by attribute, as perceived or as they are; all others of them are held equal, and so is `held`, by
    which nothing is compared.
    """
    parts, everything = {}, {**columns, **held}
    for name, values in columns.items():
        known = values[np.isfinite(values)]
        if len(np.unique(known)) < 2 or nominal(answers.known.get(name)):
            continue
        attribute = answers.known[name] if named(answers.known, name, values) else None
        others = covariates(answers.known, {other: column for other, column in everything.items() if other != name})
        parts[name] = Split(_told(attribute, values), half(values), others)
    return parts


def whole(
    answers: Answers, columns: Mapping[str, Float[np.ndarray, " _"]], parted: Mapping[str, Split]
) -> dict[str, str]:
    """Why the attributes that `splits` left out have no two sides, in words."""
    reasons = {}
    for name, values in columns.items():
        if name not in parted:
            known = values[np.isfinite(values)]
            levels = answers.known[name].levels if nominal(answers.known.get(name)) else ()
            reasons[name] = f"{len(levels)} levels" if len(np.unique(known)) > 1 else "does not vary"
    return reasons


def named(attributes: Mapping[str, Attribute], name: str, values: Float[np.ndarray, " n"]) -> bool:
    """Whether every value is a level of the attribute."""
    attribute = attributes.get(name)
    return (
        attribute is not None
        and attribute.discrete
        and bool(np.isin(values[np.isfinite(values)], range(len(attribute.levels))).all())
    )


def half(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """0 below the median and 1 from it on (or off and on); values that vary.

    >>> half(np.array([0.0, 0.0, 1.0, np.nan]))
    array([ 0.,  0.,  1., nan])
    """
    middle = _middle(values[np.isfinite(values)])
    return np.where(np.isfinite(values), (values >= middle).astype(np.float64), np.nan)


def _middle(known: Float[np.ndarray, " n"]) -> float:
    """The median, or the next value above it where it is the smallest of all."""
    middle = float(np.median(known))
    return middle if middle > known.min() else float(known[known > known.min()].min())


def _told(attribute: Attribute | None, values: Float[np.ndarray, " n"]) -> str:
    if attribute is not None:
        return f"{attribute.levels[1]} vs {attribute.levels[0]}"
    return f"from {_middle(values[np.isfinite(values)]):.3g} on vs below"
