"""Bounds where answers are missing: every way to fill them in, every way to trim, and limits by hand."""

import itertools

import numpy as np
import pytest
from small_answers import answers, checked, rows

from transect.analysis.sections import unanswered
from transect.effects.contrasts import level_differences
from transect.effects.interrogation import TOO_FEW, group_bounds, paired_bounds
from transect.records import Design

DESIGN = Design({"glasses": (0.0, 1.0)}, subjects=4)
NO_FACE = "no face: as the answer says"


def test_worst_case_bounds_are_the_extremes_of_every_way_to_fill_in():
    rng = np.random.default_rng(1)
    for _ in range(20):
        y = np.where(rng.random((4, 2, 2)) < 0.3, np.nan, rng.integers(0, 2, (4, 2, 2)))
        empty = np.flatnonzero(np.isnan(y))
        effects = []
        for filling in itertools.product((0.0, 1.0), repeat=len(empty)):
            whole = y.copy()
            whole.flat[empty] = filling
            effects.append(level_differences(whole[:, 0], whole[:, 1]).mean())
        bounds = paired_bounds(y[:, 0], y[:, 1])
        assert (bounds.smallest, bounds.largest) == pytest.approx((min(effects), max(effects)))
        assert bounds.reason == TOO_FEW


def test_worst_case_bounds_of_people_who_repeat_are_means_over_subjects_with_intervals_by_person():
    """Person 0 is on 20 of 40 subjects; of the 40 pairs 30 rise, 4 stay and 6 lack an answer."""
    first, second = np.zeros((40, 1)), np.repeat([1.0, 0.0, np.nan], [30, 4, 6])[:, None]
    people = np.array([0] * 20 + list(range(1, 21)))
    alone, repeated = paired_bounds(first, second), paired_bounds(first, second, people=people)
    assert (repeated.smallest, repeated.largest) == (alone.smallest, alone.largest) == (30 / 40, 36 / 40)
    assert repeated.low < alone.low < alone.high < repeated.high
    assert paired_bounds(first, second, people=np.arange(40)) == alone
    assert paired_bounds(first, second, people=np.arange(40) % 9).reason == TOO_FEW


def test_trimming_bounds_are_the_extremes_of_every_way_to_trim():
    """Of the eight answers of the second group, four are trimmed: the first group answers only half as often."""
    first, second = np.array([1.0, 0, 0, 0, *[np.nan] * 4]), np.array([1.0, 1, 1, 0, 0, 0, 0, 0])
    left = [np.mean(kept) - 0.25 for kept in itertools.combinations(second, 4)]
    y, group = np.concatenate([first, second]), np.arange(16) >= 8
    _, bounds = group_bounds(y, group, np.arange(16))
    assert (bounds.smallest, bounds.largest) == pytest.approx((min(left), max(left)))
    _, turned = group_bounds(y, ~group, np.arange(16))
    assert (turned.smallest, turned.largest) == pytest.approx((-max(left), -min(left)))


def test_without_missing_answers_the_bounds_are_the_effect():
    y, group = np.array([0.0] * 15 + [1.0] * 5 + [0.0] * 10 + [1.0] * 10), np.arange(40) >= 20
    for bounds in group_bounds(y, group, np.arange(40)):
        assert (bounds.smallest, bounds.largest) == pytest.approx((0.25, 0.25))
        assert bounds.low < 0.25 < bounds.high


def test_too_few_answers_have_no_trimming_bounds():
    y = np.where(np.arange(40) % 20 == 0, 1.0, np.nan)
    _, trimmed = group_bounds(y, np.arange(40) >= 20, np.arange(40))
    assert trimmed.reason == "too few answers"
    assert np.isnan(trimmed.smallest)


def test_bounds_stand_in_the_section_on_missing_answers():
    """No, yes, no and nothing without glasses; yes, yes, nothing and yes with them."""
    y = [0, 1, 1, 1, 0, np.nan, np.nan, 1]
    failures = ("", "", "", "", "", NO_FACE, NO_FACE, "")
    section = checked(unanswered.section(answers(DESIGN, answers=y, failures=failures)))
    (row,) = rows(section, "What the effects on the rate of yes could be")
    assert (row["effect"], row["answered, first"], row["answered, second"]) == ("glasses: off to on", 0.75, 0.75)
    assert row["effect of answered, points"] == 0.5  # of two subjects, one changes
    assert (row["worst case: smallest"], row["worst case: largest"]) == (0.25, 0.75)  # (1 + 0 + 0 + 0) / 4; + 1 + 1
    assert row["note"] == TOO_FEW


def test_observed_groups_have_both_kinds():
    design = Design({}, subjects=40)
    wears = np.repeat([0.0, 1.0], 20)
    y = np.tile([0.0, 1.0], 20)
    y[20:30] = np.nan
    failures = tuple(NO_FACE if np.isnan(value) else "" for value in y)
    section = unanswered.section(answers(design, answers=y, failures=failures, values={"glasses": wears}))
    (row,) = rows(section, "What the effects on the rate of yes could be")
    assert (row["worst case: smallest"], row["worst case: largest"]) == pytest.approx((-0.25, 0.25))
    assert (row["trimming: smallest"], row["trimming: largest"]) == pytest.approx((-0.5, 0.5))
    assert row["trimming: interval low"] < -0.5
