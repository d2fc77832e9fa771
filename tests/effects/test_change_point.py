"""The test for a change: what it finds in answers that repeat, and how often it is wrong about noisy ones."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from transect.effects.always_valid import change_point


def distances(answers):
    """Of all pairs of rounds: answers [images, rounds]."""
    return np.abs(answers[:, :, None] - answers[:, None, :])


def test_p_is_that_of_all_orders():
    """One image, answers 0 0 1 1: of its 24 orders 8 part zeros from ones as well, 4 with zeros first and 4 last."""
    found = change_point(distances(np.array([[0.0, 0, 1, 1]])), orders=20_000)
    assert found.p == pytest.approx(8 / 24, abs=0.01)
    assert found.after == 2


def by_hand(values):
    """The largest share of squares that a cut explains, one image, by its definition."""
    values = np.asarray(values)
    squares = [((values[:k] - values[:k].mean()) ** 2).sum() + ((values[k:] - values[k:].mean()) ** 2).sum()
               for k in range(1, len(values))]  # fmt: skip
    return 1 - min(squares) / ((values - values.mean()) ** 2).sum()


def test_the_statistic_is_the_share_of_squares_between():
    """By brute force over all 120 orders of five numbers; a cut explains what two means explain."""
    values = np.array([0.0, 0.1, 0.05, 0.9, 0.7])
    truth = by_hand(values)
    expected = np.mean([by_hand(order) >= truth - 1e-9 for order in itertools.permutations(values)])
    assert change_point(distances(values[None]), orders=30_000).p == pytest.approx(expected, abs=0.01)


@pytest.mark.coverage
@pytest.mark.parametrize("noise", ["numbers", "yes or no"])
def test_false_alarms_are_as_stated(noise):
    """400 targets that answer by chance and never change; at 5 % more than 34 alarms have a chance below .1 %."""
    alarms = 0
    for seed in range(400):
        random = np.random.default_rng([seed, 1])
        answers = random.normal(size=(6, 7)) if noise == "numbers" else (random.random((6, 7)) < 0.2).astype(float)
        alarms += change_point(distances(answers), orders=199, seed=seed).p <= 0.05
    assert alarms <= binom.ppf(0.999, 400, 0.05)
    assert alarms >= 1 if noise == "numbers" else True


def test_a_change_within_noise_is_found():
    """Half the images move by two standard deviations of their noise from round 5 of 10 on."""
    found = 0
    for seed in range(20):
        answers = np.random.default_rng(seed).normal(size=(8, 10))
        answers[:4, 5:] += 2.0
        found += change_point(distances(answers), orders=999, seed=seed).p <= 0.01
    assert found >= 15


def test_missing_answers_are_left_out():
    answers = np.tile(np.array([0.2, 0.2, 0.2, 0.7, 0.7]), (8, 1))
    answers[0, 1] = answers[1, 4] = np.nan
    answers[2] = np.nan
    found = change_point(distances(answers))
    assert found.after == 3
    assert found.p <= 0.001


def test_nothing_to_say():
    assert change_point(np.zeros((8, 2, 2))).reason == "2 rounds of answers: three are needed to detect a change"
    assert np.isnan(change_point(np.zeros((8, 2, 2))).p)
    assert change_point(np.full((2, 4, 4), np.nan)).p == 1.0
