"""Equal quality of levels: two one-sided tests by subject, by hand and against scipy's paired and Welch intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from transect.effects.equal_quality import bounded_limits, quality_differences


def compared(first, second, subjects=None, **options):
    """The pair of levels 0 and 1 of an attribute, rated so; subjects of both (default: all different)."""
    quality, level = np.r_[first, second].astype(float), np.repeat([0.0, 1.0], [len(first), len(second)])
    who = np.arange(len(quality)) if subjects is None else np.asarray(subjects)
    return quality_differences(quality, {"a": level}, who, **options)[0]


def hall_limits(difference, error, t, *parts):
    """Student's limits or, where they reach further, roots of Hall's transformation; third moments are k-statistics."""
    third = sum(sign * stats.kstat(part, 3) / len(part) ** 2 for sign, part in zip((1, -1), parts, strict=False))
    unseen = np.sqrt(sum(6 * part.var(ddof=1) ** 3 / len(part) ** 5 for part in parts))

    def root(quantile, skewness):
        def transformed(w):
            return w + skewness * w**2 / 3 + skewness**2 * w**3 / 27 + skewness / 6 - quantile

        return brentq(transformed, -200, 200)

    low, high = root(t, (third - unseen) / error**3), root(-t, (third + unseen) / error**3)
    return difference - error * max(low, t), difference - error * min(high, -t)


def test_subjects_at_one_level_have_the_interval_of_two_samples():
    a, b = np.array([3.0, 3.2, 3.4, 3.6, 3.8, 4.0]), np.array([3.1, 3.3, 3.5, 3.7, 3.9, 4.1])
    pair = compared(a, b)
    student = stats.ttest_ind(a, b).confidence_interval(0.9)  # equally many and one spread: Welch's is Student's
    t = stats.t.isf(0.05, 10)
    low, high = hall_limits(-0.1, (student.high + 0.1) / t, t, a, b)
    assert (pair.low, pair.high) == pytest.approx((low, high))
    assert (low, high) == pytest.approx((-0.563, 0.363), abs=5e-4)  # Student's are -.492 and .292
    assert (pair.estimate, pair.subjects, pair.other_subjects, pair.paired) == (pytest.approx(-0.1), 6, 6, 0)
    assert pair.verdict == "not shown"
    assert compared(np.repeat(a, 2), np.repeat(b, 2)).verdict == "passed"


def test_subjects_at_both_levels_are_paired():
    rng = np.random.default_rng(0)
    a = rng.uniform(1, 4, 12)
    b = a + rng.normal(0.1, 0.2, 12)
    pair = compared(a, b, np.tile(np.arange(12), 2))
    expected = hall_limits((a - b).mean(), stats.sem(a - b), stats.t.isf(0.05, 11), a - b)
    assert (pair.low, pair.high) == pytest.approx(expected)
    assert (pair.paired, pair.verdict) == (12, "passed")
    assert compared(a, b).verdict == "not shown", "as different subjects they say much less"


def test_images_of_a_subject_are_averaged():
    """Copies of images add nothing, and a subject with many images counts once."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(3, 0.5, 10), rng.normal(3, 0.5, 10)
    once = compared(a, b)
    copies = compared(np.r_[a, np.full(30, a[0])], b, np.r_[np.arange(10), np.zeros(30, int), np.arange(10, 20)])
    assert (copies.estimate, copies.low, copies.high) == pytest.approx((once.estimate, once.low, once.high))


def test_subjects_of_whom_some_are_at_both_levels():
    """Six at level 0, of whom three are at level 1 with three others: CR2 by hand from its definition."""
    a, b = np.array([3.0, 3.5, 4.0, 2.5, 3.2, 3.9]), np.array([3.1, 3.4, 4.2, 3.8, 2.9, 3.3])
    groups = np.r_[0:6, 0:3, 6:9]
    pair = compared(a, b, groups)
    x = np.column_stack([np.ones(12), np.repeat([1.0, 0.0], 6)])
    bread = np.linalg.inv(x.T @ x)
    residual, hat = np.r_[a - a.mean(), b - b.mean()], x @ bread @ x.T
    scores = []
    for g in range(9):
        rows = groups == g
        values, vectors = np.linalg.eigh((np.eye(12) - hat)[np.ix_(rows, rows)])
        scores.append(bread @ x[rows].T @ (vectors / np.sqrt(values)) @ vectors.T @ residual[rows])
    error = np.sqrt((np.array(scores) ** 2).sum(axis=0)[1])
    # between 3 and 8 degrees of freedom
    few, many = (hall_limits(a.mean() - b.mean(), error, stats.t.isf(0.05, freedom), a, b) for freedom in (3, 8))
    assert few[0] < pair.low < many[0]
    assert many[1] < pair.high < few[1]
    assert pair.paired == 3


