import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from transect.effects import (
    adjusted_for_hidden,
    e_value,
    e_value_of_slope,
    robustness,
    rosenbaum_bounds,
)
from transect.effects.resampling import mcnemar


def test_the_papers_e_values():
    """VanderWeele and Ding 2017: 3.9 (1.8, 8.7); and the protective .8 (.71, .91), whose limit is that of 1 / .91."""
    protective = e_value(0.8, 0.71, 0.91)
    assert protective.point == pytest.approx(1.25 + math.sqrt(1.25 * 0.25))
    assert protective.limit == pytest.approx(1 / 0.91 + math.sqrt(1 / 0.91 * (1 / 0.91 - 1)))
    assert e_value(1.2, 0.9, 1.5).limit == 1
    assert e_value(1.0).point == 1
    assert math.isnan(e_value(2.0).limit)
    assert math.isnan(e_value(math.nan).point)


@settings(deadline=None)
@given(st.floats(1.01, 20))
def test_a_confounder_of_that_strength_just_explains_it(ratio):
    """The bounding factor of Ding and VanderWeele, RR_EU RR_UD / (RR_EU + RR_UD - 1), with both at the E-value."""
    e = e_value(ratio).point
    assert e * e / (2 * e - 1) == pytest.approx(ratio)


def test_other_scales():
    assert e_value(4.0, scale="odds ratio").point == pytest.approx(2 + math.sqrt(2))
    assert e_value(0.5, scale="standardized difference").point == pytest.approx(e_value(math.exp(0.455)).point)
    assert e_value(-0.5, -0.9, -0.1, scale="standardized difference").limit > 1


def test_of_a_slope_a_step_of_the_attribute_counts():
    """.02 a year is .2 in ten years; of a spread of .4 half a standard deviation: exp(.455) = 1.5762, and
    1.5762 + sqrt(1.5762 * .5762) = 2.5292. The nearer end is half of that: exp(.2275) = 1.2555, 1.8218."""
    made = e_value_of_slope(0.02, 0.01, 0.03, change=10.0, spread=0.4)
    assert (made.point, made.limit) == pytest.approx((2.5292, 1.8218), abs=1e-4)
    falling = e_value_of_slope(-0.02, -0.03, -0.01, change=10.0, spread=0.4)
    assert (falling.point, falling.limit) == pytest.approx((2.5292, 1.8218), abs=1e-4)
    assert e_value_of_slope(0.02, -0.01, 0.05, change=10.0, spread=0.4).limit == 1
    assert e_value_of_slope(0.02, change=20.0, spread=0.4).point > made.point
    assert math.isnan(e_value_of_slope(math.nan, change=1.0, spread=1.0).point)


def test_pairs_of_0_and_1_are_mcnemars_at_gamma_1():
    d = np.array([1.0] * 14 + [-1.0] * 3 + [0.0] * 20)
    made = rosenbaum_bounds(pa.array(d), (1.0, 1.5, 2.0))
    assert made.largest_p[0] == pytest.approx(mcnemar(14, 3))
    # twice P(Bin(17, Γ / (1 + Γ)) > 14) and once P(= 14), summed by hand
    for p, gamma in zip(made.largest_p, made.gammas, strict=True):
        share = gamma / (1 + gamma)
        chances = [math.comb(17, k) * share**k * (1 - share) ** (17 - k) for k in range(14, 18)]
        assert p == pytest.approx(2 * sum(chances) - chances[0])
    assert made.n_pairs == 17
    at, beyond = rosenbaum_bounds(d, (made.tolerated, made.tolerated + 0.01)).largest_p
    assert at <= 0.05 < beyond


@pytest.mark.parametrize("ties", [False, True])
def test_signed_ranks_are_the_sum_over_all_signs(ties):
    rng = np.random.default_rng(1)
    d = rng.integers(1, 4, 11) * rng.choice([-1, 1, 1, 1], 11) if ties else rng.normal(0.6, 1, 11)
    d = d.astype(float)
    made = rosenbaum_bounds(d, (1.0, 2.0))
    ranks = rankdata(np.abs(d))
    statistic = max(ranks[d > 0].sum(), ranks[d < 0].sum())
    for p, gamma in zip(made.largest_p, (1.0, 2.0), strict=True):
        share, total = gamma / (1 + gamma), 0.0
        for drawn in itertools.product((0, 1), repeat=11):
            chance = share ** sum(drawn) * (1 - share) ** (11 - sum(drawn))
            total += chance * (np.array(drawn) @ ranks >= statistic - 1e-9)
        assert p == pytest.approx(min(1, 2 * total))
    assert made.method == "exact signed rank"
    if not ties:
        assert made.largest_p[0] == pytest.approx(wilcoxon(d, method="exact").pvalue)


def test_no_pair_that_differs_and_bad_gammas():
    made = rosenbaum_bounds([0.0, float("nan")])
    assert (made.largest_p == 1).all()
    assert made.reason == "no pair differs"
    assert math.isnan(made.tolerated)
    assert math.isnan(rosenbaum_bounds([1.0, -1.0]).tolerated)  # p is 1 already without any bias


def test_a_hidden_variable_of_the_robustness_value_brings_the_estimate_to_0():
    """By definition: explaining RV of both sides leaves nothing; and half of it leaves something of the same sign."""
    rv = robustness(0.097, 0.023, 783).value
    assert adjusted_for_hidden(0.097, 0.023, 783, r2_outcome=rv, r2_attribute=rv)[0] == pytest.approx(0, abs=1e-12)
    assert adjusted_for_hidden(-0.097, 0.023, 783, r2_outcome=rv / 2, r2_attribute=rv / 2)[0] < 0
    assert robustness(0.01, 0.023, 783).significant == 0


def test_the_bound_is_the_bias_of_leaving_a_variable_out():
    """Ordinary least squares with and without z: its partial R² of outcome and attribute give the difference."""
    rng = np.random.default_rng(3)
    n = 500
    z = rng.normal(size=n)
    a = 0.6 * z + rng.normal(size=n)
    y = 0.5 * a + 0.8 * z + rng.normal(size=n)

    def fit(columns, outcome):
        design = np.column_stack([np.ones(n), *columns])
        coefficients, *_ = np.linalg.lstsq(design, outcome, rcond=None)
        residual = outcome - design @ coefficients
        covariance = residual @ residual / (n - design.shape[1]) * np.linalg.inv(design.T @ design)
        return coefficients[1], math.sqrt(covariance[1, 1]), residual

    short, error, left = fit([a], y)
    long, long_error, left_z = fit([a, z], y)
    r2_outcome = 1 - left_z @ left_z / (left @ left)
    r2_attribute = np.corrcoef(a, z)[0, 1] ** 2
    ours = adjusted_for_hidden(short, error, n - 2, r2_outcome=r2_outcome, r2_attribute=r2_attribute)
    assert ours == pytest.approx((long, long_error), rel=1e-9)
