"""Leakage where people repeat: its null holds its level and its intervals cover, by person (slow)."""

import numpy as np
import pytest
from habits import nulls_exceeded

from transect.attacks.records import Attack
from transect.attacks.scoring import difference

DATA_SETS = 200
GAINS = np.array([-1.0, 0.0, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize(("people", "pictures"), [(40, 25), (100, 10), (400, 5)])
def test_habits_do_not_exceed_the_null(people, pictures):
    """Above the null in 2.5 %, where the estimate is normal; 5 % and two standard errors are 8 of 100."""
    share = nulls_exceeded(DATA_SETS, people, pictures, permutations=100) / DATA_SETS
    print(f"{people} people, {pictures} pictures each: {100 * share:.1f} % above the null")
    assert share <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / DATA_SETS)


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("people", [5, 10, 40])
@pytest.mark.parametrize("shares", [(0.05, 0.9, 0.05), (0.1, 0.5, 0.4), (0.0, 0.2, 0.8), (0.0, 0.05, 0.95)])
def test_differences_cover(shares, people, alike):
    """Gains of two classes of `people`, ten items each, of which all are one in the share `alike` of people."""
    rng = np.random.default_rng(people)
    truth, person = np.repeat([0, 1], 10 * people), np.repeat(np.arange(2 * people), 10).astype(np.uint64)
    rows, mean, tables = np.arange(len(truth)), 100 * GAINS @ shares, 1000
    none, covered = Attack(rows, np.zeros(len(rows))), 0
    for _ in range(tables):
        single = rng.choice(GAINS, size=(2 * people, 10), p=shares)
        gains = np.where(rng.random((2 * people, 1)) < alike, single[:, :1], single).ravel()
        found = difference([Attack(rows, gains)], [none], truth, subjects=person)
        covered += found.low <= mean <= found.high
    assert covered / tables >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / tables)
