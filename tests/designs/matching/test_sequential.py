"""The paper's sequential order, against the full matrix and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.matching_by_matrix import sequential

from transect.designs.matching import greedy, make_sample
from transect.designs.matching.search import Search


def pairs_of(made):
    return list(zip(made.a.tolist(), made.b.tolist(), strict=True))


def test_by_hand_the_nearest_pair_goes_first_and_takes_its_control_from_the_other():
    # Distances 0-2: 1, 0-3: 4, 1-2: .5, 1-3: 2.5. Nearest first: (1, 2), and 0 is left with 3 at 4; total 4.5, where
    # the assignment (0, 2), (1, 3) would have 3.5: the order is the paper's, not the optimum's.
    made = greedy(make_sample(np.array([[0.0], [1.5], [1.0], [4.0]]), [1.0, 1.0, 0.0, 0.0]))
    assert pairs_of(made) == [(1, 2), (0, 3)]
    np.testing.assert_allclose(made.distance, [0.5, 4.0])


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(4, 60),
    st.sampled_from(["plain", "exact", "identity", "second", "dose", "all"]),
    st.booleans(),
    st.sampled_from([np.inf, 2.0, 0.5]),
    st.booleans(),
)
def test_equals_the_full_matrix(seed, n, kind, lattice, caliper, double):
    """With ties (features on a lattice) and without, in both precisions, under every constraint."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 3, (n, 3)).astype(float) if lattice else rng.normal(size=(n, 3))
    treatment = rng.permuted(np.arange(n) % 2).astype(float)
    constraints = {}
    if kind in ("exact", "all"):
        constraints["exact"] = rng.integers(0, 3, n)
    if kind in ("identity", "all"):
        constraints["identity"] = rng.integers(0, n // 2, n)
    if kind in ("second", "all"):
        constraints |= {"second": rng.normal(size=(n, 2)), "threshold": 1.5}
    if kind == "dose":
        treatment = rng.normal(size=n)
        constraints["gap"] = 0.7
    features[0] += 0.25  # never all the same
    expected = sequential(features, treatment, caliper=caliper, **constraints)
    given_ = {
        "exact": [constraints["exact"]] if "exact" in constraints else [],
        "identity": constraints.get("identity"),
        "second": constraints.get("second"),
        "second_threshold": constraints.get("threshold", np.inf),
        "dose_gap": constraints.get("gap", 0.0),
    }
    sample = make_sample(features, treatment, **given_)
    made = greedy(sample, search=Search(sample, caliper=caliper, double=double))
    assert pairs_of(made) == expected
    if kind != "dose":
        assert len(made) + sum(made.refusals.values()) == int(treatment.sum())


@pytest.mark.integration
@pytest.mark.parametrize("width", [300, 9216])
def test_wide_features_in_single_precision_equal_the_full_matrix(width):
    """As w+ comes: thousands of float32 columns, some directions long, identities with several images."""
    rng = np.random.default_rng(width)
    n = 600
    scales = np.exp(rng.normal(0, 1, width))
    features = (rng.normal(size=(n, width)) * scales + 3).astype(np.float32)
    treatment = (rng.random(n) < 0.4).astype(float)
    identity = np.where(treatment == 1, rng.integers(0, 150, n), 1000 + rng.integers(0, 150, n))
    sample = make_sample(features, treatment, identity=identity)
    made = greedy(sample, search=Search(sample, double=False))
    assert pairs_of(made) == sequential(features, treatment, identity=identity)


def test_refusals_by_hand():
    # Rows 0-5 treated, 6-9 controls. 0 has no control in its stratum; 1's only control (6) is the same person; 2's only
    # control (7) is 5 away in the second embedding; 3 and 4 share control 8, nearer to 3; 5 is a missing value.
    features = np.array([[0.0], [1], [2], [3], [3.5], [np.nan], [1], [2], [3.1], [9]])
    treatment = np.array([1.0] * 6 + [0.0] * 4)
    exact = [["alone", "one", "two", "three", "three", "three", "one", "two", "three", "nobody"]]
    identity = ["p0", "p1", "p2", "p3", "p4", "p5", "p1", "p7", "p8", "p9"]
    second = np.array([[0.0], [0], [5], [0], [0], [0], [0], [0], [0], [0]])
    made = greedy(make_sample(features, treatment, exact=exact, identity=identity, second=second, second_threshold=1.0))
    assert pairs_of(made) == [(3, 8)]
    assert made.refused == {
        0: "exact",
        1: "identity",
        2: "second distance",
        4: "partners taken",
        5: "missing value",
    }
    assert made.near == {1: (6, 0.0), 2: (7, 0.0), 4: (8, pytest.approx(0.4))}
