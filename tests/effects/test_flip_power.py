"""Power by simulated tables: its p-values against all flips, and its limits."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.effects import flip_power
from transect.effects.flip_power import averaged_power, mean_power

CELLS = 3


def p_of_all_flips(differences):
    """Two-sided, by brute force."""
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product((1, -1), repeat=len(differences))]
    return np.mean(np.array(sums) >= abs(sum(differences)) - 1e-9)


@given(steps=st.lists(st.integers(-CELLS, CELLS), min_size=1, max_size=8))
def test_p_values_are_those_of_all_flips(steps):
    assert flip_power._exact(np.array([steps]), CELLS)[0] == pytest.approx(p_of_all_flips(steps), abs=1e-9)


@given(steps=st.lists(st.floats(-3, 3), min_size=2, max_size=7))
def test_p_values_of_scores_are_those_of_all_flips(steps):
    tables = np.repeat([steps], flip_power.TABLES, axis=0)
    assert flip_power._all_flips(tables)[0] == pytest.approx(p_of_all_flips(steps), abs=1e-9)


def test_the_normal_approximation_of_large_sums_is_near_the_exact_p():
    steps = np.random.default_rng(0).integers(-CELLS, CELLS + 1, size=(200, 400))
    assert flip_power._normal(steps) == pytest.approx(flip_power._exact(steps, CELLS), abs=0.01)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_no_power_where_the_smallest_possible_p_is_above_alpha(n):
    """2 / 2^5 = .0625."""
    assert averaged_power(n, (0.0, 0.99), 0.5, 9, 0.05) == 0.0
    assert mean_power(100.0, n, 0.05) == 0.0
    assert averaged_power(6, (0.0, 0.99), 0.5, 9, 0.05) > 0.9


def test_power_rises_with_the_subjects():
    """The first subjects of the simulated tables are the same."""
    powers = [averaged_power(n, (0.1, 0.2), 0.5, 4, 0.05) for n in (20, 40, 80, 160, 320)]
    assert powers == sorted(powers)
    assert averaged_power(40, (0.1, 0.2), 0.5, 4, 0.05) == powers[1]  # and the same each time


def test_the_two_ways_agree_where_they_meet():
    for shift in (0.3, 0.6, 0.9, 1.2):
        few, more = (
            mean_power(shift, flip_power.MOST_FLIPPED, 0.05),
            mean_power(shift, flip_power.MOST_FLIPPED + 1, 0.05),
        )
        assert 0 <= more - few <= 0.08
