"""Interpolation consistency on four lines whose shares can be counted."""

import numpy as np
import pytest
from small_answers import answers as answers_of
from small_answers import checked, points, rows

from transect.analysis.sections import interpolation
from transect.designs.steps import SHARE
from transect.effects.intervals import wilson
from transect.records import Attribute, Design, Task

NAN = np.nan
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
WAY = {SHARE: Attribute(SHARE, "continuous", "share of the way", low=0, high=1)}
LINES = [
    [1, 1, 0, 1, 1],  # yes: two of three keep it
    [1, 1, NAN, 1, 1],  # yes: two of two, one without an answer
    [0, 0, 0, 0, 0],  # no: three of three
    [0, 1, 1, 1, 1],  # two classes
    [NAN, 1, 1, 1, 1],  # an end failed
]


def lines(said, **more):
    return answers_of(Design({SHARE: SHARES}, len(said)), answers=said, attributes=WAY, **more)


def test_shares_that_keep_the_class():
    made = checked(interpolation.interpolation_section(lines(LINES)))
    found = {row["class of both ends"]: row for row in rows(made, "Images between two ends of one class")}
    assert {name: (row["images that keep it"], row["images"], row["lines"]) for name, row in found.items()} == {
        "both": (pytest.approx(7 / 8), 8, 3), "no": (1.0, 3, 1), "yes": (pytest.approx(4 / 5), 5, 2),
    }  # fmt: skip
    assert found["both"]["low"] < 7 / 8 < found["both"]["high"]
    assert [row["number"] for row in rows(made, "Lines")] == [3, 1, 1]
    (figure,) = made["figures"]
    assert points(figure, "Along", "both ends yes") == {0.25: 1.0, 0.5: 0.0, 0.75: 1.0}
    assert points(figure, "Along", "both ends no") == {0.25: 1.0, 0.5: 1.0, 0.75: 1.0}
    assert made["warnings"] == []
    # one line is one observation, however many images lie on it: Wilson's interval of one, at the share 1
    assert (found["no"]["low"], found["no"]["high"]) == pytest.approx(tuple(map(float, wilson(1, 1))))


@pytest.mark.parametrize("said", [[[0, 1, 1, 1, 1]], np.full((3, 5), NAN)])
def test_no_line_within_a_class_is_said_and_nothing_is_drawn(said):
    made = checked(interpolation.interpolation_section(lines(said, task=Task.DETECTION)))
    assert made["warnings"] == ["No line has both ends in one class: there is nothing to check."]
    assert made["figures"] == []
    assert rows(made, "Images between")[0]["images that keep it"] is None
