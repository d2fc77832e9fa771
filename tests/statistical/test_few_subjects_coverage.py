"""Averages over many cells of few subjects: also an effect that few of a hundred subjects have is covered (slow)."""

import numpy as np
from scipy.special import ndtri

from transect.effects.intervals import FEW_AVERAGED, mean_difference_interval


def drawn(rng, tables, subjects, cells, base, alike, effect, share):
    """Differences [subjects, tables] of averages over cells, the rarer side's rate by table, and the true effect.

    An answer is yes where a normal value of subject and image is below the base rate's quantile. share: of subjects
    that say yes everywhere at the second level; None: everybody's rate rises by `effect`.
    """
    person = rng.standard_normal((tables, subjects, 1, 1)) * np.sqrt(alike)
    value = person + rng.standard_normal((tables, subjects, 2, cells)) * np.sqrt(1 - alike)
    rates = np.array([base, base if effect is None else base + effect])
    yes = value < ndtri(rates)[:, None]
    if share is not None:
        yes[:, :, 1] |= (rng.random((tables, subjects)) < share)[:, :, None]
    rate = yes.mean(axis=(1, 3))
    truth = effect if share is None else share * (1 - base)
    return (yes[:, :, 1].mean(2) - yes[:, :, 0].mean(2)).T, np.minimum(rate, 1 - rate).min(axis=1), truth


def check(size, rng, subjects, cells, base, alike, effect=None, share=None):
    """Every table has an interval, and enough of them cover."""
    d, rare, truth = drawn(rng, size.tables, subjects, cells, base, alike, effect, share)
    pairs = np.full(size.tables, float(cells))
    made = mean_difference_interval(d, binary=True, base=rare, pairs=pairs, resamples=600)
    assert np.isfinite(made.low).all()
    size.covers(((made.low <= truth) & (truth <= made.high)).mean())


def test_an_effect_in_few_subjects_is_covered(size, share, cells):
    """Without the allowance 70 to 95 %."""
    rng = np.random.default_rng(cells)
    for subjects in size.some((5, 10, 20, 50, 100, FEW_AVERAGED)):
        for base, alike in size.some(((0.1, 0.8), (0.3, 0.3))):
            check(size, rng, subjects, cells, base, alike, share=share)


def test_an_effect_in_all_subjects_is_covered(size, effect, cells):
    """Without the allowance 89 to 91 % with 5 subjects."""
    rng = np.random.default_rng(cells)
    for subjects in size.some((5, 8, 20, 60)):
        for base, alike in size.some(((0.1, 0.8), (0.3, 0.3), (0.5, 0.0))):
            check(size, rng, subjects, cells, base, alike, effect=effect)
