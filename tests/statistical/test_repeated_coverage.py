"""Do intervals of transects over photographs cover where people repeat, and do their tests hold their level? (slow)

Each of some people is on one to eight photographs, which are alike in part. Misses taken photograph by photograph,
as if each showed another person, are simulated beside them: what the person as cluster is for.
"""

import numpy as np
import pytest

from transect.effects import intervals, randomization, repeated

RUNS = 1000
COVERED = 0.95 - 2 * np.sqrt(0.95 * 0.05 / RUNS)
ALLOWED = 0.05 + 2 * np.sqrt(0.05 * 0.95 / RUNS)


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


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("people", [10, 30, 100])
def test_intervals_of_scores_cover(people, alike):
    rng, covered, alone = np.random.default_rng([people, int(10 * alike)]), 0, 0
    for _ in range(RUNS):
        who = photographs(rng, people)
        d = scores(rng, who, alike, skewed=False)[:, None]
        found = repeated.mean_difference_interval(d, who, binary=False)
        covered += found.low[0] <= 0.3 <= found.high[0]
        half = 1.96 * d.std(ddof=1) / np.sqrt(len(d))
        alone += abs(d.mean() - 0.3) <= half
    print(f"{people} people, alike {alike}: {covered / RUNS:.3f}; photograph by photograph {alone / RUNS:.3f}")
    assert covered / RUNS >= COVERED
    if alike == 1.0:
        assert alone / RUNS < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("people", [30, 100])
def test_intervals_of_skewed_scores_cover_nearly(people):
    rng, covered = np.random.default_rng(people), 0
    for _ in range(RUNS):
        who = photographs(rng, people)
        found = repeated.mean_difference_interval(scores(rng, who, 0.7, skewed=True)[:, None], who, binary=False)
        covered += found.low[0] <= 0.3 <= found.high[0]
    print(f"{people} people, skewed: {covered / RUNS:.3f}")
    assert covered / RUNS >= 0.89


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("people", [10, 30, 100])
@pytest.mark.parametrize(("up", "down"), [(0.3, 0.1), (0.1, 0.1), (0.05, 0.0), (0.02, 0.02)])
def test_intervals_of_misses_cover(up, down, people, alike):
    rng, covered = np.random.default_rng([people, int(10 * alike), int(100 * up)]), 0
    for _ in range(RUNS):
        who = photographs(rng, people)
        found = repeated.mean_difference_interval(misses(rng, who, alike, up, down)[:, None], who, binary=True)
        covered += found.low[0] - 1e-9 <= up - down <= found.high[0] + 1e-9
    print(f"{people} people, alike {alike}, {up:g} up, {down:g} down: {covered / RUNS:.3f}")
    assert covered / RUNS >= COVERED


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 1.0])
@pytest.mark.parametrize("people", [10, 30, 100])
def test_tests_hold_their_level(people, alike):
    rng, rejected, alone = np.random.default_rng([people, int(10 * alike), 7]), 0, 0
    for _ in range(RUNS):
        who = photographs(rng, people)
        d = misses(rng, who, alike, 0.2, 0.2)[:, None]
        rejected += repeated.sign_flip(d, who)[0][0] <= 0.05
        alone += randomization.sign_flip(d)[0][0] <= 0.05
    print(
        f"{people} people, alike {alike}: rejected {rejected / RUNS:.3f}; photograph by photograph {alone / RUNS:.3f}"
    )
    assert rejected / RUNS <= ALLOWED
    if alike == 1.0:
        assert alone / RUNS > 0.15


@pytest.mark.slow
def test_one_score_interval_is_that_of_people_where_nobody_repeats():
    rng = np.random.default_rng(0)
    d = misses(rng, np.arange(400), 0.0, 0.2, 0.1)[:, None]
    ours = repeated.paired_score(d, np.arange(400), np.ones(1), 0.95)
    low, high = intervals.paired_score_interval((d > 0).sum(), (d < 0).sum(), 400)
    assert (ours[0][0], ours[1][0]) == pytest.approx((float(low), float(high)), rel=0.02)
