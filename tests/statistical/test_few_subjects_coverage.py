"""Averages over many cells of few subjects: also an effect that few of a hundred subjects have is covered (slow)."""

import numpy as np
from scipy.special import ndtri

from transect.effects.intervals import FEW_AVERAGED, mean_difference_interval


def drawn(rng, tables, subjects, cells, base, alike, share):
    """Differences [subjects, tables] of averages over cells.

    A share of subjects says yes everywhere at the second level; of others a normal value of subject and image decides.
    """
    person = rng.standard_normal((tables, subjects, 1, 1)) * np.sqrt(alike)
    value = person + rng.standard_normal((tables, subjects, 2, cells)) * np.sqrt(1 - alike)
    yes = value < ndtri(base)
    yes[:, :, 1] |= (rng.random((tables, subjects)) < share)[:, :, None]
    return (yes[:, :, 1].mean(2) - yes[:, :, 0].mean(2)).T


def test_an_effect_in_few_subjects_is_covered(size, share, cells):
    """Every table has an interval, and enough of them cover."""
    rng = np.random.default_rng(cells)
    for subjects in size.some((5, 10, 20, 50, 100, FEW_AVERAGED)):
        for base, alike in size.some(((0.1, 0.8), (0.3, 0.3))):
            d = drawn(rng, size.tables, subjects, cells, base, alike, share)
            pairs, truth = np.full(size.tables, float(cells)), share * (1 - base)
            made = mean_difference_interval(d, binary=True, pairs=pairs)
            assert np.isfinite(made.low).all()
            size.covers(((made.low <= truth) & (truth <= made.high)).mean())
