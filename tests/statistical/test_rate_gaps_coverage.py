"""The largest gap of an error rate between equal groups is called a difference in at most 5 % of tables (slow)."""

import numpy as np

from transect.effects.recognition import rate_gaps, recognition_verification

LIMITS = [1.8, 2.5]


def draw(rng, people, images=3, dimensions=8):
    """Some people lie farther from the middle than others, so that some match many others."""
    center = rng.normal(size=(people, dimensions)) * np.exp(0.35 * rng.normal(size=(people, 1)))
    return (center[:, None] + 0.4 * rng.normal(size=(people, images, dimensions))).reshape(-1, dimensions)


def test_equal_groups_rarely_differ(size, sizes):
    rng, found = np.random.default_rng(1), []
    who = np.repeat(np.arange(sum(sizes)), 3)
    groups = np.repeat([f"g{place}" for place in range(len(sizes))], np.array(sizes) * 3)
    for _ in range(size.tables):
        errors = recognition_verification(draw(rng, sum(sizes)), who, groups, LIMITS)
        found.append([gap.low > 0 for gap in rate_gaps(errors, LIMITS)])
    shares = np.mean(found, axis=0)
    size.rejects(shares)
