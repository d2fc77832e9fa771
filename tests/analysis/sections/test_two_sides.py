"""The two sides of an attribute in adjusted differences, on tables that can be worked out by hand."""

import numpy as np
import pytest
from small_answers import answers, checked, rows

from transect.analysis.sections import adjustment
from transect.records import Design

WRONG = [1, 0, 0, 0, 1, 1, 0, 1] * 2
VALUES = {"smile": [0, 0, 0, 0, 1, 1, 1, 1] * 2, "age": [30.0] * 8 + [60.0] * 8}


def test_a_stated_cut_point_takes_the_place_of_the_median():
    """Errors at 2, 1 and 1 of the four images of each age up to 50, none above: means 4/12 and 0 at a cut of 55."""
    ages = np.repeat([20.0, 30.0, 50.0, 60.0], 4)
    wrong = [1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    for bins, compared, difference in (
        ({}, "40 or above vs below", 1 / 8 - 3 / 8),
        ({"age": (55.0,)}, "55 or above vs below", 0 - 4 / 12),
        ({"age": (25.0, 45.0, 70.0)}, "45 or above vs below", 1 / 8 - 3 / 8),
    ):
        study = answers(Design({}, 16), answers=wrong, truth=np.zeros(16), values={"age": ages}, bins=bins)
        (age,) = rows(checked(adjustment.section(study)), "Differences")
        assert (age["compared"], age["adjusted: 95 %"]) == (compared, "nothing to adjust for")
        assert age["unadjusted, points"] == pytest.approx(difference)


def test_attributes_without_two_sides_are_named():
    values = {**VALUES, "hair": [0.0, 1.0, 2.0, 0.0] * 4, "glasses": [1.0] * 16}
    one = answers(Design({}, 16), answers=WRONG, truth=np.zeros(16), values=values)
    table = rows(checked(adjustment.section(one)), "Differences")
    told = [(row["attribute"], row["compared"], row["unadjusted, points"] is None) for row in table[2:]]
    assert told == [
        ("hair", "bun vs bald", False), ("hair", "long vs bald", False), ("glasses", "does not vary", True),
    ]  # fmt: skip
    left = {row["compared"]: row["note"] for row in rows(checked(adjustment.confounding_section(one)), "Robustness")}
    assert (left["hair"], left["glasses"]) == ("no two sides: 3 levels", "no two sides: does not vary")
