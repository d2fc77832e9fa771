import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.effects_by_loops import sign_flip_p
from scipy import stats
from scipy.stats import binom
from statsmodels.stats import contingency_tables

from transect.effects import sign_flip
from transect.effects.resampling import exact_sign_flip, lattice, mcnemar, mcnemar_interval, permutation


@pytest.mark.parametrize(("b", "c"), [(0, 1), (5, 5), (3, 9), (1, 12), (40, 22), (300, 250)])
def test_exact_mcnemar_is_the_case_of_ones(b, c):
    d = np.repeat([1.0, -1.0, 0.0], [b, c, 7])[:, None]
    p, methods = sign_flip(d)
    assert methods == ("exact sign-flip",)
    np.testing.assert_allclose(p[0], contingency_tables.mcnemar([[7, b], [c, 0]], exact=True).pvalue, rtol=1e-9)
    np.testing.assert_allclose(p[0], stats.binomtest(b, b + c).pvalue, rtol=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([k / m for m in (1, 2, 3, 4, 5, 6) for k in range(-m, m + 1)]), min_size=1, max_size=9))
def test_exact_is_the_enumeration_of_all_signs(d):
    p, methods = sign_flip(np.array(d)[:, None])
    assert methods == ("exact sign-flip",)
    assert math.isclose(p[0], sign_flip_p(d), rel_tol=1e-9)


def test_all_zero_is_p_one_and_nothing_at_all_has_no_p():
    p, methods = sign_flip(np.array([[0.0, np.nan, 1.0], [0.0, np.nan, np.nan]]))
    np.testing.assert_array_equal(p, [1, np.nan, 1])
    assert methods == ("exact sign-flip", "", "exact sign-flip")


def test_monte_carlo_agrees_with_the_exact_answer():
    rng = np.random.default_rng(2)
    d = rng.normal(0.3, 1, size=(14, 1))
    p, methods = sign_flip(d, resamples=20_000, seed=1)
    assert methods == ("Monte Carlo sign-flip",)
    exact = sign_flip_p(d[:, 0].tolist())
    np.testing.assert_allclose(p[0], exact, atol=5 * np.sqrt(exact * (1 - exact) / 20_000))


def test_monte_carlo_is_seeded_never_zero_and_blind_to_memory(monkeypatch):
    d = np.random.default_rng(0).normal(5, 1, size=(60, 2))
    p, _ = sign_flip(d, resamples=99, seed=4)
    np.testing.assert_array_equal(p, 1 / 100)
    weak = d - 4.8
    first = sign_flip(weak, seed=4)[0]
    monkeypatch.setattr("transect.effects.resampling._SIGNS_AT_ONCE", 1000)
    np.testing.assert_array_equal(sign_flip(weak, seed=4)[0], first)
    assert not np.array_equal(sign_flip(weak, seed=5)[0], first)


def test_a_p_too_small_for_a_float_is_not_zero():
    assert 0 < exact_sign_flip(np.ones(3000, dtype=np.int64)) < 1e-300


def test_what_is_left_of_a_cancelled_sum_is_zero():
    np.testing.assert_array_equal(lattice(np.array([1e-17, 0.5, -1.0])), [0, 1, -2])
    assert sign_flip(np.array([[1e-17], [1.0], [1.0]]))[0][0] == sign_flip(np.array([[0.0], [1.0], [1.0]]))[0][0] == 0.5


def test_the_lattice_is_found_or_refused():
    np.testing.assert_array_equal(lattice(np.array([1 / 3, -1 / 4, 0.0, 1.0])), [4, -3, 0, 12])
    np.testing.assert_array_equal(lattice(np.array([0.02, 0.05])), [2, 5])
    assert lattice(np.array([1.0, np.sqrt(2)])) is None
    assert lattice(np.random.default_rng(0).normal(size=2000)) is None
    # Sum 1e6 times 20,000 subjects would be 2e10 additions.
    assert lattice(np.repeat([50.0, 49.0], 10_000)) is None


def test_permutation_of_groups_agrees_with_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 12), rng.normal(0.9, 1, 9)
    judge = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.abs(y.mean(axis) - x.mean(axis)),
        alternative="greater",
        vectorized=True,
        n_resamples=20_000,
        rng=rng,
    ).pvalue
    weights = np.repeat([-1 / 12, 1 / 9], [12, 9])
    p = permutation(np.concatenate([a, b]), weights, resamples=20_000, seed=2)
    np.testing.assert_allclose(p, judge, atol=5 * np.sqrt(2 * judge * (1 - judge) / 20_000))


@pytest.mark.integration
def test_an_interval_of_single_pairs_leaves_out_zero_exactly_where_mid_p_is_small():
    """All tables of up to 30 subjects, at three levels: what is significant has an interval that does not hold 0."""
    for n in range(1, 31):
        for b, c in (table for table in itertools.product(range(n + 1), repeat=2) if sum(table) <= n):
            for confidence in (0.95, 0.9, 1 - 0.05 / 7):
                low, high = mcnemar_interval(b, c, n, confidence)
                assert low <= (b - c) / n <= high
                assert (mcnemar(b, c) <= 1 - confidence) == (low > 0 or high < 0), (b, c, n)


def test_the_level_of_mid_p_holds_at_every_level_where_at_most_half_of_the_pairs_differ():
    """Summed over all tables: also at the small levels of a family. Answers that do not avoid each other differ in at
    most half of the pairs, 2 p (1 - p). Where nearly all pairs differ it may be exceeded up to twice."""
    for alpha in (0.05, 0.025, 0.05 / 12, 0.05 / 60):
        rejects = [sum(binom.pmf(b, m, 0.5) for b in range(m + 1) if mcnemar(b, m - b) <= alpha) for m in range(101)]
        for n, share in itertools.product((5, 8, 12, 20, 30, 50, 100), (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)):
            assert binom.pmf(np.arange(n + 1), n, share) @ rejects[: n + 1] <= alpha, (n, share, alpha)
