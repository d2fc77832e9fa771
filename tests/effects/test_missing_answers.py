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


def test_trimming_bounds_are_the_extremes_of_every_way_to_trim():
    """Of the eight answers of the second group, four are trimmed: the first group answers only half as often."""
    first, second = np.array([1.0, 0, 0, 0, *[np.nan] * 4]), np.array([1.0, 1, 1, 0, 0, 0, 0, 0])
    left = [np.mean(kept) - 0.25 for kept in itertools.combinations(second, 4)]
    y, group = np.concatenate([first, second]), np.arange(16) >= 8
    _, bounds = group_bounds(y, group, np.arange(16))
    assert (bounds.smallest, bounds.largest) == pytest.approx((min(left), max(left)))
    _, turned = group_bounds(y, ~group, np.arange(16))
    assert (turned.smallest, turned.largest) == pytest.approx((-max(left), -min(left)))


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
