"""Distributions of what raters saw in several sets of images, by hand."""

import numpy as np
import pytest
from small_answers import checked, points, rows

from transect.analysis.sections import rated_sets
from transect.analysis.sections.raters import Rated
from transect.errors import BadInput, UnknownName

N = np.nan


def asked(name, means, values=(0.0, 0.5, 1.0), **known):
    """One rater's answers: the mean of an image is its answer."""
    return Rated(name, np.array(means, dtype=float)[:, None], values, **known)


def sets():
    return {
        "ppb": [asked("gender", [0, 0, 1, 1, N]), asked("hair", [1, 0.5, 0, 0, 1])],
        "celeba": [asked("gender", [0, 0.5, 1]), asked("hair", [1, 0, 0]), asked("beard", [0, 0, 1])],
        "faces": [asked("gender", [1, 1]), asked("hair", [0.5, N])],
    }


def test_every_set_has_a_shape_of_its_means():
    made = checked(rated_sets.section(sets()))
    (figure,) = made["figures"]
    assert [one["heading"] for one in figure["panels"]] == ["gender", "hair", "beard"]
    assert points(figure, "hair", "") == {"ppb": 0.5, "celeba": 0.0, "faces": 0.5}  # medians
    hair = figure["panels"][1]["series"][0]["points"]
    assert [(one["counts"], one["n"]) for one in hair] == [([2, 1, 2], 5), ([2, 0, 1], 3), ([0, 1, 0], 1)]
    beard = figure["panels"][2]["series"][0]["points"]
    assert [(one["label"], one["n"], one["value"]) for one in beard] == [
        ("ppb", 0, None),
        ("celeba", 3, 0.0),
        ("faces", 0, None),
    ]
    assert made["warnings"] == ["beard was not asked about ppb", "beard was not asked about faces"]


def test_a_question_splits_each_set_in_two():
    """The middle of the scale belongs to the upper half, and an image without an answer to neither."""
    made = checked(rated_sets.section(sets(), "gender"))
    (figure,) = made["figures"]
    halves = "gender in the lower half", "gender in the upper half"
    assert [one["heading"] for one in figure["panels"]] == [
        f"{q}, {half}" for q in ("hair", "beard") for half in halves
    ]
    assert points(figure, f"hair, {halves[0]}", "") == {"ppb": 0.75, "celeba": 1.0, "faces": None}
    assert points(figure, f"hair, {halves[1]}", "") == {"ppb": 0.0, "celeba": 0.0, "faces": 0.5}
    lower, upper = figure["panels"][:2]
    assert lower["edges"] == upper["edges"]
    hair, beard = rows(made, "Standardized differences by gender")
    assert list(hair) == ["question", "ppb (2 and 2 images)", "celeba (1 and 2 images)", "faces (0 and 2 images)"]
    # Means .75 and 0, variances 1/8 and 0: -.75 / sqrt(1/16) = -3. One image below in celeba, none in faces.
    assert list(hair.values()) == ["hair", pytest.approx(-3.0), None, None]
    assert list(beard.values()) == ["beard", None, None, None]
    assert "1 images of ppb have no answer to gender and are in neither group" in made["warnings"]


def test_other_units_simulated_raters_and_names_are_told():
    said = {
        "a": [asked("age", [0, 1], (0.0, 1.0)), asked("race", [0, 1], scale="nominal")],
        "b": [asked("age", [20, 60], (20.0, 60.0), simulated=2)],
    }
    made = checked(rated_sets.section(said))
    assert [one["heading"] for one in made["figures"][0]["panels"]] == ["age"]
    assert [line.split(":")[0].split(" ")[:3] for line in made["warnings"]] == [
        ["Answers", "to", "race"], ["age"], ["b"],
    ]  # fmt: skip
    with pytest.raises(BadInput, match="--by race: expected ordered answers"):
        rated_sets.section(said, "race")
    with pytest.raises(UnknownName, match="asked about b"):
        rated_sets.section({"a": said["a"] + [asked("sex", [0, 1])], "b": said["b"]}, "sex")
