"""Noise, its expected F1, and the rate that gives an F1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaky_data import planted, planted_bits
from oracles import leakage_by_loops
from sklearn.metrics import f1_score

from transect.attacks import labelled, macro_f1, perturb, solve_rate
from transect.attacks.perturbation import NOISES, bits, expected_f1


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_macro_f1_by_loops_and_by_another_implementation(seed):
    rng = np.random.default_rng(seed)
    truth, found = rng.random((12, 3)) < 0.5, rng.random((12, 3)) < 0.4
    truth[0] = True  # every label occurs
    assert macro_f1(truth, found) == pytest.approx(leakage_by_loops.macro_f1(truth.tolist(), found.tolist()))
    assert macro_f1(truth, found) == pytest.approx(100 * f1_score(truth, found, average="macro", zero_division=0))


def test_a_label_that_never_occurs_does_not_count():
    assert macro_f1(np.array([[True, False]]), np.array([[True, True]])) == 100
    assert np.isnan(macro_f1(np.zeros((2, 2), dtype=bool), np.ones((2, 2), dtype=bool)))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("data", [planted(n=60_000, k=12), planted_bits(n=60_000)], ids=["category", "bits"])
def test_the_expected_f1_is_what_the_noise_leaves(data, noise):
    rows = np.arange(len(data))
    for rate in (0.02, 0.1, 0.4):
        left = macro_f1(bits(data.labels, rows), bits(perturb(data, noise, rate), rows))
        assert left == pytest.approx(expected_f1(noise, rate, data.labels, rows), abs=0.6)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(NOISES), st.floats(0.0, 0.45))
def test_the_solved_rate_gives_the_f1_back(noise, rate):
    data = planted_bits(n=500)
    f1 = expected_f1(noise, rate, data.labels, np.arange(500))
    solved = solve_rate(noise, f1, data.labels, np.arange(500))
    assert expected_f1(noise, solved, data.labels, np.arange(500)) == pytest.approx(f1, abs=1e-6)
    assert solved == pytest.approx(rate, abs=1e-5)


def test_flips_by_hand():
    # Four items, labels a a b b; p = 1/10. a: TP 1.8, FP .2, FN .2: F1 = 3.6 / 4 = 90 %; b the same.
    data = labelled(["a", "a", "b", "b"], [0, 1, 0, 1])
    assert expected_f1("flips", 0.1, data.labels, np.arange(4)) == pytest.approx(90)


def test_frequency_noise_keeps_label_frequencies_and_replacement_does_not():
    rng = np.random.default_rng(0)
    data = labelled(rng.choice(4, 40_000, p=[0.7, 0.2, 0.05, 0.05]), rng.integers(0, 2, 40_000))
    kept = np.bincount(perturb(data, "frequency", 1.0).category) / 40_000
    even = np.bincount(perturb(data, "replacement", 1.0).category) / 40_000
    assert kept == pytest.approx([0.7, 0.2, 0.05, 0.05], abs=0.01)
    assert even == pytest.approx([0.25] * 4, abs=0.01)


@pytest.mark.parametrize("rate", [0.003, 0.5])
def test_flips_are_independent_with_the_rate_as_probability(rate):
    n, k = 20_000, 30
    data = labelled(np.zeros((n, k), dtype=int), np.arange(n) % 2)
    flipped = perturb(data, "flips", rate).values
    sd = np.sqrt(rate * (1 - rate) / n)
    assert np.abs(flipped.mean(axis=0) - rate).max() < 5 * sd  # each column
    assert flipped.sum(axis=1).var() == pytest.approx(k * rate * (1 - rate), rel=0.06)  # a row's count is binomial


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("data", [planted(n=300), planted_bits(n=300)], ids=["category", "bits"])
def test_an_items_noise_depends_on_no_other_item(data, noise):
    order = np.random.default_rng(0).permutation(300)
    whole, shuffled = perturb(data, noise, 0.3, seed=5), perturb(data.take(order), noise, 0.3, seed=5)
    assert (whole.dense(order) == shuffled.dense(np.arange(300))).all()
    assert (whole.dense(order) != perturb(data, noise, 0.3, seed=6).dense(order)).any()
