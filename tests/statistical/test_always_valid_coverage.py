"""Audits of 400 subjects with a look after every 25: an interval counts as a miss if any look misses (slow).

Fixed-sample intervals, with the same looks, miss three to four times as often as they say.
"""

import numpy as np
import pytest
from scipy.special import ndtr, stdtrit

from transect.effects.always_valid import always_valid_difference, always_valid_mean, always_valid_rate
from transect.effects.intervals import paired_score_interval, wilson_clustered

LOOKS = range(25, 401, 25)
AUDITS = 400
LEAST = 0.95 - 0.015


def share_without_a_miss(audits, truth, interval):
    """Share of audits [audits, subjects, …] whose interval holds the truth at every look."""

    def held(audit):
        return all(low <= truth <= high for low, high in (interval(audit[:n]) for n in LOOKS))

    return sum(map(held, audits)) / len(audits)


def ends(result):
    return result.low, result.high


@pytest.mark.slow
@pytest.mark.parametrize(("up", "down"), [(0.01, 0.01), (0.1, 0.05), (0.3, 0.3), (0.02, 0.2)])
def test_differences_of_rates_are_covered_at_every_look(up, down):
    audits = np.random.default_rng(0).choice([1.0, -1.0, 0.0], size=(AUDITS, 400), p=[up, down, 1 - up - down])
    held = share_without_a_miss(audits, up - down, lambda d: ends(always_valid_difference(d)))
    b, c = (np.cumsum(audits == sign, axis=1)[:, 24::25] for sign in (1, -1))
    low, high = paired_score_interval(b, c, np.arange(25, 401, 25))
    fixed = ((low <= up - down) & (up - down <= high)).all(axis=1).mean()
    print(up, down, held, fixed)
    assert held >= LEAST
    assert up + down < 0.1 or fixed < 0.88


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "alike"), [(0.05, 0.8), (0.5, 0.3)])
def test_rates_of_several_images_are_covered_at_every_look(rate, alike):
    rng = np.random.default_rng(1)
    own, each = rng.random((AUDITS, 400, 1)) < rate, rng.random((AUDITS, 400, 3)) < rate
    hits = np.where(rng.random((AUDITS, 400, 1)) < alike, own, each).sum(axis=2).astype(float)
    held = share_without_a_miss(hits, rate, lambda x: ends(always_valid_rate(x, np.full(len(x), 3.0), most=3)))

    def clustered(x):
        low, high = wilson_clustered(x[:, None], np.full((len(x), 1), 3.0))
        return float(low[0]), float(high[0])

    fixed = share_without_a_miss(hits, rate, clustered)
    print(rate, alike, held, fixed)
    assert held >= LEAST
    assert fixed < 0.9


SCORES = {
    "normal": (lambda z: z, 0.0),
    "exponential": (lambda z: -np.log(ndtr(-z)), 1.0),
    "lognormal": (lambda z: np.exp(0.7 * z), np.exp(0.245)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORES)
def test_scores_are_covered_at_every_look(name):
    transform, mean = SCORES[name]
    audits = transform(np.random.default_rng(2).normal(size=(1000, 400)))
    held = share_without_a_miss(audits, mean, lambda x: ends(always_valid_mean(x)))

    def student(x):
        half = stdtrit(len(x) - 1, 0.975) * x.std(ddof=1) / np.sqrt(len(x))
        return x.mean() - half, x.mean() + half

    fixed = share_without_a_miss(audits, mean, student)
    print(name, held, fixed)
    assert held >= LEAST
    assert fixed < 0.86
