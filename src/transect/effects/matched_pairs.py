"""Matched pairs of observed people: their balance, and outcomes of the pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import stdtr, stdtrit

from transect.effects.confounding import rosenbaum_bounds
from transect.effects.intervals import CONFIDENCE, FEWEST, mean_difference_interval, no_interval, single_pairs, wilson
from transect.effects.resampling import sign_flip
from transect.effects.verdicts import EQUIVALENCE
from transect.errors import BadInput
from transect.records import Effect, Estimate, EstimateWithTest

GATE: Final = 0.1
"""Absolute standardized mean difference up to which a covariate counts as balanced (Austin 2009)."""
MOST_NAMED: Final = 5
"""Covariates beyond the gate that the verdict names."""

SOURCES: Final = (
    "Austin 2009, Balance diagnostics for comparing baseline covariates, doi:10.1002/sim.3697",
    "Imai, King and Stuart 2008, Misunderstandings between experimentalists and observationalists, "
    "doi:10.1111/j.1467-985X.2007.00527.x",
)


@final
@dataclass(frozen=True, slots=True)
class Side:
    """One covariate in both groups: means and their Wilson intervals (NaN unless it is 0 or 1), and three distances.

    smd: (treated - control mean) / the root of the mean variance of the two unmatched groups. variance_ratio: treated /
    control, NaN where either is 0 or the covariate is 0 or 1. ks: largest difference of the distribution functions. n:
    images of each group that have a value, effective where weighted.
    """

    treated: float
    control: float
    treated_interval: tuple[float, float]
    control_interval: tuple[float, float]
    smd: float
    variance_ratio: float
    ks: float
    n: tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class Balance:
    """One covariate before and after matching. used: whether the method saw it (an exact column, a feature)."""

    covariate: str
    before: Side
    after: Side
    used: bool = False


def balance(
    covariates: Mapping[str, Float[np.ndarray, " n"]],
    treated: Int[np.ndarray, " a"],
    control: Int[np.ndarray, " b"],
    matched: tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]],
    *,
    weights: Float[np.ndarray, " n"] | None = None,
    used: Iterable[str] = (),
) -> list[Balance]:
    """Balance of each covariate between two groups of images, and between the matched ones among them."""
    names_used = set(used)
    balances = []
    for name, values in covariates.items():
        # Root of the mean of the two groups' variances (with n - 1).
        parts = [part[np.isfinite(part)] for part in (values[treated], values[control])]
        variances = [float(part.var(ddof=1)) if len(part) > 1 else 0.0 for part in parts]
        spread = float(np.sqrt(sum(variances) / 2))
        before = _side(_known(values[treated]), _known(values[control]), spread)
        after = (
            [_known(values[rows], weights[rows]) for rows in matched]
            if weights is not None
            else [_known(values, share) for share in _of_pairs(np.isfinite(values), *matched)]
        )
        balances.append(Balance(name, before, _side(after[0], after[1], spread), name in names_used))
    return balances


def verdict(rows: Sequence[Balance], gate: float = GATE) -> str:
    """The gate: "balanced", or "not balanced: " with the covariates beyond it, the five farthest first."""
    if not rows:
        return "balance unknown: no numeric column other than the treatment"
    smd = {row.covariate: row.after.smd for row in rows}
    beyond = [name for name in smd if not abs(smd[name]) <= gate]
    beyond.sort(key=lambda name: -abs(np.nan_to_num(smd[name], nan=np.inf)))
    if not beyond:
        covariates = "1 covariate" if len(rows) == 1 else f"{len(rows)} covariates"
        return f"balanced: {covariates} within {gate:g} standard deviations"
    sides = {row.covariate: row.after for row in rows}
    named = [f"{name} ({_words(sides[name])})" for name in beyond[:MOST_NAMED]]
    named += [f"{len(beyond) - MOST_NAMED} more"] if len(beyond) > MOST_NAMED else []
    count = f"{len(beyond)} of {len(rows)} covariates beyond {gate:g} standard deviations"
    return f"not balanced: {', '.join(named)}; {count}"


def _words(side: Side) -> str:
    """The difference in standard deviations; of two constants both; "unknown" without a value."""
    if np.isfinite(side.smd):
        return f"{side.smd:+z.2f}".replace("-", "−")
    known = np.isfinite(side.treated) and np.isfinite(side.control)
    return f"{side.treated:.3g} against {side.control:.3g}, neither varies" if known else "unknown"


def effects(rows: Sequence[Balance], treatment: str) -> list[Effect]:
    """The standardized mean differences after matching as effects of the sample, without interval or test."""
    return [
        Effect(
            name=f"balance of {row.covariate}",
            attribute=treatment,
            target=row.covariate,
            outcome="balance",
            estimate=row.after.smd,
            unit="standard deviations",
            n_subjects=round(sum(row.after.n)),
            n_images=round(sum(row.after.n)),
            origin=0.0,
            to=1.0,
            basis="observational",
            reason="" if np.isfinite(row.after.smd) else "no matched image has a value, or it does not vary",
            spec={"before": row.before.smd, "variance_ratio": row.after.variance_ratio, "ks": row.after.ks},
            sources=SOURCES,
        )
        for row in rows
    ]


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of binary covariates: shares of the treated and of the control images, and Wilson intervals."""

    levels: Mapping[str, int]
    treated: float
    control: float
    treated_interval: tuple[float, float]
    control_interval: tuple[float, float]


