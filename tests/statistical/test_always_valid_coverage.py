"""Audits of 400 subjects with a look after every 25: an interval counts as a miss if any look misses (slow)."""

import numpy as np

from transect.effects.always_valid import always_valid_difference

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
    "uniform": (lambda u: u, 0.5),
    "skewed": (lambda u: u**9, 0.1),
    "ties": (lambda u: np.maximum(u - 0.8, 0) / 0.2, 0.1),
    "outliers": (lambda u: np.where(u < 0.02, 1.0, 0.05), 0.069),
}


def test_scores_with_a_range_are_covered_at_every_look(size, name):
    transform, mean = SCORES[name]
    audits = transform(np.random.default_rng(2).random(size=(size.tables, 400)))
    held = share_without_a_miss(audits, mean, lambda x: ends(always_valid_difference(x)))
    size.covers(held)
