"""People who repeat: folds, the null, intervals and differences by person."""

import numpy as np
import pyarrow as pa
import pytest
from habits import habits, nulls_exceeded

from transect.attacks import Settings, labelled
from transect.attacks.attackers import Bayes, Mlp, load
from transect.attacks.estimation import Plan
from transect.attacks.records import Attack
from transect.attacks.scoring import difference, exchanged, folds, leakage
from transect.attacks.tables import labelled_data, unnamed_subjects
from transect.errors import BadInput


def test_folds_hold_whole_subjects_and_classes_alike():
    data = habits(seed=0, people=43, pictures=7)
    for fold in folds(data, seed=2):
        people = set(data.subjects[fold.test].tolist())
        assert not people & set(data.subjects[fold.train].tolist())
        assert np.abs(np.bincount(data.protected[fold.test]) / 7 - 43 / 10).max() <= 1


@pytest.mark.parametrize("attacker", [Bayes(), Mlp()])
def test_a_learning_curve_draws_whole_people(attacker):
    """Of 40 people 32 are learned from, 16 of each class; a quarter are 4 of each, with all of their 5 pictures."""
    data = habits(seed=3, people=40, pictures=5)
    plan = Plan.of(data, attacker, Settings(rounds=1))
    for share, people in ((0.25, 4), (0.5, 8)):
        for problem in plan.evidence(data.labels, share).rounds[0]:
            drawn, pictures = np.unique(data.subjects[problem.train], return_counts=True)
            assert pictures.tolist() == [5] * 2 * people
            assert np.bincount(data.protected[problem.train]).tolist() == [5 * people] * 2
            assert not set(drawn.tolist()) & set(data.subjects[problem.test].tolist())
    few = Plan.of(data, Mlp(), Settings(rounds=1, train_per_class=20))
    (problem, *_) = few.evidence(data.labels, 0.5).rounds[0]
    assert np.bincount(data.protected[problem.train]).tolist() == [10, 10]  # half of 20, of 8 people of each class
    assert len(np.unique(data.subjects[problem.train])) <= 16


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


def test_one_item_each_is_a_subject_each():
    data = habits(seed=3, people=80, pictures=1)
    by_item = labelled(data.labels.category, data.protected)
    one, other = (Plan.of(each, load("bayes"), Settings(permutations=0)) for each in (data, by_item))
    credit = Attack(np.arange(80), np.random.default_rng(0).integers(0, 2, 80).astype(float))
    assert leakage([credit], data.protected, subjects=data.subjects).low == pytest.approx(
        leakage([credit], data.protected).low, abs=1.5
    )
    assert [len(fold.test) for fold in one.folds] == [len(fold.test) for fold in other.folds]


def test_a_subject_in_two_splits_is_refused():
    with pytest.raises(BadInput, match="expected each in one split, 1 of 2 are in several"):
        labelled([0, 1, 0, 1], [0, 1, 0, 1], split=["train", "test", "train", "train"], subjects=list("abbb"))


def test_a_column_of_people_that_is_not_named_is_warned_of():
    table = pa.table({"verb": [0, 1, 0, 1], "gender": [0, 1, 0, 1], "person": list("aabb")})
    assert "Column 'person' has 2 values in 4 rows" in unnamed_subjects(table, ["verb", "gender"])
    assert unnamed_subjects(table, ["verb", "person"]) == ""
    assert unnamed_subjects(table.drop(["person"]), ["verb"]) == ""
    data = labelled_data(table, ["verb"], "gender", subject="person")
    assert (data.n_subjects, data.n_mixed) == (2, 2)


@pytest.mark.parametrize(("n", "withheld"), [(4, True), (5, False)])
def test_a_difference_of_few_items_has_a_width_or_no_interval(n, withheld):
    truth = np.repeat([0, 1], n)
    rows = np.arange(2 * n)
    found = difference([Attack(rows, np.ones(2 * n))], [Attack(rows, np.zeros(2 * n))], truth)
    assert found.estimate == 100
    assert np.isnan(found.low) == withheld
    assert ("4 items in a class, fewer than 5" in found.reason) == withheld
    assert withheld or found.low < 70
