"""Curves along levels: every point by hand, and the band beside it."""

import numpy as np
import pytest
from small_answers import checked

from transect.analysis.sections import curves
from transect.effects.curves import difference_band, rate_band
from transect.effects.samples import Measure
from transect.records import Attribute, Design

AGE = Attribute("age", "continuous", "years", unit="years", low=0, high=100)
HAT = Attribute("hat", "binary", "a hat", levels=("off", "on"))
ATTRIBUTES = {"age": AGE, "hat": HAT}


def study(values, **more):
    design = Design({"age": (20.0, 40.0, 80.0), "hat": (0.0, 1.0)}, subjects=len(values), **more)
    binary = np.isin(values[np.isfinite(values)], (0, 1)).all()
    measure = Measure("mine", "answer", "proportion", True) if binary else Measure("mine", "score", "score", False)
    return curves.sections("audit", design, ATTRIBUTES, [(measure, values)])


def rates():
    """Of 40 subjects and two hats: none, a quarter of the images and half of them are yes; one has no answer."""
    y = np.zeros((40, 3, 2))
    y[:20, 1, 0] = y[:, 2, 1] = 1.0
    y[39, 1] = np.nan
    return y


def test_rates_and_changes_of_an_attribute_with_three_levels():
    (made,) = study(rates())
    (figure,) = checked(made)["figures"]
    each, change = figure["panels"]
    assert (each["heading"], each["unit"], each["x_words"]) == ("Age", "proportion", "age, years")
    assert (change["heading"], change["unit"]) == ("Age: change", "points")
    points = each["series"][0]["points"]
    assert [(p["x"], p["value"], p["n"]) for p in points] == [(20.0, 0.0, 40), (40.0, 20 / 78, 39), (80.0, 0.5, 40)]
    counts = np.full((40, 3), 2.0)
    counts[39, 1] = 0.0
    band = rate_band(np.nansum(rates(), axis=2), counts)
    assert [p["low"] for p in points] == pytest.approx(list(band.low))
    points = change["series"][0]["points"]
    assert (points[0]["x"], points[0]["value"], points[0]["low"]) == (20.0, 0.0, None)
    assert [(p["x"], p["value"], p["n"]) for p in points[1:]] == [(40.0, 10 / 39, 39), (80.0, 0.5, 40)]
    d = np.nanmean(rates()[:39, 1:] - rates()[:39, :1], axis=2)
    whole = difference_band(np.vstack([d, [np.nan, 0.5]]), 2)
    assert [p["high"] for p in points[1:]] == pytest.approx(list(whole.high))


def test_few_subjects_have_curves_without_bands_and_the_reason():
    (made,) = study(rates()[:12])
    assert made.text[-1] == "2 of 2 curves: fewer than 20 subjects at a level (12): no band."
    first = made.figures[0].panels[0].series[0].points[0]
    assert (first.value, first.low, first.reason) == (0.0, None, "fewer than 20 subjects at a level (12): no band")


def test_named_levels_and_two_levels_have_no_curve():
    design = Design({"hat": (0.0, 1.0), "age": (20.0, 80.0)}, subjects=30)
    values = np.zeros((30, 2, 2))
    assert curves.sections("audit", design, ATTRIBUTES, [(Measure("mine", "answer"), values)]) == []
