"""The optimum, against SciPy's dense assignment and all permutations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.matching_by_matrix import allowed_matrix
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from transect.designs.matching import make_sample, optimal
from transect.designs.matching.assignment import assign


def dense(features, treatment, *, ratio=1, caliper=np.inf, **constraints):
    """Number of pairs and total distance of SciPy's dense assignment, forbidden pairs far above all others."""
    a, b = np.flatnonzero(treatment == 1), np.flatnonzero(treatment == 0)
    distance = cdist(features, features)
    ok = allowed_matrix(treatment, **constraints) & (distance <= caliper)
    cost = np.where(ok, distance, 1e6)[np.ix_(a, b)]
    cost = np.repeat(cost, ratio, axis=0)
    rows, columns = linear_sum_assignment(cost)
    kept = cost[rows, columns] < 1e6
    return int(kept.sum()), float(cost[rows, columns][kept].sum())


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(4, 70),
    st.booleans(),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([np.inf, 1.5]),
)
def test_total_equals_the_dense_assignment(seed, n, lattice, ratio, caliper):
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 4, (n, 3)).astype(float) if lattice else rng.normal(size=(n, 3))
    features[0] += 0.3
    treatment = rng.permuted(np.arange(n) % 3 == 0).astype(float)
    exact = rng.integers(0, 2, n)
    made = optimal(make_sample(features, treatment, exact=[exact]), ratio=ratio, caliper=caliper)
    pairs, total = dense(features, treatment, ratio=ratio, caliper=caliper, exact=exact)
    assert len(made) == pairs
    assert made.facts["total_distance"] == pytest.approx(total)
    assert len(set(made.b.tolist())) == len(made)


def test_short_lists_grow_to_the_optimum(monkeypatch):
    """With lists of two candidates most images lack their optimal partner at first; prices bring it in."""
    monkeypatch.setattr("transect.designs.matching.assignment._LIST", 2)
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, 2))
    treatment = (np.arange(300) < 140).astype(float)
    made = optimal(make_sample(features, treatment))
    assert made.facts["rounds"] > 2
    assert made.facts["total_distance"] == pytest.approx(dense(features, treatment)[1])
    assert made.facts["gap"] < 1e-6


def test_identities_by_all_choices():
    """Three people treated, three controls, two images each: every assignment and every choice of images."""
    rng = np.random.default_rng(3)
    features, identity = rng.normal(size=(12, 2)), np.repeat(np.arange(6), 2)
    treatment = (identity < 3).astype(float)
    distance = cdist(features, features)
    best = min(
        sum(distance[np.ix_([2 * a, 2 * a + 1], [2 * b, 2 * b + 1])].min() for a, b in enumerate(order))
        for order in itertools.permutations([3, 4, 5])
    )
    made = optimal(make_sample(features, treatment, identity=identity))
    assert made.facts["total_distance"] == pytest.approx(best)
    assert len(set(identity[made.a].tolist())) == len(set(identity[made.b].tolist())) == 3


def test_an_identity_in_both_groups_stays_where_it_has_more_images():
    features = np.array([[0.0], [0.1], [0.2], [5.0]])
    made = optimal(make_sample(features, [1.0, 1.0, 0.0, 0.0], identity=["x", "x", "x", "y"]))
    assert (made.a.tolist(), made.b.tolist()) == ([1], [3])
    swapped = optimal(make_sample(features, [0.0, 0.0, 1.0, 1.0], identity=["x", "x", "x", "y"]))
    assert swapped.refused == {2: "identity in both groups"}


def test_prices_prove_the_assignment():
    """Dual feasibility on every edge, equality on the chosen ones, no price on a free column."""
    rng = np.random.default_rng(2)
    weights = rng.random((30, 40))
    rows, columns = np.nonzero(rng.random((30, 40)) < 0.3)
    made = assign(rows, columns, weights[rows, columns], 30, 40)
    slack = weights[rows, columns] + made.price[columns] - made.cost[rows]
    assert slack.min() > -1e-9
    chosen = made.partner[rows] == columns
    np.testing.assert_allclose(slack[chosen], 0, atol=1e-9)
    free = np.setdiff1d(np.arange(40), made.partner)
    assert (made.price[free] == 0).all()
