"""Why has a treated image no partner? One reason each, so that pairs and refusals add up to the treated images."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from transect.designs.matching import sample as sampling
from transect.designs.matching.sample import Sample
from transect.designs.matching.search import CONSTRAINTS, Candidates, Search, distances


def explain(
    sample: Sample, search: Search, first: Candidates, a: Int[np.ndarray, " m"], b: Int[np.ndarray, " m"]
) -> tuple[dict[int, str], dict[int, tuple[int, float]], float]:
    """Reasons by treated image, its nearest control of the stratum, and the least caliper that would not refuse all.

    first: the candidates of `sample.rows` among all columns. The reason is the first constraint, in the order of
    CONSTRAINTS, that leaves an image no control at all; where controls are left, its identity is in another pair, or
    every such control is.
    """
    refused = ineligible_treated(sample)
    used = set(sample.identity[np.concatenate([a, b])].tolist())
    without = np.flatnonzero(~np.isin(sample.rows, np.concatenate([a, b])))
    rows, near = sample.rows[without], first.near[without]
    for row, remaining in zip(rows.tolist(), first.remaining[without], strict=True):
        refused[row] = _reason(remaining, sample.identity[row] in used)
    some = near >= 0
    apart = distances(sample.features, rows[some], near[some])
    nearest = zip(rows[some].tolist(), near[some].tolist(), apart.tolist(), strict=True)
    least = _least(sample, search, first) if not len(a) else float("nan")
    return refused, {row: (column, distance) for row, column, distance in nearest}, least


def _reason(remaining: Int[np.ndarray, " c"], used: bool) -> str:
    empty = np.flatnonzero(remaining == 0)
    if len(empty):
        return CONSTRAINTS[empty[0]]
    return sampling.IDENTITY_USED if used else sampling.TAKEN


def ineligible_treated(sample: Sample) -> dict[int, str]:
    """Reasons of treated images that cannot enter any pair; with a dose, of all such images."""
    either = sample.dose_gap > 0
    return {row: why for row, why in sample.ineligible.items() if either or sample.treatment[row] == 1}


def _least(sample: Sample, search: Search, first: Candidates) -> float:
    """The smallest distance of an allowed pair, caliper aside; inf without one."""
    wide = Search(sample)
    if search.caliper < np.inf:
        first = wide.nearest(sample.rows, sample.columns, 1)
    listed = np.flatnonzero(first.columns[:, 0] >= 0)
    lowest = listed[np.argsort(first.bounds[listed, 0])][:1000]
    return float(wide.measure(sample.rows[lowest], first.columns[lowest, 0]).min(initial=np.inf))
