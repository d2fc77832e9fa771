"""Errors by subject where an arm of a treatment has few subjects."""

import numpy as np
import pytest
from scipy.special import stdtrit

from transect.effects import clusters
from transect.effects.clusters import MANY, bias_reduced, telling_subjects
from transect.effects.regression import difference_in_means, ols


def test_two_treated_images_are_welchs_test_by_hand():
    # Arms (1, 3) and (0, 1, 2): variances 2 and 1, squared error 2/2 + 1/3 = 4/3. Degrees of freedom under equal
    # variances: (1/2 + 1/3)² / (1/4 / 1 + 1/9 / 2) = (25/36) / (11/36) = 25/11.
    effect = difference_in_means([1.0, 3.0, 0.0, 1.0, 2.0], {"hat": [1, 1, 0, 0, 0]})
    half = stdtrit(25 / 11, 0.975) * np.sqrt(4 / 3)
    assert (effect.estimate, effect.low, effect.high) == pytest.approx((1.0, 1 - half, 1 + half))
    assert effect.interval_method == clusters.CLUSTERED
    assert effect.test_method == clusters.WALD
    assert effect.sources[-1] == clusters.SOURCE


def test_several_images_of_a_subject_by_the_full_matrices():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(7), [1, 2, 3, 4, 5, 6, 7]))
    x = np.column_stack([np.ones(28), groups < 3, rng.normal(size=28)])
    y = rng.normal(size=28)
    bread = np.linalg.inv(x.T @ x)
    left = np.eye(28) - x @ bread @ x.T
    residual = left @ y
    meat, columns = np.zeros((3, 3)), []
    for subject in range(7):
        rows = np.flatnonzero(groups == subject)
        values, vectors = np.linalg.eigh(left[np.ix_(rows, rows)])
        adjusted = vectors @ np.diag(values**-0.5) @ vectors.T
        score = x[rows].T @ adjusted @ residual[rows]
        meat += np.outer(score, score)
        columns.append(left[:, rows] @ adjusted @ x[rows] @ bread[:, 1])
    products = np.array(columns) @ np.array(columns).T
    covariance, freedom = bias_reduced(x, residual, groups)
    np.testing.assert_allclose(covariance, bread @ meat @ bread, rtol=1e-9)
    assert freedom[1] == pytest.approx(np.trace(products) ** 2 / (products**2).sum())


def test_a_few_large_subjects_count_as_few():
    # Each arm: 100 subjects of one image and one of 900. A subject's share is its images over the arm's 1,000².
    subjects = np.concatenate([np.arange(200), np.repeat([200, 201], 900)])
    arm = np.concatenate([np.repeat([0.0, 1.0], 100), np.repeat([0.0, 1.0], 900)])
    x = np.column_stack([np.ones(2000), arm])
    assert telling_subjects(x, subjects) == pytest.approx(2000**2 / (2 * (100 + 900**2)))
    y = np.random.default_rng(1).normal(size=202)[subjects]
    assert ols(y, {"arm": arm}, clusters=subjects)[0].interval_method == clusters.CLUSTERED
    # As many images of each: 202 equal subjects are no few.
    equal = ols(y[:202], {"arm": np.arange(202) % 2.0})[0]
    assert telling_subjects(np.column_stack([np.ones(202), np.arange(202) % 2]), np.arange(202)) == pytest.approx(202)
    assert MANY < 202
    assert equal.interval_method == "Student t on errors clustered by subject"
