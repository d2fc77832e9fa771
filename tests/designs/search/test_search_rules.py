"""Rules against slow loops, and the volumes of what is left between them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_failures import conduct

from transect.designs.search import History
from transect.designs.search.phases import Phases, _shares
from transect.designs.search.rules import EVEN, Rule, _best_interval, _gain, find_rules


def told(points, failures):
    return History(points, np.asarray(failures, dtype=float), np.ones(len(points), dtype=bool))


def bernoulli(failed):
    """Log likelihood of answers at their own mean, answer by answer."""
    p = np.mean(failed) if len(failed) else 0.0
    return sum(np.log(p if one else 1 - p) for one in failed)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(4, 40))
def test_the_gain_is_the_log_likelihood_of_two_rates_over_one(seed, n):
    random = np.random.default_rng(seed)
    inside, failed = random.random(n) < 0.4, random.random(n) < 0.3
    gained = bernoulli(failed[inside]) + bernoulli(failed[~inside]) - bernoulli(failed)
    higher = failed[inside].sum() >= 2 and not inside.all() and failed[inside].mean() > failed.mean()
    assert _gain(inside, failed) == pytest.approx(gained if higher else 0.0, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_the_best_interval_is_that_of_a_loop_over_all(seed):
    random = np.random.default_rng(seed)
    values, failed = random.random(30).round(2), random.random(30) < 0.4  # rounded: some lie on a cut
    gain, low, high = _best_interval(values, failed, EVEN, failed)
    ends = [0.0, *EVEN, 1.0]
    every = [
        _gain(((values > a) | (a == 0)) & (values <= b), failed)
        for i, a in enumerate(ends)
        for b in ends[i + 1 :]
        if (a, b) != (0, 1)
    ]
    assert gain == pytest.approx(max(every))
    inside = ((values > low) | (low == 0)) & (values <= high)
    assert _gain(inside, failed) == pytest.approx(gain)


def test_a_planted_corner_is_found_in_words_of_its_two_attributes():
    points = np.random.default_rng(0).random((400, 5))
    rules = find_rules(told(points, (points[:, 1] > 0.7) & (points[:, 3] <= 0.4)))
    assert rules[0].conditions.tolist() == [False, True, False, True, False]
    np.testing.assert_allclose(rules[0].low, [0, 0.7, 0, 0, 0], atol=0.051)
    np.testing.assert_allclose(rules[0].high, [1, 1, 1, 0.4, 1], atol=0.051)


def test_where_failures_are_everywhere_alike_rules_are_rare():
    # The kept half sees each rule of a world without regions for the first time: a gain of 3 nats, a likelihood ratio
    # of 6, has a chance of 1.4 % or so in either direction (chi-squared with one degree), and three lengths are tried.
    falsely = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        points = random.random((300, 6))
        falsely += bool(find_rules(told(points, random.random(300) < 0.1)))
    assert falsely <= 6


@pytest.mark.parametrize("failures", [np.zeros(50), np.ones(50), np.full(50, np.nan)])
def test_without_both_answers_there_is_no_rule(failures):
    assert find_rules(told(np.random.default_rng(0).random((50, 3)), failures)) == []


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(0, 3))
def test_volumes_of_strata_are_those_counted(seed, n):
    random = np.random.default_rng(seed)
    lows = random.random((n, 3)) * 0.6
    rules = [Rule(low, low + 0.4) for low in lows]
    points = random.random((20_000, 3))
    free, counted = np.ones(20_000, dtype=bool), []
    for rule in rules:
        counted.append((rule.holds(points) & free).mean())
        free &= ~rule.holds(points)
    assert np.allclose(_shares(rules, 3), [*counted, free.mean()], atol=0.02)  # 5 standard errors of 20,000
    assert sum(_shares(rules, 3)) == pytest.approx(1.0)


def corner(points):
    return ((points[:, 0] > 0.7) & (points[:, 1] > 0.6)).astype(float)


def test_strata_have_weights_that_sum_to_one_and_points_that_are_theirs():
    strategy = Phases(seed=3, budget=300)
    history = conduct(strategy, History.empty(3), corner, budget=300, batch=8)
    strata, rules = strategy.strata(history), strategy.rules(history)
    assert rules
    assert sum(one.weight for one in strata) == pytest.approx(1.0)
    assert (strata[0].rows < strategy.first).all()
    for rule, stratum in zip(rules, strata[1:], strict=False):
        assert rule.holds(history.points[stratum.rows]).all()
    rest = history.points[strata[-1].rows]
    assert not np.any([rule.holds(rest) for rule in rules])


def test_the_estimate_does_not_lean():
    """The mean over 60 searches lies within 4 standard errors of the planted rate, 0.12."""
    estimates = []
    for seed in range(60):
        strategy = Phases(seed=seed, budget=100)
        history = conduct(strategy, History.empty(2), corner, budget=100, batch=20)
        strata = strategy.strata(history)
        estimates.append(sum(one.weight * history.failures[one.rows].mean() for one in strata))
    assert abs(np.mean(estimates) - 0.12) < 4 * np.std(estimates) / np.sqrt(60)
