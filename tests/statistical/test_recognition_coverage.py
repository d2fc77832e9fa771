"""Recognition with few identities: false matches, ratios, thresholds, rates at them and changes by matching (slow).

Identities lie farther from the middle or nearer to it, so that some match many others ("hubs"): comparisons that share
one are alike. The truth is that of thousands of identities. Coverage of 95 % intervals is at least 93 %, and two
standard errors of the simulation less.
"""

from functools import cache

import numpy as np

from transect.effects.recognition import difference_of_means, differentials, recognition_verification
from transect.effects.verification import Rule, find_threshold

DIMENSIONS = 8


def draw(rng, people, images):
    """Embeddings of `people` identities, `images` each."""
    center = rng.normal(size=(people, DIMENSIONS)) * np.exp(0.35 * rng.normal(size=(people, 1)))
    return (center[:, None] + 0.4 * rng.normal(size=(people, images, DIMENSIONS))).reshape(-1, DIMENSIONS)


def apart(x):
    squares = (x**2).sum(axis=1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares[None] - 2 * x @ x.T, 0))
    return distance[np.triu_indices(len(x), 1)]


@cache
def population():
    """Distances of different identities, and of two images of one, both sorted."""
    rng = np.random.default_rng(0)
    genuine = draw(rng, 100_000, 2).reshape(-1, 2, DIMENSIONS)
    genuine = np.linalg.norm(genuine[:, 0] - genuine[:, 1], axis=1)
    return np.sort(np.concatenate([apart(draw(rng, 1500, 1)) for _ in range(6)])), np.sort(genuine)


def inside(value, ends):
    return bool(ends[0] <= value <= ends[1])


def test_false_match_rates_cover(size, people):
    rates = [0.01, 0.05, 0.2]
    limits = np.quantile(population()[0], rates).tolist()
    covered, rng, who = np.zeros(3), np.random.default_rng(people), np.repeat(np.arange(people), 3)
    for _ in range(size.tables):
        (found,) = recognition_verification(draw(rng, people, 3), who, ["g"] * len(who), limits)
        covered += [inside(rate, ends) for rate, ends in zip(rates, found.fmr_interval, strict=True)]
    size.covers(covered / size.tables)


def test_ratios_of_equal_groups_cover_one(size, people):
    limits = np.quantile(population()[0], [0.02, 0.1]).tolist()
    covered, known, rng = np.zeros(2), np.zeros(2), np.random.default_rng(people)
    who = np.repeat(np.arange(2 * people), 3)
    group = np.where(who < people, "f", "m")
    for _ in range(size.tables):
        found = recognition_verification(draw(rng, 2 * people, 3), who, group, limits)
        rows = [row for row in differentials(found, limits) if row.rate == "fmr"]
        known += [np.isfinite(row.largest) for row in rows]
        covered += [inside(1.0, row.ratio_interval[0]) for row in rows]
    size.covers(covered / known)


def test_thresholds_of_subjects_cover(size, people):
    """One reference image each, by the cosine of embeddings that are not centered."""
    rng, tables, rate = np.random.default_rng(people), size.tables, 0.05
    many = draw(np.random.default_rng(0), 3000, 1) + 0.5
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    truth = float(np.quantile((1 - many @ many.T)[np.triu_indices(3000, 1)], rate))
    covered = 0
    for _ in range(tables):
        found = find_threshold(draw(rng, people, 1) + 0.5, np.arange(people), np.zeros(people, int), Rule(None, rate))
        covered += inside(truth, (found.low, found.high))
    size.covers(covered / tables)


def test_thresholds_over_groups_and_fnmr_at_them_cover(size, people):
    from transect.effects.recognition import pooled_thresholds, threshold_ends

    tables = size.tables if people == 20 else min(size.tables, 200)  # more people take long
    impostor, genuine = population()
    truth = float(np.quantile(impostor, 0.01))
    missed = 1 - np.searchsorted(genuine, truth) / len(genuine)
    covered, rng = np.zeros(2), np.random.default_rng(people)
    who = np.repeat(np.arange(2 * people), 3)
    group = np.where(who < people, "f", "m")
    for _ in range(tables):
        x = draw(rng, 2 * people, 3)
        (at,), _, _ = pooled_thresholds(x, who, group, [0.01])
        ends = threshold_ends(x, who, group, at, 0.01)
        found = recognition_verification(x, who, group, [at], ends=[ends])[0]
        covered += [inside(truth, ends), inside(missed, found.fnmr_interval[0])]
    size.covers(covered / tables, tables)


def test_differences_of_mean_distances_cover(size, people):
    """Two to five images each, and images of one identity twice as far apart in one group."""
    rng, tables, covered = np.random.default_rng(people), size.tables, 0
    spread = np.where(np.arange(2 * people) < people, 0.4, 0.8)
    # The mean distance of two normal points of spread s in 8 dimensions: s sqrt 2 times the mean of chi with 8.
    truth = 0.4 * np.sqrt(2) * np.sqrt(2) * 11.6317283966 / 6
    for _ in range(tables):
        who = np.repeat(np.arange(2 * people), rng.integers(2, 6, 2 * people))
        x = 20.0 * who[:, None] + spread[who][:, None] * rng.normal(size=(len(who), DIMENSIONS))
        f, m = recognition_verification(x, who, np.where(who < people, "f", "m"), [1.0])
        effect = difference_of_means(m, f, "", "")
        covered += inside(truth, (effect.low, effect.high))
    size.covers(covered / tables)


def test_changes_of_gaps_are_found_in_five_percent_where_matching_changes_nothing(size):
    """A random part of the images is "matched": no gap changes; at most 5 % of the tests say so."""
    from transect.effects.recognition import gap_changes

    limit, rng, tables, rejected = [2.0], np.random.default_rng(3), size.tables, np.zeros(3)
    who = np.repeat(np.arange(60), 4)
    group = np.where(who < 30, "f", "m")
    for _ in range(tables):
        x = draw(rng, 60, 4)
        before = recognition_verification(x, who, group, limit)
        after = recognition_verification(x, who, group, limit, rows=np.flatnonzero(rng.random(len(who)) < 0.7))
        rejected += [row.p <= 0.05 for row in gap_changes(before, after, limit)]
    size.rejects(rejected / tables)
