import math
from dataclasses import replace

import numpy as np
import pytest

from transect.effects import (
    Measure,
    adjust,
    analyse_population,
    analyse_transects,
    sign_flip,
)
from transect.effects.analysis import distinct_tests
from transect.effects.intervals import SOURCES, STUDENT, mean_interval
from transect.effects.resampling import mcnemar_interval
from transect.records import Attribute, Design, Effect

NAN = np.nan
AGE = Attribute("age", "continuous", "apparent age", unit="year", low=18, high=80)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
ATTRIBUTES = {"age": AGE, "glasses": GLASSES}
MISS = Measure("mine", "miss")


def no_reasons(y):
    return np.where(np.isnan(y), "failed: x", "").astype(object)


def analyse(y, levels, *, is_binary=True, unit="proportion", **options):
    y = np.array(y, dtype=np.float64)
    measure = Measure("mine", "miss", unit, is_binary)
    return analyse_transects(y, no_reasons(y), Design(levels, subjects=len(y)), ATTRIBUTES, measure, **options)


def test_two_by_three_by_hand():
    # Glasses: subject means of three pairs: (1 + 1 + 0)/3, 0, (0 + 0 + 1)/3: mean 1/3.
    # Age, 20 to 60: (0, -1), (1, 1), (0, 1) averaged: -1/2, 1, 1/2: mean 1/3; slope 1/40 of that.
    y = [[[0, 1], [0, 1], [0, 0]], [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]]
    age, slope, glasses = analyse(y, {"age": (20.0, 40.0, 60.0), "glasses": (0.0, 1.0)}).effects
    assert [e.estimate for e in (age, slope, glasses)] == pytest.approx([1 / 3, 1 / 120, 1 / 3])
    assert [e.unit for e in (age, slope, glasses)] == ["proportion", "proportion per year", "proportion"]
    # Steps 2, 0, 1 of thirds: |±2 ±1| >= 3 in 2 of 4.
    assert glasses.p == 0.5
    # Steps -1, 2, 1: sums of ±: |s| >= 2 in 6 of 8 (only ±(2 - 1 - 1) = 0 twice).
    assert age.p == 0.75
    assert (age.basis, age.n_subjects, age.n_images, slope.n_images) == ("experimental", 3, 12, 18)
    assert (age.target, age.outcome, age.attribute) == ("mine", "miss", "age")


def test_no_difference_at_all_is_zero_with_an_interval():
    effect = analyse(np.zeros((150, 2)), {"glasses": (0.0, 1.0)}).effects[0]
    low, high = mcnemar_interval(0, 0, 150)
    assert (effect.estimate, effect.p, effect.low, effect.high) == (0, 1, pytest.approx(low), pytest.approx(high))
    assert effect.interval_method == "inverted McNemar mid-p"
    assert "Fay and Lumbard 2021" in effect.citation()[0]


def test_without_any_pair_the_effect_is_nan_with_a_reason():
    effect = analyse([[0, NAN], [NAN, 1]], {"glasses": (0.0, 1.0)}).effects[0]
    assert math.isnan(effect.estimate)
    assert math.isnan(effect.p)
    assert (effect.reason, effect.n_subjects, effect.n_images) == ("no subject has a valid pair", 0, 0)
    assert effect.excluded == {"failed": 2, "pair incomplete": 2}


def test_the_table_does_not_depend_on_the_run():
    y = np.random.default_rng(0).normal(size=(40, 3, 2))
    levels = {"age": (20.0, 40.0, 60.0), "glasses": (0.0, 1.0)}
    assert analyse(y, levels, is_binary=False) == analyse(y, levels, is_binary=False)
    # Fewer attributes, the same differences: the same effect, since draws belong to subjects and not to contrasts.
    alone = analyse(y.mean(axis=1), {"glasses": (0.0, 1.0)}, is_binary=False).effects[0]
    together = analyse(y, levels, is_binary=False).effects[-1]
    assert (together.estimate, together.low, together.p) == pytest.approx((alone.estimate, alone.low, alone.p))


