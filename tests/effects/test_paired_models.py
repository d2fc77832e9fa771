"""Two models on the same images: by hand, by a slow reading of the definitions, and with the models exchanged."""

import itertools
import math

import numpy as np
import pytest

from transect.effects.intervals import paired_score_interval
from transect.effects.observational import cut
from transect.effects.paired_models import (
    box_of_gap,
    gap_between_levels,
    gaps_between_groups,
    rate_difference,
)
from transect.effects.resampling import mcnemar_interval, sign_flip
from transect.records import Attribute


def tables(seed, subjects, rates, others):
    """Misses of two models at the levels of one attribute, of the same subjects; half of them never miss."""
    rng = np.random.default_rng(seed)
    prone = rng.random((subjects, 1)) < 0.5
    first, second = (((rng.random((subjects, len(each))) < 2 * np.array(each)) & prone).astype(float)
                     for each in (rates, others))  # fmt: skip
    return first, second


def test_a_rate_by_hand():
    """Four subjects with one image: only the first model misses three of them, only the second one."""
    first, second = np.array([[1.0], [1.0], [1.0], [0.0]]), np.array([[0.0], [0.0], [0.0], [1.0]])
    rate = rate_difference(first, second, True)
    assert (rate.first, rate.second, rate.estimate) == (0.75, 0.25, -0.5)
    assert rate.p == pytest.approx(2 * (1 + 4 / 2) / 2**4)  # mid-p: all signs agree, and half of three of four
    assert rate.interval(0.95) == pytest.approx(mcnemar_interval(1, 3, 4), abs=1e-9)


def test_a_gap_by_hand():
    """The first model misses three of four at the second level only, the other model one of four."""
    first = np.array([[0.0, 1.0]] * 3 + [[0.0, 0.0]])
    second = np.array([[0.0, 1.0]] + [[0.0, 0.0]] * 3)
    gap = gap_between_levels(first, second, 0, (0, 1), True)
    assert (gap.first, gap.second, gap.estimate) == (0.75, 0.25, -0.5)
    assert gap.difference.differences.tolist() == [0, -1, -1, 0]
    assert gap.total.differences.tolist() == [2, 1, 1, 0]
    assert gap.difference.p == 0.5  # two differences of one sign
    assert gap.total.p == 0.25  # three sums of one sign: only all alike reach 4
    assert gap.p == 0.5
    halved = paired_score_interval(0, 1, 4, confidence=0.975)  # of differences / 2, the reach
    assert gap.difference.interval(0.975) == pytest.approx([2 * float(end) for end in halved], abs=1e-9)
    each = (*gap.difference.interval(0.975), *gap.total.interval(0.975))  # half of the error each
    assert gap.interval(0.95) == box_of_gap(*each)


def test_the_difference_of_two_effects_is_as_wide_as_four_independent_answers_make_it():
    """4,000 subjects: the variance of the sum of four proportions is .09 + .16 + .09 + .21, the width 3.92 errors."""
    rng = np.random.default_rng(0)
    first, second = ((rng.random((4000, 2)) < rates).astype(float) for rates in ((0.1, 0.2), (0.1, 0.3)))
    low, high = gap_between_levels(first, second, 0, (0, 1), True).difference.interval(0.95)
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.55 / 4000), rel=0.05)


def test_a_gap_is_a_size_whatever_its_sign():
    """b = -a: no gap differs, although every difference does."""
    first = np.tile([[0.0, 1.0]], (30, 1))
    gap = gap_between_levels(first, first[:, ::-1], 0, (0, 1), True)
    assert (gap.estimate, gap.difference.estimate, gap.total.estimate) == (0.0, -2.0, 0.0)
    assert gap.p == 1.0
    low, high = gap.interval(0.95)
    assert low < 0 < high
    assert high < 0.5


