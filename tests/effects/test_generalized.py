import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import linprog
from scipy.special import expit

from transect.effects import poisson
from transect.effects.generalized import separation
from transect.effects.regression import independent

MANY_SUBJECTS = 300  # from 50 equally telling ones errors are those of statsmodels, below bias-reduced


def population(seed=0, subjects=60, images=4):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(subjects), images)
    x = rng.normal(size=(len(groups), 3))
    eta = 0.3 + x @ [0.5, -0.2, 0.0] + rng.normal(size=subjects)[groups]
    return (rng.random(len(eta)) < expit(eta)).astype(float), x, groups


def judged(y, x, groups, family, **options):
    fit = sm.GLM(y, sm.add_constant(x), family=family, **options)
    return fit.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True, tol=1e-14)


def test_poisson_agrees_with_statsmodels():
    _, x, groups = population(subjects=MANY_SUBJECTS)
    y = np.random.default_rng(3).poisson(np.exp(0.2 + 0.4 * x[:, 0])).astype(float)
    judge, made = judged(y, x, groups, sm.families.Poisson()), poisson(y, x, clusters=groups)
    np.testing.assert_allclose([e.estimate for e in made], judge.params[1:], rtol=1e-8)
    np.testing.assert_allclose([e.spec["standard_error"] for e in made], judge.bse[1:], rtol=1e-7)


def test_separation_is_said():
    """No rate where the hat is off: its logarithm is minus infinity."""
    y, hat = np.repeat([0.0, 1.0, 0.0], [20, 10, 10]), np.repeat([0.0, 1.0], 20)
    (effect,) = poisson(y, {"hat": hat})
    assert np.isnan([effect.estimate, effect.low, effect.p]).all()
    assert effect.reason == "complete separation by hat: no finite estimate"


def test_a_level_that_never_errs_leaves_the_other_coefficients_as_they_are():
    y, x, _ = population()
    hat = (x[:, 2] > 1).astype(float)
    y = np.where(hat == 1, 0.0, y)
    made = poisson(y, {"a": x[:, 0], "b": x[:, 1], "hat": hat})
    # The rows with a hat say nothing of a and b: the maximum likelihood of the others is the limit.
    judge = sm.Poisson(y[hat == 0], sm.add_constant(x[hat == 0][:, :2])).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose([e.estimate for e in made[:2]], judge.params[1:], rtol=1e-7)
    assert made[2].reason.startswith("complete separation by hat")
    assert made[0].spec["rows_without_error"] == int(hat.sum())


@pytest.mark.parametrize("ceiling", [1.0, None])
@pytest.mark.parametrize("seed", range(6))
def test_infinite_coefficients_are_those_that_a_linear_program_can_move(seed, ceiling):
    """Oracle: the largest and the least coefficient over all separating directions, a linear program each."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 20)), int(rng.integers(1, 6))
    x = np.column_stack([np.ones(n), rng.integers(0, 3, (n, k)).astype(float)])
    y = (rng.random(n) < 0.2) * rng.choice([0.5, 1.0], n)
    x = x[:, independent(x)]
    full, fixed = y == ceiling, (y > 0) & (y != ceiling)
    falls = np.where(full[:, None], -x, x)
    extremes = [
        linprog(sign * np.eye(x.shape[1])[j], falls, np.zeros(n), falls[fixed], np.zeros(fixed.sum()), (-1, 1)).x[j]
        for j in range(x.shape[1])
        for sign in (1, -1)
    ]
    moves = (np.abs(extremes).reshape(-1, 2) > 1e-7).any(axis=1)
    names = tuple(map(str, range(x.shape[1])))
    assert separation(x, y, names, ceiling).infinite == tuple(np.array(names)[moves])


def test_errors_of_few_subjects_are_bias_reduced_by_the_full_matrices():
    y, x, groups = population(subjects=12)
    design = sm.add_constant(x[:, :1])
    beta = sm.GLM(y, design, family=sm.families.Poisson()).fit(tol=1e-14).params
    mu = np.exp(design @ beta)
    root = np.sqrt(mu)
    z, residual = design * root[:, None], (y - mu) / root
    bread = np.linalg.inv(z.T @ z)
    left, meat = np.eye(len(y)) - z @ bread @ z.T, np.zeros((2, 2))
    for subject in range(12):
        rows = np.flatnonzero(groups == subject)
        values, vectors = np.linalg.eigh(left[np.ix_(rows, rows)])
        score = z[rows].T @ vectors @ np.diag(values**-0.5) @ vectors.T @ residual[rows]
        meat += np.outer(score, score)
    (effect,) = poisson(y, x[:, :1], clusters=groups)
    assert effect.spec["standard_error"] == pytest.approx(np.sqrt((bread @ meat @ bread)[1, 1]), rel=1e-6)
    assert effect.interval_method == "Student t on bias-reduced errors clustered by subject"
