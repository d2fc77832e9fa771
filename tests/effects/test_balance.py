"""Balance by hand, against SciPy, and against figures that R's MatchIt 4.5.1 printed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from transect.effects.matched_pairs import balance, joint, verdict

I = np.arange(40)  # noqa: E741  (R's i below)
TREATED = (I % 3 == 0).astype(float)
COVARIATES = {
    "age": 20.0 + (7 * I) % 31,
    "x": ((I * I) % 11).astype(float),
    "young": ((I * 5) % 7 < 3).astype(float),
}
A, B = np.flatnonzero(TREATED == 1), np.flatnonzero(TREATED == 0)


def test_before_matching_equals_matchit():
    """Recorded with R 4.2.2, MatchIt 4.5.1.

    i <- 0:39; d <- data.frame(t = as.integer(i %% 3 == 0), age = 20 + (7*i) %% 31, x = (i*i) %% 11,
                               young = as.integer((i*5) %% 7 < 3))
    summary(matchit(t ~ age + x + young, data = d, method = NULL, estimand = "ATE"))$sum.all
    Columns Means Treated, Means Control, Std. Mean Diff. (pooled SD), Var. Ratio, eCDF Max. MatchIt takes
    sqrt((p1 (1 - p1) + p0 (1 - p0)) / 2) as the spread of a binary covariate, we the variances with n - 1 everywhere:
    for `young` the factor is sqrt of the ratio of the two.
    """
    found = {one.covariate: one.before for one in balance(COVARIATES, A, B, (A, B), weights=np.ones(40))}
    for name, expected in {
        "age": (32.5, 36.0769230769, -0.39289697335, 1.097387682, 0.280219780220),
        "x": (4.0, 3.8846153846, 0.03904489542, 1.339377705, 0.065934065934),
    }.items():
        side = found[name]
        np.testing.assert_allclose(
            (side.treated, side.control, side.smd, side.variance_ratio, side.ks), expected, rtol=1e-9
        )
    young, p = found["young"], (6 / 14, 11 / 26)
    ours = ((p[0] * (1 - p[0]) * 14 / 13 + p[1] * (1 - p[1]) * 26 / 25) / 2) ** 0.5
    theirs = ((p[0] * (1 - p[0]) + p[1] * (1 - p[1])) / 2) ** 0.5
    assert young.smd * ours / theirs == pytest.approx(0.01111214006, rel=1e-7)
    assert young.ks == pytest.approx(0.005494505495, rel=1e-9)
    assert np.isnan(young.variance_ratio)


# m$weights of m <- matchit(t ~ age + x + young, data = d, method = "cem",
# cutpoints = list(age = 3, x = 3), estimand = "ATT"); 0 where R has NA.
WEIGHTS = np.array([1, 0, 0.3653846154, 0, 0.7307692308, 2.9230769231, 1, 0.7307692308, 0.7307692308, 1, 1.4615384615, 1.4615384615, 1, 0, 0, 1, 0.3653846154, 0, 1, 1.4615384615, 0.7307692308, 1, 1.4615384615, 0, 1, 0.7307692308, 0.7307692308, 1, 0.7307692308, 0.3653846154, 1, 1.4615384615, 0, 1, 1.4615384615, 0, 1, 0.3653846154, 0.7307692308, 1])  # fmt: skip


def test_weighted_balance_equals_matchit():
    """summary(m)$sum.matched: Means Treated, Means Control, Var. Ratio, eCDF Max; SMD there is by the treated SD."""
    found = {one.covariate: one.after for one in balance(COVARIATES, A, B, (A, B), weights=np.round(52 * WEIGHTS) / 52)}
    for name, expected in {
        "age": (31.8461538462, 34.4038461538, 0.9963245864, 0.2307692307),
        "x": (3.6153846154, 3.5961538462, 1.0042924303, 0.01923076923),
    }.items():
        side = found[name]
        np.testing.assert_allclose((side.treated, side.control, side.variance_ratio, side.ks), expected, rtol=1e-8)
    assert found["young"].smd == pytest.approx(0, abs=1e-12)


def test_by_hand():
    """Treated 1, 3 and control 2, 6, 7: means 2 and 5, variances 2 and 7; SMD -3 / sqrt(4.5). Matched: 3 with 2."""
    values = {"v": np.array([1.0, 3, 2, 6, 7])}
    found = balance(values, np.array([0, 1]), np.array([2, 3, 4]), (np.array([1]), np.array([2])))[0]
    assert found.before.smd == pytest.approx(-3 / 4.5**0.5)
    assert found.before.variance_ratio == pytest.approx(2 / 7)
    assert found.before.ks == pytest.approx(2 / 3)  # at 3 both treated are in and one of three controls
    assert found.after.smd == pytest.approx(1 / 4.5**0.5)  # the denominator stays that of the unmatched groups
    assert np.isnan(found.before.treated_interval).all()


@given(st.integers(0, 1000))
def test_ks_equals_scipys(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=30), 1)
    made = balance({"v": values}, np.arange(12), np.arange(12, 30), (np.arange(12), np.arange(12, 24)))[0]
    assert made.before.ks == pytest.approx(ks_2samp(values[:12], values[12:]).statistic)


def test_missing_values_are_left_out_of_their_covariate_alone():
    values = {"v": np.array([1.0, np.nan, 0.0, 0.0]), "w": np.array([1.0, 1, 0, 1])}
    v, w = balance(values, np.array([0, 1]), np.array([2, 3]), (np.array([1]), np.array([2])))
    assert v.before.n == (1.0, 2.0)
    assert np.isnan(v.after.smd)
    assert w.before.n == (2.0, 2.0)
    assert verdict([v, w]).startswith("not balanced: v (unknown), w (+")


def test_several_b_of_an_a_share_its_weight():
    """Two a, the first with three b: its b weigh a third each, the other's b 1. Row by row the first a counts thrice."""
    old = {"old": np.array([1.0, 1, 1, 1, 1, 0])}
    groups, pairs = (np.array([0, 5]), np.arange(1, 5)), (np.array([0, 0, 0, 5]), np.array([1, 2, 3, 4]))
    side = balance(old, *groups, pairs)[0].after
    assert (side.treated, side.control) == (0.5, 1.0)  # b: three of a third, and the fourth of 1
    assert side.n == (2.0, 3.0)  # (1/2)^2 + 3 (1/6)^2 = 1/3
    values = {"v": np.array([3.0, 0, 0, 9, 0, 1])}
    side = balance(values, *groups, pairs)[0].after
    assert (side.treated, side.control) == (2.0, pytest.approx(1.5))  # (3 + 1) / 2 and (9/3 + 0) / 2
    cells = joint({"old": old["old"], "far": (values["v"] > 2).astype(float)}, *pairs, paired=True)
    assert [(cell.treated, cell.control) for cell in cells] == [
        (0.5, 0.0),
        (0.0, 0.0),
        (0.0, pytest.approx(5 / 6)),
        (0.5, pytest.approx(1 / 6)),
    ]
    missing = {"v": np.array([3.0, 0, np.nan, 9, 0, 1])}
    assert balance(missing, *groups, pairs)[0].after.control == pytest.approx(2.25)  # 9/2 and 0, as the outcome has it
