"""Audits of 400 subjects with a look after every 25: an interval counts as a miss if any look misses (slow).

Fixed-sample intervals, with the same looks, miss three to four times as often as they say.
"""

import numpy as np
from scipy.special import ndtr, stdtrit

from transect.effects.always_valid import always_valid_difference, always_valid_mean, always_valid_rate
from transect.effects.intervals import paired_score_interval, wilson_clustered

LOOKS = range(25, 401, 25)


def share_without_a_miss(audits, truth, interval):
    """Share of audits [audits, subjects, …] whose interval holds the truth at every look."""

    def held(audit):
        return all(low <= truth <= high for low, high in (interval(audit[:n]) for n in LOOKS))

    return sum(map(held, audits)) / len(audits)


def ends(result):
    return result.low, result.high


def test_differences_of_rates_are_covered_at_every_look(size, up, down):
    audits = np.random.default_rng(0).choice([1.0, -1.0, 0.0], size=(size.tables, 400), p=[up, down, 1 - up - down])
    held = share_without_a_miss(audits, up - down, lambda d: ends(always_valid_difference(d)))
    b, c = (np.cumsum(audits == sign, axis=1)[:, 24::25] for sign in (1, -1))
    low, high = paired_score_interval(b, c, np.arange(25, 401, 25))
    fixed = ((low <= up - down) & (up - down <= high)).all(axis=1).mean()
    size.covers(held)
    assert up + down < 0.1 or fixed < (0.92 if size.small else 0.88)


def test_rates_of_several_images_are_covered_at_every_look(size, rate, alike):
    rng = np.random.default_rng(1)
    own, each = rng.random((size.tables, 400, 1)) < rate, rng.random((size.tables, 400, 3)) < rate
    hits = np.where(rng.random((size.tables, 400, 1)) < alike, own, each).sum(axis=2).astype(float)
    held = share_without_a_miss(hits, rate, lambda x: ends(always_valid_rate(x, np.full(len(x), 3.0), most=3)))

    def clustered(x):
        low, high = wilson_clustered(x[:, None], np.full((len(x), 1), 3.0))
        return float(low[0]), float(high[0])

    fixed = share_without_a_miss(hits, rate, clustered)
    size.covers(held)
    assert fixed < (0.94 if size.small else 0.9)


SCORES = {
    "normal": (lambda z: z, 0.0),
    "exponential": (lambda z: -np.log(ndtr(-z)), 1.0),
    "lognormal": (lambda z: np.exp(0.7 * z), np.exp(0.245)),
}


def test_scores_are_covered_at_every_look(size, name):
    transform, mean = SCORES[name]
    audits = transform(np.random.default_rng(2).normal(size=(size.tables, 400)))
    held = share_without_a_miss(audits, mean, lambda x: ends(always_valid_mean(x)))

    def student(x):
        half = stdtrit(len(x) - 1, 0.975) * x.std(ddof=1) / np.sqrt(len(x))
        return x.mean() - half, x.mean() + half

    fixed = share_without_a_miss(audits, mean, student)
    size.covers(held)
    assert fixed < (0.92 if size.small else 0.86)
