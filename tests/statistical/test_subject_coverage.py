"""Leakage where people repeat: its null holds its level and its intervals cover, by person (slow)."""

import numpy as np
from habits import nulls_exceeded

from transect.attacks.records import Attack
from transect.attacks.scoring import difference

GAINS = np.array([-1.0, 0.0, 1.0])


def test_habits_do_not_exceed_the_null(size, people, pictures):
    """Above the null in 2.5 %, where the estimate is normal; 5 % and two standard errors are 8 of 100."""
    size.rejects(nulls_exceeded(size.tables, people, pictures, permutations=100) / size.tables)


def test_differences_cover(size, shares, people, alike):
    """Gains of two classes of `people`, ten items each, of which all are one in the share `alike` of people."""
    rng = np.random.default_rng(people)
    truth, person = np.repeat([0, 1], 10 * people), np.repeat(np.arange(2 * people), 10).astype(np.uint64)
    rows, mean, tables = np.arange(len(truth)), 100 * GAINS @ shares, size.tables
    none, covered = Attack(rows, np.zeros(len(rows))), 0
    for _ in range(tables):
        single = rng.choice(GAINS, size=(2 * people, 10), p=shares)
        gains = np.where(rng.random((2 * people, 1)) < alike, single[:, :1], single).ravel()
        found = difference([Attack(rows, gains)], [none], truth, subjects=person)
        covered += found.low <= mean <= found.high
    size.covers(covered / tables)
