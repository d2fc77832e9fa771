"""The ratio of two groups' rates in a population, seen on the same subjects (slow)."""

import numpy as np
from scipy.special import ndtri

from transect.effects import project
from transect.effects.projection import RATIO, PopulationShares
from transect.records import Attribute

KNOWN = {"glasses": Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))}
HALVES = PopulationShares("p", ("glasses",), np.array([[0.0], [1.0]]), np.array([0.5, 0.5]))


def test_the_ratio_of_rates_is_covered(size, subjects, rates, likeness):
    """Tables in which nobody has the outcome in a group have no interval, and a reason."""
    rng = np.random.default_rng([subjects, int(1000 * rates[0]), int(10 * likeness)])
    shared = np.sqrt(likeness) * rng.standard_normal((size.tables, subjects, 1))
    own = np.sqrt(1 - likeness) * rng.standard_normal((size.tables, subjects, 2))
    hits = known = 0
    for answers in (shared + own < ndtri(rates)).astype(float):
        made = project(answers, {"glasses": (0.0, 1.0)}, HALVES, KNOWN).rows
        (row,) = (each for each in made if each.quantity == RATIO)
        known += np.isfinite(row.low)
        hits += row.low <= rates[1] / rates[0] <= row.high
        assert np.isfinite(row.low) or row.reason
    size.covers(hits / known, known)
