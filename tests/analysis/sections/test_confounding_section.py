"""E-values and robustness values beside an observation's contrasts, on tables worked out by hand."""

import math

import numpy as np
import pytest
from scipy.special import stdtrit
from small_answers import answers, checked, rows

from transect.analysis.sections import adjustment
from transect.effects import e_value_of_slope
from transect.records import Design, Task

WRONG = [1, 0, 0, 0, 1, 1, 0, 1] * 2
VALUES = {"smile": [0, 0, 0, 0, 1, 1, 1, 1] * 2, "age": [30.0] * 8 + [60.0] * 8}


def e(ratio):
    """VanderWeele and Ding 2017, of a ratio above 1."""
    return ratio + math.sqrt(ratio * (ratio - 1))


def test_risk_ratios_and_their_e_values():
    """Errors at 1 of 4 images where smile is no and 3 of 4 where it is yes, at either age alike: ratio 3 in both."""
    made = checked(
        adjustment.confounding_section(answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES))
    )
    plain = {row["compared"]: row for row in rows(made, "E-values of the unadjusted contrasts: error rate")}
    smile = plain["smile: no to yes"]
    assert smile["risk ratio"] == pytest.approx(3)
    assert smile["E-value"] == pytest.approx(e(3))
    # log 3 with the bias-reduced error of two proportions, (1 - p) / (n p) * n / (n - 1): 5 / 12 * 8 / 7. Under Poisson's
    # variance log rates have 1/2 and 1/6: (1/2 + 1/6)² / (1/4 / 7 + 1/36 / 7) = 11.2 degrees of freedom.
    half = stdtrit(11.2, 0.975) * math.sqrt(5 / 12 * 8 / 7)
    assert [smile["low"], smile["high"]] == pytest.approx([math.exp(math.log(3) - half), math.exp(math.log(3) + half)])
    assert (smile["low"] < 1, smile["E-value of the interval"], smile["images"]) == (True, 1.0, 16)
    # the ages differ in nothing: ratio 1 needs nothing to explain it
    (age,) = [row for name, row in plain.items() if name.startswith("age")]
    assert (age["risk ratio"], age["E-value"]) == (pytest.approx(1), pytest.approx(1, abs=1e-6))


def test_robustness_of_the_adjusted_difference():
    """The squares about the mean are 16 / 4 = 4, within the sides of smile 16 * 3 / 16 = 3: smile explains a quarter."""
    made = checked(
        adjustment.confounding_section(answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=VALUES))
    )
    smile, age = rows(made, "Robustness of adjusted differences")
    assert smile["adjusted difference, points"] == pytest.approx(0.5)
    assert smile["partial R²"] == pytest.approx(1 / 4)
    f2 = (1 / 4) / (3 / 4)
    assert smile["robustness value"] == pytest.approx((math.sqrt(f2**2 + 4 * f2) - f2) / 2)
    # the interval of so few images holds 0 already
    assert smile["low"] < 0
    assert smile["robustness value of the interval"] == 0
    assert age["partial R²"] == pytest.approx(0, abs=1e-20)


def test_what_is_not_compared_is_held_equal_all_the_same():
    """Errors where age is 60 alone, which most who smile are: at equal age smiling does nothing, whoever is shown."""
    smile, age = [0, 0, 0, 1, 0, 1, 1, 1] * 2, [30.0] * 4 + [60.0] * 4
    column = {"answers": [0, 0, 0, 0, 1, 1, 1, 1] * 2, "truth": np.zeros(16)}
    one = answers(Design({}, 16), **column, values={"smile": smile}, held={"age": np.array(age * 2)})
    other = answers(Design({}, 16), **column, values={"smile": smile, "age": age * 2})
    (row,), (same, _) = (rows(adjustment.confounding_section(each), "Robustness") for each in (one, other))
    assert row == same
    assert row["adjusted difference, points"] == pytest.approx(0, abs=1e-9)


def test_numbers_have_the_ratio_that_a_standardized_difference_stands_for():
    """Means 1 and 4, a standard deviation of √2 within: E-value of exp(.91 * 3 / √2)."""
    scores = [0.0, 2.0, 3.0, 5.0]
    one = answers(Design({}, 4), scores=scores, task=Task.REGRESSION, values={"smile": [0, 0, 1, 1]})
    (smile,) = rows(checked(adjustment.confounding_section(one)), "E-values of the unadjusted contrasts: mean answer")
    assert smile["standardized difference"] == pytest.approx(3 / math.sqrt(2))
    assert smile["E-value"] == pytest.approx(e(math.exp(0.91 * 3 / math.sqrt(2))))


def test_slopes_of_numbers_are_told_for_a_standard_deviation():
    """Ages 30, 40, 50, 60 twice and scores 0, 1, 2, 3, each a half up or down: slope .1 a year, squares left 8 / 4 = 2
    of 6 degrees of freedom; the ages' standard deviation is sqrt(1000 / 7)."""
    ages = [30.0, 40.0, 50.0, 60.0] * 2
    scores = np.array([0.0, 1.0, 2.0, 3.0] * 2) + np.repeat([0.5, -0.5], 4)
    one = answers(Design({}, 8), scores=scores, task=Task.REGRESSION, values={"age": ages, "smile": [0, 0, 1, 1] * 2})
    made = checked(adjustment.confounding_section(one))
    (slope,) = [row for row in rows(made, "E-values of the unadjusted") if "slope" in row["compared"]]
    assert slope["compared"] == "age: slope, per standard deviation (12 years)"
    d = 0.1 * math.sqrt(1000 / 7) / math.sqrt(2 / 6)
    assert slope["standardized difference"] == pytest.approx(d)
    assert slope["E-value"] == pytest.approx(e(math.exp(0.91 * d)))
    limit = e_value_of_slope(*(slope[key] for key in ("standardized difference", "low", "high")), change=1, spread=1)
    assert slope["E-value of the interval"] == pytest.approx(limit.limit)


def test_what_cannot_be_estimated_says_why():
    one = answers(Design({}, 16), answers=np.zeros(16), truth=np.zeros(16), values=VALUES)
    for row in rows(checked(adjustment.confounding_section(one)), "E-values of the unadjusted"):
        assert (row["risk ratio"], row["E-value"]) == (None, None)
        assert row["note"].startswith("no variation: all 16 outcomes are 0")
    assert adjustment.confounding_section(answers(Design({}, 16), values=VALUES)) is None
