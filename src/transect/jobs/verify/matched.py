"""Contenders that match: pairs of observed images as `transect match` makes them, and regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from transect.designs.matching import Matching, greedy, in_metric, make_sample, propensity
from transect.effects import ols
from transect.effects.matched_pairs import AdjustedPairs, PairOutcome, adjusted_pair_outcome, pair_outcome
from transect.jobs.verify.adjusting import by_seed, each
from transect.jobs.verify.contenders import Answers, Tables
from transect.jobs.verify.faces_world import COVARIATES

CALIPER: Final = 0.25
"""Mahalanobis distance of a pair: a quarter of a standard deviation."""
_Row = tuple[float, float, float, float]


def faces_ols(tables: Tables) -> Answers:
    """Least squares on the attribute and all that was recorded."""
    return each(tables, lambda t: ols(t["outcome"], {"attribute": t["attribute"], **_named(t)})[0])


def every_pair(tables: Tables) -> Answers:
    """Greedy by Mahalanobis distance, however far apart a pair is."""
    return _each(tables, lambda t: _paired(t, _nearest(t, np.inf)))


def near_pairs(tables: Tables) -> Answers:
    """Greedy by Mahalanobis distance within the caliper."""
    return _each(tables, lambda t: _paired(t, _nearest(t, CALIPER)))


def adjusted_pairs(tables: Tables) -> Answers:
    """The same pairs, adjusted for what still differs within them."""
    return _each(tables, lambda t: _adjusted(t, _nearest(t, CALIPER)))


def propensity_pairs(tables: Tables) -> Answers:
    """Cross-fitted log odds within .2 standard deviations."""
    return _each(tables, lambda t: _paired(t, propensity.recommended(make_sample(t["covariates"], t["attribute"]))))


def _each(tables: Tables, method: Callable[[Mapping[str, np.ndarray]], _Row]) -> Answers:
    return Answers.of([method(table) for table in by_seed(tables)])


def _of(outcome: PairOutcome | AdjustedPairs) -> _Row:
    return outcome.estimate, outcome.low, outcome.high, outcome.p


def _named(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(zip(COVARIATES, table["covariates"].T, strict=True))


def _nearest(table: Mapping[str, np.ndarray], caliper: float) -> Matching:
    features, _ = in_metric(table["covariates"], table["attribute"], "mahalanobis")
    return greedy(make_sample(features, table["attribute"]), caliper=caliper)


def _paired(table: Mapping[str, np.ndarray], matching: Matching) -> _Row:
    return _of(pair_outcome(table["outcome"], matching.a, matching.b))


def _adjusted(table: Mapping[str, np.ndarray], matching: Matching) -> _Row:
    return _of(adjusted_pair_outcome(table["outcome"], _named(table), matching.a, matching.b))
