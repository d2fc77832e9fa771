import numpy as np
import pytest
import statsmodels.api as sm

from transect.effects import difference_in_means, ols
from transect.effects.regression import independent, undetermined
from transect.effects.samples import Labels

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


def test_difference_in_means_by_hand():
    # Means 1/2 and 3/2, variances (1/4 * 3 + 9/4) / 3 = 1 in either arm of 4: squared error 1/4 + 1/4 (Welch).
    effect = difference_in_means(
        [0, 0, 0, 2, 2, 2, 2, 0], {"beard": [0, 0, 0, 0, 1, 1, 1, 1]}, labels=Labels("t", "error")
    )
    assert effect.estimate == pytest.approx(1.0)
    assert effect.spec["standard_error"] == pytest.approx(np.sqrt(1 / 2))
    assert (effect.origin, effect.to, effect.target, effect.outcome) == (0.0, 1.0, "t", "error")
