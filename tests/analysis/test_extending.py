"""Always-valid intervals of a study's effects: which estimator, and why there is none."""

import math

import numpy as np
import pytest

from transect.analysis.secondary_results import INCOMPLETE, NO_RANGE, OBSERVED, with_always_valid
from transect.effects.always_valid import SOURCES, always_valid_difference
from transect.effects.analysis import analyse_transects
from transect.effects.samples import Measure
from transect.records import Attribute, Design, Effect

AGE = {"age": Attribute("age", "continuous", "years", unit="years", low=0, high=100)}
LEVELS = {"age": (20.0, 40.0, 60.0)}


def effects_of(values, *, binary, span=1.0):
    """The effects of one study, with always-valid intervals."""
    design, reasons = Design(LEVELS, subjects=len(values)), np.where(np.isfinite(values), "", "failed").astype(object)
    measure = Measure("mine", "answer", "proportion" if binary else "score", binary)
    table = analyse_transects(values, reasons, design, AGE, measure)
    return with_always_valid(table.effects, table.differences, design, {("mine", "answer"): span})


def answers():
    return np.random.default_rng(0).integers(0, 2, size=(40, 3)).astype(float)


def test_rates_bet_and_a_slope_on_its_steepest():
    y = answers()
    contrast, slope = effects_of(y, binary=True)
    by_hand = always_valid_difference(y[:, 2] - y[:, 0])
    assert (contrast.always_low, contrast.always_high, contrast.always_method) == (by_hand.low, by_hand.high, "betting")
    assert SOURCES["betting"] in contrast.sources
    # Three levels 20 apart: a slope is at most 1 from the first to the last, 1 / 40, and half of the last contrast.
    assert (slope.always_low, slope.always_high) == pytest.approx((by_hand.low / 40, by_hand.high / 40))
    assert contrast.always_low < contrast.low < contrast.high < contrast.always_high


def test_scores_bet_on_their_range_and_without_one_have_no_interval():
    x = np.random.default_rng(1).uniform(size=(40, 3))
    contrast, slope = effects_of(2 * x, binary=False, span=2.0)
    by_hand = always_valid_difference(x[:, 2] - x[:, 0])
    assert (contrast.always_low, contrast.always_high) == pytest.approx((2 * by_hand.low, 2 * by_hand.high))
    assert (slope.always_low, slope.always_high) == pytest.approx((by_hand.low / 20, by_hand.high / 20))
    unbounded, _ = effects_of(x, binary=False, span=math.nan)
    assert (math.isnan(unbounded.always_low), unbounded.always_reason) == (True, NO_RANGE)


def test_a_slope_with_missing_answers_and_an_association_have_none():
    y = answers()
    y[3, 1] = np.nan
    contrast, slope = effects_of(y, binary=True)
    assert contrast.always_reason == ""
    assert (slope.always_reason, slope.always_method, math.isnan(slope.always_high)) == (INCOMPLETE, "", True)
    associated = Effect(
        0.1, 0.0, 0.2, name="a", attribute="age", target="mine", outcome="answer", p=0.5, unit="proportion",
        n_subjects=9, n_images=9, basis="observational",
    )  # fmt: skip
    observed = with_always_valid([associated], [np.zeros(9)], Design({}, subjects=9), {})
    assert observed[0].always_reason == OBSERVED
