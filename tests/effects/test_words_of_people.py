"""Several photographs of one person count as one person in what is estimated of answers in words, and of retrieval."""

import numpy as np
import pytest

from transect.effects.option_shares import place_bias, shares_by_option
from transect.effects.retrieval import retrieval_skew
from transect.effects.wordings import wording_effects

Z = 1.959964


def copies(values, times):
    """Each subject `times` times over, and who is on each."""
    return np.repeat(values, times, axis=0), np.repeat(np.arange(len(values)) + 7, times)


def test_copies_of_subjects_add_nothing_to_effects_of_wordings():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 8, 1, 8))
    alone = wording_effects(first, second, binary=False)
    many, people = copies(first, 5)
    found = wording_effects(many, np.repeat(second, 5, axis=0), binary=False, people=people)
    for of_one, of_many in ((alone.mean, found.mean), (alone.sampled, found.sampled)):
        assert (of_many.low, of_many.high) == pytest.approx((of_one.low, of_one.high))
    assert (found.subjects, found.incomplete) == (8, 0)
    assert (found.spread, found.p) == pytest.approx((alone.spread, alone.p))
    assert [each.deviation for each in found.each] == pytest.approx([each.deviation for each in alone.each])
    assert [(each.subjects, each.effect.low) for each in found.each] == [
        (8, pytest.approx(each.effect.low)) for each in alone.each
    ]


def test_shares_of_options_are_by_person():
    """Four people with five photographs, all of whom change from the first option to the second."""
    values, people = copies(np.tile([[[1.0, 0.0]], [[0.0, 1.0]]], (4, 1, 1, 1)), 5)
    found = shares_by_option(values, people=people)
    assert found.subjects == 4
    assert found.p == pytest.approx(2 / 2**4)
    assert [each.p for each in found.contrasts] == pytest.approx([2 / 2**4] * 2)
    assert found.shares[0][0].low == pytest.approx(4 / (4 + Z**2), abs=1e-6)  # Wilson, 4 of 4


def test_places_are_by_person():
    """Four people with five photographs each of whom the first place of two is chosen, at both levels."""
    places, people = copies(np.zeros((4, 2, 1)), 5)
    found = place_bias(places, 2, people=people)
    assert found.of_all.p == pytest.approx(2 / 2**4)
    assert (found.of_all.answers, found.of_all.subjects, found.change.subjects) == (40, 4, 4)
    assert found.of_all.shares[0].low == pytest.approx(4 / (4 + Z**2), abs=1e-6)


def test_retrieval_is_by_person():
    """Three people with four photographs; all of the first level are found before any of the second."""
    values, people = copies(np.tile([[0.9], [0.1]], (3, 1, 1)), 4)
    found = retrieval_skew(values, [12], people=people)
    top = found.first[0]
    assert top.shares[0].low == pytest.approx(3 / (3 + Z**2), abs=1e-6)  # Wilson, 3 of 3
    assert found.subjects == 3
    # Of 2^3 permutations two are as uneven.
    assert found.p == pytest.approx(0.25, abs=0.04)
    assert top.max_skew_p == pytest.approx(0.25, abs=0.04)
    without = retrieval_skew(np.concatenate([values, [[[np.nan], [0.2]]]]), [12], people=np.append(people, 99))
    assert (without.subjects, without.dropped) == (3, 1)
