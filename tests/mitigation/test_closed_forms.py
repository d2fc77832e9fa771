"""Erasure, thresholds, weights and performance: by hand, by property, and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score

from transect.attacks.outputs import performance
from transect.mitigation.adversarial import GroupWeights, reweighed
from transect.mitigation.closed_forms import fit_eraser, fit_thresholds


def leaky(seed=0, n=600, d=6, classes=3):
    rng = np.random.default_rng(seed)
    protected = rng.integers(0, classes, n)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + protected[:, None] * rng.normal(size=d)
    return x, protected


@pytest.mark.integration
@given(st.integers(0, 50), st.integers(2, 4))
def test_after_erasure_the_classes_have_one_mean_and_no_linear_model_can_tell(seed, classes):
    x, protected = leaky(seed, classes=classes)
    eraser = fit_eraser(x, protected)
    made = eraser(x)
    means = np.stack([made[protected == one].mean(axis=0) for one in range(classes)])
    assert np.allclose(means, means[0], atol=1e-8)
    assert eraser.rank <= classes - 1
    model = LogisticRegression(max_iter=500).fit(made, protected)
    assert model.score(made, protected) <= np.bincount(protected).max() / len(protected) + 0.02


def test_erasure_takes_no_more_than_it_must():
    """Any other erasing projection moves the representation farther: here the orthogonal one along the means' difference."""
    x, protected = leaky(1, classes=2)
    made = fit_eraser(x, protected)(x)
    apart = x[protected == 1].mean(axis=0) - x[protected == 0].mean(axis=0)
    axis = apart / np.linalg.norm(apart)
    other = x - np.outer((x - x.mean(axis=0)) @ axis, axis)
    assert np.square(made - x).sum() < np.square(other - x).sum()
    assert np.allclose(fit_eraser(made, protected)(made), made, atol=1e-6)  # nothing is left to erase


def test_erasure_by_hand():
    # One coordinate, classes at 0, 2 and 4, 6: the only coordinate tells, so that all becomes the mean, 3.
    made = fit_eraser(np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    assert made(np.array([[0.0], [10.0]])).tolist() == [[3.0], [3.0]]
    # A constant second coordinate has no variance: it stays, and divides nothing by zero.
    two = fit_eraser(np.array([[0.0, 5], [2.0, 5], [4.0, 5], [6.0, 5]]), np.array([0, 0, 1, 1]))
    assert two(np.array([[1.0, 5.0]])) == pytest.approx(np.array([[3.0, 5.0]]))


def test_thresholds_by_hand():
    # Positives of group 0 score .9 .7 .4 .2, of group 1 .6 .3 .2 .1. At 0.5 three of eight are found: 3/8.
    # Of four positives 3/8 is 1.5, rounded to even: 2. So thresholds are the second largest: .7 and .3.
    scores = np.array([0.9, 0.7, 0.4, 0.2, 0.6, 0.3, 0.2, 0.1, 0.99])
    truth = np.array([True] * 8 + [False])
    group = np.array([0] * 4 + [1] * 4 + [0])
    made = fit_thresholds(scores, truth, group)
    assert made == {0: 0.7, 1: 0.3}
    none = fit_thresholds(scores, truth, group, rate=0.0)
    assert (none[0] > 0.9, none[1] > 0.6) == (True, True)


@given(st.integers(0, 100), st.floats(0.05, 0.95))
def test_rates_become_equal_up_to_one_item(seed, rate):
    rng = np.random.default_rng(seed)
    scores, group = rng.normal(size=300), rng.integers(0, 3, 300)
    truth = rng.random(300) < 0.4
    thresholds = fit_thresholds(scores, truth, group, "false_positive_rate", rate)
    for one in range(3):
        rows = ~truth & (group == one)
        assert abs((scores[rows] >= thresholds[one]).mean() - rate) <= 0.5 / rows.sum() + 1e-9


@given(st.integers(0, 50))
def test_reweighed_labels_are_independent_of_the_class(seed):
    rng = np.random.default_rng(seed)
    protected = rng.integers(0, 3, 400)
    labels = rng.random((400, 2)) < 0.2 + 0.2 * protected[:, None]
    weights = reweighed(labels, protected)
    assert np.allclose(weights.mean(axis=0), 1)
    for column in range(2):
        shares = [
            np.average(labels[protected == one, column], weights=weights[protected == one, column]) for one in range(3)
        ]
        assert np.allclose(shares, labels[:, column].mean())


def test_group_weights_forget_no_group():
    weights = GroupWeights(3, rate=1.0)
    # exp(0), exp(1) and, without items, as before: 1/3 (1, e, 1) scaled by 2 + e.
    assert weights.update(np.array([0.0, 1.0, np.nan])) == pytest.approx(np.array([1, np.e, 1]) / (2 + np.e))


@pytest.mark.integration
@given(st.integers(0, 100))
def test_performance_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 4, (40, 3)).astype(float)  # with ties
    truth = rng.random((40, 3)) < [0.5, 0.1, 0.9]
    truth[0] = True
    found = performance(scores, truth)
    for column in range(3):
        assert found.precision[column] == pytest.approx(
            100 * average_precision_score(truth[:, column], scores[:, column])
        )
        assert found.f1[column] == pytest.approx(
            100 * f1_score(truth[:, column], scores[:, column] >= 0, zero_division=0)
        )


def test_a_label_without_a_positive_item_counts_nowhere():
    found = performance(np.array([[1.0, 1.0]]), np.array([[True, False]]))
    assert np.isnan(found.precision[1])
    assert (found.mean_average_precision, found.macro_f1) == (100.0, 100.0)
    assert np.isnan(performance(np.array([[1.0]]), np.array([[False]])).mean_average_precision)
