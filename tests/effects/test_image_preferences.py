"""Choices between two images: by hand, against SciPy and statsmodels, and on planted truth."""

import itertools

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import binomtest

from transect.effects.preferences import (
    NO_VARIATION,
    NOBODY,
    ONE_ORDER,
    PLACE,
    TOO_FEW,
    level_abilities,
    preference,
)


def choices(rng, subjects, abilities, place=0.0, own=0.0):
    """Every subject at every two levels in both orders: columns as `level_abilities` takes them."""
    pairs = np.array(list(itertools.permutations(range(len(abilities)), 2)))
    subject, pair = (each.ravel() for each in np.indices((subjects, len(pairs))))
    first, second = pairs[pair].T
    liked = np.asarray(abilities) + own * rng.normal(size=(subjects, len(abilities)))
    odds = liked[subject, second] - liked[subject, first] + place
    return first, second, (rng.random(len(odds)) < expit(odds)).astype(float), subject


def in_both_orders(later, earlier):
    return preference(np.asarray(later, float)[:, None, None], np.asarray(earlier, float)[:, None, None])


def test_preferences_by_hand():
    """Five prefer the second, one the first, two follow the place, one ties in one order, one has one order."""
    found = in_both_orders([1, 1, 1, 1, 1, 0, 1, 0, 1, 1], [1, 1, 1, 1, 1, 0, 0, 1, 0.5, np.nan])
    assert (found.subjects, found.incomplete, found.by_place) == (9, 1, 2)
    assert found.share.estimate == pytest.approx(5 / 6)
    judge = binomtest(5, 6)
    assert found.p == pytest.approx(judge.pvalue)
    interval = judge.proportion_ci(0.95, method="exact")
    assert (found.share.low, found.share.high) == pytest.approx((interval.low, interval.high))
    assert (found.second.estimate, found.first.estimate, found.undecided.estimate) == pytest.approx(
        (5 / 9, 1 / 9, 3 / 9)
    )
    whole = binomtest(5, 9).proportion_ci(0.95, method="exact")
    assert (found.second.low, found.second.high) == pytest.approx((whole.low, whole.high))
    # Orders differ by 1, -1, .5 among nine subjects.
    assert found.place.estimate == pytest.approx(0.5 / 9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_turning_the_levels_turns_the_preference(seed, subjects):
    """What preferred b prefers a, and the preference for places is the same."""
    rng = np.random.default_rng(seed)
    later, earlier = rng.integers(0, 2, size=(2, subjects, 1, 3)).astype(float)
    later[rng.random(later.shape) < 0.05] = np.nan
    found, turned = preference(later, earlier), preference(1 - earlier, 1 - later)
    assert turned.share.estimate == pytest.approx(1 - found.share.estimate, nan_ok=True)
    assert turned.share.low == pytest.approx(1 - found.share.high, nan_ok=True)
    assert turned.p == pytest.approx(found.p, nan_ok=True)
    assert turned.place.estimate == pytest.approx(found.place.estimate, nan_ok=True)
    assert (turned.by_place, turned.subjects, turned.incomplete) == (found.by_place, found.subjects, found.incomplete)


def test_a_model_that_follows_places_prefers_nobody():
    found = in_both_orders(np.ones(30), np.zeros(30))
    assert (found.share.reason, np.isnan(found.p), found.by_place) == (NOBODY, True, 30)
    assert (found.place.estimate, found.undecided.estimate) == (1.0, 1.0)
    assert found.place.low > 0.75
    assert found.place_p < 1e-6


def oracle(first, second, chosen, k):
    """Abilities and preference for the second place by a general optimiser."""

    def loss(theta):
        ability, place = np.array([0.0, *theta[:-1]]), theta[-1]
        odds = ability[second] - ability[first] + place
        return -np.sum(chosen * log_expit(odds) + (1 - chosen) * log_expit(-odds))

    return minimize(loss, np.zeros(k), method="BFGS", options={"gtol": 1e-8}).x


@pytest.mark.parametrize("ties", [False, True])
def test_abilities_are_those_of_a_general_optimiser(ties):
    rng = np.random.default_rng(1)
    first, second, chosen, subject = choices(rng, 40, [0.0, 0.5, -0.3, 1.0], place=0.4, own=0.5)
    if ties:
        chosen[rng.random(len(chosen)) < 0.1] = 0.5
    found = level_abilities(first, second, chosen, subject)
    expected = oracle(first, second, chosen, 4)
    assert [each.estimate for each in found.abilities] == pytest.approx([0.0, *expected[:-1]], abs=1e-4)
    assert found.place.estimate == pytest.approx(expected[-1], abs=1e-4)


def test_intervals_are_near_those_of_statsmodels():
    """Its sandwich by subject is not bias-reduced: with 150 subjects they agree to 3 %."""
    first, second, chosen, subject = choices(np.random.default_rng(2), 150, [0.0, 0.5, 1.0], own=0.7)
    found = level_abilities(first, second, chosen, subject)
    x = np.column_stack([(np.eye(3)[second] - np.eye(3)[first])[:, 1:], np.ones(len(first))])
    judge = sm.GLM(chosen, x, family=sm.families.Binomial()).fit(cov_type="cluster", cov_kwds={"groups": subject})
    half = [(each.high - each.low) / 2 / 1.976 for each in (*found.abilities[1:], found.place)]
    assert half == pytest.approx(judge.bse, rel=0.03)


def test_what_the_model_cannot_say_has_a_reason():
    always = level_abilities([0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1])
    assert "by every answer: the log odds are infinite" in always.abilities[1].reason
    assert np.isnan(always.expected)
    assert always.compared[0].more.estimate == 1.0
    apart = level_abilities([0, 2], [1, 3], [1, 0], [0, 1])
    assert "not all levels were compared" in apart.abilities[3].reason
    places = level_abilities([0, 1] * 4, [1, 0] * 4, [1.0] * 8, np.repeat(np.arange(4), 2))
    assert places.abilities[1].reason == places.place.reason == PLACE
    order = level_abilities([0] * 8, [1] * 8, [1, 0, 1, 1, 0, 1, 0, 1], np.arange(8))
    assert order.place.reason == ONE_ORDER
    assert order.abilities[1].low < np.log(5 / 3) < order.abilities[1].high
    one = level_abilities([0, 1] * 4, [1, 0] * 4, [1, 0, 0, 1, 1, 0, 1, 1], [7] * 8)
    assert one.abilities[1].reason == TOO_FEW
    alike = level_abilities([0, 1] * 4, [1, 0] * 4, [1, 1, 0, 0] * 2, np.repeat(np.arange(4), 2))
    assert alike.abilities[1].reason == NO_VARIATION


def test_contradictions_are_as_many_as_the_model_expects():
    """Independent answers: circular triads of 400 subjects by four levels match; random answers make a quarter."""
    rng = np.random.default_rng(5)
    found = level_abilities(*choices(rng, 400, [0.0, 0.3, 0.6, 0.9], place=0.3))
    assert found.circular == pytest.approx(found.expected, abs=4 * np.sqrt(found.expected))
    random = level_abilities(*choices(rng, 400, [0.0, 0.0, 0.0, 0.0]))
    assert random.expected == pytest.approx(random.triads / 4, rel=0.03)
    assert random.circular == pytest.approx(random.triads / 4, rel=0.15)
