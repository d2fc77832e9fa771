"""Do intervals over repeats of a search hold where only some repeats find a region of failures? (slow)"""

import numpy as np
from benchmarks._medians import median_interval


def counts(rng, tables, repeats, found, far):
    """Failures of each repeat: about 4, and about `far` in the share of searches that come upon the region."""
    inside = rng.random((repeats, tables)) < found
    return np.where(inside, rng.binomial(2 * far, 0.5, inside.shape), rng.binomial(80, 0.05, inside.shape)) * 1.0


def test_intervals_of_medians_hold_whatever_the_target(size, found, repeats):
    """Of a count, and of a difference; the truth is any value with half of a million searches on either side."""
    rng = np.random.default_rng([repeats, int(10 * found)])
    for far in (10, 60):
        values = counts(rng, size.tables, repeats, found, far) - counts(rng, size.tables, repeats, 0.0, far)
        low, high = median_interval(values)
        many = (counts(rng, 4000, 100, found, far) - counts(rng, 4000, 100, 0.0, far)).ravel()
        truth = np.median(many)
        covered = np.mean((low <= truth) & (truth <= high))
        size.covers(covered)
