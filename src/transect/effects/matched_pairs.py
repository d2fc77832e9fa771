"""How do outcomes differ within matched pairs, and how much hidden bias could that bear?

Matching makes the two groups similar in what was measured. A difference within pairs is an association as long as the
two images of a pair may differ in a hidden cause; Rosenbaum's bounds show how strong a cause the difference withstands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtr, stdtrit

from transect.effects.confounding import RosenbaumBounds, rosenbaum_bounds
from transect.effects.intervals import mean_difference_interval
from transect.effects.randomization import sign_flip
from transect.effects.verdicts import EQUIVALENCE
from transect.errors import BadInput

GAMMAS: Final = (1.0, 1.25, 1.5, 2.0, 3.0)
NO_PAIR: Final = "no pair has both outcomes"


@final
@dataclass(frozen=True, slots=True)
class PairOutcome:
    """Mean outcome of the a minus that of the b of pairs, NaN with a reason where it cannot be estimated.

    n_pairs, n_missing: pairs (a with the mean of its b, where it has several) with and without both outcomes. of_a,
    of_b: mean outcome of either side of these pairs. least, most: the 90 % interval, whose ends are two one-sided tests
    at 5 %. spread: standard deviation of the differences. is_binary: whether it is a difference of proportions.
    bounds: Rosenbaum's, None with no_bounds where they are not of pairs.
    """

    estimate: float
    low: float
    high: float
    p: float
    n_pairs: int
    n_missing: int
    is_binary: bool
    interval_method: str
    test_method: str
    reason: str
    bounds: RosenbaumBounds | None
    no_bounds: str = ""
    of_a: float = math.nan
    of_b: float = math.nan
    least: float = math.nan
    most: float = math.nan
    spread: float = math.nan


def pair_outcome(
    values: Float[np.ndarray, " n"],
    a: Int[np.ndarray, " m"],
    b: Int[np.ndarray, " m"],
    *,
    reach: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairOutcome:
    """The difference of an outcome within pairs, its interval, its sign-flip test, and Rosenbaum's bounds."""
    rows = np.concatenate([a, b])
    if len(a) != len(b) or (len(rows) and not 0 <= rows.min() <= rows.max() < len(values)):
        raise BadInput(f"expected two rows of {len(values)} images for each pair, got {len(a)} and {len(b)} numbers")
    of_a, of_b, several = _sides(values, a, b)
    d = of_a - of_b
    has_both = np.isfinite(d)
    known = d[has_both]
    reach = proportion_reach(values[rows]) if reach is None else reach
    if not len(known):
        nothing = (np.nan,) * 4
        return PairOutcome(*nothing, 0, len(d), reach > 0, "", "", NO_PAIR, None, NO_PAIR)
    most = np.array([reach or 1.0])  # a change is the average of two differences, twice
    bounds = mean_difference_interval(
        known[:, None], binary=reach > 0, reach=most, pairs=most, confidence=confidence, seed=seed
    )
    narrower = mean_difference_interval(
        known[:, None], binary=reach > 0, reach=most, pairs=most, confidence=EQUIVALENCE, seed=seed
    )
    p, tests = sign_flip(known[:, None], seed=seed)
    return PairOutcome(
        float(known.mean()),
        float(bounds.low[0]),
        float(bounds.high[0]),
        float(p[0]),
        len(known),
        len(d) - len(known),
        reach > 0,
        bounds.methods[0],
        tests[0],
        "" if bounds.methods[0] else "one pair, or differences that do not vary: no interval",
        None if several else rosenbaum_bounds(known, GAMMAS, alpha=1 - confidence),
        "bounds are of pairs, not of one image with several" if several else "",
        float(of_a[has_both].mean()),
        float(of_b[has_both].mean()),
        float(narrower.low[0]),
        float(narrower.high[0]),
        float(known.std(ddof=1)) if len(known) > 1 else math.nan,
    )


def proportion_reach(values: Float[np.ndarray, " n"], before: Float[np.ndarray, " n"] | None = None) -> float:
    """The `reach` of an outcome by its column: 1 of 0 and 1, 2 of a change of such columns, 0 of a number."""
    columns = [values] if before is None else [values, before]
    binary = all(np.isin(column[np.isfinite(column)], (0.0, 1.0)).all() for column in columns)
    return float(len(columns)) if binary else 0.0


def _within(
    values: Float[np.ndarray, " n"], a: Int[np.ndarray, " m"], b: Int[np.ndarray, " m"]
) -> Float[np.ndarray, " s"]:
    """Each a less the mean of its b that have a value."""
    of_a, of_b, _ = _sides(values, a, b)
    return np.asarray(of_a - of_b)


