"""Thresholds of verification against all comparisons one by one, and their false matches by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cosine
from scipy.stats import norm
from scipy.stats import t as student

from transect.effects.intervals import wilson
from transect.effects.outcomes import compute
from transect.effects.verification import Rule, find_threshold
from transect.errors import BadInput, UnknownName
from transect.records import Design, Predictions, Task

DESIGN = Design({"skin_tone": (2.0, 9.0), "glasses": (0.0, 1.0), "age": (20.0, 40.0, 60.0)}, subjects=30)


def one_by_one(x, subject, place):
    """Distances of all images of two subjects at one place, by a loop."""
    pairs = [(i, j) for i, j in itertools.combinations(range(len(x)), 2) if place[i] == place[j]]
    return np.array([cosine(x[i], x[j]) for i, j in pairs if subject[i] != subject[j]])


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.05, 0.2]))
def test_at_most_the_stated_share_matches_and_one_more_would_be_too_many(seed, rate):
    rng = np.random.default_rng(seed)
    x, subject, place = rng.normal(size=(40, 5)), np.tile(np.arange(20), 2), np.repeat([0, 4], 20)
    found = find_threshold(x, subject, place, Rule(false_match_rate=rate))
    distance = np.sort(one_by_one(x, subject, place))
    assert found.n == len(distance) == 380
    assert found.false_matches == (distance < found.value - 1e-9).sum() == int(rate * 380 + 1e-9)
    assert (distance <= found.value + 1e-9).mean() > rate
    assert found.rate == found.false_matches / 380
    assert found.low <= found.value <= found.high
    assert sum(group[4] for group in found.groups) == found.false_matches


def test_the_interval_of_a_false_match_rate_by_hand():
    """Ten subjects, of whom 0 and 1 match: one of 45 comparisons, residuals 44/45 and 44 times -1/45.

    Sums by subject: 0 and 1 have 44/45 - 8/45 = .8 each, the others -.2 each. That is what independent comparisons
    have, so subjects add nothing and the variance is that of 45 with squares 44/45 / 44 each: 1 / 45². As that of
    p (1 - p) / v = 44 independent comparisons, on (Σ r²)² / Σ r⁴ - 1 = 1.6² / .832 - 1 degrees of freedom.
    """
    x = np.eye(10)
    x[1, 0] = 2.0
    found = find_threshold(x, np.arange(10), np.zeros(10, dtype=int), Rule(threshold=0.5))
    assert (found.false_matches, found.n, found.n_subjects) == (1, 45, 10)
    effective = 44 * (norm.ppf(0.975) / student.ppf(0.975, 1.6**2 / 0.832 - 1)) ** 2
    assert (found.rate_low, found.rate_high) == pytest.approx(tuple(map(float, wilson(effective / 45, effective))))
    assert np.isnan([found.low, found.high, found.requested]).all()


def test_below_ten_subjects_there_is_no_interval():
    found = find_threshold(np.eye(9), np.arange(9), np.zeros(9, dtype=int), Rule(false_match_rate=0.1))
    assert np.isfinite([found.value, found.rate]).all()
    assert np.isnan([found.low, found.high, found.rate_low, found.rate_high]).all()


def test_too_few_comparisons_give_no_threshold_but_a_reason():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, 1.0], [0.0, 0.0]])
    found = find_threshold(x, np.arange(4), np.zeros(4, dtype=int), Rule(false_match_rate=0.1))
    assert np.isnan(found.value)
    assert (found.n, found.n_subjects) == (1, 2)  # a row of NaN and one of zeros have no direction
    assert found.reason == "expected at least 10 comparisons of different subjects, got 1"
    nobody = find_threshold(x[2:], np.arange(2), np.zeros(2, dtype=int), Rule(threshold=0.3))
    assert (nobody.value, nobody.n, nobody.reason) == (0.3, 0, "no two subjects have a reference image")


def test_a_non_match_is_a_distance_at_or_above_the_threshold():
    said = Predictions(
        Task.EMBEDDING, np.array([[1.0, 0.0], [0.6, 0.8], [1.0, 0.1], [np.nan, 1]]), ("",) * 3 + ("gone",)
    )
    reference = np.zeros(4, dtype=np.int64)
    made = compute("non_match", said, threshold=0.4, reference=reference)  # distances 0, .4 and 1 - 1 / sqrt(1.01)
    assert made.values[:3].tolist() == [0, 1, 0]
    assert (made.is_binary, made.unit, made.reasons[3]) == (True, "proportion", "failed: gone")
    unknown = compute("non_match", said, threshold=np.nan, reference=reference)
    assert np.isnan(unknown.values).all()
    assert unknown.reasons.tolist() == ["no threshold"] * 3 + ["failed: gone"]


def test_designs_that_cannot_tell_a_rate_are_refused():
    """30 subjects at two tones: 2 x 435 comparisons, .001 needs 1,000."""
    with pytest.raises(BadInput, match="needs at least 1,000 comparisons of different subjects, got 870"):
        Rule(false_match_rate=0.001, within=("skin_tone",)).check(DESIGN)
    with pytest.raises(BadInput, match="--within names every attribute that varies"):
        Rule(within=tuple(DESIGN.levels)).check(DESIGN)
    with pytest.raises(UnknownName, match="--within"):
        Rule(within=("hat",)).check(DESIGN)
