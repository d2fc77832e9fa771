"""Contenders that match: pairs of observed images as `transect match` makes them, and regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from transect.designs.matching import Matching, greedy, in_metric, make_sample, propensity
from transect.effects import ols
from transect.effects.matched_pairs import AdjustedPairs, PairOutcome, adjusted_pair_outcome, pair_outcome
from transect.jobs.verify.adjusting import each
from transect.jobs.verify.faces_world import COVARIATES

CALIPER: Final = 0.25
"""Mahalanobis distance of a pair: a quarter of a standard deviation."""


def _named(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(zip(COVARIATES, table["covariates"].T, strict=True))


def _nearest(table: Mapping[str, np.ndarray], caliper: float) -> Matching:
    features, _ = in_metric(table["covariates"], table["attribute"], "mahalanobis")
    return greedy(make_sample(features, table["attribute"]), caliper=caliper)


def _paired(table: Mapping[str, np.ndarray], matching: Matching) -> PairOutcome:
    return pair_outcome(table["outcome"], matching.a, matching.b)


def _adjusted(table: Mapping[str, np.ndarray], matching: Matching) -> AdjustedPairs:
    return adjusted_pair_outcome(table["outcome"], _named(table), matching.a, matching.b)


faces_ols = each(lambda t: ols(t["outcome"], {"attribute": t["attribute"], **_named(t)})[0])
every_pair = each(lambda t: _paired(t, _nearest(t, np.inf)))
"""Greedy by Mahalanobis distance, however far apart a pair is."""
near_pairs = each(lambda t: _paired(t, _nearest(t, CALIPER)))
"""Greedy by Mahalanobis distance within the caliper."""
adjusted_pairs = each(lambda t: _adjusted(t, _nearest(t, CALIPER)))
"""The same pairs, adjusted for what still differs within them."""
propensity_pairs = each(lambda t: _paired(t, propensity.recommended(make_sample(t["covariates"], t["attribute"]))))
"""Cross-fitted log odds within .2 standard deviations."""