def _sides(
    values: Float[np.ndarray, " n"], a: Int[np.ndarray, " m"], b: Int[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"], bool]:
    """Each a, the mean of its b that have an outcome, and whether any a is in several pairs."""
    anchors, place = np.unique(a, return_inverse=True)
    known = np.isfinite(values[b])
    counts = np.bincount(place[known], minlength=len(anchors))
    sums = np.bincount(place[known], weights=values[b][known], minlength=len(anchors))
    others = np.divide(sums, counts, out=np.full(len(anchors), np.nan), where=counts > 0)
    return values[anchors], others, len(anchors) < len(a)


@final
@dataclass(frozen=True, slots=True)
class AdjustedPairs:
    """The difference within pairs where both images have the same covariates; NaN with a reason.

    n_pairs, n_missing: pairs with and without both outcomes and all covariates. covariates: how many were adjusted for;
    left_out: names of those that do not differ within any pair, or that are combinations of others.
    """

    estimate: float
    low: float
    high: float
    p: float
    n_pairs: int
    n_missing: int
    covariates: int
    left_out: tuple[str, ...] = ()
    reason: str = ""


def adjusted_pair_outcome(
    values: Float[np.ndarray, " n"],
    covariates: Mapping[str, Float[np.ndarray, " _"]],
    a: Int[np.ndarray, " m"],
    b: Int[np.ndarray, " m"],
    *,
    confidence: float = 0.95,
) -> AdjustedPairs:
    """What is left of the difference where covariates do not differ: the intercept of differences."""
    rows = np.concatenate([a, b])
    if len(a) != len(b) or (len(rows) and not 0 <= rows.min() <= rows.max() < len(values)):
        raise BadInput(f"expected two rows of {len(values)} images for each pair, got {len(a)} and {len(b)} numbers")
    for name, column in covariates.items():
        if len(column) != len(values):
            raise BadInput(f"{name}: expected one value per image, {len(values)}, got {len(column)}; pass one for each")
    d = _within(values, a, b)
    columns = {name: _within(column, a, b) for name, column in covariates.items()}
    known = np.isfinite(d) & np.all([np.isfinite(column) for column in columns.values()] or [np.isfinite(d)], axis=0)
    n, missing = int(known.sum()), int((~known).sum())
    used, left_out = _independent({name: column[known] for name, column in columns.items()})
    if n < len(used) + 3:
        reason = f"expected at least {len(used) + 3} pairs for {len(used)} covariates, got {n}"
        return AdjustedPairs(*(np.nan,) * 4, n, missing, len(used), left_out, reason)
    x = np.column_stack([np.ones(n), *used.values()])
    estimate, error = _intercept(x, d[known])
    freedom = n - x.shape[1]
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    if not error > 1e-12:
        reason = "differences that do not vary: no interval"
        return AdjustedPairs(estimate, np.nan, np.nan, np.nan, n, missing, len(used), left_out, reason)
    p = float(2 * stdtr(freedom, -abs(estimate) / error))
    return AdjustedPairs(estimate, estimate - half, estimate + half, p, n, missing, len(used), left_out)


def _independent(
    columns: Mapping[str, Float[np.ndarray, " m"]],
) -> tuple[dict[str, Float[np.ndarray, " m"]], tuple[str, ...]]:
    """The columns, scaled, of which none is constant or a combination of earlier ones; and the others."""
    used: dict[str, Float[np.ndarray, " m"]] = {}
    for name, column in columns.items():
        scale = float(column.std()) if len(column) else 0.0
        if not scale > 1e-12 * max(1.0, float(np.abs(column).max(initial=0.0))):
            continue
        tried = [np.ones(len(column)), *used.values(), column / scale]
        if np.linalg.matrix_rank(np.column_stack(tried)) == len(tried):
            used[name] = column / scale
    return used, tuple(name for name in columns if name not in used)


def _intercept(x: Float[np.ndarray, "m k"], y: Float[np.ndarray, " m"]) -> tuple[float, float]:
    """The first coefficient and its HC3 standard error."""
    inverse = np.linalg.inv(x.T @ x)
    coefficients = inverse @ (x.T @ y)
    leverage = np.minimum(np.einsum("mk,kl,ml->m", x, inverse, x), 1 - 1e-9)
    weighted = (x @ inverse[:, 0]) * (y - x @ coefficients) / (1 - leverage)
    return float(coefficients[0]), float(np.sqrt((weighted**2).sum()))
