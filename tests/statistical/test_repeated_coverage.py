"""Do intervals of transects over photographs cover where people repeat, and do their tests hold their level? (slow)"""

import numpy as np

from transect.effects import clusters


def photographs(rng, people):
    """Who is on each photograph: one to eight of each person."""
    return np.repeat(np.arange(people), rng.integers(1, 9, people))


def scores(rng, who, alike, skewed):
    """Differences with the mean 0.3; `alike` is the correlation of two photographs of one person."""
    own = rng.normal(size=who.max() + 1)
    if skewed:
        own = rng.gamma(1.0, size=who.max() + 1) - 1
    single = rng.normal(size=len(who))
    return 0.3 + np.sqrt(alike) * own[who] + np.sqrt(1 - alike) * single


def misses(rng, who, alike, up, down):
    """Differences of -1, 0 and 1; photographs of a person follow the person's own draw in the share `alike`."""
    values, chances = np.array([1.0, -1.0, 0.0]), [up, down, 1 - up - down]
    own = rng.choice(values, size=who.max() + 1, p=chances)
    return np.where(rng.random(len(who)) < alike, own[who], rng.choice(values, size=len(who), p=chances))


def test_intervals_of_scores_cover(size, people, alike):
    rng, covered = np.random.default_rng([people, int(10 * alike)]), 0
    for _ in range(size.tables):
        who = photographs(rng, people)
        d = scores(rng, who, alike, skewed=False)[:, None]
        found = clusters.mean_difference_interval(d, who, binary=False)
        covered += found.low[0] <= 0.3 <= found.high[0]
    size.covers(covered / size.tables)


def test_intervals_of_skewed_scores_cover_nearly(size, people):
    rng, covered = np.random.default_rng(people), 0
    for _ in range(size.tables):
        who = photographs(rng, people)
        found = clusters.mean_difference_interval(scores(rng, who, 0.7, skewed=True)[:, None], who, binary=False)
        covered += found.low[0] <= 0.3 <= found.high[0]
    size.covers(covered / size.tables)


def test_intervals_of_misses_cover(size, up, down, people, alike):
    rng, covered = np.random.default_rng([people, int(10 * alike), int(100 * up)]), 0
    for _ in range(size.tables):
        who = photographs(rng, people)
        found = clusters.mean_difference_interval(misses(rng, who, alike, up, down)[:, None], who, binary=True)
        covered += found.low[0] - 1e-9 <= up - down <= found.high[0] + 1e-9
    size.covers(covered / size.tables)


def test_rare_misses_of_the_same_people_cover(size, people, share, largest):
    """One way only, nearly all of them of few people: each of whom misses 72 %, on up to this many photographs."""
    rng, covered = np.random.default_rng([people, int(1000 * share), largest]), 0
    for _ in range(size.tables):
        who = np.repeat(np.arange(people), rng.integers(1, largest + 1, people))
        chances = np.where(rng.random(people) < share, 0.72, share / 12)
        d = 1.0 * (rng.random(len(who)) < chances[who])[:, None]
        found = clusters.mean_difference_interval(d, who, binary=True)
        covered += found.low[0] <= share * 0.72 + (1 - share) * share / 12 <= found.high[0]
    size.covers(covered / size.tables)


def test_tests_hold_their_level(size, people, alike):
    rng, rejected = np.random.default_rng([people, int(10 * alike), 7]), 0
    for _ in range(size.tables):
        who = photographs(rng, people)
        d = misses(rng, who, alike, 0.2, 0.2)[:, None]
        rejected += clusters.sign_flip(d, who)[0][0] <= 0.05
    size.rejects(rejected / size.tables)
