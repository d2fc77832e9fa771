"""Soft failures: how many does the goal `failures` find, compared with random points? (slow)"""

import numpy as np
from planted_failures import conduct
from soft_failures import DIMENSIONS, soft_target

from transect.designs.search import History
from transect.experiment.search_plan import SearchPlan


def failures_found(rate, seed):
    """Failures in 400 calls of the strategy that the goal `failures` has."""
    asked = SearchPlan.__new__(SearchPlan)
    for name, value in (("method", "ours"), ("goal", "failures"), ("seed", seed), ("space", _Attributes)):
        object.__setattr__(asked, name, value)
    history = conduct(asked.strategy, History.empty(DIMENSIONS), soft_target(rate, seed), budget=400, batch=8)
    assert len(history) == 400
    return history.failed.sum()


class _Attributes:
    conditions_alone = False
    steps = ()
    thresholds = None


def test_many_times_the_failures_of_random_points(size, rate, goal, searches):
    """Random points find 400 times the rate. The mean of the searches must reach the goal times that."""
    mean = np.mean([failures_found(rate, seed) for seed in range(searches)])
    assert mean >= goal * 400 * rate
