"""Matching that drops images until the rest is balanced: within coarsened bins, and the largest balanced subset.

Coarsened exact matching: bins per covariate, and pairs only within equal bins (Iacus, King and Porro 2012).

The largest balanced subset: cardinality matching (Zubizarreta, Paredes and Rosenbaum 2014).

Choose as many treated images as controls, as many as can be, so that every covariate's means differ by at most a
tolerance; then pair the chosen ones optimally. Images with equal covariates are one integer variable, and HiGHS
solves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.matching.assignment import optimal
from transect.designs.matching.nearest import greedy
from transect.designs.matching.sample import IDENTITY_USED, NO_STRATUM, NOT_CHOSEN, Facts, Matching, Sample, codes
from transect.errors import BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_array


COARSENED: Final = "coarsened exact"
COARSENED_SOURCE: Final = (
    "Iacus, King and Porro 2012, Causal inference without balance checking, doi:10.1093/pan/mpr013"
)
NO_BIN: Final = "coarsened covariates"
MOST_LEVELS: Final = 10
"""A covariate with at most this many values is matched on its values."""


def coarsen(values: Float[np.ndarray, " n"], bins: int | None = None) -> Int[np.ndarray, " n"]:
    """The bin of each value: its own where there are at most ten distinct ones, else one of `bins` equal widths.

    bins: by default Sturges' ceil(log2 n + 1). NaN has a separate bin.
    """
    known = np.isfinite(values)
    levels = np.unique(values[known])
    if bins is None and len(levels) <= MOST_LEVELS:
        return np.where(known, np.searchsorted(levels, values), -1)
    count = bins or int(np.ceil(np.log2(max(known.sum(), 1)) + 1))
    low, high = (values[known].min(), values[known].max()) if known.any() else (0.0, 1.0)
    inner = np.linspace(low, high, count + 1)[1:-1]
    return np.where(known, np.searchsorted(inner, values, side="right"), -1)


def coarsened_exact(
    sample: Sample,
    covariates: Mapping[str, Float[np.ndarray, " n"]],
    *,
    bins: int | None = None,
    caliper: float = np.inf,
) -> tuple[Matching, Float[np.ndarray, " n"]]:
    """Pairs within strata of equal bins, the nearest first; and the weights that use every image of the common strata.

    Weights, [n]: 1 for treated images whose stratum has a control; for controls treated / controls of the stratum times
    matched controls / matched treated, so that they sum to the number of matched controls; 0 elsewhere.

    facts: strata in common, images in them.
    """
    binned = [coarsen(column, bins) for column in covariates.values()]
    strata = codes([sample.exact, *binned], len(sample))
    pairs = greedy(replace(sample, exact=strata), caliper=caliper)
    reachable = set(sample.exact[sample.columns].tolist())
    reasons = {
        row: NO_BIN if reason == NO_STRATUM and int(sample.exact[row]) in reachable else reason
        for row, reason in pairs.refused.items()
    }
    weights = stratum_weights(sample, strata)
    common = np.unique(strata[weights > 0])
    facts = Facts(
        strata_in_common=len(common),
        treated_in_common=int((weights[sample.rows] > 0).sum()),
        control_in_common=int((weights[sample.columns] > 0).sum()),
    )
    return replace(pairs, method=COARSENED, facts=facts, refused=reasons), weights


def without_common_bin(
    sample: Sample, covariates: Mapping[str, Float[np.ndarray, " n"]], bins: int | None = None
) -> list[str]:
    """The covariates of which no bin holds images of both groups: each alone rules out every pair.

    >>> from transect.designs.matching import make_sample
    >>> two = make_sample(np.array([[0.0], [1.0]]), [1.0, 0.0])
    >>> without_common_bin(two, {"x": np.array([0.0, 1.0]), "y": np.array([1.0, 1.0])})
    ['x']
    """
    binned = {name: coarsen(values, bins) for name, values in covariates.items()}
    return [name for name, bin_ in binned.items() if not np.isin(bin_[sample.rows], bin_[sample.columns]).any()]


def stratum_weights(sample: Sample, strata: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Weights of Iacus, King and Porro; see `coarsened_exact`."""
    size = int(strata.max()) + 1
    treated, control = (np.bincount(strata[rows], minlength=size) for rows in (sample.rows, sample.columns))
    common = (treated > 0) & (control > 0)
    share = control[common].sum() / max(treated[common].sum(), 1)
    weight = np.zeros(len(sample))
    weight[sample.rows] = common[strata[sample.rows]]
    ratio = np.divide(treated, control, out=np.zeros(size), where=common) * share
    weight[sample.columns] = ratio[strata[sample.columns]]
    return weight


