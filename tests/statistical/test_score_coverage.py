"""Are means of scores, and differences and slopes of observed scores, covered where they have an interval? (slow)"""

import numpy as np

from transect.effects import mean_difference_interval
from transect.effects.observational import difference, slope

ORDINAL = np.array([0.02, 0.03, 0.05, 0.2, 0.7])


def far_of_a_fifth(rng, shape):
    """Nearly 0 but for a fifth, who lie far above."""
    return np.where(rng.random(shape) < 0.2, rng.standard_exponential(shape), 0.05 * rng.standard_normal(shape))


DRAWN = {
    "normal": (lambda rng, shape: rng.standard_normal(shape), 0.0),
    "t3": (lambda rng, shape: rng.standard_t(3, shape), 0.0),
    "exponential": (lambda rng, shape: rng.standard_exponential(shape), 1.0),
    "lognormal": (lambda rng, shape: rng.lognormal(0, 1, shape), np.exp(0.5)),
    "ties": (lambda rng, shape: rng.standard_exponential(shape) * (rng.random(shape) < 0.2), 0.2),
    "fifth": (lambda rng, shape: far_of_a_fifth(rng, shape), 0.2),
    "ordinal": (lambda rng, shape: rng.choice(5.0 + np.arange(5), p=ORDINAL, size=shape), float(ORDINAL @ np.arange(5)) + 5),
    "unequal spread": (
        lambda rng, shape: rng.standard_normal(shape) * rng.choice([0.3, 3], p=[0.9, 0.1], size=shape), 0.0),
}  # fmt: skip


def held(low, high, truth):
    """The share of the intervals there are that hold the truth."""
    known = np.isfinite(low)
    return np.mean((low <= truth + 1e-12)[known] & (truth - 1e-12 <= high)[known]), int(known.sum())


def test_means_of_scores_are_covered(size, name, subjects):
    draw, mean = DRAWN[name]
    rng = np.random.default_rng([subjects, len(name)])
    made = mean_difference_interval(draw(rng, (subjects, size.tables)), binary=False)
    size.covers(*held(made.low, made.high, mean))


def estimates_of(made):
    return np.array([one.low for one in made]), np.array([one.high for one in made])


def test_differences_of_observed_scores_are_covered(size, name, sizes, spread):
    """The second group differs as much from its mean, or three times as much."""
    draw, mean = DRAWN[name]
    rng = np.random.default_rng([*sizes, len(name), spread])
    second = np.arange(sum(sizes)) >= sizes[0]
    made = []
    for _ in range(size.tables):
        y = (draw(rng, sum(sizes)) - mean) * np.where(second, spread, 1)
        made.append(difference(y, (~second, second), ("first", "second"), False, clusters=None, confidence=0.95))
    size.covers(*held(*estimates_of(made), 0.0))


ATTRIBUTES = {
    "uniform": lambda rng, n: rng.random(n),
    "exponential": lambda rng, n: rng.standard_exponential(n),
    "lognormal": lambda rng, n: rng.lognormal(0, 1, n),
}


def test_slopes_of_observed_scores_are_covered(size, name, attribute, subjects, power):
    """Scores are drawn, times the attribute where the power is 1: their mean and their spread grow with it."""
    draw, mean = DRAWN[name]
    rng, known, made = np.random.default_rng([subjects, len(name), power]), np.ones(subjects, dtype=bool), []
    for _ in range(size.tables):
        x = ATTRIBUTES[attribute](rng, subjects)
        y = draw(rng, subjects) * x**power
        made.append(slope(y, x, known, "age", False, clusters=None, confidence=0.95))
    size.covers(*held(*estimates_of(made), mean * power))
