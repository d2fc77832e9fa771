"""Verdicts against a slow reading of their definition, and against formulas worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from transect.effects.intervals import mean_difference_interval
from transect.effects.resampling import mcnemar_interval
from transect.effects.samples import Measure
from transect.effects.verdicts import judge, outermost, pairs_of_levels, subjects_to_tell

MISS, SCORE = Measure("t", "miss", "proportion", True), Measure("t", "score", "score", False)


def test_equivalence_needs_both_ends_strictly_inside():
    assert judge(False, -0.019, 0.019, 0.02) == "no difference"
    assert judge(False, -0.02, 0.01, 0.02) == "cannot tell"
    assert judge(False, -0.01, 0.02, 0.02) == "cannot tell"
    assert judge(False, math.nan, math.nan, 0.02) == "cannot tell"
    assert judge(False, -0.01, 0.01, math.nan) == "cannot tell"
    assert judge(True, math.nan, math.nan, math.nan) == "found"


def test_the_outermost_ends_are_those_of_all_pairs_of_levels():
    """One attribute with three levels, so that a pair of a subject is one pair of answers: McNemar's interval each."""
    rng = np.random.default_rng(1)
    y = (rng.random((200, 3)) < [0.02, 0.03, 0.05]).astype(float)
    ends = []
    for first, second in itertools.combinations(range(3), 2):
        up = sum(1 for row in y if row[second] == 1 and row[first] == 0)
        down = sum(1 for row in y if row[second] == 0 and row[first] == 1)
        ends.append(mcnemar_interval(up, down, 200, 0.9))
    low, high = outermost(pairs_of_levels(y, 0, MISS))
    assert low == pytest.approx(min(end for end, _ in ends), abs=1e-9)
    assert high == pytest.approx(max(end for _, end in ends), abs=1e-9)


def test_a_level_between_the_ends_counts():
    """The last level equals the first, and the middle one differs in every tenth subject."""
    y = np.zeros((400, 3))
    y[:40, 1] = 1
    low, high = outermost(pairs_of_levels(y, 0, MISS))
    assert high > 0.1
    assert low < -0.1
    assert judge(False, low, high, 0.05) == "cannot tell"
    ends = outermost(pairs_of_levels(y[:, [0, 2]], 0, MISS))
    assert judge(False, *ends, 0.05) == "no difference"


def test_subjects_to_tell_is_the_larger_of_two_sample_sizes():
    """sd 0.5, margin 0.1: equivalence takes ((1.645 + 1.645) 5)² = 270.6, a difference at 5 % / 20 about 460."""
    assert subjects_to_tell(0.1, 0.5) == 271
    many = subjects_to_tell(0.1, 0.5, family=20)
    by_hand = ((norm.ppf(1 - 0.05 / 40) + norm.ppf(0.9)) * 5) ** 2
    assert many == pytest.approx(by_hand, rel=0.03)
    assert subjects_to_tell(0.1, 0.0) is None
    assert subjects_to_tell(math.nan, 0.5) is None
    assert subjects_to_tell(1e-6, 1.0) is None  # beyond ten million


def test_intervals_of_scores_allow_for_three_in_n_people():
    """Scores in [0, 1] of 100 people: 3 / 100 of the range on either side of the bootstrap's interval."""
    rng = np.random.default_rng(4)
    y = rng.random((100, 2))
    (pair,) = pairs_of_levels(y, 0, SCORE)
    plain = mean_difference_interval(y[:, 1:] - y[:, :1], binary=False, confidence=0.9)
    assert pair.low == pytest.approx(plain.low[0] + math.log(0.05) / 100)
    assert pair.high == pytest.approx(plain.high[0] - math.log(0.05) / 100)
