"""Every strategy: the same history, the same suggestions; and what each promises of its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_failures import conduct, failing_target

from transect.designs.search import ActiveSearch, History, Interrogation, Random, Sobol, apart
from transect.designs.search.interrogation import composite, expected_improvement

ALL = [Random, Sobol, Interrogation, ActiveSearch]


def corner(points):
    """Fails where the first two coordinates are high: 9 % of the cube."""
    return ((points[:, 0] > 0.7) & (points[:, 1] > 0.7)).astype(float)


def search(kind, ask, *, dimensions=4, budget=64, batch=8, seed=3, **options):
    return conduct(kind(seed, **options), History.empty(dimensions), ask, budget=budget, batch=batch)


@pytest.mark.parametrize("kind", ALL)
def test_a_search_that_stopped_goes_on_as_if_it_had_not(kind):
    whole = search(kind, corner)
    first = search(kind, corner, budget=32)
    again = History(first.points.copy(), first.failures.copy(), first.explored.copy())  # as read from a folder
    resumed = conduct(kind(3), again, corner, budget=64, batch=8)
    np.testing.assert_array_equal(resumed.points, whole.points)
    np.testing.assert_array_equal(resumed.explored, whole.explored)


@pytest.mark.parametrize("kind", [Random, Sobol])
def test_spread_points_do_not_depend_on_the_batch(kind):
    np.testing.assert_array_equal(search(kind, corner, batch=1).points, search(kind, corner, batch=7).points)


def test_sobol_points_fill_every_interval_of_a_power_of_two():
    # The first 2^m points of a Sobol sequence have one in each interval of length 2^-m, along every axis.
    points = search(Sobol, corner, budget=64).points
    for column in points.T:
        assert sorted(np.floor(column * 64).astype(int).tolist()) == list(range(64))


def test_without_failures_ours_asks_what_sobol_asks():
    def never(points):
        return np.zeros(len(points))

    np.testing.assert_array_equal(search(ActiveSearch, never).points, search(Sobol, never).points)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(2, 6), st.integers(1, 9))
def test_follow_ups_are_never_near_a_failure_that_was_known(seed, dimensions, batch):
    history = search(ActiveSearch, corner, dimensions=dimensions, budget=64, batch=batch, seed=seed)
    least = 0.1 * np.sqrt(dimensions)
    for row in np.flatnonzero(~history.explored):
        known = np.arange(len(history)) < row // batch * batch  # told before the batch of this row
        earlier = history.points[known & history.failed]
        same = np.flatnonzero(~history.explored & ~known & (np.arange(len(history)) < row))
        for other in [*earlier, *history.points[same]]:
            assert np.linalg.norm(history.points[row] - other) >= least - 1e-6  # candidates' distances are by products


def test_follow_ups_are_earned_and_limited():
    history = search(ActiveSearch, corner, budget=160, most=0.25)
    follow = int((~history.explored).sum())
    assert 0 < follow <= 0.25 * 160
    none = search(ActiveSearch, corner, budget=160, earned=0.0)
    assert none.explored.all()


def test_ours_finds_several_times_what_random_does_on_a_rare_box():
    # 40 random calls in a region of 3 % find 1.2 a hundred; follow-ups at a chance of a half or so find many more.
    found = {Random: 0, ActiveSearch: 0}
    for seed in range(3):
        target = failing_target("one box", 8, 0.03, seed)
        for kind in found:
            history = conduct(kind(seed), History.empty(8), target, budget=240, batch=8)
            found[kind] += len(apart(history.found))
    assert found[ActiveSearch] >= 2 * found[Random]


def test_equation_4_by_hand():
    # Failure found at 0; the point at 0.3 is no failure and 0.3 away, that at 0.8 a failure of its own:
    # L = 0.4 * 1 + 0.6 * 0, 0.4 * 0 + 0.6 * 0.3, 0.4 * 1 + 0.6 * 0.
    history = History(np.array([[0.0], [0.3], [0.8]]), np.array([1.0, 0.0, 1.0]), np.ones(3, dtype=bool))
    np.testing.assert_allclose(composite(history, 0.6), [0.4, 0.18, 0.4], atol=1e-7)


def test_expected_improvement_is_highest_near_the_best_of_a_smooth_line():
    points = np.linspace(0, 1, 11)[:, None]
    values = -((points[:, 0] - 0.63) ** 2)
    candidates = np.linspace(0, 1, 101)[:, None]
    improvement = expected_improvement(points, values, candidates)
    assert (improvement >= 0).all()
    assert abs(float(candidates[improvement.argmax(), 0]) - 0.63) < 0.05
    at_points = expected_improvement(points, values, points)  # nothing is to be gained where it was looked
    assert at_points.max() < improvement.max()