def test_the_box_of_a_gap_holds_every_gap_and_no_more():
    """Against a grid over the box."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        low, high = np.sort(rng.normal(size=2))
        total_low, total_high = np.sort(rng.normal(size=2))
        d, s = np.meshgrid(np.linspace(low, high, 101), np.linspace(total_low, total_high, 101))
        sizes = np.abs((s + d) / 2) - np.abs((s - d) / 2)
        least, most = box_of_gap(low, high, total_low, total_high)
        assert least - 1e-12 <= sizes.min() <= least + 0.1
        assert most - 0.1 <= sizes.max() <= most + 1e-12


@pytest.mark.parametrize("binary", [True, False])
def test_exchanged_models_have_exactly_mirrored_numbers(binary):
    first, second = tables(5, 200, (0.1, 0.3), (0.1, 0.2))
    if not binary:
        first, second = first + np.random.default_rng(1).normal(size=first.shape), second * 0.3
    for one, other in itertools.pairwise([
        rate_difference(first, second, binary), rate_difference(second, first, binary),
    ]):  # fmt: skip
        assert other.estimate == -one.estimate
        assert other.p == one.p
        assert other.interval(0.95) == tuple(-end for end in reversed(one.interval(0.95)))
    one = gap_between_levels(first, second, 0, (0, 1), binary)
    other = gap_between_levels(second, first, 0, (0, 1), binary)
    assert other.estimate == -one.estimate
    assert other.p == one.p
    assert other.interval(0.95) == tuple(-end for end in reversed(one.interval(0.95)))


def test_groups_of_observed_images_are_compared_by_image_wise_differences():
    """Two groups of 200 people: A misses 30 % of one and 10 % of the other, B 12 % and 10 %."""
    tone = Attribute("tone", "binary", "tone", levels=("light", "dark"))
    column = np.repeat([0.0, 1.0], 200)
    first, second = np.zeros((2, 400))
    first[:20], first[200:260] = 1, 1
    second[:20], second[200:224] = 1, 1
    groups, people = cut(tone, column), np.arange(400)
    ((name, gap),) = gaps_between_groups(first, second, groups, column, people, True)
    assert name == "tone: light to dark"
    assert (gap.first, gap.second, gap.estimate) == pytest.approx((0.2, 0.02, -0.18))
    assert gap.difference.estimate == pytest.approx(-0.18)
    assert gap.p < 0.005
    low, high = gap.interval(0.95)
    assert low < -0.18 < high < 0
    ((_, back),) = gaps_between_groups(second, first, groups, column, people, True)
    assert back.interval(0.95) == tuple(-end for end in reversed((low, high)))


def test_a_group_in_which_no_image_differs_is_not_known_exactly():
    """None of 30 light and 3 of 1,000 dark images: limits z² / (30 + z²) on the light side, joined by MOVER."""
    tone = Attribute("tone", "binary", "tone", levels=("light", "dark"))
    column = np.repeat([0.0, 1.0], (30, 1000))
    first, second = np.zeros((2, 1030))
    second[30:33] = 1
    ((_, gap),) = gaps_between_groups(first, second, cut(tone, column), column, np.arange(1030), True)
    z2 = 1.6448536**2
    unknown = z2 / (30 + z2)
    low, high = (float(end) for end in paired_score_interval(3, 0, 1000, confidence=0.9))
    by_hand = 0.003 - math.hypot(0.003 - low, unknown), 0.003 + math.hypot(high - 0.003, unknown)
    assert gap.difference.interval(0.9) == pytest.approx(by_hand, abs=1e-6)
    assert gap.interval(0.9)[0] < -0.08
    assert gap.difference.p > 0.5


WHO = np.array([0] * 6 + [1, 1, *range(2, 22)])


@pytest.mark.parametrize("binary", [True, False])
def test_models_on_photographs_of_people_differ_by_means_over_photographs(binary):
    """Person 0 is on six of 28 photographs. Exchanged models have mirrored intervals; nobody repeats: as before."""
    first, second = tables(3, 28, (0.2, 0.4), (0.4, 0.2))
    rate, gap = (
        rate_difference(first, second, binary, who=WHO),
        gap_between_levels(first, second, 0, (0, 1), binary, who=WHO),
    )
    assert (rate.first, rate.second) == (first.mean(), second.mean())
    assert (gap.difference.first, gap.difference.second) == (np.diff(first).mean(), np.diff(second).mean())
    assert rate.estimate == pytest.approx((second - first).mean())
    assert (rate.n_subjects, gap.n_subjects) == (22, 22)
    sums = np.bincount(WHO, (second - first).mean(axis=1))
    assert rate.p == sign_flip(sums[:, None])[0][0]
    other = rate_difference(second, first, binary, who=WHO)
    assert other.interval(0.95) == tuple(-end for end in rate.interval(0.95)[::-1])
    alone = rate_difference(first, second, binary)
    assert rate.interval(0.95) != alone.interval(0.95)
    assert rate.spread > 0
    assert rate.averaged == binary
