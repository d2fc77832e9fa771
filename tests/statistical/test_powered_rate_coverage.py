"""Rates from few ratings by people and many predictions cover the truth from five ratings on (slow)."""

import numpy as np

from transect.effects.prediction_powered import powered_rate

OTHERS = 300
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


def test_rates_of_few_ratings_cover(size, rate, machine):
    shares = {n: covered(rate, n, machine, size.tables) for n in size.some((10, 5, 8, 15, 20, 30))}
    size.covers(list(shares.values()))
