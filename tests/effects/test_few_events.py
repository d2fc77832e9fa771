"""Rates of two groups with few errors: published and independent intervals, and tests by every permutation."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import fisher_exact

from transect.effects.intervals import newcombe, wilson_clustered
from transect.effects.regression import SCORE, SUBJECTS, difference_interval, difference_test
from transect.effects.samples import complete


def sample(y, x, subjects=None):
    clusters = None if subjects is None else np.array(subjects)
    return complete(np.array(y, float), {"hat": np.array(x, float)}, clusters=clusters)


@pytest.mark.parametrize("counts", [(0, 33, 17, 1467), (3, 10, 3, 10), (0, 5, 0, 7), (9, 9, 1, 20)])
def test_one_image_a_subject_has_newcombes_interval_and_fishers_p(counts):
    x1, n1, x0, n0 = counts
    y, x = np.repeat([1, 0, 1, 0], [x1, n1 - x1, x0, n0 - x0]), np.repeat([1, 0], [n1, n0])
    low, high = newcombe((x1, x0), (n1, n0))
    assert_allclose(difference_interval(sample(y, x), 0.95), (low, high), atol=1e-12)
    p, name = difference_test(sample(y, x))
    assert name == "Fisher exact"
    assert p == pytest.approx(fisher_exact([[x1, n1 - x1], [x0, n0 - x0]]).pvalue)


def test_repeated_subjects_have_clustered_limits():
    """MOVER of the clustered limits of each group, which are wider than those of as many images."""
    rng = np.random.default_rng(3)
    subjects, x = np.repeat(np.arange(20), 5), np.repeat([0, 1], 50)
    y = (rng.random(20) < 0.3)[subjects] * 1
    limits = []
    for level in (0, 1):
        hits = y[x == level].reshape(10, 5).sum(axis=1, keepdims=True).astype(float)
        low, high = wilson_clustered(hits, np.full((10, 1), 5.0), 0.95)
        limits.append((hits.sum() / 50, low[0], high[0]))
    (p0, low0, high0), (p1, low1, high1) = limits
    expected = (p1 - p0 - np.hypot(p1 - low1, high0 - p0), p1 - p0 + np.hypot(high1 - p1, p0 - low0))
    low, high = difference_interval(sample(y, x, subjects), 0.95)
    assert_allclose((low, high), expected, atol=1e-12)
    plain_low, plain_high = difference_interval(sample(y, x), 0.95)
    assert high - low > plain_high - plain_low


def test_subjects_of_one_group_are_permuted_whole():
    """Seven subjects of unequal size: the share of all 35 assignments whose score is as far from 0."""
    y = np.array([1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0.0])
    subjects = np.array([0, 0, 1, 2, 3, 3, 3, 4, 5, 5, 6])
    own = np.array([1, 1, 1, 0, 0, 0, 0.0])
    residual = np.bincount(subjects, weights=y - y.mean())
    scores = [
        abs(residual[list(chosen)].sum() - 3 / 7 * residual.sum()) for chosen in itertools.combinations(range(7), 3)
    ]
    exact = np.mean(np.array(scores) >= scores[0] - 1e-12)
    p, name = difference_test(sample(y, own[subjects], subjects))
    assert name == SUBJECTS
    assert p == pytest.approx(exact, abs=0.02)


def test_subjects_in_both_groups_have_the_level_at_which_the_interval_ends_at_0():
    y, x, subjects = [1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0], [1, 0] * 6, np.repeat(np.arange(6), 2)
    data = sample(y, x, subjects)
    p, name = difference_test(data)
    assert name == SCORE
    assert 0 < p < 1
    assert min(np.abs(difference_interval(data, 1 - p))) == pytest.approx(0, abs=1e-6)
