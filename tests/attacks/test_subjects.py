"""People who repeat: folds, the null, intervals and differences by person."""

import numpy as np
import pytest
from habits import habits, nulls_exceeded

from transect.attacks import Settings
from transect.attacks.attackers import Bayes
from transect.attacks.estimation import Plan
from transect.attacks.records import Attack
from transect.attacks.scoring import difference, exchanged, folds, leakage


def test_folds_hold_whole_subjects_and_classes_alike():
    data = habits(seed=0, people=43, pictures=7)
    for fold in folds(data, seed=2):
        people = set(data.subjects[fold.test].tolist())
        assert not people & set(data.subjects[fold.train].tolist())
        assert np.abs(np.bincount(data.protected[fold.test]) / 7 - 43 / 10).max() <= 1


def test_the_null_moves_whole_subjects_and_keeps_the_classes_of_each_fold():
    data = habits(seed=1, people=30, pictures=4)
    plan = Plan.of(data, Bayes(), Settings(permutations=3))
    for problem, *_ in plan.shuffled(data.labels).rounds:
        pairs = np.unique(np.stack([data.subjects.astype(object), problem.protected]).T.astype(str), axis=0)
        assert len(pairs) == 30  # one class each
        for fold in plan.folds:
            assert sorted(problem.protected[fold.test]) == sorted(data.protected[fold.test])
        assert (problem.protected != data.protected).any()


def test_a_subject_of_both_classes_passes_its_mixture_on():
    # One of four has three items of class 1 and one of class 0; the others have class 0. Whoever gets it has three of 1.
    groups, people = np.array([1, 1, 1, 0] + [0] * 12), np.repeat(np.arange(4), 4).astype(np.uint64)
    for seed in range(20):
        out = exchanged(groups, people, np.random.default_rng(seed)).reshape(4, 4).sum(axis=1)
        assert sorted(out.tolist()) == [0, 0, 0, 3]


@pytest.mark.integration
def test_labels_that_follow_each_persons_habit_do_not_exceed_the_null():
    """Of 40 data sets of 40 people: 5 % are 2, and 6 lie below 5 in a thousand; counting items nearly all exceed it."""
    assert nulls_exceeded(40, people=40, pictures=25, permutations=40) <= 6
    assert nulls_exceeded(20, people=40, pictures=25, permutations=40, by_subject=False) >= 15


def test_intervals_and_differences_widen_where_items_of_a_subject_agree():
    truth, people = np.repeat([0, 1], 100), np.repeat(np.arange(20), 10).astype(np.uint64)
    credit = Attack(np.arange(200), np.repeat(np.tile([1.0, 0.0, 1.0, 1.0], 5), 10))
    none = Attack(np.arange(200), np.zeros(200))
    for one, other in (
        (leakage([credit], truth), leakage([credit], truth, subjects=people)),
        (difference([credit], [none], truth), difference([credit], [none], truth, subjects=people)),
    ):
        assert one.estimate == other.estimate
        # Ten items that agree are one: about sqrt(10) = 3.2 times as wide, less what few subjects and two more take.
        assert 2.5 < (other.high - other.low) / (one.high - one.low) < 4


@pytest.mark.parametrize(("n", "withheld"), [(4, True), (5, False)])
def test_a_difference_of_few_items_has_a_width_or_no_interval(n, withheld):
    truth = np.repeat([0, 1], n)
    rows = np.arange(2 * n)
    found = difference([Attack(rows, np.ones(2 * n))], [Attack(rows, np.zeros(2 * n))], truth)
    assert found.estimate == 100
    assert np.isnan(found.low) == withheld
    assert ("4 items in a class, fewer than 5" in found.reason) == withheld
    assert withheld or found.low < 70
