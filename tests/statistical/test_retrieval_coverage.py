"""Shares of levels among the first images and MaxSkew: intervals cover, tests of these and NDKL keep their level (slow)."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from transect.effects.retrieval import retrieval_skew


def similarities(rng, subjects, shifts, own):
    """Standard normal at the first level; a share `own` of the variance is the subject's."""
    of_subject, of_image = rng.standard_normal((subjects, 1, 1)), rng.standard_normal((subjects, len(shifts), 1))
    return np.sqrt(own) * of_subject + np.sqrt(1 - own) * of_image + np.asarray(shifts)[None, :, None]


def shares(shifts, part):
    """Of each level above what this part of all images exceeds."""
    shifts = np.asarray(shifts)
    cut = brentq(lambda x: ndtr(shifts - x).mean() - part, -9, 9)
    return ndtr(shifts - cut) / ndtr(shifts - cut).sum()


def test_shares_and_skews_of_the_first_images(size, subjects, shifts):
    tables = 1000 if not (size.small or any(shifts)) else size.tables
    for own in size.some((0.8, 0.2)):
        rng = np.random.default_rng([subjects, len(shifts), int(10 * shifts[1]), int(10 * own)])
        firsts = [10, subjects // 2 + 1]
        held, rejected = np.zeros((len(firsts), 2)), np.zeros(len(firsts) + 1)
        for _ in range(tables):
            found = retrieval_skew(similarities(rng, subjects, shifts, own), firsts, resamples=99)
            rejected[-1] += found.p <= 0.05
            for row, top in enumerate(found.first):
                true = shares(shifts, top.k / found.images)
                skews = np.log(len(true) * true)
                within = [each.low <= value <= each.high for each, value in zip(top.shares, true, strict=True)]
                held[row, 0] += all(within)
                held[row, 1] += top.max_skew.low - 1e-9 <= skews.max() <= top.max_skew.high
                rejected[row] += top.max_skew_p <= 0.05
        size.covers(held / tables, tables)
        if not any(shifts):
            size.rejects(rejected / tables, tables)
