"""Effects that were picked as the largest: levels by hand, and posterior means against quadrature and an optimiser."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm

from transect.effects.multiplicity import confidence_of, errors_of, shrunken

ESTIMATES = st.lists(st.floats(-50, 50), min_size=2, max_size=12).map(np.array)


def test_the_level_by_hand():
    assert confidence_of(3, 12) == pytest.approx(1 - 3 * 0.05 / 12)
    assert confidence_of(3, 3) == confidence_of(1, 0) == 0.95
    assert confidence_of(5, 3) == 0.95
    assert confidence_of(1, 10, rate=0.1) == pytest.approx(0.99)


def test_errors_come_from_the_end_that_is_nearer_to_0():
    estimates, low, high = np.array([2.0, -2.0, 1.0, 0.0]), np.array([0.04, -9, 1, -1.96]), np.array([9, -0.04, 2, 5.0])
    assert_allclose(errors_of(estimates, low, high, 0.95), [1, 1, np.nan, 1], atol=1e-4)


def test_posterior_means_by_an_optimiser_and_quadrature():
    """The likelihood of the weights has one maximum; with these weights the posterior mean is an integral."""
    z = np.array([4.0, -3.0, 0.5, 1.2, -0.1, 0.3, 2.5])
    spreads = np.concatenate([[0.0], 0.1 * np.sqrt(2) ** np.arange(14)])
    density = norm.pdf(z[:, None], scale=np.sqrt(1 + spreads**2))
    best = minimize(
        lambda logits: -np.log(density @ (np.exp(logits) / np.exp(logits).sum())).sum(), np.zeros(15), method="BFGS"
    )
    weights = np.exp(best.x) / np.exp(best.x).sum()
    grid = np.linspace(-40, 40, 80_001)
    prior = weights[1:] @ norm.pdf(grid, scale=spreads[1:, None])
    expected = []
    for value in z:
        likelihood = norm.pdf(value - grid)
        mass = (prior * likelihood).sum() * (grid[1] - grid[0]) + weights[0] * norm.pdf(value)
        expected.append((grid * prior * likelihood).sum() * (grid[1] - grid[0]) / mass)
    assert_allclose(shrunken(2 * z, np.full(7, 2.0)), 2 * np.array(expected), atol=0.1)


@given(ESTIMATES)
def test_estimates_are_drawn_towards_0_and_never_past_it(estimates):
    means = shrunken(estimates, np.full(len(estimates), 0.7))
    assert (np.abs(means) <= np.abs(estimates) + 1e-12).all()
    assert (means * estimates >= 0).all()
    order = np.arange(len(estimates))[::-1]
    assert_allclose(shrunken(estimates[order], np.full(len(estimates), 0.7))[order], means, atol=1e-9)


def test_what_has_no_error_is_left_out_and_one_alone_stays():
    means = shrunken(np.array([3.0, 2.0, 0.1]), np.array([1.0, np.nan, 1.0]))
    assert np.isnan(means[1])
    assert_allclose(means[[0, 2]], shrunken(np.array([3.0, 0.1]), np.ones(2)))
    assert_allclose(shrunken(np.array([3.0, 2.0]), np.array([1.0, np.nan])), [3.0, np.nan])
