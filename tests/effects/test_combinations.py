"""Weighted sums of proportions: by hand, and their exact coverage."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from transect.effects.intervals import weighted_sum


def test_two_proportions_by_hand():
    # 0.5 x 2/10 + 0.5 x 0/10 = 0.1. Wilson's ends: 2/10 in [0.0567, 0.5098], 0/10 in [0, 0.2775]. Below:
    # 0.5 x (0.2 - 0.0567) = 0.0717; above: 0.5 x root of (0.3098² + 0.2775²) = 0.2080.
    estimate, low, high = weighted_sum([0.5, 0.5], [2, 0], [10, 10])
    assert estimate == pytest.approx(0.1)
    assert low == pytest.approx(0.1 - 0.0717, abs=1e-4)
    assert high == pytest.approx(0.1 + 0.2080, abs=1e-4)


def test_a_proportion_without_trials_leaves_nothing():
    assert all(math.isnan(value) for value in weighted_sum([0.5, 0.5], [3, 0], [10, 0]))


@pytest.mark.parametrize(("p", "q"), [(0.002, 0.3), (0.03, 0.5), (0.1, 0.1)])
def test_exact_coverage(p, q):
    """All outcomes of two binomials: weights 0.95 and 0.05 of 160 and 80 calls, as active testing has them."""
    weights, n = np.array([0.95, 0.05]), np.array([160, 80])
    truth, covered = weights[0] * p + weights[1] * q, 0.0
    second = binom.pmf(np.arange(81), n[1], q)
    for k in range(161):
        chance = binom.pmf(k, n[0], p)
        if chance < 1e-9:
            continue
        for other in np.flatnonzero(second > 1e-9):
            _, low, high = weighted_sum(weights, np.array([k, other]), n)
            covered += chance * second[other] * (low <= truth <= high)
    assert 0.93 <= covered <= 0.985
