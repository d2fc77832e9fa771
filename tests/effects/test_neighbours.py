"""Errors among nearest neighbours, against all distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from transect.effects.identity_pairs import preserved


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([np.inf, 1.2]))
def test_errors_equal_those_of_all_distances(seed, lattice, threshold):
    rng = np.random.default_rng(seed)
    n, k = 60, 4
    x = rng.integers(0, 3, (n, 2)).astype(float) if lattice else rng.normal(size=(n, 2))
    x[0] += 0.2
    second, age, race = rng.normal(size=(n, 2)), rng.normal(size=n), rng.choice(list("abc"), n)
    people = rng.integers(0, 25, n)
    distance = cdist(x, x)
    distance[(cdist(second, second) >= threshold) | np.eye(n, dtype=bool)] = np.inf
    ages, races, other = [], [], []
    for i in range(n):
        order = [j for j in np.lexsort((np.arange(n), distance[i]))[:k] if distance[i, j] < np.inf]
        if order:
            ages.append(np.mean(np.abs(age[order] - age[i])))
            races.append(np.mean(race[order] != race[i]))
            if (people == people[i]).sum() > 1:
                other.append(people[order[0]] != people[i])
    made = preserved(
        x, {"age": age, "race": race}, {"age": "continuous", "race": "categorical"},
        identity=people, k=k, second=second, second_threshold=threshold,
    )  # fmt: skip
    expected = [np.mean(ages), np.mean(races), np.mean(other) if other else np.nan]
    np.testing.assert_allclose([one.error for one in made], expected)
    assert [one.n_images for one in made] == [len(ages), len(races), len(other)]


def test_the_standard_error_clusters_by_identity():
    """Four images of two identities with errors 1, 1, 3, 3: mean 2, cluster sums -2 and 2, SE sqrt(8 x 2) / 4 = 1."""
    x = np.array([[0.0], [1.0], [100.0], [101.0]])
    value = np.array([0.0, 1.0, 0.0, 3.0])
    made = preserved(x, {"v": value}, {"v": "continuous"}, identity=list("aabb"), k=1)
    assert made[0].error == 2.0
    assert made[0].standard_error == pytest.approx(1.0)
    assert made[1].error == 0.0


def test_missing_values_and_bad_input():
    x = np.array([[0.0], [1.0], [1.5]])
    made = preserved(x, {"v": np.array([1.0, np.nan, 4.0])}, {"v": "continuous"}, k=2)[0]
    assert (made.error, made.n_images) == (3.0, 2)


def test_the_standard_error_allows_for_images_that_are_near_to_several():
    """A star: three images around one in the middle, each with it as nearest, and it with the first.

    Errors are 0, 1, 2 and 0, of mean 3/4: parts -3/16, 1/16, 5/16 and -3/16. Sums of what touches an image: the middle 0,
    the others -6/16, 1/16, 5/16; pairs the same. Variance 0 + 62/256 less 62/256 is 0, so that by image counts:
    (9 + 1 + 25 + 9) / 256 · 4/3.
    """
    x = np.array([[0.0, 0.0], [0.9, 0.0], [0.0, 1.0], [0.0, -1.0]])
    made = preserved(x, {"v": np.array([0.0, 0.0, 1.0, 2.0])}, {"v": "continuous"}, k=1)[0]
    assert made.error == 0.75
    assert made.standard_error == pytest.approx(np.sqrt(44 / 256 * 4 / 3))


@pytest.mark.coverage
def test_the_standard_error_is_that_of_repeated_samples():
    """An attribute that has nothing to do with the features: neighbours share images, and no image alone says how much."""
    found = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        x, v = rng.normal(size=(100, 4)), rng.exponential(size=100)
        found.append(preserved(x, {"v": v}, {"v": "continuous"}, k=5)[0])
    spread = np.std([one.error for one in found], ddof=1)
    assert np.sqrt(np.mean([one.standard_error**2 for one in found])) == pytest.approx(spread, rel=0.2)
