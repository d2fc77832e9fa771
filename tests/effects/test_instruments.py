import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.sandbox.regression.gmm import IV2SLS

from transect.effects import control_function, instrumental, ols
from transect.effects.anderson_rubin import Reduced, confidence_set
from transect.effects.instruments import first_stage, part, two_stage
from transect.errors import BadInput


def transects(seed=0, subjects=200, images=4):
    """Intended hair length also brings a perceived beard, and raters' noise u also moves the answer."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(subjects), images)
    n = len(groups)
    intended = rng.integers(0, 2, (n, 2)).astype(float)
    u = rng.normal(size=n) + 0.5 * rng.normal(size=subjects)[groups]
    perceived = intended @ [[1.0, 0.5], [0.3, 1.0]] + 0.6 * u[:, None] + 0.3 * rng.normal(size=(n, 2))
    y = perceived @ [1.0, -2.0] + u + rng.normal(size=n)
    return y, perceived, intended, groups


def test_agrees_with_statsmodels_on_more_instruments_than_attributes():
    y, perceived, intended, _ = transects()
    z = np.column_stack([intended, intended[:, 0] * intended[:, 1]])
    judge = IV2SLS(y, sm.add_constant(perceived), sm.add_constant(z)).fit()
    made = instrumental(y, perceived, z, interval="wald")
    np.testing.assert_allclose([effect.estimate for effect in made], judge.params[1:], rtol=1e-8)


def test_clustered_errors_are_the_sandwich_by_hand():
    # Just identified: b = (Z'X)^-1 Z'y, V = (Z'X)^-1 (sum over subjects of Z'e e'Z) (X'Z)^-1, times the factor.
    y, perceived, intended, groups = transects(subjects=50)
    ones = np.ones((len(y), 1))
    x, z = np.hstack([perceived, ones]), np.hstack([intended, ones])
    inverse = np.linalg.inv(z.T @ x)
    beta = inverse @ z.T @ y
    residual = y - x @ beta
    meat = sum(np.outer(s, s) for s in (z[groups == g].T @ residual[groups == g] for g in range(50)))
    n, g, k = len(y), 50, 3
    covariance = g / (g - 1) * (n - 1) / (n - k) * inverse @ meat @ inverse.T
    made = instrumental(y, perceived, intended, clusters=groups, interval="wald")
    np.testing.assert_allclose([e.estimate for e in made], beta[:2], rtol=1e-9)
    np.testing.assert_allclose([e.spec["standard_error"] for e in made], np.sqrt(np.diag(covariance))[:2], rtol=1e-8)


def test_the_worked_example_of_wald():
    # z moves perceived by 3/4 - 1/4 = 1/2 and the answer by 6/4 - 4/4 = 1/2: the effect is 1.
    z = np.repeat([0.0, 1.0], 4)
    perceived = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    y = np.array([2.0, 1, 1, 0, 2, 2, 1, 1])
    (effect,) = instrumental(y, {"beard": perceived}, {"beard": z}, interval="wald")
    assert effect.estimate == pytest.approx(1.0)
    assert (effect.basis, effect.attribute) == ("experimental", "beard")


def test_it_repairs_what_least_squares_and_one_instrument_get_wrong():
    y, perceived, intended, groups = transects(seed=3, subjects=2000)
    columns = {"hair": perceived[:, 0], "beard": perceived[:, 1]}
    made = instrumental(y, columns, intended, clusters=groups)
    assert [effect.estimate for effect in made] == pytest.approx([1, -2], abs=0.1)
    assert abs(ols(y, columns, clusters=groups)[0].estimate - 1) > 0.3  # the raters' noise moves both
    (alone,) = instrumental(y, perceived[:, 0], intended[:, 0], clusters=groups)
    assert alone.estimate == pytest.approx(0.0, abs=0.15)  # hair less half a beard at -2: the manipulation's total


def test_first_stage_f_of_one_attribute_is_the_clustered_wald_test():
    y, perceived, intended, groups = transects()
    parted = part(y, perceived[:, 0], intended, None, groups)
    judge = sm.OLS(perceived[:, 0], sm.add_constant(intended)).fit(
        cov_type="cluster", cov_kwds={"groups": groups}, use_t=True
    )
    test = judge.f_test(np.eye(3)[1:])
    assert first_stage(parted)[0] == pytest.approx(float(test.fvalue), rel=1e-8)


def test_conditional_f_is_small_where_two_attributes_are_moved_alike():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, (800, 2)).astype(float)
    both = z @ [1.0, 1.0]
    perceived = np.column_stack([both + 0.1 * rng.normal(size=800), both + 0.1 * rng.normal(size=800)])
    y = rng.normal(size=800)
    each = [first_stage(part(y, perceived[:, k], z, None, None))[0] for k in range(2)]
    assert min(each) > 1000
    assert first_stage(part(y, perceived, z, None, None)).max() < 15


def test_anderson_rubin_ends_where_the_reduced_form_test_just_does_not_reject():
    y, perceived, intended, groups = transects(subjects=80)
    reduced = Reduced.of(*_blocks(y, perceived[:, :1], intended[:, :1], groups))
    estimate = two_stage(part(y, perceived[:, 0], intended[:, 0], None, groups))[0].coefficients[:1]
    found = confidence_set(reduced, 0, estimate)
    limit = stats.f.ppf(0.95, 1, 79)
    for end in (found.low, found.high):
        judge = sm.OLS(y - end * perceived[:, 0], sm.add_constant(intended[:, 0]))
        fit = judge.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
        assert fit.tvalues[1] ** 2 == pytest.approx(limit, rel=1e-6)
    assert found.low < estimate[0] < found.high


def _blocks(y, perceived, intended, groups):
    parted = part(y, perceived, intended, None, groups)
    return parted.sample, parted.endogenous, parted.instruments, parted.exogenous


def test_profiling_finds_the_least_contradicted_effects_of_the_others():
    y, perceived, intended, groups = transects(subjects=80)
    reduced = Reduced.of(*_blocks(y, perceived, intended, groups))
    estimates = two_stage(part(y, perceived, intended, None, groups))[0].coefficients[:2]
    found = confidence_set(reduced, 0, estimates)
    grid = np.linspace(estimates[1] - 2, estimates[1] + 2, 4001)
    limit = stats.f.ppf(0.95, 2, 79)
    for end in (found.low, found.high):
        least = min(reduced.statistic(np.array([end, other])) for other in grid)
        assert least == pytest.approx(limit, rel=1e-3)


def test_weak_instruments_have_no_end_and_say_so():
    rng = np.random.default_rng(0)
    z, d, y = rng.normal(size=(3, 300))
    (effect,) = instrumental(y, {"beard": d}, {"z": z})
    assert effect.estimable
    assert np.isnan([effect.low, effect.high]).all()
    assert effect.reason.startswith("the interval has no end: the instruments are too weak (first-stage F ")
    assert effect.spec["anderson_rubin"] == [None, None]


def test_strong_instruments_have_wald_s_interval_and_the_robust_one_in_the_spec():
    y, perceived, intended, groups = transects(subjects=500)
    (effect,) = instrumental(y, perceived[:, 0], intended[:, 0], clusters=groups)
    low, high = effect.spec["anderson_rubin"]
    assert effect.spec["first_stage_f"] > 104.7
    assert effect.interval_method == "Student t on errors clustered by subject"
    assert (low, high) == pytest.approx((effect.low, effect.high), abs=0.03)
    (robust,) = instrumental(y, perceived[:, 0], intended[:, 0], clusters=groups, interval="anderson-rubin")
    assert [robust.low, robust.high] == [low, high]


@pytest.mark.parametrize(
    ("intended", "told"),
    [
        (np.zeros((40, 1)), "not determined: x1 and intercept are linearly dependent as far as the instruments tell"),
        (np.ones((40, 1)), "not determined: x1 and intercept are linearly dependent as far as the instruments tell"),
    ],
)
def test_an_intended_value_that_does_not_vary_determines_nothing(intended, told):
    rng = np.random.default_rng(0)
    (effect,) = instrumental(rng.normal(size=40), rng.normal(size=(40, 1)), intended)
    assert np.isnan(effect.estimate)
    assert effect.reason == told.replace("x1", "perceived1")


def test_outcomes_without_variation_and_missing_perceived_values():
    z = np.tile([0.0, 1.0], 10)
    (effect,) = instrumental(np.ones(20), {"beard": z}, {"beard": z})
    assert effect.reason == "no variation: all 20 outcomes are 1"
    beard = z.copy()
    beard[3] = np.nan
    (effect,) = instrumental(np.arange(20.0), {"beard": beard}, {"beard": z})
    assert effect.excluded == {"no value of beard": 1}


def test_too_few_instruments_and_other_lengths_are_refused():
    with pytest.raises(BadInput, match="expected at least as many instruments as endogenous attributes, 2, got 1"):
        instrumental([0.0, 1.0], np.eye(2), [0.0, 1.0])
    with pytest.raises(BadInput, match="blocks of one length"):
        instrumental([0.0, 1.0], [0.0, 1.0], [0.0, 1.0, 0.0])
    with pytest.raises(BadInput, match="expected outcomes 0 or 1"):
        control_function([0.0, 2.0], [0.0, 1.0], [0.0, 1.0])


def binary_transects(seed, subjects=500):
    _, perceived, intended, groups = transects(seed, subjects)
    rng = np.random.default_rng(seed + 1)
    u = perceived[:, 0] - intended @ [1.0, 0.3]
    eta = 0.4 * perceived[:, 0] - 1.0 * u
    return (rng.normal(size=len(u)) < eta).astype(float), perceived[:, 0], intended[:, 0], groups, eta


def test_the_second_stage_is_statsmodels_probit_with_the_residual():
    y, perceived, intended, groups, _ = binary_transects(0)
    residual = sm.OLS(perceived, sm.add_constant(intended)).fit().resid
    x = np.column_stack([perceived, np.ones(len(y)), residual])
    for link, model in (("probit", sm.Probit), ("logit", sm.Logit)):
        judge = model(y, x).fit(disp=0, tol=1e-12)
        (effect,) = control_function(y, {"beard": perceived}, {"beard": intended}, clusters=groups, link=link)
        second = effect.spec["second_stage"]
        assert [second["beard"], second["intercept"], second["residual of beard"]] == pytest.approx(
            judge.params, rel=1e-6
        )
        assert effect.estimate == pytest.approx(judge.get_margeff(at="overall").margeff[0], rel=1e-6)


def test_its_error_is_the_jackknife_s():
    y, perceived, intended, groups, _ = binary_transects(1, subjects=60)
    (effect,) = control_function(y, perceived, intended, clusters=groups)
    left = [
        control_function(y[groups != g], perceived[groups != g], intended[groups != g])[0].estimate for g in range(60)
    ]
    judge = np.sqrt(59 / 60 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert effect.spec["standard_error"] == pytest.approx(judge, rel=0.06)


def test_its_error_includes_the_draw_of_faces():
    """Where age decides most answers, few faces are near the boundary: how many were drawn matters as well."""
    rng = np.random.default_rng(2)
    groups, n = np.repeat(np.arange(100), 6), 600
    age = rng.normal(size=100)[groups]
    intended = rng.normal(size=n)
    perceived = intended + 0.2 * rng.normal(size=n)
    y = (2 * perceived + 6 * age + rng.normal(size=n) > 0).astype(float)
    data = y, perceived, intended, age
    (effect,) = control_function(y, perceived, intended, exogenous={"age": age}, clusters=groups)
    left = []
    for g in range(100):
        a, b, c, d = (column[groups != g] for column in data)
        left.append(control_function(a, b, c, exogenous={"age": d})[0].estimate)
    judge = np.sqrt(99 / 100 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert effect.spec["standard_error"] == pytest.approx(judge, rel=0.06)


def test_a_separated_second_stage_points_to_least_squares():
    z = np.tile([0.0, 1.0], 20)
    beard = z + 0.1 * np.arange(40)
    (effect,) = control_function((beard > 2).astype(float), {"beard": beard}, {"beard": z})
    assert np.isnan(effect.estimate)
    assert effect.reason.startswith("complete separation: the second stage has no finite estimate")
