"""Worlds summarized: by hand, and beside statsmodels and the published figures of a known meta-analysis."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, t
from statsmodels.stats.meta_analysis import combine_effects

from transect.effects import random_effects
from transect.effects.several_worlds import FEW

BCG = np.array([
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
    (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
])  # fmt: skip
"""Cases and others, vaccinated and not, of 13 trials of the BCG vaccine (Colditz et al. 1994)."""


def log_risk_ratios():
    a, b, c, d = BCG.T.astype(float)
    return np.log(a / (a + b) / (c / (c + d))), np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


def test_the_published_figures_of_the_bcg_trials():
    """Viechtbauer 2010 (metafor): Q 152.23, REML's tau² .3132 with Q-profile interval .1197 to 1.1115.

    Paule and Mandel's tau² is .3181; Hartung and Knapp's interval of REML is −1.1084 to −.3206.
    """
    result = random_effects(*log_risk_ratios())
    assert result.q == pytest.approx(152.2330, abs=5e-4)
    assert result.tau2 == pytest.approx(0.3181, abs=5e-4)
    assert (result.tau2_low, result.tau2_high) == pytest.approx((0.1197, 1.1115), abs=5e-4)
    assert result.estimate == pytest.approx(-0.7145, abs=2e-3)
    assert (result.low, result.high) == pytest.approx((-1.1084, -0.3206), abs=3e-3)


def test_statsmodels_has_the_same_mean_and_spread():
    values, errors = log_risk_ratios()
    judge = combine_effects(values, errors**2, method_re="iterated", atol=1e-12, maxiter=10_000)
    result = random_effects(values, errors)
    assert result.tau2 == pytest.approx(judge.tau2, rel=1e-6)
    assert result.estimate == pytest.approx(judge.mean_effect_re, rel=1e-6)
    assert result.q == pytest.approx(judge.q, rel=1e-9)
    half = t.ppf(0.975, 12) * judge.sd_eff_w_re_hksj
    assert result.high - result.estimate == pytest.approx(half, rel=1e-5)


def test_three_equally_sure_worlds_by_hand():
    """Values .1, .2, .3 with errors .05: variance .01 between them, of which .0025 is error; t of 2 degrees is 4.303."""
    result = random_effects([0.1, 0.2, 0.3], [0.05] * 3)
    assert (result.estimate, result.q, result.tau2) == pytest.approx((0.2, 8.0, 0.0075))
    assert result.p == pytest.approx(np.exp(-4))  # chi² of 2 degrees
    assert result.share == pytest.approx(0.75)
    assert result.high - 0.2 == pytest.approx(t.ppf(0.975, 2) * np.sqrt(0.01 / 3))
    assert result.tau2_low == pytest.approx(max(0, 0.02 / chi2.ppf(0.975, 2) - 0.0025))
    assert result.tau2_high == pytest.approx(0.02 / chi2.ppf(0.025, 2) - 0.0025)


def test_the_next_world_by_plain_simulation():
    """tau² at which Q has a drawn chi², the mean and its error there, one world more: 100,000 draws of the slow oracle."""
    values, errors = np.array([0.05, 0.3, 0.1, 0.2]), np.array([0.05, 0.08, 0.04, 0.06])
    rng = np.random.default_rng(1)

    def at(tau2):
        weights = 1 / (errors**2 + tau2)
        mean = weights @ values / weights.sum()
        return mean, (weights * (values - mean) ** 2).sum(), weights.sum()

    known = np.linspace(0, 2, 200_001) ** 3
    q = np.array([at(tau2)[1] for tau2 in known[::20]])
    tau2 = np.interp(-rng.chisquare(3, 100_000), -q, known[::20])
    ahead = []
    for spread, z, student in zip(tau2, rng.standard_normal(len(tau2)), rng.standard_t(3, len(tau2)), strict=True):
        mean, q_there, total = at(spread)
        ahead.append(mean + np.sqrt(spread) * z + np.sqrt(max(q_there / 3, 1) / total) * student)
    result = random_effects(values, errors)
    expected = np.quantile(ahead, [0.025, 0.975])
    assert (result.prediction_low, result.prediction_high) == pytest.approx(tuple(expected), abs=0.02)


def test_two_worlds_have_a_test_and_no_summary():
    result = random_effects([0.1, 0.3], [0.06, 0.08])
    assert result.q == pytest.approx(4.0)  # (.2 / .1)²
    assert result.p == pytest.approx(0.0455, abs=1e-4)
    assert np.isnan([result.estimate, result.low, result.tau2, result.prediction_low]).all()
    assert result.reason == FEW


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=8), st.floats(-2, 2), st.floats(0.1, 10), st.integers(0, 2**32 - 1)
)
def test_order_shift_and_unit_change_nothing_else(values, shift, factor, seed):
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.05, 0.5, len(values))
    order = rng.permutation(len(values))
    one = random_effects(values, errors)
    other = random_effects((factor * np.array(values) + shift)[order], factor * errors[order])
    assert other.tau2 == pytest.approx(factor**2 * one.tau2, rel=1e-6, abs=1e-9 * factor**2)
    assert (other.low, other.prediction_high) == pytest.approx(
        (factor * one.low + shift, factor * one.prediction_high + shift), rel=1e-6, abs=1e-6
    )
    assert one.low <= one.estimate <= one.high
    assert one.prediction_low <= one.low
