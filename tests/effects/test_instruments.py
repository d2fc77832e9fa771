import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.sandbox.regression.gmm import IV2SLS

from transect.effects import instrumental, ols
from transect.effects.instruments import first_stage, part


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
    made = instrumental(y, perceived, z)
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
    made = instrumental(y, perceived, intended, clusters=groups)
    np.testing.assert_allclose([e.estimate for e in made], beta[:2], rtol=1e-9)
    np.testing.assert_allclose([e.spec["standard_error"] for e in made], np.sqrt(np.diag(covariance))[:2], rtol=1e-8)


def test_the_worked_example_of_wald():
    # z moves perceived by 3/4 - 1/4 = 1/2 and the answer by 6/4 - 4/4 = 1/2: the effect is 1.
    z = np.repeat([0.0, 1.0], 4)
    perceived = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    y = np.array([2.0, 1, 1, 0, 2, 2, 1, 1])
    (effect,) = instrumental(y, {"beard": perceived}, {"beard": z})
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


@pytest.mark.coverage
@pytest.mark.parametrize("pull", [0.2, 0.5, 0.7, 3.0])
def test_of_all_samples_few_have_an_interval_that_misses(pull):
    """First-stage F near 1, 6.5, 13 and 250, noise alike to 87 %. Of those printed from F 10 on, 13 % missed at 6.5."""
    missed, printed = 0, 0
    for seed in range(150):
        rng = np.random.default_rng([int(10 * pull), seed])
        groups = np.repeat(np.arange(40), 3)
        z, u = rng.integers(0, 2, 120).astype(float), rng.normal(size=120) + 0.5 * rng.normal(size=40)[groups]
        seen = pull * z + 0.8 * u + 0.5 * rng.normal(size=120)
        (effect,) = instrumental(seen + u, seen, z, clusters=groups)
        printed += np.isfinite(effect.low)
        missed += np.isfinite(effect.low) and not effect.low <= 1 <= effect.high
    assert missed <= 18  # of 150: more than that once in ten thousand, where 5 % miss
    assert printed == (150 if pull == 3 else 0)


def test_weak_instruments_have_an_estimate_without_an_interval():
    z, d, y = np.random.default_rng(0).normal(size=(3, 300))
    (effect,) = instrumental(y, {"beard": d}, {"z": z})
    assert effect.estimable
    assert np.isnan([effect.low, effect.high, effect.p]).all()
    assert f"too weak for an interval: first-stage F {effect.spec['first_stage_f']:.1f}" in effect.reason
