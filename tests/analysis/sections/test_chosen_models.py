"""Regression models that a report was asked for, on tables whose ratios can be worked out by hand."""

import numpy as np
import pytest
from small_answers import answers, checked, rows

from transect.analysis.sections import adjustment, build
from transect.errors import BadInput
from transect.records import Design

WRONG = [1, 0, 0, 0, 1, 1, 0, 1] * 2
VALUES = {"smile": [0, 0, 0, 0, 1, 1, 1, 1] * 2, "age": [30.0] * 8 + [60.0] * 8}


def test_ratios_of_one_table():
    """Errors at 1 of 4 images where smile is no and 3 of 4 where it is yes, at either age: odds 1/3 and 3."""
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES)
    made = checked(adjustment.model_section(one, ["ols", "logit", "poisson", "gee"]))
    smile = {title: rows(made, title)[0] for title in ("Least squares", "Logistic r", "Modified", "Logistic GEE")}
    assert smile["Least squares"]["difference"] == pytest.approx(0.5)
    assert smile["Logistic r"]["odds ratio"] == pytest.approx(9)
    assert smile["Modified"]["risk ratio"] == pytest.approx(3)
    assert smile["Logistic GEE"]["odds ratio"] == pytest.approx(9)
    for row in smile.values():
        assert (row["compared"], row["mean, former"], row["mean, latter"], row["images"]) == (
            "yes vs no",
            0.75,
            0.25,
            16,
        )
    assert smile["Logistic r"]["low"] < 9 < smile["Logistic r"]["high"]


def test_a_stated_cut_point_takes_the_place_of_the_median():
    """Errors at 2, 1 and 1 of the four images of each age up to 50, none above: means 4/12 and 0 at a cut of 55."""
    ages = np.repeat([20.0, 30.0, 50.0, 60.0], 4)
    wrong = [1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    for bins, compared, means in (
        ({}, "from 40 on vs below", (1 / 8, 3 / 8)),
        ({"age": (55.0,)}, "from 55 on vs below", (0, 4 / 12)),
        ({"age": (25.0, 45.0, 70.0)}, "from 45 on vs below", (1 / 8, 3 / 8)),
    ):
        study = answers(Design({}, 16), answers=wrong, truth=np.zeros(16), values={"age": ages}, bins=bins)
        (age,) = rows(checked(adjustment.model_section(study, ["ols"])), "Least squares")
        assert age["compared"] == compared
        assert (age["mean, former"], age["mean, latter"]) == pytest.approx(means)


def test_fractional_errors_are_against_mean_ratings():
    """|score - share| is .25 where smile is no and .75 where it is yes: odds 1/3 and 3; the last image is not rated."""
    score = np.array([0.25] * 4 + [0.75] * 4 + [0.25] * 4 + [0.75] * 4)
    yes = np.array([0.5, 0.0] * 2 + [0.0] * 4 + [0.0, 0.5] * 2 + [0.0] * 3 + [np.nan])
    one = answers(Design({}, 16), scores=score, truth=np.zeros(16), values=VALUES, people_yes=yes)
    made = checked(adjustment.model_section(one, ["fractional"]))
    smile = rows(made, "Fractional logit")[0]
    assert smile["odds ratio"] == pytest.approx(9)
    assert (smile["mean, former"], smile["mean, latter"], smile["images"]) == (0.75, 0.25, 15)
    assert "15 of 16 images have both" in made["text"][1]


def test_models_that_no_study_takes_are_refused():
    experiment = answers(Design({"smile": (0.0, 1.0)}, 8), answers=WRONG, truth=np.zeros(16))
    with pytest.raises(BadInput, match="--model poisson, gee: expected errors of observed images"):
        build([experiment], ["poisson", "gee"])
    assert "models" not in [one.key for one in build([experiment])]


def test_attributes_without_two_sides_are_named():
    values = {**VALUES, "hair": [0.0, 1.0, 2.0, 0.0] * 4, "glasses": [1.0] * 16}
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=values)
    table = rows(checked(adjustment.model_section(one, ["ols"])), "Least squares")
    told = {row["attribute"]: (row["difference"], row["note"]) for row in table[2:]}
    assert told == {"hair": (None, "no two sides: 3 levels"), "glasses": (None, "no two sides: does not vary")}
    hidden = checked(adjustment.confounding_section(one))
    for title in ("E-values, adjusted", "Robustness"):
        left = {row["compared"]: row["note"] for row in rows(hidden, title)}
        assert (left["hair"], left["glasses"]) == ("no two sides: 3 levels", "no two sides: does not vary")
