import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects import difference_in_means, ols
from transect.effects.regression import independent, undetermined
from transect.effects.samples import Labels
from transect.errors import BadInput

NAN = np.nan
MANY_SUBJECTS = 300  # from 50 equally telling ones errors are those of statsmodels, below bias-reduced


def population(seed=0, subjects=40, images=4):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(subjects), images)
    x = rng.normal(size=(len(groups), 3))
    y = x @ [0.5, -0.2, 0.0] + rng.normal(size=subjects)[groups] + rng.normal(size=len(groups))
    return y, x, groups


def test_agrees_with_statsmodels_by_cluster():
    y, x, groups = population(subjects=MANY_SUBJECTS)
    judge = sm.OLS(y, sm.add_constant(x)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    made = ols(y, x, clusters=groups)
    np.testing.assert_allclose([effect.estimate for effect in made], judge.params[1:], rtol=1e-10)
    np.testing.assert_allclose([(e.low, e.high) for e in made], judge.conf_int()[1:], rtol=1e-9)
    np.testing.assert_allclose([effect.p for effect in made], judge.pvalues[1:], rtol=1e-8)
    assert {(effect.n_subjects, effect.n_images) for effect in made} == {(MANY_SUBJECTS, 4 * MANY_SUBJECTS)}


def test_without_subjects_every_image_is_one_and_errors_are_hc1():
    y, x, _ = population(subjects=MANY_SUBJECTS)
    judge = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC1")
    np.testing.assert_allclose([e.spec["standard_error"] for e in ols(y, x)], judge.bse[1:], rtol=1e-10)


def test_weights_agree_with_statsmodels():
    y, x, groups = population(subjects=MANY_SUBJECTS)
    weights = np.random.default_rng(1).uniform(0.1, 3, len(y))
    judge = sm.WLS(y, sm.add_constant(x), weights).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    made = ols(y, x, clusters=groups, weights=weights)
    np.testing.assert_allclose([effect.estimate for effect in made], judge.params[1:], rtol=1e-10)
    np.testing.assert_allclose([(e.low, e.high) for e in made], judge.conf_int()[1:], rtol=1e-9)


def test_a_singular_design_names_its_columns_and_keeps_what_is_determined():
    y, x, _ = population()
    dark = (x[:, 0] > 0).astype(float)
    made = ols(y, {"dark": dark, "light": 1 - dark, "age": x[:, 1], "hat": np.ones(len(y))})
    assert [effect.estimable for effect in made] == [False, False, True, False]
    assert "dark and light" in made[0].reason
    assert "intercept" in made[0].reason
    assert made[3].reason == "no variation: hat is 1 in all 160 rows"
    alone = ols(y, {"dark": dark, "age": x[:, 1]})
    assert made[2].estimate == pytest.approx(alone[1].estimate, rel=1e-10)
    assert made[2].low == pytest.approx(alone[1].low, rel=1e-10)


def test_columns_that_depend_on_nothing_are_not_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 5))
    x[:, 4] = x[:, 0] - x[:, 2]
    x[:, 3] = 2 * x[:, 1]
    reasons = undetermined(x, ["a", "b", "c", "d", "e"])
    assert reasons[0] == "not determined: a, c and e are linearly dependent"
    assert reasons[3] == "not determined: b and d are linearly dependent"
    np.testing.assert_array_equal(independent(x), [0, 1, 2])


@pytest.mark.parametrize(
    ("y", "x", "reason"),
    [
        ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0], "no variation: all 3 outcomes are 1"),
        ([NAN, NAN], [0.0, 1.0], "no complete row among 2"),
        ([], np.empty((0, 1)), "no complete row among 0"),
        ([0.0, 1.0], [3.0, 3.0], "no variation: x1 is 3 in all 2 rows"),
    ],
)
def test_what_cannot_be_estimated_is_nan_with_its_reason(y, x, reason):
    (effect,) = ols(y, x)
    assert np.isnan([effect.estimate, effect.low, effect.high, effect.p]).all()
    assert effect.reason == reason


def test_missing_perceived_values_are_counted():
    (effect,) = ols([0.0, 1.0, 2.0, 4.0], {"beard": [0.0, 1.0, NAN, 1.0]})
    assert effect.excluded == {"no value of beard": 1}
    assert effect.estimate == pytest.approx(2.5)


def test_one_subject_has_no_interval():
    (effect,) = ols([0.0, 1.0, 3.0], [0.0, 1.0, 2.0], clusters=[1, 1, 1])
    assert effect.estimate == pytest.approx(1.5)
    assert np.isnan(effect.low)
    assert effect.reason == "one subject: no interval"


def test_difference_in_means_by_hand():
    # Means 1/2 and 3/2, variances (1/4 * 3 + 9/4) / 3 = 1 in either arm of 4: squared error 1/4 + 1/4 (Welch).
    effect = difference_in_means(
        [0, 0, 0, 2, 2, 2, 2, 0], {"beard": [0, 0, 0, 0, 1, 1, 1, 1]}, labels=Labels("t", "error")
    )
    assert effect.estimate == pytest.approx(1.0)
    assert effect.spec["standard_error"] == pytest.approx(np.sqrt(1 / 2))
    assert (effect.origin, effect.to, effect.target, effect.outcome) == (0.0, 1.0, "t", "error")


def test_an_empty_group_is_said_and_counted():
    effect = difference_in_means([0.0, 1.0, 1.0], {"beard": [1.0, 1.0, 1.0]})
    assert np.isnan(effect.estimate)
    assert effect.reason == "one group empty: no image where beard is 0, 3 where it is 1"


@pytest.mark.parametrize(
    ("treatment", "message"),
    [
        ({"beard": [0.0, 2.0]}, "beard: expected a treatment of 0 and 1, got 2"),
        (np.zeros((2, 2)), "expected one column"),
    ],
)
def test_a_treatment_is_one_column_of_0_and_1(treatment, message):
    with pytest.raises(BadInput, match=message):
        difference_in_means([0.0, 1.0], treatment)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-50, 50))
def test_units_of_a_column_change_only_its_own_scale(seed, scale, shift):
    y, x, groups = population(seed, subjects=12, images=2)
    moved = x.copy()
    moved[:, 0] = scale * x[:, 0] + shift
    one, other = ols(y, x, clusters=groups), ols(y, moved, clusters=groups)
    assert other[0].estimate * scale == pytest.approx(one[0].estimate, rel=1e-6, abs=1e-9)
    assert other[0].p == pytest.approx(one[0].p, rel=1e-5)
    assert other[1].estimate == pytest.approx(one[1].estimate, rel=1e-6, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_order_of_rows_does_not_matter(seed):
    y, x, groups = population(seed, subjects=12, images=2)
    order = np.random.default_rng(seed).permutation(len(y))
    one, other = ols(y, x, clusters=groups), ols(y[order], x[order], clusters=groups[order])
    assert [e.low for e in one] == pytest.approx([e.low for e in other], rel=1e-9)
