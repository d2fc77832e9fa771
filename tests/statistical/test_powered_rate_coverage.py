"""Rates from few ratings by people and many predictions cover the truth from five ratings on (slow)."""

import numpy as np
import pytest

from transect.effects.powered_rates import powered_rate

TABLES, OTHERS = 1000, 300
FLOOR = 0.93
MACHINES = {"good": (0.9, 0.05), "poor": (0.7, 0.3), "useless": (0.5, 0.5)}


def covered(rate, ratings, machine, tables, seed=1):
    """The share of tables whose interval has the rate; a machine says yes to shares of the yeses and of the noes."""
    rng, count = np.random.default_rng([ratings, int(100 * rate), seed]), 0
    seen, invented = MACHINES[machine]
    for _ in range(tables):
        truth = rng.random(ratings + OTHERS) < rate
        predicted = (rng.random(len(truth)) < np.where(truth, seen, invented)).astype(float)
        interval = powered_rate(truth[:ratings].astype(float), predicted[:ratings], predicted[ratings:])
        count += interval.low <= rate <= interval.high
    return count / tables


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("rate", [0.05, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_rates_of_few_ratings_cover(rate, machine):
    """With the normal quantile 7 of these 108 cells covered 91.6 to 92.9 % of 4,000 tables, all below 30 ratings."""
    shares = {n: covered(rate, n, machine, TABLES) for n in (5, 8, 10, 15, 20, 30)}
    print(rate, machine, shares)
    assert min(shares.values()) >= FLOOR


def test_ten_ratings_and_a_useless_machine():
    """A fast version of the cell that was covered least."""
    assert covered(0.7, 10, "useless", 2000) >= 0.93
