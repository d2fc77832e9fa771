import itertools
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import effects_by_loops
from statsmodels.stats.multitest import multipletests

from transect.effects import holm
from transect.effects.multiplicity import max_t

p_values = st.lists(st.floats(1e-6, 1), min_size=1, max_size=30)


@settings(deadline=None)
@given(p_values)
def test_holm_is_that_of_statsmodels(p):
    with mock.patch("gc.collect"):  # statsmodels calls it each time: half a second in a long session
        expected = multipletests(p, method="holm")[1]
    np.testing.assert_allclose(holm(np.array(p)), expected)


@settings(deadline=None)
@given(st.lists(st.one_of(st.floats(1e-6, 1), st.just(float("nan"))), max_size=12))
def test_what_is_not_estimable_passes_through_and_is_not_counted(p):
    p = np.array(p, dtype=np.float64)
    known = np.isfinite(p)
    adjusted = holm(p)
    assert np.isnan(adjusted[~known]).all()
    np.testing.assert_array_equal(adjusted[known], holm(p[known]))
    np.testing.assert_allclose(holm(p), effects_by_loops.holm(p.tolist()))


def test_by_hand():
    # Holm: 4 * .01 = .04; 3 * .02 = .06; 2 * .04 = .08; .05 is raised to .08.
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.05, 0.02])), [0.08, 0.04, 0.08, 0.06])


def max_t_by_loops(d):
    """All 2^n signs; step-down minimum p of the maximum over the statistics not above the one at hand."""
    size = np.sqrt((d**2).sum(axis=0))
    observed = np.abs(d.sum(axis=0)) / size
    flips = np.array(list(itertools.product([-1, 1], repeat=len(d))))
    drawn = np.abs(flips @ d) / size
    p, running = np.empty(d.shape[1]), 0.0
    order = np.argsort(-observed)
    for rank, column in enumerate(order):
        largest = drawn[:, order[rank:]].max(axis=1)
        running = max(running, (largest >= observed[column] - 1e-9).mean())
        p[column] = running
    return p


def test_max_t_is_the_distribution_over_all_signs():
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.8):
        d = rng.normal(size=(10, 1)) * 0.7 + rng.normal(shift, 1, size=(10, 4))
        # 40,000 draws: standard error at most .0025
        np.testing.assert_allclose(max_t(d, resamples=40_000), max_t_by_loops(d), atol=0.011)


def test_max_t_passes_gaps_on_and_never_says_zero():
    d = np.column_stack([np.full(30, np.nan), np.zeros(30), np.ones(30), np.where(np.arange(30) < 3, np.nan, 1.0)])
    p = max_t(d, resamples=999)
    assert np.isnan(p[0])
    assert p[1] == 1
    assert p[2] == p[3] == 0.001
