"""The overall rate that an adaptive search states: unbiased, and its interval holds the truth (slow)."""

import numpy as np
from planted_failures import conduct, failing_target

from transect.designs.search import History
from transect.designs.search.phases import Phases
from transect.effects.intervals import weighted_sum


def test_the_overall_rate_of_active_testing(size, shape, rate):
    """500 searches on ten planted targets in six dimensions: 93 % or more hold the truth, the mean does not lean."""
    estimates, held = [], 0
    for seed in range(size.tables):
        strategy, target = Phases(seed, 400), failing_target(shape, 6, rate, seed % 10)
        history = conduct(strategy, History.empty(6), target, budget=400, batch=40)
        strata = strategy.strata(history)
        weights = np.array([one.weight for one in strata])
        failures = np.array([float(history.failed[one.rows].sum()) for one in strata])
        sizes = np.array([len(one.rows) for one in strata])
        estimate, low, high = weighted_sum(weights, failures, sizes)
        estimates.append(estimate)
        held += low <= rate <= high
    size.covers(held / size.tables)
    assert abs(np.mean(estimates) - rate) < 4 * np.std(estimates) / np.sqrt(size.tables)