def joint(
    covariates: Mapping[str, Float[np.ndarray, " n"]],
    a: Int[np.ndarray, " a"],
    b: Int[np.ndarray, " b"],
    *,
    paired: bool = False,
) -> list[Cell]:
    """Joint distribution of binary covariates in two groups of rows (Singh et al. 2021, Fig. 6 and C1)."""
    names = list(covariates)
    table = np.column_stack([covariates[name] for name in names])
    known = np.isfinite(table).all(axis=1)
    counts = _of_pairs(known, a, b) if paired else [np.bincount(rows, minlength=len(known)) for rows in (a, b)]
    weights = [np.where(known, count, 0) / max(float(count[known].sum()), 1) for count in counts]
    cells = []
    for levels in itertools.product((0, 1), repeat=len(names)):
        sides = [_share(weight, (table == levels).all(axis=1)) for weight in weights]
        cells.append(Cell(dict(zip(names, levels, strict=True)), sides[0][0], sides[1][0], sides[0][1], sides[1][1]))
    return cells


_Weighted = tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]
"""Values and their weights, which sum to 1."""


def _of_pairs(
    known: Bool[np.ndarray, " n"], a: Int[np.ndarray, " a"], b: Int[np.ndarray, " b"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Weights of all images as a and as b: 1 for an a, and for each of its b with a value one over their number."""
    if len(a) != len(b):
        raise BadInput(f"expected one a and one b per pair, got {len(a)} and {len(b)}; pass weights for groups")
    as_a = (np.bincount(a, minlength=len(known)) > 0).astype(np.float64)
    a, b = a[known[b]], b[known[b]]
    share = 1 / np.bincount(a, minlength=len(known))[a]
    return as_a, np.bincount(b, share, len(known))


def _share(weight: Float[np.ndarray, " n"], inside: Bool[np.ndarray, " n"]) -> tuple[float, tuple[float, float]]:
    """The weight inside, which is 1 for all, and Wilson's interval; NaN where nothing has a weight."""
    n = _effective((weight, weight[weight > 0]))
    share = float(weight[inside].sum()) if n else np.nan
    return share, _wilson(round(share * n, 9) if n else 0, n)


def _side(treated: _Weighted, control: _Weighted, spread: float) -> Side:
    sizes = (_effective(treated), _effective(control))
    if min(sizes) == 0:
        none = (np.nan, np.nan)
        return Side(np.nan, np.nan, none, none, np.nan, np.nan, np.nan, sizes)
    mean_a, mean_b = (float(weight @ values) for values, weight in (treated, control))
    binary = all(bool(np.isin(values, (0, 1)).all()) for values, _ in (treated, control))
    ends_a, ends_b = (
        _wilson(mean * n, n) if binary else (np.nan, np.nan) for mean, n in zip((mean_a, mean_b), sizes, strict=True)
    )
    gap = mean_a - mean_b
    smd = gap / spread if spread > 0 else (0.0 if abs(gap) < 1e-12 else np.nan)
    ratio = np.nan if binary else _variance_ratio(treated, control)
    return Side(mean_a, mean_b, ends_a, ends_b, smd, ratio, _ks(treated, control), sizes)


def _known(values: Float[np.ndarray, " a"], weights: Float[np.ndarray, " a"] | None = None) -> _Weighted:
    """The values that are there with a weight above 0."""
    weight = np.ones(len(values)) if weights is None else weights
    usable = np.isfinite(values) & (weight > 0)
    return values[usable], weight[usable] / max(weight[usable].sum(), np.finfo(float).tiny)


def _effective(group: _Weighted) -> float:
    """Number of values of equal weight that would be as informative; 0 without any."""
    return round(float(1 / (group[1] ** 2).sum()), 9) if len(group[1]) else 0.0


def _variance_ratio(treated: _Weighted, control: _Weighted) -> float:
    """Of weighted variances, with the correction that equal weights turn into n - 1."""
    variances = []
    for values, weight in (treated, control):
        freedom = 1 - float((weight**2).sum())
        variances.append(float(weight @ (values - weight @ values) ** 2) / freedom if freedom > 0 else 0.0)
    return variances[0] / variances[1] if min(variances) > 0 else np.nan


def _ks(treated: _Weighted, control: _Weighted) -> float:
    grid = np.union1d(treated[0], control[0])
    steps = []
    for values, weight in (treated, control):
        order = np.argsort(values, kind="stable")
        reached = np.concatenate([[0.0], np.cumsum(weight[order])])
        steps.append(reached[np.searchsorted(values[order], grid, side="right")])
    return float(np.abs(steps[0] - steps[1]).max())


def _wilson(successes: float, n: float) -> tuple[float, float]:
    low, high = wilson(successes, n)
    return float(low), float(high)


GAMMAS: Final = (1.0, 1.25, 1.5, 2.0, 3.0)
NO_PAIR: Final = "no pair has both outcomes"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOutcome(EstimateWithTest):
    """Mean outcome of the a minus that of the b of pairs, NaN with a reason where it cannot be estimated.

    n_pairs, n_missing: pairs (a with the mean of its b, where it has several) with and without both outcomes. of_a,
    of_b: mean outcome of either side of these pairs. least, most: the 90 % interval, whose ends are two one-sided tests
    at 5 %. spread: standard deviation of the differences. is_binary: whether it is a difference of proportions.
    gammas, largest_p, tolerated, discordant, bounds_method: Rosenbaum's bounds of hidden bias, empty with no_bounds
    where they are not of pairs.
    """

    n_pairs: int
    n_missing: int
    is_binary: bool
    no_bounds: str = ""
    gammas: tuple[float, ...] = ()
    largest_p: tuple[float, ...] = ()
    tolerated: float = math.nan
    discordant: int = 0
    bounds_method: str = ""
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
        return PairOutcome(reason=NO_PAIR, n_pairs=0, n_missing=len(d), is_binary=reach > 0, no_bounds=NO_PAIR)
    most = np.array([reach or 1.0])  # a change is the average of two differences, twice
    bounds = mean_difference_interval(known[:, None], binary=reach > 0, reach=most, pairs=most)
    narrower = mean_difference_interval(
        known[:, None], binary=reach > 0, reach=most, pairs=most, confidence=EQUIVALENCE
    )
    single = single_pairs(known[:, None], most, most, binary=reach > 0)
    p, tests = sign_flip(known[:, None], single=single, seed=seed)
    found = PairOutcome(
        float(known.mean()),
        float(bounds.low[0]),
        float(bounds.high[0]),
        "" if bounds.methods[0] else no_interval(len(known)),
        p=float(p[0]),
        interval_method=bounds.methods[0],
        test_method=tests[0],
        n_pairs=len(known),
        n_missing=len(d) - len(known),
        is_binary=reach > 0,
        no_bounds="bounds apply to pairs, not to one image with several" if several else "",
        of_a=float(of_a[has_both].mean()),
        of_b=float(of_b[has_both].mean()),
        least=float(narrower.low[0]),
        most=float(narrower.high[0]),
        spread=float(known.std(ddof=1)) if len(known) > 1 else math.nan,
    )
    return found if several else _with_bounds(found, known)


def _with_bounds(found: PairOutcome, differences: Float[np.ndarray, " m"]) -> PairOutcome:
    bounds = rosenbaum_bounds(differences, GAMMAS, alpha=1 - CONFIDENCE)
    return replace(
        found,
        gammas=tuple(bounds.gammas.tolist()),
        largest_p=tuple(bounds.largest_p.tolist()),
        tolerated=bounds.tolerated,
        discordant=bounds.n_pairs,
        bounds_method=bounds.method,
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
@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedPairs(Estimate):
    """The difference within pairs where both images have the same covariates; NaN with a reason.

    n_pairs, n_missing: pairs with and without both outcomes and all covariates. covariates: how many were adjusted for;
    left_out: names of those that do not differ within any pair, or that are combinations of others.
    """

    p: float = math.nan
    n_pairs: int
    n_missing: int
    covariates: int
    left_out: tuple[str, ...] = ()


def adjusted_pair_outcome(
    values: Float[np.ndarray, " n"],
    covariates: Mapping[str, Float[np.ndarray, " _"]],
    a: Int[np.ndarray, " m"],
    b: Int[np.ndarray, " m"],
) -> AdjustedPairs:
    """What is left of the difference where covariates do not differ: the intercept of differences."""
    rows = np.concatenate([a, b])
    if len(a) != len(b) or (len(rows) and not 0 <= rows.min() <= rows.max() < len(values)):
        raise BadInput(f"expected two rows of {len(values)} images for each pair, got {len(a)} and {len(b)} numbers")
    for name, column in covariates.items():
        if len(column) != len(values):
            raise BadInput(f"{name}: expected one value per image, {len(values)}, got {len(column)}")
    d = _within(values, a, b)
    columns = {name: _within(column, a, b) for name, column in covariates.items()}
    known = np.isfinite(d) & np.all([np.isfinite(column) for column in columns.values()] or [np.isfinite(d)], axis=0)
    n, missing = int(known.sum()), int((~known).sum())
    used, left_out = _independent({name: column[known] for name, column in columns.items()})
    least = max(len(used) + 3, FEWEST)
    made = partial(AdjustedPairs, n_pairs=n, n_missing=missing, covariates=len(used), left_out=left_out)
    if n < least:
        return made(reason=f"expected at least {least} pairs for {len(used)} covariates, got {n}")
    x = np.column_stack([np.ones(n), *used.values()])
    estimate, error = _intercept(x, d[known])
    freedom = n - x.shape[1]
    half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    if not error > 1e-12:
        return made(estimate, reason="differences that do not vary: no interval")
    return made(estimate, estimate - half, estimate + half, p=float(2 * stdtr(freedom, -abs(estimate) / error)))


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
