"""Audits of 400 subjects with a look after every 25: an interval counts as a miss if any look misses (slow)."""

import numpy as np
from scipy.special import ndtr

from transect.effects.always_valid import always_valid_difference, always_valid_mean

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
    size.covers(held)


SCORES = {
    "normal": (lambda z: z, 0.0),
    "exponential": (lambda z: -np.log(ndtr(-z)), 1.0),
    "lognormal": (lambda z: np.exp(0.7 * z), np.exp(0.245)),
}


def test_scores_are_covered_at_every_look(size, name):
    transform, mean = SCORES[name]
    audits = transform(np.random.default_rng(2).normal(size=(size.tables, 400)))
    held = share_without_a_miss(audits, mean, lambda x: ends(always_valid_mean(x)))
    size.covers(held)
