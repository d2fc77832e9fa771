"""Percent agreement, kappas, the spread of answers on one image, and how each rater agrees with the others."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.errors import BadInput


def ratings_array(ratings: ArrayLike) -> Float[np.ndarray, "units raters"]:
    """Ratings as an array. Raises BadInput unless they are a table of units by raters."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise BadInput(f"ratings: expected [units, raters], got {table.ndim} axes; give NaN where there is no answer")
    return table


def percent_agreement(ratings: ArrayLike) -> float:
    """Share of pairs of answers on the same unit that are equal, 0 to 1; NaN where no unit has two.

    ratings [units, raters]: levels, NaN for no answer. Not corrected for chance: see `krippendorff_alpha`.
    """
    levels, counts = _counts(ratings_array(ratings))
    _ = levels
    n = counts.sum(axis=1)
    pairs = float((n * (n - 1)).sum())
    return float((counts * (counts - 1)).sum() / pairs) if pairs else float("nan")


def cohen_kappa(first: ArrayLike, other: ArrayLike, weights: Literal["none", "linear", "quadratic"] = "none") -> float:
    """Cohen's kappa of two raters' answers [n] to the same units, NaN left out; -1 to 1.

    weights: how much a disagreement counts, by the distance between the values themselves. NaN where fewer
    than one unit has both answers, or both raters gave one and the same value throughout. Source: Cohen 1960, 1968.
    """
    both = np.stack([np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)], axis=1)
    both = both[np.isfinite(both).all(axis=1)]
    if not len(both):
        return float("nan")
    values, places = np.unique(both, return_inverse=True)
    table = np.zeros((len(values), len(values)))
    np.add.at(table, tuple(places.reshape(both.shape).T), 1.0)
    share = table / table.sum()
    apart = np.abs(values[:, None] - values[None, :])
    cost = (apart > 0).astype(np.float64) if weights == "none" else apart ** {"linear": 1, "quadratic": 2}[weights]
    observed = float((share * cost).sum())
    expected = float((np.outer(share.sum(axis=1), share.sum(axis=0)) * cost).sum())
    return 1 - observed / expected if expected else float("nan")


def mean_cohen_kappa(ratings: ArrayLike, weights: Literal["none", "linear", "quadratic"] = "none") -> float:
    """Mean of Cohen's kappas of all pairs of raters [units, raters]; of two raters Cohen's own.

    Pairs without a kappa are left out; NaN where no pair has one. Source: Light 1971, doi:10.1037/h0031643.

    >>> mean_cohen_kappa([[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1]])  # .5, 1 and .5
    0.6666666666666666
    """
    table = ratings_array(ratings)
    pairs = [cohen_kappa(table[:, i], table[:, j], weights) for i, j in combinations(range(table.shape[1]), 2)]
    known = [kappa for kappa in pairs if np.isfinite(kappa)]
    return float(np.mean(known)) if known else float("nan")


def fleiss_kappa(ratings: ArrayLike) -> float:
    """Fleiss' kappa of levels in no order [units, raters]; units count equally, whatever their number of answers.

    With the same number of answers on each unit it is the published one; NaN where no unit has two answers or all
    answers are equal.
    Source: Fleiss 1971.
    """
    table = ratings_array(ratings)
    _, counts = _counts(table)
    n = counts.sum(axis=1)
    counts = counts[n > 1]
    if not len(counts):
        return float("nan")
    share = counts.sum(axis=0) / counts.sum()
    by_chance = float((share**2).sum())
    n = counts.sum(axis=1)
    observed = float(np.average((counts * (counts - 1)).sum(axis=1) / (n * (n - 1))))
    return (observed - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")


def spread(ratings: ArrayLike, low: float = 0.0, high: float = 1.0) -> Float[np.ndarray, " units"]:
    """Standard deviation of the answers on each unit, in ranges of the scale (Balakrishnan et al. 2020, Fig. 8).

    Divided by the number of answers, as there; NaN where a unit has fewer than two. low, high: ends of the scale.
    """
    table = ratings_array(ratings)
    if not low < high:
        raise BadInput(f"scale: expected low < high, got {low:g} and {high:g}; give its ends")
    known = np.isfinite(table)
    n = known.sum(axis=1)
    values = np.where(known, table, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = values.sum(axis=1) / n
        variance = (np.where(known, values - mean[:, None], 0.0) ** 2).sum(axis=1) / n
    lowest = np.where(known, table, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(known, table, -np.inf).max(axis=1, initial=-np.inf)
    variance = np.where(lowest == highest, 0.0, variance)  # whatever the mean of equal answers is rounded to
    return np.where(n > 1, np.sqrt(variance) / (high - low), np.nan)


class Reliability(NamedTuple):
    """Each rater [raters] against the mean of the others on the same units: correlation, bias, number of units."""

    correlation: Float[np.ndarray, " raters"]
    bias: Float[np.ndarray, " raters"]
    units: Int[np.ndarray, " raters"]


def rater_reliability(ratings: ArrayLike) -> Reliability:
    """Each rater compared with the mean of the others, over units that another rater rated too.

    Correlations are NaN where a rater shares fewer than three units or one side does not vary; bias is the rater's mean
    minus that of the others, in the units of the ratings.

    Each of the first two below is compared with others whose mean is always 2:
    """
    table = ratings_array(ratings)
    known = np.isfinite(table)
    values = np.where(known, table, 0.0)
    others = known.sum(axis=1, keepdims=True) - known
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (values.sum(axis=1, keepdims=True) - values) / others
    both = known & (others > 0)
    columns = [(table[both[:, r], r], rest[both[:, r], r]) for r in range(table.shape[1])]
    return Reliability(
        np.array([_correlation(*pair) for pair in columns]),
        np.array([float(np.mean(mine - theirs)) if len(mine) else np.nan for mine, theirs in columns]),
        both.sum(axis=0).astype(np.int64),
    )


def _correlation(first: np.ndarray, other: np.ndarray) -> float:
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(other) < 1e-12:
        return float("nan")
    return float(np.corrcoef(first, other)[0, 1])


def _counts(
    ratings: Float[np.ndarray, "units raters"],
) -> tuple[Float[np.ndarray, " levels"], Float[np.ndarray, "units levels"]]:
    """The values that occur, and how often each was given to each unit."""
    levels = np.unique(ratings[np.isfinite(ratings)])
    return levels, np.stack([(ratings == level).sum(axis=1) for level in levels], axis=1).astype(float) if len(
        levels
    ) else np.zeros((len(ratings), 0))