CARDINALITY: Final = "cardinality, paired optimally"
CARDINALITY_SOURCE: Final = (
    "Zubizarreta, Paredes and Rosenbaum 2014, Matching for balance, pairing for heterogeneity, doi:10.1214/13-AOAS713"
)
TOLERANCE: Final = 0.1
"""Standard deviations by which the means may differ."""


def cardinality(
    sample: Sample,
    covariates: Float[np.ndarray, "n k"],
    *,
    tolerance: float = TOLERANCE,
    seconds: float = 60.0,
    seed: int = 0,
    names: Sequence[str] = (),
) -> Matching:
    """The largest subset with standardized mean differences of at most `tolerance`, paired by smallest total distance.

    One image of an identity is drawn by `seed` beforehand, and exact strata enter as exact counts, so that pairing
    loses no balance to them.

    names: of the covariates, by default numbers. facts: the subset's size, HiGHS's bound on the largest size, whether
    it is proven optimal within `seconds`.

    Raises BadInput where not even one pair is balanced, or with a second distance or a dose.
    """
    if sample.second is not None or sample.dose_gap:
        raise BadInput("cardinality matching keeps no second distance and no dose: use --method greedy or optimal")
    sample = _one_image_each(sample, seed)
    patterns = [_patterns(sample, covariates, rows) for rows in (sample.rows, sample.columns)]
    spread = np.sqrt((covariates[sample.rows].var(axis=0) + covariates[sample.columns].var(axis=0)) / 2)
    counts, facts = _solve(patterns, tolerance * spread, seconds, names)
    lost = [_beyond(part, count) for part, count in zip(patterns, counts, strict=True)]
    reasons = dict.fromkeys(np.concatenate(lost).tolist(), NOT_CHOSEN)
    pairs = optimal(replace(sample, ineligible={**sample.ineligible, **reasons}))
    return replace(pairs, method=CARDINALITY, facts={**pairs.facts, **facts, "tolerance": tolerance})


@final
@dataclass(frozen=True, slots=True)
class _Patterns:
    """Images of a group by equal stratum and covariates: rows in the order of patterns, and each pattern's columns."""

    rows: Int[np.ndarray, " m"]
    pattern: Int[np.ndarray, " m"]
    size: Int[np.ndarray, " p"]
    stratum: Int[np.ndarray, " p"]
    covariates: Float[np.ndarray, "p k"]


