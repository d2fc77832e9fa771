"""Bounds cover the planted effect although answers are missing by outcome and by level (slow)."""

import numpy as np

from transect.effects.interrogation import group_bounds, paired_bounds


def test_worst_case_bounds_cover_the_effect_of_all_pairs(size, subjects):
    """The outcome never changes; with glasses seven tenths of the wrong answers are missing."""
    rng = np.random.default_rng(subjects)
    covered = 0
    for _ in range(size.tables):
        wrong = (rng.random((subjects, 1)) < 0.3).astype(float)
        second = np.where((wrong == 1) & (rng.random(wrong.shape) < 0.7), np.nan, wrong)
        second = np.where((wrong == 0) & (rng.random(wrong.shape) < 0.02), np.nan, second)
        flip = (rng.random(wrong.shape) < 0.1).astype(float)
        bounds = paired_bounds(np.abs(wrong - flip), second)
        truth = 0.3 - (0.3 * 0.9 + 0.7 * 0.1)
        covered += bounds.low <= truth <= bounds.high
    size.covers(covered / size.tables)


def test_intervals_of_trimming_bounds_cover_both_ends(size, people, lost, rate):
    """No effect where both are answered; images that the second group alone leaves out are all right, or all wrong."""
    rng = np.random.default_rng(people)
    kinds, covered = np.zeros(2), np.zeros(2)
    for _ in range(size.tables):
        for place, extra in enumerate((0.0, 1.0)):
            group = np.repeat([False, True], people)
            always = rng.random(2 * people) >= lost
            y = np.where(always, rng.random(2 * people) < rate, extra)
            y = np.where(group & ~always, np.nan, y)
            _, bounds = group_bounds(y, group, np.arange(2 * people))
            if not bounds.reason:
                kinds[place] += 1
                covered[place] += bounds.low <= 0.0 <= bounds.high
    assert (kinds >= 0.9 * size.tables).all()
    size.covers(covered / kinds)
