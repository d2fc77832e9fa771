"""Observed groups are compared by shares of several wordings: intervals by subject that hold, also of what is rare."""

import numpy as np
import pytest
from scipy.special import ndtr

from transect.effects import analyse_population, regression
from transect.effects.intervals import wilson
from transect.effects.observational import difference, slope
from transect.effects.regression import MOVER, SUBJECTS
from transect.effects.samples import Measure
from transect.records import Attribute

HAT = Attribute("hat", "binary", "wears a hat", levels=("off", "on"))
AGE = Attribute("age", "continuous", "looks so old", "years", 0.0, 100.0)
WORDINGS = 3


def shares(rng, rates, alike=0.7):
    """The share of three wordings with a yes, of images of these rates; the wordings of an image are alike."""
    factor = np.sqrt(alike) * rng.standard_normal((len(rates), 1))
    latent = factor + np.sqrt(1 - alike) * rng.standard_normal((len(rates), WORDINGS))
    return (ndtr(latent) < rates[:, None]).mean(axis=1)


def of_two(values, n, **settings):
    masks = np.arange(len(values)) < n, np.arange(len(values)) >= n
    whole = {"clusters": None, "confidence": 0.95, "answers": WORDINGS} | settings
    return difference(values, masks, ("off", "on"), False, **whole)


def test_wordings_that_agree_are_one_answer_each_by_hand():
    """All wordings of an image agree, so that an image is one answer: 2 of 10 and 5 of 10 are Newcombe's example."""
    found = of_two(np.repeat([1.0, 0.0, 1.0, 0.0], [2, 8, 5, 5]), 10)
    (low0, high0), (low1, high1) = ([float(end) for end in wilson(x, 10)] for x in (2, 5))
    assert found.estimate == pytest.approx(0.3)
    # Wilson's interval with the t quantile of the subjects that tell is wider than that of ten answers.
    assert found.low <= 0.3 - np.hypot(0.5 - low1, high0 - 0.2) + 1e-9
    assert found.high >= 0.3 + np.hypot(high1 - 0.5, 0.2 - low0) - 1e-9
    assert (found.interval_method, found.test_method) == (MOVER, SUBJECTS)


def test_an_audit_of_observed_images_uses_it():
    rng, hat = np.random.default_rng(1), np.repeat([0.0, 1.0], 40)
    values = shares(rng, np.where(hat > 0, 0.6, 0.2))
    reasons = np.full(80, "", dtype=object)
    measure = Measure("mine", "answer", is_binary=False, answers=WORDINGS)
    (effect,) = analyse_population(values, reasons, {"hat": hat}, {"hat": HAT}, measure).effects
    assert (effect.interval_method, effect.test_method) == (MOVER, SUBJECTS)
    assert effect.estimate == pytest.approx(values[hat > 0].mean() - values[hat == 0].mean())
    assert effect.low < effect.estimate < effect.high
    assert effect.p < 0.01
    ages = analyse_population(values, reasons, {"age": 50 * hat + np.arange(80) / 8}, {"age": AGE}, measure).effects
    assert "Student t" in ages[-1].interval_method


def test_a_slope_of_rare_shares_has_no_interval():
    values = np.zeros(80)
    values[:5] = 1 / 3
    found = slope(
        values, np.arange(80.0), np.ones(80, dtype=bool), "age", False, clusters=None, confidence=0.95, answers=WORDINGS
    )
    assert np.isnan(found.low)
    assert "too few events for an interval of the slope: 5 subjects" in found.reason


def covered(monkeypatch, rates, sizes, tables):
    """The share of tables whose interval holds the true difference."""
    monkeypatch.setattr(regression, "permuted", lambda *_, **__: np.nan)
    rng, n = np.random.default_rng(7), np.repeat(rates, sizes)
    found = [of_two(shares(rng, n), sizes[0]) for _ in range(tables)]
    truth = rates[1] - rates[0]
    return np.mean([each.low - 1e-12 <= truth <= each.high + 1e-12 for each in found])


RATES = [(0.0, 0.05), (0.02, 0.02), (0.02, 0.1), (0.3, 0.5), (0.9, 0.97)]


@pytest.mark.coverage
@pytest.mark.parametrize("rates", [(0.02, 0.1), (0.3, 0.5)])
def test_the_difference_is_covered_in_a_few_tables(monkeypatch, rates):
    """200 tables: a coverage of 95 % falls below 88 % once in ten thousand."""
    assert covered(monkeypatch, rates, (40, 60), 200) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("sizes", [(15, 25), (40, 60), (150, 200)])
def test_the_difference_of_groups_is_covered(monkeypatch, rates, sizes):
    """1,000 tables: a standard error of .7 points at 95 %."""
    found = covered(monkeypatch, rates, sizes, 1000)
    print(rates, sizes, found)
    assert found >= 0.935


@pytest.mark.slow
def test_the_slope_of_shares_is_covered():
    rng, ages = np.random.default_rng(3), np.linspace(0.0, 1.0, 120)
    rates = 0.2 + 0.4 * ages
    known = np.ones(120, dtype=bool)
    how = {"clusters": None, "confidence": 0.95, "answers": WORDINGS}
    found = [slope(shares(rng, rates), ages, known, "age", False, **how) for _ in range(1000)]
    hit = np.mean([each.low <= 0.4 <= each.high for each in found])
    print(hit)
    assert 0.935 <= hit <= 0.97
