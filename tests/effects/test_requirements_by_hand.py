"""Bounds of requirements against formulas and slow readings of their definition."""

import math

import numpy as np
import pytest
from scipy.stats import beta

from transect.effects.resampling import mcnemar_interval
from transect.effects.samples import Measure
from transect.effects.verdicts import (
    Bound,
    group_rates,
    increase,
    sizes_beyond_baseline,
    sizes_of_differences,
    status,
    subjects_needed,
)

MISS = Measure("t", "miss", "proportion", True)
NAN = math.nan


def test_met_needs_every_quantity_below_and_violated_one_above():
    low, wide, high = (
        Bound(0.0, -1.0, 0.01, n_subjects=9),
        Bound(0.0, -1.0, 0.03, n_subjects=9),
        Bound(0.05, 0.03, 0.07, n_subjects=9),
    )
    assert status([low], 0.02) == "met"
    assert status([low, wide], 0.02) == "not shown"
    assert status([low, wide, high], 0.02) == "violated"
    assert status([low], 0.01) == "not shown"  # exactly at the limit
    assert status([Bound(NAN, NAN, NAN, n_subjects=0)], 0.02) == "not shown"
    assert status([], 0.02) == "not shown"


def test_the_subjects_needed_follow_the_root():
    # the upper end is 3 above the estimate; twice that has to fit into 1: six times nearer, 36 times the subjects
    assert subjects_needed([Bound(0.0, 0.0, 3.0, n_subjects=10)], 1.0) == 360
    assert subjects_needed([Bound(0.0, 0.0, 3.0, n_subjects=10), Bound(0.0, 0.0, 4.0, n_subjects=10)], 1.0) == 640
    assert subjects_needed([Bound(1.0, 0.0, 3.0, n_subjects=10)], 1.0) is None
    assert subjects_needed([Bound(0.0, 0.0, NAN, n_subjects=10)], 1.0) is None
    assert subjects_needed([], 1.0) is None


def test_the_size_of_a_difference_is_bounded_from_both_sides():
    """Of 200 subjects twelve lose and three gain: the size is .045; its upper end is that of the wider side."""
    y = np.zeros((200, 2))
    y[:12, 0] = 1
    y[12:15, 1] = 1
    (bound,) = sizes_of_differences(y, 0, MISS)
    low, high = mcnemar_interval(3, 12, 200, 0.9)
    assert bound.estimate == pytest.approx(9 / 200)
    assert bound.high == pytest.approx(max(high, -low))
    strict = mcnemar_interval(3, 12, 200, 0.95)
    assert bound.low == pytest.approx(max(strict[0], -strict[1]))
    assert bound.n_subjects == 200


def test_a_group_is_bounded_by_clopper_and_pearson():
    """Two groups of 60 subjects with one image each; three of the first fail."""
    counts, successes = np.zeros((2, 120, 2))
    counts[:60, 0] = counts[60:, 1] = 1
    successes[:3, 0] = 1
    first, second = group_rates(successes, counts)
    assert first.high == pytest.approx(beta.ppf(0.95, 4, 57))
    assert first.low == pytest.approx(beta.ppf(0.025, 3, 58))  # 5 % shared by two groups
    assert second.high == pytest.approx(1 - 0.05 ** (1 / 60))
    assert (first.n_subjects, second.n_subjects) == (60, 60)


def test_an_increase_is_paired_by_subject():
    """Subjects differ much; each misses in one more of ten cells than before."""
    rng = np.random.default_rng(3)
    before = (rng.random((200, 10)) < rng.random((200, 1)) * 0.8).astype(float)
    after = before.copy()
    after[np.arange(200), before.argmin(axis=1)] = 1
    (bound,) = increase(after, before, MISS)
    assert bound.estimate == pytest.approx((after - before).mean())
    assert 0.08 < bound.low < bound.estimate < bound.high < 0.13
    (same,) = increase(before, before, MISS)
    assert same.estimate == 0
    assert status([same], 0.02) == "met"


@pytest.mark.parametrize(
    ("now", "then"), [((0.0, 0.2), (0.2, 0.0)), ((0.2, 0.0), (0.2, 0.0)), ((0.0, 0.2), (0.0, 0.2))]
)
def test_a_gap_of_the_same_size_is_no_worse_whatever_its_sign(now, then):
    """The size of the gap stays .2, though it may turn round."""
    rng = np.random.default_rng(5)
    y, before = ((rng.random((3000, 2)) < rates).astype(float) for rates in (now, then))
    (bound,) = sizes_beyond_baseline(y, before, 0, MISS)
    assert abs(bound.estimate) < 0.03
    assert bound.low < 0 < bound.high
    assert status([bound], 0.1) == "met"


def test_a_larger_gap_is_worse_and_a_smaller_one_is_not():
    rng = np.random.default_rng(6)
    small, large = ((rng.random((2000, 2)) < rates).astype(float) for rates in ((0.1, 0.12), (0.1, 0.4)))
    (worse,) = sizes_beyond_baseline(large, small, 0, MISS)
    assert 0.2 < worse.low < worse.estimate < worse.high < 0.36
    (better,) = sizes_beyond_baseline(small, large, 0, MISS)
    assert better.high < -0.2


def test_photographs_of_people_count_once_each_and_bounds_are_by_person():
    """Of 60 photographs twelve lose, all of one person; 48 others are on one each."""
    people = np.array([0] * 12 + list(range(1, 49)))
    y = np.zeros((60, 2))
    y[:12, 0] = 1
    (alone,), (repeated,) = sizes_of_differences(y, 0, MISS), sizes_of_differences(y, 0, MISS, people=people)
    assert repeated.estimate == alone.estimate == 12 / 60
    assert repeated.low < alone.low < alone.high < repeated.high
    assert (alone.n_subjects, repeated.n_subjects) == (60, 49)
    (grown,) = increase(y[:, :1], y[:, 1:], MISS, people=people)
    assert (grown.estimate, grown.n_subjects) == (12 / 60, 49)
    (beyond,) = sizes_beyond_baseline(y, np.zeros((60, 2)), 0, MISS, people=people)
    assert (beyond.estimate, beyond.n_subjects) == (12 / 60, 49)
    assert increase(y, y, MISS, people=np.arange(60) // 3)[0].high == 0  # the same model, on twenty people
    assert increase(y, y, MISS, people=np.arange(60) // 4)[0].high > 0  # on fifteen
    assert sizes_of_differences(y, 0, MISS, people=np.arange(60)) == (alone,)
