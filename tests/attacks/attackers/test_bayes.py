"""The closed form is the best there is, and says what counting says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaky_data import planted
from oracles import leakage_by_loops

from transect.attacks import Problem, dataset_leakage, labelled, perturb
from transect.attacks.attackers import Bayes
from transect.attacks.attackers.classical import conditional_frequencies
from transect.attacks.records import Evidence


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_leakage_by_counting(seed, c):
    rng = np.random.default_rng(seed)
    n = 60
    category, protected = (
        rng.integers(0, 5, n),
        np.concatenate([np.arange(c), np.arange(c), rng.integers(0, c, n - 2 * c)]),
    )
    split = np.array(["train"] * c + ["test"] * c + rng.choice(["train", "test"], n - 2 * c).tolist())
    found = dataset_leakage(labelled(category, protected, split=split), Bayes())
    rows = [
        list(zip(category[split == s].tolist(), protected[split == s].tolist(), strict=True)) for s in ("train", "test")
    ]
    assert found.estimate == pytest.approx(leakage_by_loops.majority_leakage(*rows, range(c)))


def test_the_planted_leakage_is_found():
    # Classes are balanced within the data, and 3/4 of each category's items have its class: 75 %.
    found = dataset_leakage(planted(n=40_000), Bayes())
    assert found.low < 75 < found.high
    assert found.high - found.low < 2


def test_a_category_never_seen_is_a_tie():
    evidence = Evidence(("a", "b"), category=np.array([0, 0, 1]))
    problem = Problem(evidence, np.array([0, 1, 1]), 2, np.array([0, 1]), np.array([2]))
    assert Bayes().attack([problem])[0].tolist() == [[0.0, 0.0]]


@settings(deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 0.45))
def test_flipped_rows_get_the_exact_posterior_order(seed, rate):
    """The sum over set bits decides as the likelihood, summed over all categories, does."""
    rng = np.random.default_rng(seed)
    data = labelled(np.concatenate([np.arange(5), rng.integers(0, 5, 55)]), np.arange(60) % 2)
    noisy = perturb(data, "flips", rate, seed)
    problem = Problem(noisy, data.protected, 2, np.arange(60), np.arange(60))
    prior = conditional_frequencies(data.labels.category, problem).tolist()
    for row, scores in zip(noisy.values.tolist(), Bayes().attack([problem])[0], strict=True):
        exact = leakage_by_loops.flip_posterior(row, prior, rate)
        assert np.sign(np.round(scores[1] - scores[0], 9)) == np.sign(np.round((exact[1] - exact[0]) / max(exact), 9))
