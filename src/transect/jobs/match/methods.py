"""The methods of a matching: from a prepared sample to pairs, weights or sets, with their balance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.designs import matching as designs
from transect.designs.matching import Matching, Sample, propensity
from transect.designs.matching.groups import NoSet, Sets
from transect.designs.matching.references import Difficulty, References
from transect.designs.matching.sample import Facts
from transect.effects import matched_pairs as balancing
from transect.effects.matched_pairs import Balance
from transect.errors import BadInput
from transect.jobs.match import given
from transect.jobs.match.difficulty import measure_of
from transect.jobs.match.options import WEIGHTING, Request
from transect.jobs.match.sample import Prepared
from transect.jobs.match.unmatched import nothing_matched, rounded_up


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """What a method made: rows for --out, balance, and one of pairs, sets of more than two groups, or weights [n].

    groups: the base first where there are more than two. refused: treated images by reason. log_odds: [n], of
    propensity methods. difficulty: of reference images.
    """

    method: str
    rows: pa.Table
    balance: list[Balance]
    groups: tuple[str, ...]
    refused: dict[str, int]
    facts: Facts
    pairs: Matching | None = None
    sets: Sets | None = None
    weights: Float[np.ndarray, " n"] | None = None
    log_odds: Float[np.ndarray, " n"] | None = None
    difficulty: Difficulty | None = None
    mean_distance: float | None = None


def matched(request: Request, prepared: Prepared) -> Matched:
    """Pairs, sets or weights by the request's method. Raises BadInput where nothing can be matched."""
    if prepared.labels is not None:
        return _in_sets(request, prepared)
    return _weighted(request, prepared) if request.method in WEIGHTING else _paired(request, prepared)


def sides(sample: Sample) -> tuple[Int[np.ndarray, " a"], Int[np.ndarray, " b"]]:
    """All images of both groups, also those that enter no pair; of a dose, those above and below its median."""
    level = sample.treatment
    if not sample.dose_gap:
        return np.flatnonzero(level == 1), np.flatnonzero(level == 0)
    middle = np.nanmedian(level)
    return np.flatnonzero(level > middle), np.flatnonzero(level <= middle)


def _method(
    request: Request, prepared: Prepared, scores: propensity.Scores | None = None
) -> Callable[[Sample], Matching]:
    """The request's method as a function of a sample. scores: of that sample, where they are known."""
    options = request.options
    if options.pairs is not None:
        return lambda sample: given.pairs(request, sample)
    caliper = math.inf if request.caliper is None else request.caliper
    if request.method in ("greedy", "mahalanobis"):
        return lambda sample: _greedy(sample, caliper, options.approximate)
    if request.method == "optimal":
        return lambda sample: designs.optimal(sample, caliper=caliper, ratio=options.ratio)
    if request.method == "propensity":
        sd = propensity.CALIPER_SD if request.caliper is None else request.caliper
        return lambda sample: propensity.recommended(sample, scores, caliper_sd=sd, seed=request.seed)
    if request.method == "propensity-published":
        near = propensity.PUBLISHED_CALIPER if request.caliper is None else request.caliper
        return lambda sample: propensity.published(sample, scores, caliper=near, seed=request.seed)
    matrix = prepared.covariate_matrix  # refuses missing values, which coarsened matching may not see either
    if request.method == "coarsened":
        columns = prepared.covariates
        return lambda sample: designs.coarsened_exact(sample, columns, bins=options.bins, caliper=caliper)[0]
    names = tuple(prepared.covariates)
    return lambda sample: designs.cardinality(
        sample, matrix, tolerance=options.tolerance, seed=request.seed, names=names
    )


def _greedy(sample: Sample, caliper: float, approximate: bool) -> Matching:
    if not approximate:
        return designs.greedy(sample, caliper=caliper)
    from transect.designs.matching.nearest import ApproximateSearch

    search = ApproximateSearch(sample, caliper=caliper)
    recall = search.recall()
    return replace(designs.greedy(sample, search=search), facts=Facts(recall=recall))


def _paired(request: Request, prepared: Prepared) -> Matched:
    sample, scores = prepared.sample, None
    measure = measure_of(request)  # refuses what does not fit before the search, which may take long
    if request.method.startswith("propensity"):
        scores = propensity.scores(sample, seed=request.seed, standardize=request.method == "propensity")
    pairs = _method(request, prepared, scores)(sample)
    if not len(pairs):
        raise BadInput(nothing_matched(pairs, request, prepared))
    references = None
    if prepared.references is not None:
        references = designs.choose_references(sample, pairs, prepared.references, measure)
    return Matched(
        method=pairs.method,
        rows=_pair_rows(pairs, references),
        balance=_balance(prepared, (pairs.a, pairs.b)),
        groups=prepared.groups,
        refused=pairs.refusals,
        facts=pairs.facts,
        pairs=pairs,
        log_odds=None if scores is None else scores.log_odds,
        difficulty=None if references is None else references.difficulty,
        mean_distance=float(pairs.distance.mean()),
    )


