"""Each attribute parted in two, with what to hold equal meanwhile: how attributes that were not set are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, covariates, nominal
from transect.records import Attribute


@final
@dataclass(frozen=True, slots=True)
class Split:
    """told: the two sides in words; at: the first value of the second side; chosen: 1 or 0 [n], NaN without a value;
    others: columns to hold equal.
    """

    told: str
    at: float
    chosen: Float[np.ndarray, " n"]
    others: Mapping[str, Float[np.ndarray, " _"]]


def splits(
    answers: Answers, columns: Mapping[str, Float[np.ndarray, " _"]], held: Mapping[str, Float[np.ndarray, " _"]]
) -> dict[str, Split]:
    """Every attribute that varies and has no more than two names, parted at its median (or off and on)."""
    parts, everything = {}, {**columns, **held}
    for name, values in columns.items():
        known = values[np.isfinite(values)]
        if len(np.unique(known)) < 2 or nominal(answers.known.get(name)):
            continue
        attribute = answers.known[name] if named(answers.known, name, values) else None
        others = covariates(answers.known, {other: column for other, column in everything.items() if other != name})
        at = _middle(known, answers.cut_points(name))
        parts[name] = Split(_told(attribute, at), at, half(values, at), others)
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


def half(values: Float[np.ndarray, " n"], at: float) -> Float[np.ndarray, " n"]:
    """0 below a value and 1 from it on; NaN without a value.

    >>> half(np.array([0.0, 0.0, 1.0, np.nan]), 1.0)
    array([ 0.,  0.,  1., nan])
    """
    return np.where(np.isfinite(values), (values >= at).astype(np.float64), np.nan)


def _middle(known: Float[np.ndarray, " n"], stated: Sequence[float] = ()) -> float:
    """The stated cut point nearest to the median, else the median, or the next value where that is the smallest.

    known: finite values, not all the same. Stated points that leave a side empty are passed over.

    >>> _middle(np.array([20.0, 30.0, 40.0, 70.0]), (25.0, 50.0, 90.0)), _middle(np.array([0.0, 0.0, 1.0]))
    (25.0, 1.0)
    """
    middle = float(np.median(known))
    parting = [point for point in stated if known.min() < point <= known.max()]
    if parting:
        return min(parting, key=lambda point: abs(point - middle))
    return middle if middle > known.min() else float(known[known > known.min()].min())


def _told(attribute: Attribute | None, at: float) -> str:
    if attribute is not None:
        return f"{attribute.levels[1]} vs {attribute.levels[0]}"
    return f"from {at:.3g} on vs below"
