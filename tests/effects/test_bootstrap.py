import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from transect.effects import bca
from transect.effects.resampling import bca_interval, ratio, resample_counts


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


def test_acceleration_moves_the_interval_of_a_skewed_mean_to_the_right():
    sample = np.random.default_rng(0).lognormal(size=100)
    low, high = bca(sample[:, None], seed=1)
    assert high[0] - sample.mean() > 1.1 * (sample.mean() - low[0])


def test_a_symmetric_case_by_hand():
    # No bias (half of the replicates lie below), no acceleration (influences -1 and 1): the plain 5 and 95 % quantiles.
    replicates = np.linspace(-1, 1, 1001)[:, None]
    low, high = bca_interval(np.zeros(1), replicates, np.array([[-1.0], [1.0]]), 0.9)
    np.testing.assert_allclose((low[0], high[0]), (-0.9, 0.9))


def test_bias_by_hand():
    # A share Phi(.5) of the replicates lies below the estimate: z0 = .5; the ends are at Phi(1 ∓ 1.96) of uniforms.
    replicates = (np.arange(100_001) / 100_000)[:, None]
    low, high = bca_interval(np.array([stats.norm.cdf(0.5)]), replicates, np.array([[-1.0], [1.0]]))
    np.testing.assert_allclose(
        (low[0], high[0]), (stats.norm.cdf(1 - 1.959964), stats.norm.cdf(1 + 1.959964)), atol=1e-4
    )


def test_few_subjects_are_widened_to_the_t_interval():
    # Symmetric data of 6: z0 = a = 0, and replicates are near normal; sqrt(6/5) * t(5) = 2.816 where z is 1.960.
    sample = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]])
    replicates = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)[:, None]
    low, high = bca_interval(np.zeros(1), replicates, sample, 0.95, np.array([6]))
    np.testing.assert_allclose((low[0], high[0]), (-2.816, 2.816), atol=2e-3)
    wide, plain = bca(sample, resamples=4000), bca(sample, resamples=4000, expand=False)
    assert wide[0] < plain[0] < 0 < plain[1] < wide[1]


def test_ratio_of_sums_counts_images():
    # Equal counts: the ratio is the mean of subject means, whatever the number of images.
    sums = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_allclose(bca(3 * sums, np.full_like(sums, 3.0), seed=2), bca(sums, seed=2))


def test_missing_subjects_are_resampled_but_carry_nothing():
    sample = np.random.default_rng(0).normal(size=(200, 1))
    low, high = bca(sample[:150], seed=1, resamples=20_000)
    with_missing = np.where(np.arange(200)[:, None] < 150, sample, np.nan)
    again = bca(with_missing, seed=2, resamples=20_000)
    np.testing.assert_allclose(again, (low, high), atol=0.1 * (high - low)[0])  # other draws: Monte Carlo only


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


def test_kept_counts_are_those_that_are_drawn_and_cannot_be_changed(monkeypatch):
    (kept,), (again,) = resample_counts(7, 40, seed=3), resample_counts(7, 40, seed=3)
    assert again is kept
    with pytest.raises(ValueError, match="read-only"):
        kept[0, 0] = 5
    monkeypatch.setattr("transect.effects.resampling._KEPT", 0)
    (drawn,) = resample_counts(7, 40, seed=3)
    np.testing.assert_array_equal(kept, drawn)
    assert not np.array_equal(kept, next(resample_counts(7, 40, seed=4)))


def test_every_resample_holds_n_subjects_each_as_likely():
    counts = np.concatenate(list(resample_counts(20, 5000, seed=0)))
    assert counts.shape == (5000, 20)
    np.testing.assert_array_equal(counts.sum(axis=1), 20)
    # The mean count of a subject has variance (1 - 1/20) / 5000: five standard errors.
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=5 * np.sqrt(0.95 / 5000))


def test_the_width_of_the_interval_is_the_standard_error():
    # Normal mean: 2 * 1.96 sd / sqrt n, up to the Monte Carlo error of two quantiles of 10,000.
    sample = np.random.default_rng(0).normal(size=(400, 1))
    low, high = bca(sample, resamples=10_000)
    np.testing.assert_allclose(high - low, 2 * 1.96 * sample.std() / 20, rtol=0.05)


@settings(max_examples=50, deadline=None)
@given(st.floats(-100, 100), st.floats(0.01, 100))
def test_equivariant_under_shift_and_scale(shift, scale):
    sample = np.random.default_rng(3).normal(size=(25, 1))
    low, high = bca(sample, resamples=200)
    np.testing.assert_allclose(
        bca(shift + scale * sample, resamples=200), (shift + scale * low, shift + scale * high), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("value", [0.1, 0.3 + 1e-16, -1e9 / 3])
def test_equal_values_do_not_vary_whatever_rounding_leaves(value):
    # The mean of twenty times 0.1 differs from 0.1 in the last bit.
    assert np.isnan(bca(np.full((20, 1), value))).all()
    assert np.isnan(bca(np.full((20, 1), 3 * value), np.full((20, 1), 3.0))).all()


def test_the_residuals_of_a_ratio_by_hand():
    # (1 + 5) / (1 + 3) = 3/2: 1 - 3/2, 5 - 9/2.
    mean, residual = ratio(np.array([[1.0], [5.0]]), np.array([[1.0], [3.0]]))
    np.testing.assert_array_equal(mean, [1.5])
    np.testing.assert_array_equal(residual, [[-0.5], [0.5]])
