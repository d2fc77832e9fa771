import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from transect.effects.resampling import bca, bca_interval


@pytest.mark.parametrize("kind", ["normal", "skewed", "ternary"])
def test_bca_is_that_of_scipy(kind):
    rng = np.random.default_rng(4)
    sample = {
        "normal": rng.normal(size=80),
        "skewed": rng.lognormal(size=80),
        "ternary": rng.choice([-1.0, 0.0, 1.0], size=80, p=[0.1, 0.5, 0.4]),
    }[kind]
    judge = stats.bootstrap(
        (sample,), np.mean, n_resamples=40_000, method="BCa", batch=2000, rng=np.random.default_rng(5)
    ).confidence_interval
    low, high = bca(sample[:, None], resamples=40_000, seed=6, expand=False)
    # Monte Carlo: the 99 % quantile (where acceleration puts the end) of 40,000 has SE
    # sqrt(.01 * .99 / 40000) / .0267 = .019 standard errors of the mean; five times that, twice.
    # Ternary means lie on a grid of 1/80, and may differ by a step.
    atol = 1 / 80 + 1e-9 if kind == "ternary" else 0.13 * sample.std() / np.sqrt(80)
    np.testing.assert_allclose((low[0], high[0]), (judge.low, judge.high), atol=atol)


def test_a_symmetric_case_by_hand():
    # No bias (half of the replicates lie below), no acceleration (influences -1 and 1): the plain 5 and 95 % quantiles.
    replicates = np.linspace(-1, 1, 1001)[:, None]
    low, high = bca_interval(np.zeros(1), replicates, np.array([[-1.0], [1.0]]), 0.9)
    np.testing.assert_allclose((low[0], high[0]), (-0.9, 0.9))


def test_few_subjects_are_widened_to_the_t_interval():
    # Symmetric data of 6: z0 = a = 0, and replicates are near normal; sqrt(6/5) * t(5) = 2.816 where z is 1.960.
    sample = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]])
    replicates = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)[:, None]
    low, high = bca_interval(np.zeros(1), replicates, sample, 0.95, np.array([6]))
    np.testing.assert_allclose((low[0], high[0]), (-2.816, 2.816), atol=2e-3)
    wide, plain = bca(sample, resamples=4000), bca(sample, resamples=4000, expand=False)
    assert wide[0] < plain[0] < 0 < plain[1] < wide[1]


def test_nothing_to_resample_has_no_interval():
    for sample in (np.ones((10, 1)), np.full((10, 1), np.nan), np.ones((1, 1)), np.empty((0, 1))):
        assert np.isnan(bca(sample)).all()


def test_seeded_and_blind_to_memory(monkeypatch):
    sample = np.random.default_rng(0).normal(size=(30, 2))
    whole = bca(sample, seed=7)
    np.testing.assert_array_equal(bca(sample, seed=7), whole)
    assert not np.array_equal(bca(sample, seed=8), whole)
    monkeypatch.setattr("transect.effects.resampling._DRAWS_AT_ONCE", 100)
    np.testing.assert_allclose(bca(sample, seed=7), whole, rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.floats(-100, 100), st.floats(0.01, 100))
def test_equivariant_under_shift_and_scale(shift, scale):
    sample = np.random.default_rng(3).normal(size=(25, 1))
    low, high = bca(sample, resamples=200)
    np.testing.assert_allclose(
        bca(shift + scale * sample, resamples=200), (shift + scale * low, shift + scale * high), rtol=1e-6, atol=1e-6
    )
