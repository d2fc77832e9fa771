"""Intervals of what people see between two images hold for other subjects and raters, however few they are (slow)."""

import itertools

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from transect.effects.pair_perception import pair_ranking, perceived_difference


def habits(rng, subjects, raters, spread):
    """What each subject and each rater adds to the log odds of an answer."""
    return rng.normal(size=(subjects, 1)) + spread * rng.normal(size=(1, raters))


def test_share_of_perceived_differences(size, spread, subjects, raters):
    rng = np.random.default_rng([subjects, raters, int(spread)])
    subject, rater = (each.ravel() for each in np.indices((subjects, raters)))
    for common in size.some((0.0, -2.5, -4.5)):
        odds = common + np.sqrt(1 + spread**2) * np.random.default_rng(0).normal(size=400_000)
        truth, hits = expit(odds).mean(), 0
        for _ in range(size.tables):
            odds = common + habits(rng, subjects, raters, spread)
            value = (rng.random(odds.shape) < expit(odds)).ravel().astype(float)
            share = perceived_difference(value, subject, subject, rater).share
            hits += share.low <= truth <= share.high
        size.covers(hits / size.tables)


PAIRS = np.array(list(itertools.combinations(range(3), 2)))
PLANTED = np.array([0.0, 0.5, 1.5])


def strengths_of_everyone(spread):
    """What a fit to all subjects and raters finds, by quadrature: what they add pulls log odds towards 0."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    apart = np.sqrt(2 * (0.5**2 + spread**2)) * nodes  # the standard deviation of a difference of two levels
    shares = [weights @ expit(PLANTED[b] - PLANTED[a] + apart) / weights.sum() for a, b in PAIRS]

    def loss(later):
        strengths = np.array([0.0, *later])
        fitted = expit(strengths[PAIRS[:, 1]] - strengths[PAIRS[:, 0]])
        return -np.sum(shares * np.log(fitted) + (1 - np.array(shares)) * np.log(1 - fitted))

    return minimize(loss, PLANTED[1:], tol=1e-12).x


def test_strengths_of_three_levels(size, spread, raters):
    """30 subjects; each subject (0.5) and each rater (spread) has own strengths of the levels."""

    def table(rng, subjects, people):
        own = PLANTED + 0.5 * rng.normal(size=(subjects, 1, 3)) + spread * rng.normal(size=(1, people, 3))
        chance = expit(own[:, :, PAIRS[:, 1]] - own[:, :, PAIRS[:, 0]])
        subject, rater, pair = (each.ravel() for each in np.indices(chance.shape))
        more = (rng.random(chance.shape) < chance).ravel().astype(float)
        return *PAIRS[pair].T, more, subject, rater

    rng, truth = np.random.default_rng([raters, 30, int(10 * spread)]), strengths_of_everyone(spread)
    hits, printed = np.zeros(2), 0
    for _ in range(size.tables):
        found = pair_ranking(*table(rng, 30, raters)).strengths[1:]
        if np.isfinite(found[0].low):
            printed += 1
            hits += [each.low <= true <= each.high for each, true in zip(found, truth, strict=True)]
    assert printed >= 0.95 * size.tables
    size.covers(hits / printed)
