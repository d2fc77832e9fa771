"""Measures from hard answers, by hand and by loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.attacks.analysis import bias_amp, directional_label, multi_attribute


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3))
def test_bias_amp_by_loops(seed, c):
    rng = np.random.default_rng(seed)
    train, groups = rng.random((40, 3)) < 0.5, rng.integers(0, c, 40)
    predicted, said = rng.random((30, 3)) < 0.5, rng.integers(0, c, 30)
    train[0] = predicted[0] = True
    found = bias_amp(train, groups, predicted, said, c)
    # The oracle compares with each class leant to in training; the classes of the predicted items are their own.
    expected = 0.0
    for column in range(3):
        for g in range(c):
            b = np.mean(groups[train[:, column]] == g)
            if b > 1 / c:
                expected += np.mean(said[predicted[:, column]] == g) - b
    assert found.value == pytest.approx(100 * expected / 3)
    same = bias_amp(train, groups, predicted[:30], groups[:30], c)
    assert same.contributions.sum() / same.counted == pytest.approx(same.value)


def test_labels_never_predicted_do_not_count():
    train = np.array([[True, True], [True, True], [True, False]])
    predicted = np.array([[True, False], [True, False], [False, False]])
    groups = np.array([0, 0, 1])
    # Label 0 leans to class 0 with 2/3 and is predicted for class 0 only: +1/3. Label 1 is never predicted.
    found = bias_amp(train, groups, predicted, groups, 2)
    assert found.value == pytest.approx(100 / 3)
    assert found.counted == 1
    assert np.isnan(bias_amp(train, groups, np.zeros_like(predicted), groups, 2).value)


def test_directional_amplification_by_hand():
    """Four of each class; cooking: 3/4 of class 1, 1/4 of class 0. Predicted for all of class 1 and none of class 0."""
    groups = np.repeat([0, 1], 4)
    labels = np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=bool)[:, None]
    predicted = np.repeat([False, True], 4)[:, None]
    # Class 1 goes with cooking: 1 - 3/4 = +1/4; class 0 does not: -(0 - 1/4) = +1/4.
    assert directional_label(labels, groups, predicted, 2).value == 25
    # Training in which it is the other way round turns both signs.
    assert directional_label(labels, groups, predicted, 2, ~labels, groups).value == -25


def test_rises_and_falls_do_not_cancel_over_combinations():
    train = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]], dtype=bool)
    groups = np.array([0, 0, 0, 1, 0, 0, 0, 1])
    predicted = train.copy()
    predicted[3] = False  # label 0: 3/4 to 1: +25
    predicted[4] = False  # label 1: 3/4 to 2/3: -8.33
    mean, variance, counted = multi_attribute(train, groups, train, predicted, groups, 2)
    assert mean == pytest.approx((25 + 100 / 12) / 2)
    assert counted == 2
    assert variance == pytest.approx(np.var([25, 0, -100 / 12, 0]))
    assert bias_amp(train, groups, predicted, groups, 2).value == pytest.approx((25 - 100 / 12) / 2)
