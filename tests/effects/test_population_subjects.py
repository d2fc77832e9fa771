"""Associations of a population in which several images show one subject."""

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import fisher_exact

from transect.effects import regression
from transect.effects.analysis import analyse_population
from transect.effects.intervals import newcombe
from transect.effects.regression import difference_in_means, ols
from transect.effects.samples import Measure
from transect.records import Attribute

AGE = Attribute("age", "continuous", "apparent age", unit="year", low=18, high=80)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
ATTRIBUTES = {"age": AGE, "glasses": GLASSES}


def analyse(y, columns, subjects, **options):
    reasons, measure = np.full(len(y), "", dtype=object), Measure("mine", "miss")
    return analyse_population(y, reasons, columns, ATTRIBUTES, measure, **{"subjects": subjects, **options})


def test_people_with_several_images_are_the_units():
    # 100 people without glasses, 25 of them missed on both of their images; 100 with glasses, 75 of them missed.
    person = np.repeat(np.arange(200), 2)
    glasses = (person >= 100).astype(float)
    y = ((person < 25) | ((person >= 100) & (person < 175))).astype(float)
    made = analyse(y, {"glasses": glasses}, person)
    (effect,) = made.effects
    # Summed residuals of a person: 2 * 3/4 for 25 and -2 * 1/4 for 75, squares 75 in either arm of 200 images.
    error = np.sqrt(2 * 75 / 200**2 * 200 / 199 * 399 / 398)
    half = stdtrit(199, 0.975) * error
    assert (effect.estimate, effect.low, effect.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))
    assert (effect.n_subjects, effect.n_images, effect.spec["subjects"]) == (200, 400, 200)
    assert effect.interval_method == "Student t on errors clustered by subject"
    assert any("Cameron" in source for source in effect.sources)
    assert [(rate.n_subjects, rate.n_images) for rate in made.rates] == [(200, 400), (100, 200), (100, 200)]
    assert made.rates[0].method == "Wilson score on effective images"


def test_few_people_with_errors_have_score_limits_and_a_permutation_test():
    # 12 people a group, whose two images agree: 3 and 9 missed people are 3 and 9 of 12 independent images.
    person = np.repeat(np.arange(24), 2)
    y = np.isin(person, [0, 1, 2, *range(12, 21)]).astype(float)
    (effect,) = analyse(y, {"glasses": (person >= 12).astype(float)}, person).effects
    assert effect.interval_method == regression.MOVER
    assert (effect.low, effect.high) == pytest.approx([float(end) for end in newcombe((9, 3), (12, 12))])
    # Permuting people is Fisher's test of 9 and 3 of 12: p = .0391, with a Monte Carlo error of .002.
    assert effect.test_method == regression.SUBJECTS
    assert effect.p == pytest.approx(fisher_exact([[9, 3], [3, 9]]).pvalue, abs=0.008)
    assert any("Zou and Donner" in source for source in effect.sources)


def test_no_error_in_a_small_group_proves_nothing():
    """0 of 33 images against 17 of 1,467, by 750 people of two images; Student's t on errors by person: p = .0006."""
    person = np.arange(1500) // 2
    bald, y = (person < 17).astype(float), np.zeros(1500)
    bald[33], y[np.arange(17) * 80 + 40] = 0.0, 1.0
    (effect,) = analyse(y, {"glasses": bald}, person).effects
    assert effect.estimate == pytest.approx(-17 / 1467)
    assert effect.low < 0 < effect.high
    assert effect.test_method == regression.SCORE  # a person is in both groups
    assert effect.p > 0.3
    alone = difference_in_means(y, {"bald": bald})
    assert (alone.p, alone.test_method) == (pytest.approx(1.0), regression.FISHER)
    adjusted = ols(y, {"bald": bald, "age": np.sin(np.arange(1500.0))}, clusters=person)[0]
    assert adjusted.reason.startswith("0 subjects with or without the outcome at a level of bald, fewer than 5")
    assert np.isnan([adjusted.low, adjusted.high, adjusted.p]).all()


def test_distinct_subjects_change_nothing():
    rng = np.random.default_rng(0)
    y, glasses = rng.integers(0, 2, 30).astype(float), np.arange(30) % 2.0
    assert analyse(y, {"glasses": glasses}, np.arange(30)[::-1]) == analyse(y, {"glasses": glasses}, None)