@pytest.mark.parametrize("subjects", [2, 12, 500])
def test_a_difference_without_spread_fails(subjects):
    pair = compared(np.full(subjects, 5.0), np.full(subjects, 3.0))
    assert (pair.verdict, pair.estimate, pair.enough) == ("failed", 2, 0)
    assert pair.low < 2 <= pair.high
    both = compared(np.full(subjects, 5.0), np.full(subjects, 3.0), np.tile(np.arange(subjects), 2))
    assert both.verdict == "failed"


def test_one_subject_a_level_shows_nothing():
    assert compared([5.0], [3.0]).verdict == "not shown"
    # Half of the level each; 12 images of one subject are one: 5 - 5 (1 - .025) and 3 + 2 * .975.
    alone = compared(np.full(12, 5.0), np.full(12, 3.0), np.repeat([0, 1], 12))
    assert (alone.low, alone.high) == pytest.approx((5 - 5 * 0.975 - 3 - 2 * 0.975, 5 - 3 + 3 * 0.975))
    assert alone.verdict == "not shown"


def test_equal_ratings_without_spread_need_enough_subjects():
    """At both levels: 5 (1 - .05^(1/n)) is .507 of 28 subjects and .491 of 29."""
    few, enough = (compared(np.full(n, 4.0), np.full(n, 4.0), np.tile(np.arange(n), 2)) for n in (28, 29))
    assert (few.verdict, few.enough) == ("not shown", 29)
    assert "too few subjects differ from the most common value" in few.reason
    assert (few.low, few.high) == pytest.approx((-0.507, 0.507), abs=1e-3)
    assert (enough.verdict, enough.enough) == ("passed", 0)
    # At one level each, 4 points below and 1 point above are open: 5 (1 - .025^(1/n)) is .5002 of 35.
    few, enough = (compared(np.full(n, 4.0), np.full(n, 4.0)) for n in (35, 36))
    assert (few.verdict, few.enough, enough.verdict) == ("not shown", 36, "passed")


def test_few_that_differ_leave_the_spread_unknown():
    """Of 50 subjects two differ by .2: 1 - .025^(1/50) reach to the end, and Clopper and Pearson's share to .2."""
    values = np.r_[np.zeros(48), 0.2, 0.2]
    low, high = bounded_limits(values, (-5.0, 5.0), 0.05)
    share = stats.beta.ppf(0.975, 3, 48)
    assert high == pytest.approx(share * 0.2 + (1 - 0.025**0.02) * 4.8)
    assert low == pytest.approx(-5 * (1 - 0.05**0.02))
    assert bounded_limits(np.array([]), (-5.0, 5.0), 0.05) == (-5.0, 5.0)
    assert compared(values + 3, np.full(50, 3.0), np.tile(np.arange(50), 2)).verdict == "passed"


@pytest.mark.parametrize(("people", "differ", "known"), [(6, 4, 0), (6, 5, 1), (27, 9, 1), (28, 9, 0), (99, 10, 1)])
def test_spread_is_known_from_five_that_are_a_third_and_from_ten(people, differ, known):
    values = np.r_[np.full(people - differ, 3.0), 3 + np.arange(1, differ + 1) / 100]
    pair = compared(values, np.full(people, 3.0), np.tile(np.arange(people), 2))
    assert (pair.reason == "") == known


def test_so_many_subjects_would_be_enough():
    """Spread 1 at both levels, six subjects each: half the interval and z at 90 % are .5 from 70 subjects."""
    values = stats.norm.ppf((np.arange(6) + 0.5) / 6)
    values = (values - values.mean()) / values.std(ddof=1) + 3
    pair = compared(values, values)
    assert pair.verdict == "not shown"
    n = np.arange(6, 500)
    half = (stats.t.isf(0.05, 10 * n / 6) + stats.norm.isf(0.1)) * np.sqrt(2 / n)
    assert pair.enough == n[(half <= 0.5).argmax()] == 70
    assert compared(values - 0.3, values + 0.4).enough == 0, "no number makes levels equal that seem to differ by .7"


@given(st.integers(0, 10_000))
def test_levels_can_be_swapped(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, (2, 15)).astype(float)
    one, other = compared(a, b), compared(b, a)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.verdict == other.verdict
