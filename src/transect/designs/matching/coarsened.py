"""Coarsened exact matching: bins per covariate, and pairs only within equal bins (Iacus, King and Porro 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.matching.sample import NO_STRATUM, Facts, Matching, Sample, codes
from transect.designs.matching.sequential import greedy

METHOD: Final = "coarsened exact"
SOURCE: Final = "Iacus, King and Porro 2012, Causal inference without balance checking, doi:10.1093/pan/mpr013"
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
    return replace(pairs, method=METHOD, facts=facts, refused=reasons), weights


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
