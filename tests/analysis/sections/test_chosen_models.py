"""Regression models that a report was asked for, on tables whose ratios can be worked out by hand."""

import numpy as np
import pytest
from small_answers import answers, checked, rows

from transect.analysis.sections import adjustment, build, check
from transect.errors import BadInput, UnknownName
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


def test_what_is_missing_for_a_model_is_said():
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES, truth_attribute="smile")
    made = checked(adjustment.model_section(one, ["fractional", "ols"]))
    assert made["warnings"] == [
        "No fractional logit: it needs the share of raters who say yes about smile; give single answers with "
        "--ratings (means, as with --perceived, suffice for two levels only)"
    ]
    assert [table["title"] for table in made["tables"]] == ["Least squares"]
    beyond = answers(
        Design({}, 16), scores=np.linspace(0, 3, 16), values=VALUES, truth=np.zeros(16), people_yes=np.ones(16)
    )
    assert adjustment.model_section(beyond, ["fractional"]).warnings == [
        "No fractional logit: the scores of small are no probabilities from 0 to 1"
    ]
    still = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values={"smile": [1] * 16})
    assert adjustment.model_section(still, ["ols"]).warnings == ["No attribute varies in two groups: no model"]


def test_a_report_has_them_where_asked():
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES)
    keys = [section.key for section in build([one], ["logit"])]
    assert keys[:3] == ["errors", "adjustment", "models"]
    assert "models" not in [section.key for section in build([one])]
    with pytest.raises(UnknownName, match="unknown model 'logits': did you mean logit"):
        check(["logits"])


def test_studies_that_take_no_model_are_named_with_the_reason():
    seen = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES)
    experiment = answers(Design({"smile": (0.0, 1.0)}, 8), answers=WRONG, truth=np.zeros(16))
    unjudged = answers(Design({}, 16), answers=WRONG, values=VALUES, study="photographs")
    made = [one for one in build([seen, experiment, unjudged], ["ols"]) if one.key == "models"]
    assert [one.study for one in made] == ["observation", "experiment"]
    first, second = checked(made[1])["warnings"]
    assert first.startswith("No model of experiment: attributes were set, and contrasts within subjects need no model")
    assert second.startswith("No model of photographs: errors of the target are not known there")


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