def _weighted(request: Request, prepared: Prepared) -> Matched:
    sample = prepared.sample
    if request.method == "entropy":
        weights, facts = designs.entropy_weights(sample, prepared.covariate_matrix, tuple(prepared.covariates))
    else:
        weights, facts = designs.overlap_weights(sample, prepared.covariate_matrix)
    rows = np.flatnonzero(weights > 0)
    reasons = [reason for row, reason in sample.ineligible.items() if sample.treatment[row] == 1]
    return Matched(
        method=request.method,
        rows=pa.table({"row": rows, "weight": weights[rows]}),
        balance=_balance(prepared, (sample.rows, sample.columns), weights),
        groups=prepared.groups,
        refused=dict(Counter(reasons).most_common()),
        facts=facts,
        weights=weights,
    )


def _in_sets(request: Request, prepared: Prepared) -> Matched:
    sets = _sets(request, prepared)
    if sets is None:
        raise BadInput(_no_set(request, prepared))
    return Matched(
        method=given.METHOD if request.options.pairs is not None else f"{request.method}, around {sets.groups[0]}",
        rows=_set_rows(sets),
        balance=_set_balance(prepared, sets),
        groups=sets.groups,
        refused=dict(Counter(sets.refused.values()).most_common()),
        facts=Facts(),
        sets=sets,
        mean_distance=float(sets.distance.mean()),
    )


def _sets(request: Request, prepared: Prepared) -> Sets | None:
    """Sets of one image of each group; None where there is none."""
    if request.options.pairs is not None:
        return given.sets(request, prepared.sample, prepared.labels or ())
    labels = np.array(prepared.labels)
    try:
        sets = designs.match_groups(prepared.sample, labels, _method(request, prepared), base=request.options.base)
    except NoSet:
        return None
    return sets if len(sets.rows) else None


def _no_set(request: Request, prepared: Prepared) -> str:
    """What would leave a set: a caliper that is tried before it is named (propensity's differs from group to group)."""
    nothing = f"no set has an image of each of {', '.join(prepared.groups)}"
    wide = _sets(replace(request, caliper=math.inf), prepared) if request.caliper is not None else None
    if wide is None or request.method == "propensity":
        return f"{nothing}; relax a constraint"
    near = rounded_up(float(wide.distance.max(axis=1).min()))
    if _sets(replace(request, caliper=float(near)), prepared) is None:
        return f"{nothing}; give a larger --caliper, or relax another constraint"
    return f"{nothing} within the caliper; {near} leaves one: give it as --caliper"


def _set_balance(prepared: Prepared, sets: Sets) -> list[Balance]:
    """Balance of the base group against each other group; the covariate's name says which."""
    labels = np.array(prepared.labels)
    rows: list[Balance] = []
    for place, name in enumerate(sets.groups[1:], start=1):
        columns = {
            f"{covariate} ({sets.groups[0]} - {name})": values for covariate, values in prepared.covariates.items()
        }
        before = [np.flatnonzero(labels == group) for group in (sets.groups[0], name)]
        rows += balancing.balance(columns, before[0], before[1], (sets.rows[:, 0], sets.rows[:, place]))
    return rows


def _balance(
    prepared: Prepared,
    pairs: tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]],
    weights: Float[np.ndarray, " n"] | None = None,
) -> list[Balance]:
    treated, control = sides(prepared.sample)
    return balancing.balance(prepared.covariates, treated, control, pairs, weights=weights, used=prepared.used)


def _pair_rows(pairs: Matching, references: References | None) -> pa.Table:
    """Columns a, b, distance; with reference images also theirs and their difficulties."""
    columns = {"a": pairs.a, "b": pairs.b, "distance": pairs.distance}
    if references is not None:
        columns |= {
            "a_reference": references.a,
            "b_reference": references.b,
            "a_difficulty": references.difficulty_a,
            "b_difficulty": references.difficulty_b,
        }
    return pa.table(columns)


def _set_rows(sets: Sets) -> pa.Table:
    """One row per pair of the base and another group's image: a, b, distance, set, group of b."""
    others = len(sets.groups) - 1
    return pa.table(
        {
            "a": np.repeat(sets.rows[:, 0], others),
            "b": sets.rows[:, 1:].ravel(),
            "distance": sets.distance.ravel(),
            "set": np.repeat(np.arange(len(sets.rows)), others),
            "group": list(sets.groups[1:]) * len(sets.rows),
        }
    )
