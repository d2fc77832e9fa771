import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from transect.effects.logistic import logistic_bootstrap, solve
from transect.effects.resampling import resample_counts


def population(seed=0, subjects=150, images=4):
    """One-hot columns of three attributes with 2, 3 and 4 levels, redundant as published; errors that cluster."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(subjects), images)
    n = len(groups)
    x = np.hstack([np.eye(k)[rng.integers(0, k, n)] for k in (2, 3, 4)])
    eta = x @ rng.normal(0, 0.8, 9) - 1 + rng.normal(size=subjects)[groups]
    return (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float), x, groups


def judge(y, x, weights, C=1.0):
    fit = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, C=C)
    fit.fit(x, y, sample_weight=weights)
    return np.append(fit.coef_[0], fit.intercept_)


@pytest.mark.parametrize("continuous", [False, True])
def test_every_resample_of_images_is_solved_as_scikit_learn_does(continuous):
    y, x, _ = population()
    if continuous:
        x = np.random.default_rng(1).normal(size=x.shape)
    made = logistic_bootstrap(y, x, resamples=60, seed=3)
    counts = next(resample_counts(len(y), 60, 3))
    for replicate, weights in zip(made.replicates, counts, strict=True):
        np.testing.assert_allclose(replicate, judge(y, x, weights), atol=1e-6)
    np.testing.assert_allclose(np.append(made.coefficients, made.intercept), judge(y, x, np.ones(len(y))), atol=1e-6)


def test_every_resample_of_subjects_is_solved_as_scikit_learn_does():
    y, x, groups = population()
    made = logistic_bootstrap(y, x, clusters=groups, resamples=40, seed=5)
    counts = next(resample_counts(150, 40, 5))[:, groups]
    for replicate, weights in zip(made.replicates, counts, strict=True):
        np.testing.assert_allclose(replicate, judge(y, x, weights), atol=1e-6)
    assert (made.unit, made.n_subjects, made.n_images) == ("subject", 150, 600)


def test_subjects_whose_images_agree_have_larger_bars_than_images():
    y, x, groups = population(subjects=800, images=8)
    y = y[groups * 8]  # all images of a subject err together
    x = x[groups * 8]
    image = logistic_bootstrap(y, x, clusters=groups, unit="image", resamples=300)
    subject = logistic_bootstrap(y, x, clusters=groups, resamples=300)
    # Eight copies of a subject are one subject: the SD is about sqrt(8) times as large, less for the penalty.
    ratio = subject.standard_deviations / image.standard_deviations
    assert (ratio > 2).all()
    assert (ratio < 3.2).all()
    np.testing.assert_array_equal(image.coefficients, subject.coefficients)


def test_separated_outcomes_keep_their_penalised_coefficient_and_say_so():
    y, x, _ = population()
    hat = np.zeros(len(y))
    hat[:30], y[:30] = 1.0, 1.0
    made = logistic_bootstrap(y, np.column_stack([x, hat]), resamples=20)
    assert made.notes[-1] == "complete separation: only the penalty keeps it finite"
    assert made.coefficients[-1] == pytest.approx(judge(y, np.column_stack([x, hat]), np.ones(len(y)))[-2], abs=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_no_error_or_only_errors_is_nan_with_the_penalised_answer_said(value):
    made = logistic_bootstrap(np.full(50, value), np.arange(50.0), resamples=10)
    assert made.reason.startswith(f"no variation: all 50 outcomes are {value:g}; complete separation, the penalised")
    assert np.isnan(made.coefficients).all()


def test_resamples_without_an_error_are_counted_not_solved():
    y = np.zeros(40)
    y[0] = 1.0  # (39/40)^40 = 36 % of resamples miss the one error
    made = logistic_bootstrap(y, np.arange(40.0), resamples=400)
    counts = next(resample_counts(40, 400, 0))
    assert made.resamples_dropped == int((counts[:, 0] == 0).sum())
    assert 100 < made.resamples_dropped < 190
    assert np.isfinite(made.standard_deviations).all()


def test_the_level_that_always_errs_is_the_one_that_is_said_to():
    """With a beard all six are errors; without one three of six are."""
    y, beard = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, *np.ones(6)]), np.repeat([0.0, 1.0], 6)
    told = "complete separation: only the penalty keeps it finite"
    both = logistic_bootstrap(y, {"beard: 0": 1 - beard, "beard: 1": beard}, resamples=5)
    assert both.notes == ("", told)
    # A column alone stands for both of its values.
    assert logistic_bootstrap(y, {"no beard": 1 - beard}, resamples=5).notes == (told,)


def test_a_hard_resample_falls_back_to_halved_steps():
    # From a start far off, plain Newton overshoots: expit saturates and the next step is enormous.
    x = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    counts = np.array([[[30.0, 1.0], [20.0, 5.0], [3.0, 40.0]]])
    found = solve(x, counts, np.array([1.0, 0.0]), np.array([60.0, -10.0]))
    y, rows = np.tile([0.0, 1.0], 3), np.repeat(x[:, :1], 2, axis=0)
    np.testing.assert_allclose(found[0], judge(y, rows, counts.reshape(-1)), atol=1e-6)