def _patterns(sample: Sample, covariates: Float[np.ndarray, "n k"], rows: Int[np.ndarray, " m"]) -> _Patterns:
    keyed = np.column_stack([sample.exact[rows], covariates[rows]])
    values, pattern, size = np.unique(keyed, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(pattern, kind="stable")
    return _Patterns(rows[order], pattern[order], size, values[:, 0].astype(np.int64), values[:, 1:])


def _one_image_each(sample: Sample, seed: int) -> Sample:
    """The sample with one eligible image of each identity, drawn at random."""
    drawn = np.random.Generator(np.random.Philox(seed)).permutation(np.flatnonzero(sample.eligible))
    _, first = np.unique(sample.identity[drawn], return_index=True)
    lost = np.setdiff1d(drawn, drawn[first])
    reasons = dict.fromkeys(lost.tolist(), IDENTITY_USED)
    return replace(sample, ineligible={**sample.ineligible, **reasons}) if reasons else sample


def _solve(
    groups: list[_Patterns], allowed: Float[np.ndarray, " k"], seconds: float, names: Sequence[str]
) -> tuple[list[Int[np.ndarray, " p"]], Facts]:
    """How many images of each pattern to choose, treated and control."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    treated, control = groups
    sizes = np.concatenate([treated.size, control.size])
    is_treated = np.arange(len(sizes)) < len(treated.size)
    solution = milp(
        -is_treated.astype(np.float64),
        integrality=np.ones(len(sizes)),
        bounds=Bounds(0, sizes),
        constraints=[LinearConstraint(*_equal_counts(treated, control)), LinearConstraint(*_balance(groups, allowed))],
        options={"time_limit": seconds},
    )
    if solution.x is None or round(-solution.fun) < 1:
        reason = "there is no balanced subset"
        if solution.status != 0:
            reason = f"no balanced subset found in {seconds:g} s"
        where = "".join(f"; {text}" for text in _ranges_apart(groups, allowed, names))
        raise BadInput(f"cardinality matching: {reason}{where}; raise --tolerance, or drop a covariate")
    chosen = np.round(solution.x).astype(np.int64)
    facts = Facts(
        size=int(chosen[is_treated].sum()),
        largest=int(np.floor(-solution.mip_dual_bound + 1e-6)),
        proven=bool(solution.status == 0),
    )
    return [chosen[is_treated], chosen[~is_treated]], facts


def _ranges_apart(groups: list[_Patterns], allowed: Float[np.ndarray, " k"], names: Sequence[str]) -> list[str]:
    """Covariates whose ranges in the two groups are farther apart than the means may be: no pair can be balanced."""
    treated, control = (group.covariates for group in groups)
    texts = []
    for k, most in enumerate(allowed.tolist()):
        ends = [float(end(part[:, k])) for part in (treated, control) for end in (np.min, np.max)]
        if max(ends[0] - ends[3], ends[2] - ends[1]) > most:
            name = names[k] if names else f"covariate {k + 1}"
            texts.append(
                f"the groups separate on {name}: {ends[0]:.4g} to {ends[1]:.4g} (treated) and {ends[2]:.4g} to "
                f"{ends[3]:.4g} (control)"
            )
    return texts


def _equal_counts(treated: _Patterns, control: _Patterns) -> tuple[csr_array, int, int]:
    """As many treated as controls in every stratum."""
    from scipy.sparse import csr_array

    strata = np.concatenate([treated.stratum, control.stratum])
    _, row = np.unique(strata, return_inverse=True)
    sign = np.where(np.arange(len(strata)) < len(treated.stratum), 1.0, -1.0)
    return csr_array((sign, (row, np.arange(len(strata))))), 0, 0


def _balance(
    groups: list[_Patterns], allowed: Float[np.ndarray, " k"]
) -> tuple[Float[np.ndarray, "c p"], float, float]:
    """Σ treated x - Σ control x within ± allowed times the number of treated, for every covariate that varies."""
    treated, control = groups
    center = treated.covariates.mean(axis=0)
    x_a, x_b = (treated.covariates - center).T, (control.covariates - center).T
    upper = np.hstack([x_a - allowed[:, None], -x_b])
    lower = np.hstack([-x_a - allowed[:, None], x_b])
    return np.vstack([upper, lower]), -np.inf, 0.0


def _beyond(part: _Patterns, count: Int[np.ndarray, " p"]) -> Int[np.ndarray, " m"]:
    """Rows that are not among the first `count` of their pattern."""
    start = np.concatenate([[0], np.cumsum(part.size)[:-1]])
    rank = np.arange(len(part.rows)) - start[part.pattern]
    return np.asarray(part.rows[rank >= count[part.pattern]])