def test_population_effects_are_observational_and_say_which_ranges():
    age = np.linspace(18, 80, 90)
    y = (age > 60).astype(np.float64)
    made = analyse_population(
        y, no_reasons(y), {"age": age, "glasses": np.arange(90) % 2.0}, ATTRIBUTES, MISS, edges={"age": [40.0, 60.0]}
    )
    contrast, slope, glasses = made.effects
    assert contrast.name == "age: [18, 40) to [60, 80]"
    assert (contrast.estimate, contrast.basis) == (1, "observational")
    assert contrast.spec["groups"] == ((18, 40), (40, 60), (60, 80))
    assert slope.unit == "proportion per year"
    assert glasses.interval_method == "Newcombe hybrid score"
    # Overall, three groups of age, two of glasses, six of both.
    assert [rate.order for rate in made.rates] == [0] + [1] * 5 + [2] * 6
    assert made.rates[1].bounds == {"age": (18, 40)}
    assert all(rate.method == "Wilson score" for rate in made.rates)


def effect(p):
    return Effect(
        0.1, 0, 0.2, name="a", attribute="a", target="t", outcome="miss", p=p, unit="proportion", n_subjects=9,
        n_images=18, sources=("Tango 1998",),
    )  # fmt: skip


def test_adjustment_over_the_family():
    made = adjust([effect(0.01), effect(NAN), effect(0.04)])
    # Two that count: .01 * 2, .04 * 1.
    assert [made[0].p_adjusted, made[2].p_adjusted] == [0.02, 0.04]
    assert math.isnan(made[1].p_adjusted)
    assert made[0].sources[0] == "Tango 1998"
    assert made[0].sources[1].startswith("Holm 1979")
    assert adjust([]) == ()


def test_a_test_that_another_repeats_counts_once():
    twin = replace(effect(0.01), name="a: slope", kind="slope", same_test_as="a")
    other = replace(effect(0.04), name="b")
    made = adjust([effect(0.01), twin, other])
    assert [one.p_adjusted for one in made] == [0.02, 0.02, 0.04]
    assert distinct_tests(made) == 2
    elsewhere = replace(effect(0.01), target="u")
    assert [one.p_adjusted for one in adjust([effect(0.01), elsewhere])] == [0.02, 0.02]  # another target's own test


def test_what_is_zero_by_construction_is_not_tested():
    """Distances from the first cell: every difference is positive, so a sign-flip would always reject."""
    glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    y = np.stack([np.zeros(12), np.linspace(0.1, 0.3, 12)], axis=1)
    none = np.full(y.shape, "", dtype=object)
    made, tested = (
        analyse_transects(
            y,
            none,
            Design({"glasses": (0.0, 1.0)}, subjects=12),
            {"glasses": glasses},
            Measure("t", "distance", is_binary=False, tested=tested),
        )
        for tested in (False, True)
    )
    # Linearly spaced differences lie on a lattice, so that the test that must reject is exact: 2 / 2^12.
    assert tested.effects[0].p == 2 / 4096
    one, other = adjust([made.effects[0], effect(0.03)])
    assert (math.isnan(one.p), math.isnan(one.p_adjusted), other.p_adjusted) == (True, True, 0.03)
    assert one.test_method == "none: a distance from the first image cannot fall below 0"
    assert (one.low, one.high, one.estimate) == (tested.effects[0].low, tested.effects[0].high, pytest.approx(0.2))
    assert one.low > 0
    assert "flips" not in one.spec
    assert one.sources[0] == SOURCES[STUDENT]
    assert not any("Pagano" in source or "Phipson" in source for source in one.sources)


def test_the_spec_recreates_the_number():
    """Everything that the interval and the test drew on: read back from the spec, it gives the same numbers."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(30, 2))
    options = {"confidence": 0.9, "seed": 7}
    effect = analyse(y, {"glasses": (0.0, 1.0)}, is_binary=False, **options).effects[0]
    assert effect.spec == {**options, "flips": 9999, "subjects": 30, "subjects_dropped": 0}
    d, spec = y[:, [1]] - y[:, [0]], effect.spec
    again = mean_interval(d, confidence=spec["confidence"])
    assert (effect.low, effect.high) == (again.low[0], again.high[0])
    assert effect.p == sign_flip(d, resamples=spec["flips"], seed=spec["seed"])[0][0]
    exact = analyse((y > 0).astype(np.float64), {"glasses": (0.0, 1.0)}, **options).effects[0]
    assert exact.test_method == "McNemar mid-p"
    assert exact.spec == {**options, "subjects": 30, "subjects_dropped": 0}
