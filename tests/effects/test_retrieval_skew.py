"""Skew of retrieval: by hand, against loops over every place and every order of ties, and on planted truth."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects.retrieval import ALL_TIED, NO_INTERVAL, NO_SUBJECTS, ONE_LEVEL, retrieval_skew


def ndkl_by_hand(levels, n_levels):
    """Geyik et al. 2019, Definition 3, one place after the other."""
    weights = [1 / math.log2(i + 1) for i in range(1, len(levels) + 1)]
    total = 0.0
    for i, weight in enumerate(weights, start=1):
        shares = [levels[:i].count(level) / i for level in range(n_levels)]
        total += weight * sum(share * math.log(share * n_levels) for share in shares if share)
    return total / sum(weights)


def ranked(values):
    """Levels from the most to the least similar."""
    places = [(-values[i, j, c], j) for i, j, c in np.ndindex(values.shape)]
    return [level for _, level in sorted(places)]


def planted(rng, subjects, shifts, cells=1):
    """Similarities with a part of the subject's own and one of the level."""
    base = rng.normal(size=(subjects, 1, 1))
    return base + np.asarray(shifts)[None, :, None] + 0.7 * rng.normal(size=(subjects, len(shifts), cells))


@pytest.mark.parametrize("shifts", [(0.0, 0.0), (0.0, 0.5, 1.0)])
def test_figures_by_hand(shifts):
    values = planted(np.random.default_rng(0), 25, shifts, cells=2)
    found = retrieval_skew(values, [10, 20], resamples=99)
    levels, k = ranked(values), len(shifts)
    assert found.ndkl.estimate == pytest.approx(ndkl_by_hand(levels, k))
    for top in found.first:
        shares = [levels[: top.k].count(level) / top.k for level in range(k)]
        assert [share.estimate for share in top.shares] == pytest.approx(shares)
        skews = [math.log(k * share) if share else -math.inf for share in shares]
        assert top.max_skew.estimate == pytest.approx(max(skews))
        assert all(share.low <= share.estimate <= share.high for share in top.shares)
        assert 0 <= top.max_skew.low <= top.max_skew.estimate <= top.max_skew.high


def test_where_levels_of_a_subject_are_found_together_images_are_worth_more_than_one():
    """39 of 40 subjects have both of their images among the first 79: only one subject shows a difference."""
    values = np.tile([[0.9], [0.8]], (40, 1, 1)) + np.arange(40)[:, None, None]
    share = retrieval_skew(values, [79], resamples=99).first[0].shares[0]
    assert share.estimate == pytest.approx(40 / 79)
    # Wilson's of 40 of 79 alone is .22 wide; of twice as many images 2 * 1.96 * sqrt(.25 / 158) = .156.
    assert share.high - share.low == pytest.approx(0.156, abs=0.005)


def test_ties_share_their_places_equally():
    """Expected counts over every order of four tied images: each loop is one order."""
    values = np.array([[[0.9], [0.5]], [[0.5], [0.5]], [[0.5], [0.1]]])  # .9 of level 0; .5 of 1, 0, 1, 0; .1 of 1
    found = retrieval_skew(values, [3], resamples=99).first[0]
    orders = list(itertools.permutations([1, 0, 1, 0]))
    expected = np.mean([[0, *order[:2]].count(0) for order in orders]) / 3
    assert found.shares[0].estimate == pytest.approx(expected)
    assert found.tied == 4


def test_by_chance_is_the_mean_over_every_permutation():
    values = planted(np.random.default_rng(2), 5, (0.0, 0.6))
    found = retrieval_skew(values, [3], resamples=4000)
    divergences, skews = [], []
    for flips in itertools.product([False, True], repeat=5):
        flipped = np.where(np.array(flips)[:, None, None], values[:, ::-1], values)
        levels = ranked(flipped)
        divergences.append(ndkl_by_hand(levels, 2))
        share = levels[:3].count(0) / 3
        skews.append(math.log(2 * max(share, 1 - share)))
    assert found.ndkl_by_chance == pytest.approx(np.mean(divergences), abs=0.02)
    assert found.first[0].max_skew_by_chance == pytest.approx(np.mean(skews), abs=0.02)
    assert found.p == pytest.approx(np.mean(np.array(divergences) >= found.ndkl.estimate - 1e-9), abs=0.03)
    seen = found.first[0].max_skew.estimate
    assert found.first[0].max_skew_p == pytest.approx(np.mean(np.array(skews) >= seen - 1e-9), abs=0.03)


def test_a_planted_preference_is_found_and_none_is_not():
    strong = retrieval_skew(planted(np.random.default_rng(6), 100, (0.0, 0.8)), [60])
    assert strong.p < 0.01
    assert strong.first[0].max_skew_p < 0.05
    assert strong.first[0].shares[1].low > 0.5
    none = retrieval_skew(planted(np.random.default_rng(7), 100, (0.0, 0.0)), [20])
    assert none.p > 0.05
    assert none.first[0].max_skew_by_chance > 0.05  # and not 0
    assert none.first[0].shares[1].low < 0.5 < none.first[0].shares[1].high


def test_what_cannot_be_estimated_has_a_reason():
    many = retrieval_skew(planted(np.random.default_rng(0), 12, (0.0, 0.0)), [5, 24, 100], resamples=99)
    assert [top.reason for top in many.first] == [
        "",
        "the first 24 of 24 images: all of them",
        "the first 100 of 24 images: all of them",
    ]
    assert np.isnan(many.first[2].max_skew.estimate)
    assert retrieval_skew(np.ones((4, 2, 1)), [3]).reason == ALL_TIED
    assert retrieval_skew(np.ones((4, 1, 1)), [3]).reason == ONE_LEVEL
    empty = retrieval_skew(np.full((4, 2, 1), np.nan), [3])
    assert (empty.reason, empty.dropped, empty.subjects) == (NO_SUBJECTS, 4, 0)
    assert (many.ndkl.reason, np.isnan(many.ndkl.low)) == (NO_INTERVAL, True)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_any_monotone_scale_and_order_of_subjects_gives_the_same(seed, k):
    rng = np.random.default_rng(seed)
    values = np.round(planted(rng, 11, (0.0, 0.3, 0.0)), 1)  # with ties
    found, again = (
        retrieval_skew(values, [k], resamples=19),
        retrieval_skew(np.exp(values)[rng.permutation(11)], [k], resamples=19),
    )
    assert [share.estimate for share in again.first[0].shares] == pytest.approx(
        [share.estimate for share in found.first[0].shares]
    )
    assert again.ndkl.estimate == pytest.approx(found.ndkl.estimate)
    assert 0 <= found.ndkl.estimate <= math.log(3) + 1e-9
