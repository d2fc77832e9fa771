"""The largest balanced subset: cardinality matching (Zubizarreta, Paredes and Rosenbaum 2014).

Choose as many treated images as controls, as many as can be, so that every covariate's means differ by at most a
tolerance; then pair the chosen ones optimally. Images with equal covariates are one integer variable, and HiGHS solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.matching.optimum import optimal
from transect.designs.matching.sample import IDENTITY_USED, NOT_CHOSEN, Facts, Matching, Sample
from transect.errors import BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_array

METHOD: Final = "cardinality, paired optimally"
SOURCE: Final = (
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
    return replace(pairs, method=METHOD, facts={**pairs.facts, **facts, "tolerance": tolerance})


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
