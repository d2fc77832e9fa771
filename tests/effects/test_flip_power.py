"""Power by simulated tables: its p-values against all flips, and its limits."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.effects import planning
from transect.effects.planning import averaged_power, mean_power

CELLS = 3


def p_of_all_flips(differences):
    """Two-sided, by brute force."""
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product((1, -1), repeat=len(differences))]
    return np.mean(np.array(sums) >= abs(sum(differences)) - 1e-9)


@given(steps=st.lists(st.integers(-CELLS, CELLS), min_size=1, max_size=8))
def test_p_values_are_those_of_all_flips(steps):
    assert planning._exact(np.array([steps]), CELLS)[0] == pytest.approx(p_of_all_flips(steps), abs=1e-9)


@pytest.mark.parametrize(("n", "alpha"), [(4, 0.3), (6, 0.05), (7, 0.1)])
def test_scores_are_rejected_where_all_flips_reject_them(n, alpha, monkeypatch):
    monkeypatch.setattr(planning, "TABLES", 40)
    low, high = planning._critical_shifts.__wrapped__(n, int(alpha * 2 ** (n - 1)))
    tables = np.random.default_rng(2).standard_normal((planning.MOST_FLIPPED, 40))[:n].T
    for shift in (0.0, 0.1, 0.4, 0.8, 1.5, 3.0):
        rejected = [p_of_all_flips(table + shift) <= alpha for table in tables]
        assert ((shift < low) | (shift > high)).tolist() == rejected


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_no_power_where_the_smallest_possible_p_is_above_alpha(n):
    """2 / 2^5 = .0625."""
    assert averaged_power(n, (0.0, 0.99), 0.5, 9, 0.05) == 0.0
    assert mean_power(100.0, n, 0.05) == 0.0
    assert averaged_power(6, (0.0, 0.99), 0.5, 9, 0.05) > 0.9
