"""Searching over conditions: one-hot vectors, the paper's method on them, and Thompson sampling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_failures import conduct

from transect.designs.search import History, Interrogation, Thompson
from transect.designs.search.history import distances
from transect.designs.search.interrogation import composite, condition_of, encoded, expected_improvement

EIGHT = ((0.25, 0.5, 0.75), (0.5,))


def middles():
    return np.array([[a, b] for a in (0.125, 0.375, 0.625, 0.875) for b in (0.25, 0.75)])


def fails_in(rates, seed=0):
    """A target that fails on fresh pictures of each condition at its rate."""
    random = np.random.default_rng([seed, 99])
    return lambda points: (random.random(len(points)) < np.asarray(rates)[condition_of(points, EIGHT)]).astype(float)


def test_conditions_are_numbered_the_last_running_fastest_and_an_edge_is_the_lower_level():
    assert condition_of(middles(), EIGHT).tolist() == list(range(8))
    assert condition_of(np.array([[0.25, 0.5], [0.2500001, 0.5000001]]), EIGHT).tolist() == [0, 3]


def test_any_two_conditions_are_equally_far_apart():
    between = distances(encoded(middles(), EIGHT), encoded(middles(), EIGHT))
    np.testing.assert_allclose(between, np.sqrt(2) * (1 - np.eye(8)), atol=1e-7)


def test_equation_4_on_one_hot_vectors_by_hand():
    # The first condition failed; the second did not, and lies the square root of two away; the first again did not:
    # 0.4 * 1 + 0.6 * 0, 0.4 * 0 + 0.6 * sqrt(2), 0.
    vectors = encoded(middles()[[0, 1, 0]], EIGHT)
    found = composite(History(vectors, np.array([1.0, 0.0, 0.0]), np.ones(3, dtype=bool)), 0.6)
    np.testing.assert_allclose(found, [0.4, 0.6 * np.sqrt(2), 0.0], atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_a_condition_asked_often_says_what_all_its_answers_say(seed):
    """Against the process over all answers, with length scale and noise searched on the same grid."""
    random = np.random.default_rng(seed)
    points, values = np.eye(4)[random.integers(0, 4, 30)], random.random(30)
    y = (values - values.mean()) / values.std()

    def rbf(a, b, length):
        return np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(axis=2) / length**2)

    def evidence(length, noise):
        K = rbf(points, points, length) + (noise + 1e-8) * np.eye(30)
        scale = y @ np.linalg.solve(K, y) / 30
        return -15 * np.log(scale) - 0.5 * np.linalg.slogdet(K)[1], scale, K

    grid = [(a, b) for a in (0.1, 0.2, 0.4, 0.8, 1.6) for b in (1e-4, 1e-1, 1.0, 10.0)]
    length, _ = best = max(grid, key=lambda pair: evidence(*pair)[0])
    _, scale, K = evidence(*best)
    across = rbf(np.eye(4), points, length)
    mean = across @ np.linalg.solve(K, y)
    deviation = np.sqrt(scale * (1 - np.einsum("ij,ji->i", across, np.linalg.solve(K, across.T))))
    from scipy.stats import norm

    z = (mean - y.max()) / deviation
    expected = deviation * (z * norm.cdf(z) + norm.pdf(z))
    np.testing.assert_allclose(expected_improvement(points, values, np.eye(4)), expected, rtol=1e-5, atol=1e-9)


def test_the_paper_s_method_turns_to_conditions_that_have_no_failure_yet():
    """With α = 1 only distance counts: a condition that failed is worth nothing, one that did not the most."""
    history = conduct(Interrogation(3, 1.0, EIGHT), History.empty(2), fails_in([1.0] + [0.0] * 7), budget=60)
    later = condition_of(history.points[30:], EIGHT)
    assert (later == 0).mean() < 1 / 8


def test_thompson_goes_round_all_conditions_with_half_of_its_calls():
    history = conduct(Thompson(EIGHT, 5), History.empty(2), fails_in([0.1] * 8), budget=64, batch=8)
    assert history.explored.sum() == 32
    turns = condition_of(history.points[history.explored], EIGHT).reshape(4, 8)
    assert all(sorted(turn) == list(range(8)) for turn in turns.tolist())
    assert len({tuple(turn) for turn in turns.tolist()}) > 1  # in another order each time


def test_thompson_comes_back_to_the_condition_that_fails():
    history = conduct(
        Thompson(EIGHT, 1), History.empty(2), fails_in([0.0] * 5 + [0.6] + [0.0] * 2), budget=120, batch=8
    )
    drawn = condition_of(history.points[~history.explored], EIGHT)
    assert (drawn[-30:] == 5).mean() > 0.8


@pytest.mark.parametrize("strategy", [Thompson(EIGHT, 2), Interrogation(2, 0.4, EIGHT)], ids=["thompson", "paper"])
def test_a_search_over_conditions_that_stopped_goes_on_as_if_it_had_not(strategy):
    rates = np.linspace(0, 0.7, 8)

    def ask(points):  # the answer is the condition's and the picture's number, as in a run folder
        return (condition_of(points, EIGHT) % 3 == 0).astype(float) * (rates[condition_of(points, EIGHT)] > 0.1)

    whole = conduct(strategy, History.empty(2), ask, budget=48, batch=8)
    first = conduct(strategy, History.empty(2), ask, budget=24, batch=8)
    np.testing.assert_array_equal(conduct(strategy, first, ask, budget=48, batch=8).points, whole.points)
