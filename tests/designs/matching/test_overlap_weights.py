"""Overlap weights, more than two groups, references, doses: by hand."""

import numpy as np
import pytest

from transect.designs.matching import (
    choose_references,
    greedy,
    make_sample,
    match_groups,
    optimal,
    overlap_weights,
    usable_references,
    without_reference,
)


def mixed(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    t = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
    return x, t


# Weights.


def test_overlap_weights_balance_the_means_exactly():
    x, t = mixed(seed=3)
    weights, facts = overlap_weights(make_sample(x, t), x)
    np.testing.assert_allclose(weights[t == 1] @ x[t == 1], weights[t == 0] @ x[t == 0], atol=1e-6)
    assert weights[t == 1].sum() == pytest.approx(1)
    assert facts["effective_treated"] < t.sum()


# More than two groups, and doses.


def test_sets_keep_each_refusals_reason_and_nearest_image_by_hand():
    """Bases at 0, 3, 9 and one missing. Within 1: of b (.5, 3.5) 9 has none, nearest 3.5; of c (.2, 5, 6) 3 has none."""
    x = np.array([[0.0], [3.0], [9.0], [np.nan], [0.5], [3.5], [0.2], [5.0], [6.0], [7.0], [7.5]])
    group = np.array(list("aaaabbccccc"))
    sample = make_sample(x, (group == "a").astype(float))
    sets = match_groups(sample, group, lambda one: greedy(one, caliper=1.0), base="a")
    assert (sets.groups, sets.rows.tolist()) == (("a", "b", "c"), [[0, 4, 6]])
    assert sets.refused == {2: "caliper (with b)", 1: "caliper (with c)", 3: "missing value"}
    assert sets.near == {2: (5, 5.5), 1: (7, 2.0)}


def test_a_group_whose_people_are_all_in_sets_refuses_for_their_identity():
    """r and s of b are with the bases p and q, and c has images of r and s alone."""
    x = np.array([[0.0], [3.0], [0.5], [3.5], [0.2], [0.3]])
    group = np.array(list("aabbcc"))
    sample = make_sample(x, (group == "a").astype(float), identity=list("pqrsrs"))
    for method in (greedy, optimal):
        sets = match_groups(sample, group, method, base="a")
        assert sets.refused == {0: "identity used (with c)", 1: "identity used (with c)"}


def test_a_dose_pairs_images_that_are_alike_and_differ_in_dose_by_hand():
    # Doses 0, 1, 2, 5; a gap of 2 allows 2-0, 5-0, 5-1, 5-2 (a the higher). Distances .5, 3, 1, .4: (3, 2) goes first
    # and takes both, which leaves 0 and 1, whose doses are too near.
    x = np.array([[0.0], [2.0], [0.5], [0.9]])
    made = greedy(make_sample(x, [0.0, 1.0, 2.0, 5.0], dose_gap=2.0))
    assert (made.a.tolist(), made.b.tolist()) == ([3], [2])


# Reference images.


def test_references_of_equal_difficulty_by_hand():
    """Person p: image at 0, others at 1, 4 and 9 (glasses). Person q: image at 100, others at 103.5 and 120.

    Difficulties 1, 4 (9 wears glasses) and 3.5, 20: the nearest to equal are 4 and 3.5.
    """
    x = np.array([[0.0], [1], [4], [9], [100], [103.5], [120], [55]])
    identity = list("ppppqqqr")
    glasses = np.array([0.0, 0, 0, 1, 1, 0, 0, 0])
    sample = make_sample(x, [1.0, 1, 1, 1, 0, 0, 0, 0], identity=identity)
    usable = usable_references(sample, {"glasses": (glasses, 0.0)})
    assert without_reference(sample, usable) == {7: "no valid reference"}
    pairs = greedy(
        make_sample(x, [1.0, 0, 0, 0, 0, 0, 0, 0], identity=identity, ineligible=dict.fromkeys([1, 2, 3, 5, 6, 7], "x"))
    )
    assert (pairs.a.tolist(), pairs.b.tolist()) == ([0], [4])
    chosen = choose_references(sample, pairs, usable)
    assert (chosen.a.tolist(), chosen.b.tolist()) == ([2], [5])
    assert chosen.difficulty.mean_difference_in_pairs == pytest.approx(0.5)
