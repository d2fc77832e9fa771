"""Adjusted differences of several groups are corrected like unadjusted ones, and named only where there are any."""

import numpy as np
import pytest

import transect
from transect import MatchOptions

SETS = 15


def of_four_groups(seed):
    """Sets of four images of like ages; the score follows age and is a little higher in group a."""
    rng = np.random.default_rng(seed)
    age = np.repeat(np.arange(SETS) * 10.0, 4) + rng.normal(size=4 * SETS)
    race = np.tile(list("abcd"), SETS)
    score = 0.5 * age + rng.normal(size=4 * SETS) + 0.7 * (race == "a")
    table = {"race": race.tolist(), "age": age.tolist(), "score": score.tolist()}
    features = np.repeat(np.arange(float(SETS)), 4)[:, None]
    return transect.match(features, "race", table, outcomes="score", covariates="age", options=MatchOptions(base="a"))


def test_an_adjusted_difference_that_is_one_of_three_is_corrected():
    """The least of three p values is .0217 by itself, and three times that by Holm: no difference is shown."""
    result = of_four_groups(28)
    c = {outcome.versus: outcome for outcome in result.numbers.outcomes}["c"]
    assert c.adjusted.p == min(outcome.adjusted.p for outcome in result.numbers.outcomes) < 0.025
    assert c.adjusted_p_groups == pytest.approx(3 * c.adjusted.p)
