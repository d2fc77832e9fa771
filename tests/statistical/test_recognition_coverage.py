"""Recognition with few identities: false matches, ratios, thresholds, rates at them and changes by matching (slow)."""

from functools import cache

import numpy as np

from transect.effects.recognition import recognition_verification

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
