"""Regression models that a report was asked for, on tables whose ratios can be worked out by hand."""

import numpy as np
import pytest

from sections.small_answers import answers, checked, rows
from transect.errors import UnknownName
from transect.records import Design
from transect.sections import build, check, models

WRONG = [1, 0, 0, 0, 1, 1, 0, 1] * 2
VALUES = {"smile": [0, 0, 0, 0, 1, 1, 1, 1] * 2, "age": [30.0] * 8 + [60.0] * 8}


def test_ratios_of_one_table():
    """Errors at 1 of 4 images where smile is no and 3 of 4 where it is yes, at either age: odds 1/3 and 3."""
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES)
    made = checked(models.section(one, ["ols", "logit", "poisson", "gee"]))
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


def test_fractional_errors_are_against_mean_ratings():
    """|score - share| is .25 where smile is no and .75 where it is yes: odds 1/3 and 3; the last image is not rated."""
    score = np.array([0.25] * 4 + [0.75] * 4 + [0.25] * 4 + [0.75] * 4)
    yes = np.array([0.5, 0.0] * 2 + [0.0] * 4 + [0.0, 0.5] * 2 + [0.0] * 3 + [np.nan])
    one = answers(Design({}, 16), scores=score, truth=np.zeros(16), values=VALUES, people_yes=yes)
    made = checked(models.section(one, ["fractional"]))
    smile = rows(made, "Fractional logit")[0]
    assert smile["odds ratio"] == pytest.approx(9)
    assert (smile["mean, former"], smile["mean, latter"], smile["images"]) == (0.75, 0.25, 15)
    assert "15 of 16 images have both" in made["text"][1]


def test_what_is_missing_for_a_model_is_said():
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES, truth_attribute="smile")
    made = checked(models.section(one, ["fractional", "ols"]))
    assert made["warnings"] == [
        "No fractional logit: it needs the share of raters who say yes about smile; give single answers as --ratings "
        "(means, as --perceived, tell it of two levels alone)"
    ]
    assert [table["title"] for table in made["tables"]] == ["Least squares"]
    beyond = answers(
        Design({}, 16), scores=np.linspace(0, 3, 16), values=VALUES, truth=np.zeros(16), people_yes=np.ones(16)
    )
    assert models.section(beyond, ["fractional"])["warnings"] == [
        "No fractional logit: the scores of small are no probabilities from 0 to 1"
    ]
    still = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values={"smile": [1] * 16})
    assert models.section(still, ["ols"])["warnings"] == ["No attribute varies in two groups: no model"]


def test_a_report_has_them_where_asked():
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES)
    keys = [section["key"] for section in build([one], ["logit"])]
    assert keys[:2] == ["adjustment", "models"]
    assert "models" not in [section["key"] for section in build([one])]
    with pytest.raises(UnknownName, match="unknown model 'logits': did you mean logit"):
        check(["logits"])
