"""AUC and R2 against slow counting, weights against repeated rows, intervals against what they must hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation.discrimination import auc, macro_auc, not_estimable, pairs_auc, r_squared, with_interval

ROWS = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3)), min_size=1, max_size=30)


def counted(score, positive, weight):
    """Every positive row against every negative one, as heavy as their weights' product."""
    won = total = 0.0
    for s, p, w in zip(score, positive, weight, strict=True):
        for t, q, v in zip(score, positive, weight, strict=True):
            if p and not q:
                total += w * v
                won += w * v * ((s > t) + 0.5 * (s == t))
    return won / total if total else np.nan


@given(ROWS)
def test_auc_counts_pairs(rows):
    score, positive, weight = (np.array(column) for column in zip(*rows, strict=True))
    found = auc(score.astype(float), positive.astype(bool), weight[None].astype(float))
    np.testing.assert_allclose(found, [counted(score, positive, weight)], rtol=0, atol=1e-12)


def test_whole_weights_are_repeated_rows():
    generator = np.random.default_rng(1)
    truth, reading, weight = generator.random(40), generator.random(40), generator.integers(0, 4, 40)
    repeated = np.repeat(np.arange(40), weight)
    weights = weight[None].astype(float)
    assert r_squared(reading, truth, weights)[0] == pytest.approx(r_squared(reading[repeated], truth[repeated])[0])
    level = generator.integers(0, 3, 40)
    scores = generator.random((40, 3))
    assert macro_auc(scores, level, weights)[0] == pytest.approx(macro_auc(scores[repeated], level[repeated])[0])


def test_macro_auc_is_the_mean_over_levels_that_occur():
    # Level 0 against 2: its own column orders them fully (1), the other's is tied throughout (.5); 1 does not occur.
    scores = np.array([[0.9, 0.0, 0.5], [0.8, 0.0, 0.5], [0.1, 0.0, 0.5]])
    assert macro_auc(scores, np.array([0, 0, 2]))[0] == pytest.approx(0.75)


def test_what_cannot_be_estimated_is_nan_with_its_reason():
    assert np.isnan(auc(np.array([1.0, 2.0]), np.array([True, True]))[0])
    assert np.isnan(auc(np.empty(0), np.empty(0, dtype=bool))[0])
    assert np.isnan(r_squared(np.array([1.0, 2.0]), np.array([3.0, 3.0]))[0])
    figure = with_interval(lambda w: r_squared(np.ones(5), np.ones(5), w), 5)
    assert figure.as_dict() == {
        "value": None,
        "low": None,
        "high": None,
        "n": 5,
        "reason": "both kinds, or truth that varies, are needed",
    }
    assert with_interval(lambda w: w.sum(1), 0).reason
    assert not_estimable("why").reason == "why"


def test_an_interval_is_seeded_and_holds_its_value():
    generator = np.random.default_rng(2)
    truth = generator.random(300) < 0.4
    score = truth + generator.normal(0, 1.5, 300)
    one, two = (with_interval(lambda w: auc(score, truth, w), 300, resamples=200) for _ in range(2))
    assert one == two
    assert one.low < one.value < one.high
    # Hanley and McNeil's standard error at AUC .7 with 120 and 180 rows is about .031: a width of about .12
    assert 0.07 < one.high - one.low < 0.2


def test_pairs_weigh_as_the_product_of_their_subjects():
    # Two subjects with two pictures each: same pairs .9 and .3, different pairs .5 twice: of 4 comparisons 2 are won.
    likeness, one, other = np.array([0.9, 0.3, 0.5, 0.5]), np.array([0, 1, 0, 0]), np.array([0, 1, 1, 1])
    figure = pairs_auc(likeness, one, other, resamples=50)
    assert figure.value == 0.5
    assert figure.n == 2
    # Resamples without one of the subjects have no pairs of two; those left weigh both subjects once.
    assert (figure.low, figure.high) == (0.5, 0.5)


@pytest.mark.slow
def test_intervals_by_subject_cover():
    """95 % intervals of the AUC of pairs, over 300 worlds of 40 subjects whose true AUC is known by simulation."""
    generator = np.random.default_rng(3)

    def world(subjects):
        person = np.repeat(generator.normal(0, 1, (subjects, 2)), 3, axis=0)
        seen = person + generator.normal(0, 0.8, person.shape)
        subject = np.repeat(np.arange(subjects), 3)
        one, other = np.triu_indices(3 * subjects, 1)
        return -np.linalg.norm(seen[one] - seen[other], axis=1), subject[one], subject[other]

    likeness, one, other = world(1200)
    true = auc(likeness, one == other)[0]
    inside = 0
    for seed in range(300):
        figure = pairs_auc(*world(40), resamples=400, seed=seed)
        inside += figure.low <= true <= figure.high
    assert 0.90 <= inside / 300 <= 0.99, inside
