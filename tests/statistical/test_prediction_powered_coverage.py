"""Means of scores from few ratings and many predictions cover the truth from ten rated subjects, also skewed ones (slow)."""

import numpy as np

from transect.effects import ppi_mean

MACHINES = {"good": (1.0, 0.3), "poor": (1.0, 1.5), "useless": (0.0, 1.0)}


def scores(rng, kind, shape):
    """Scores of mean 0: normal, five or four answers (symmetric, skewed), and a long upper tail."""
    if kind == "four answers":
        return np.searchsorted([0.7, 0.9, 0.97], rng.random(shape)) - 0.43
    normal = rng.standard_normal(shape)
    return {
        "normal": normal,
        "five answers": np.clip(np.round(1.2 * normal), -2, 2),
        "exponential": rng.standard_exponential(shape) - 1,
        "lognormal": np.exp(0.7 * normal) - np.exp(0.245),
    }[kind]


def estimate(rng, kind, machine, rated, others=300):
    """PPI++ of one table; the machine is .5 off."""
    truth, (weight, noise) = scores(rng, kind, rated + others), MACHINES[machine]
    predicted = weight * truth + noise * truth.std() * rng.standard_normal(len(truth)) + 0.5
    return ppi_mean(truth[:rated], predicted[:rated], predicted[rated:])


def check(size, estimates, least):
    """Printed intervals contain 0. Tables without one are few, and no interval is a point."""
    printed = [each for each in estimates if not each.reason]
    assert len(printed) >= least * len(estimates)
    assert all(each.high > each.low for each in printed)
    size.covers(np.mean([each.low <= 0 <= each.high for each in printed]), len(printed) if size.small else None)


def test_few_ratings(size, kind, rated):
    rng = np.random.default_rng(rated)
    for machine in size.some(MACHINES):
        check(size, [estimate(rng, kind, machine, rated) for _ in range(size.tables)], 0.9)


def test_several_images_of_each_subject(size, people, both):
    """Three rated images of each; half of the variance is the subject's. both: the others are of the same subjects."""
    rng, estimates = np.random.default_rng(people), []
    subjects, more = np.repeat(np.arange(people), 3), 5 * people
    for _ in range(size.tables):
        own = rng.normal(size=people + more)
        of = np.concatenate([subjects, np.arange(people) if both else people + np.arange(more)])
        truth = own[of] + rng.normal(size=len(of))
        predicted = truth + rng.normal(size=len(of)) + 0.5
        n = len(subjects)
        estimates.append(ppi_mean(truth[:n], predicted[:n], predicted[n:], subjects=subjects, subjects_unrated=of[n:]))
    check(size, estimates, 1.0)
