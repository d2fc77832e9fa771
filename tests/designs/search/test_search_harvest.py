"""The goal `failures`: blocks of eight, separate accounts, the same history the same calls."""

import numpy as np
import pytest
from planted_failures import conduct
from soft_failures import soft_target

from transect.designs.search import Harvest, History
from transect.designs.search.harvest import fit_additive


def soft(points):
    """Fails for a share of .4 where the first coordinate is high; a point's answer is its own."""
    return ((points[:, 0] > 0.8) & (np.modf(1e6 * points[:, 1])[0] < 0.4)).astype(float)


@pytest.mark.integration
@pytest.mark.parametrize("stop", [41, 64])
def test_a_stopped_search_continues_as_if_it_had_not(stop):
    whole = conduct(Harvest(3), History.empty(4), soft, budget=120, batch=8)
    first = History(whole.points[:stop], whole.failures[:stop], whole.explored[:stop])
    if stop % 8 == 0:
        resumed = conduct(Harvest(3), first, soft, budget=120, batch=8)
        np.testing.assert_array_equal(resumed.points, whole.points)
    assert len(conduct(Harvest(3), first, soft, budget=120, batch=5)) == 120


def test_a_quarter_explores_whatever_the_answers():
    history = conduct(Harvest(1), History.empty(4), lambda points: np.ones(len(points)), budget=160, batch=8)
    assert (history.explored.reshape(-1, 8).sum(axis=1) >= 2).all()


def test_the_model_finds_the_attribute_that_matters():
    random = np.random.default_rng(1)
    points = random.random((600, 5))
    failures = (random.random(600) < 0.4 * (points[:, 2] > 0.7)).astype(float)
    draws = fit_additive(points, failures, -2.0).draw(random, 200, doubt=0.0, focus=6.0)
    assert (draws[:, 2] > 0.6).mean() > 0.9
    assert abs(draws[:, 0].mean() - 0.5) < 0.2


def test_soft_failures_are_found_more_often_than_by_exploration():
    history = conduct(Harvest(12), History.empty(6), soft_target(0.055, 12), budget=200, batch=8)
    assert history.failed[~history.explored].mean() > history.failed[history.explored].mean()
