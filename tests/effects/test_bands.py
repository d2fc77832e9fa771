"""Bands of curves against quantiles by hand, other implementations and the pointwise intervals that they widen."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import multivariate_normal, skew

from transect.effects.curves import FEWEST, critical_value, difference_band, mean_band, rate_band
from transect.effects.intervals import clopper_pearson_clustered, paired_score_interval


def orthogonal(k, n=64):
    """Residuals of k levels that are exactly uncorrelated."""
    return np.linalg.qr(np.random.default_rng(0).normal(size=(n, k)))[0]


@pytest.mark.parametrize("k", [1, 2, 6, 12])
def test_the_factor_of_independent_levels_is_sidak_s(k):
    assert critical_value(orthogonal(k)) == pytest.approx(ndtri((1 + 0.95 ** (1 / k)) / 2), abs=0.025)
    assert critical_value(np.zeros((30, k))) == pytest.approx(ndtri((1 + 0.95 ** (1 / k)) / 2), abs=0.025)


def test_the_factor_of_correlated_levels_has_95_percent_of_the_normal_box():
    x = np.random.default_rng(1).normal(size=(80, 4)) + 2 * np.random.default_rng(2).normal(size=(80, 1))
    x -= x.mean(axis=0)
    box = np.full(4, critical_value(x))
    inside = multivariate_normal(cov=np.corrcoef(x.T)).cdf(box, lower_limit=-box)
    assert inside == pytest.approx(0.95, abs=0.005)
    assert box[0] < critical_value(orthogonal(4)) - 0.05


def test_a_band_of_rates_is_the_exact_interval_at_the_factor_s_confidence():
    rng = np.random.default_rng(3)
    counts, hits = np.full((40, 5), 3.0), rng.binomial(3, 0.2, size=(40, 5)).astype(float)
    hits[:, 4] = 0.0
    band = rate_band(hits, counts)
    low, high = clopper_pearson_clustered(hits, counts, 2 * ndtr(band.factor) - 1)
    np.testing.assert_array_equal([band.low, band.high], [low, high])
    assert (band.low[4], band.reason) == (0.0, "")
    assert 0 < band.high[4] < 0.3
    narrow = clopper_pearson_clustered(hits, counts)
    assert (band.low[:4] < narrow[0][:4]).all()
    assert (band.high > narrow[1]).all()


def test_a_band_of_differences_is_the_paired_score_interval_at_the_factor_s_confidence():
    d = np.zeros((30, 3))
    d[:5, 0], d[5:7, 0], d[:4, 1] = 1.0, -1.0, -1.0
    d[29, 2] = np.nan  # 29 subjects, none of whom differs
    band = difference_band(d)
    confidence = 2 * ndtr(band.factor) - 1
    expected = paired_score_interval([5, 0, 0], [2, 4, 0], [30, 30, 29], confidence=confidence)
    np.testing.assert_allclose([band.low, band.high], expected)
    # Several pairs a subject: the factor is of Student's t with 28 degrees of freedom, and so larger.
    assert difference_band(d, 4).factor > band.factor + 0.05


def test_a_band_of_symmetric_means_is_symmetric_and_little_wider_than_student_s():
    half = np.random.default_rng(4).normal(size=(25, 1))
    x = 5 + np.vstack([half, -half])
    band = mean_band(x)
    error = x.std(ddof=1) / np.sqrt(50)
    reach = band.factor * error
    np.testing.assert_allclose(band.high[0] - 5, 5 - band.low[0], rtol=1e-9)
    assert reach < band.high[0] - 5 < 1.06 * reach
    assert band.factor == pytest.approx(stdtrit(49, 0.975), abs=0.03)


def test_a_band_of_skewed_means_reaches_where_hall_s_transformation_is_the_quantile():
    x = np.random.default_rng(5).exponential(size=(30, 1))
    band = mean_band(x)
    gamma, mean, sd = skew(x[:, 0], bias=False) + np.sqrt(6 / 30), x.mean(), x.std()
    w = (mean - band.high[0]) / sd
    root = np.sqrt(30) * (w + gamma * w**2 / 3 + gamma**2 * w**3 / 27 + gamma / 180)
    assert root == pytest.approx(-band.factor)
    assert band.low[0] == pytest.approx(mean - band.factor * x.std(ddof=1) / np.sqrt(30))


def test_bands_that_cannot_be_are_withheld_with_the_reason():
    few = np.ones((FEWEST - 1, 2))
    for band in (rate_band(0 * few, few), difference_band(few), mean_band(np.arange(38.0).reshape(19, 2))):
        assert band.reason == "fewer than 20 subjects at a level (19): no band"
        assert band.method == ""
        assert np.isnan([*band.low, *band.high, band.factor]).all()
    flat = np.column_stack([np.arange(25.0), np.full(25, 0.1)])
    assert mean_band(flat).reason == "a level does not vary: no band"
    one = np.ones((30, 2))
    one[:15, 1] = np.nan
    assert difference_band(one).reason == "fewer than 20 subjects at a level (15): no band"
