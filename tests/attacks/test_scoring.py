"""Balanced accuracy, its interval, differences and the null, by hand and by coverage."""

import numpy as np
import pytest

from transect.attacks import scoring
from transect.attacks.records import Attack
from transect.effects import wilson
from transect.effects.intervals import newcombe


def attack(credit):
    return Attack(np.arange(len(credit)), np.asarray(credit, dtype=float))


def test_ties_count_their_share():
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert scoring.credit(scores, np.array([0, 1, 0])).tolist() == [0.5, 1 / 3, 0.0]


def test_classes_weigh_the_same_whatever_their_sizes():
    # Class 0: 3 of 4; class 1: 0 of 1; (3/4 + 0) / 2 = 37.5 %
    assert scoring.balanced_accuracy(np.array([1, 1, 1, 0, 0.0]), np.array([0, 0, 0, 0, 1])) == 37.5


def test_the_interval_combines_the_classes_wilson_intervals():
    truth = np.repeat([0, 1], [40, 20])
    credit = np.concatenate([np.repeat([1.0, 0.0], [30, 10]), np.repeat([1.0, 0.0], [8, 12])])
    found = scoring.leakage([attack(credit)], truth)
    (l0, l1), (h0, h1) = wilson([30, 8], [40, 20])
    assert found.estimate == pytest.approx(100 * (0.75 + 0.4) / 2)
    assert found.low == pytest.approx(100 * (0.575 - np.hypot(0.75 - l0, 0.4 - l1) / 2))
    assert found.high == pytest.approx(100 * (0.575 + np.hypot(h0 - 0.75, h1 - 0.4) / 2))
    # Newcombe's interval of p0 - p1 is this one of (p0 + q1) / 2 with q1 = 1 - p1, doubled: an implementation as judge.
    low, high = newcombe((30, 12), (40, 20))
    mirrored = scoring.leakage([attack(credit)], truth)
    assert 2 * mirrored.low / 100 - 1 == pytest.approx(float(low))
    assert 2 * mirrored.high / 100 - 1 == pytest.approx(float(high))


def test_nothing_scored_is_no_number():
    found = scoring.leakage([], np.array([0, 1]))
    assert np.isnan(found.estimate)
    assert found.reason == "no items to score"


def test_rounds_are_averaged_item_by_item_and_their_spread_widens_the_interval():
    truth = np.repeat([0, 1], 50)
    one, other = np.repeat([1.0, 0.0], [60, 40]), np.repeat([0.0, 1.0], [20, 80])
    found = scoring.leakage([attack(one), attack(other)], truth)
    # Round 1: recalls 50/50 and 10/50: 60 %; round 2: 30/50 and 50/50: 80 %; their SD is sqrt(200) = 14.14.
    assert (found.estimate, found.rounds) == (70.0, 2)
    assert found.sd == pytest.approx(np.sqrt(200))
    assert found.high - found.low > 2 * 1.9 * 10  # z times sqrt(200 / 2) on either side, at least


def test_folds_widen_intervals():
    """Five folds: variance times 1 + 5/4, so that ends are 1.5 times as far away."""
    truth, same = np.repeat([0, 1], 50), [attack(np.tile([1.0, 1.0, 0.0, 1.0], 25))]
    one, five = scoring.leakage(same, truth), scoring.leakage(same, truth, n_folds=5)
    assert five.estimate - five.low == pytest.approx(1.5 * (one.estimate - one.low))
    assert five.high - five.estimate == pytest.approx(1.5 * (one.high - one.estimate))


def test_differences_are_paired_by_item_and_class():
    truth = np.repeat([0, 1], [6, 5])
    model, data = attack([1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1]), attack([0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0])
    found = scoring.difference([model], [data], truth)
    # Class 0 gains 3 of 6 and class 1 gains 3, loses 1 of 5. With two items more: 3 of 8 and 2 of 7; mean squares
    # (3 + 1) / 8 and (4 + 1) / 7; t(9) = 2.262157.
    estimate = (3 / 6 + 2 / 5) / 2
    variance = ((4 / 8 - (3 / 8) ** 2) / 8 + (5 / 7 - (2 / 7) ** 2) / 7) / 4
    assert found.estimate == pytest.approx(100 * estimate)
    assert found.high == pytest.approx(100 * (estimate + 2.262157 * np.sqrt(variance)), rel=1e-6)


def test_published_scores_are_folded_round_by_round():
    truth = np.repeat([0, 1], 10)
    low = attack(np.tile([1.0, 0, 0, 0, 0], 4))  # 20 %, counted as 80
    high = attack(np.tile([1.0, 1, 1, 0, 0], 4))  # 60 %
    found = scoring.published([low, high], truth, 2)
    assert (found.estimate, found.sd) == (70.0, 10.0)
    assert scoring.published([low, high], truth, 3).estimate == 40.0  # no fold with three classes


def test_intervals_cover():
    """Recalls .8 and .6 of 60 and 140 items: 95 % intervals of 70 % cover 93 to 97 % of 4,000 tests."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], [60, 140])
    credits = (rng.random((4000, 200)) < np.where(truth == 0, 0.8, 0.6)).astype(float)
    found = [scoring.leakage([attack(credit)], truth) for credit in credits]
    covered = np.mean([e.low <= 70 <= e.high for e in found])
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize(
    ("own", "learned"),
    [
        ([(-20.0, 26.0), (-22.0, 28.0), (-18.0, 24.0)], True),  # 3 points in every round, however folds differ
        ([(5.0, 5.0), (-4.0, -4.0), (2.0, 2.0)], False),  # 1 point, with a spread of 11
        ([(0.0, 0.0)], False),
        ([(0.0, 0.5)], True),
        ([()], True),  # not looked at
    ],
)
def test_an_attacker_learned_where_rounds_are_better_than_guessing_by_more_than_their_spread(own, learned):
    rounds = [Attack(np.arange(1), np.ones(1), each) for each in own]
    assert (scoring.unlearned(rounds) == "") == learned
