"""Errors by condition and mean faces of a search: what is counted where, and what the page shows of it."""

import io

import numpy as np
import pytest
from PIL import Image

from transect.analysis.findings import SIDE
from transect.analysis.search_numbers import conditions_of, error_tables, mean_faces
from transect.designs.search import History, eager
from transect.designs.search.space import Space
from transect.effects.interrogation import ATTRIBUTE, COUNTED, DETECTION, GIVEN
from transect.records import Attribute
from transect.targets import as_target

TONE = Attribute("skin_tone", "continuous", "tone", low=0, high=9)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
SPACE = Space((TONE, GLASSES), np.array([np.linspace(0, 9, 4097), np.repeat([0.0, 1.0], [2000, 2097])]))
NO_FACE = "failed: no face: as the answer says"


class FakeSearch:
    target = as_target(lambda pixels: [0.5] * len(pixels), name="reader", task="binary")
    space, goal, outcome, budget, strategy = SPACE, "failures", "error", 10, eager(0)


class Missing(FakeSearch):
    outcome = "miss"


def history(failures):
    """Ten calls along tone, the last three follow-ups; glasses are off in the first two."""
    points = np.column_stack([np.linspace(0.05, 0.95, 10), np.repeat([0.1, 0.9], [2, 8])])
    return History(points, np.array(failures, dtype=float), np.arange(10) < 7)


FAILURES = [0, 0, 0, np.nan, 0, 1, 0, 1, 1, np.nan]


def rates(tables, sample, measure):
    return {(row.by, row.group, row.uniform): row for row in tables.samples[sample].rows if row.measure == measure}


def test_conditions_are_thirds_of_the_space_and_levels():
    made = conditions_of(SPACE, history(FAILURES))
    assert made["skin_tone"].groups == ("0 to 3", "3 to 6", "6 to 9")
    # tone is 9 times .05, .15, .25 | .35 ... .65 | .75, .85, .95
    assert made["skin_tone"].codes.tolist() == [0] * 3 + [1] * 4 + [2] * 3
    assert made["glasses"].groups == ("off", "on")
    assert made["glasses"].codes.tolist() == [0] * 2 + [1] * 8


def test_a_point_mass_makes_no_empty_group():
    space = Space((TONE,), np.array([[0.0] * 3000 + np.linspace(0, 9, 1097).tolist()]))
    points = np.array([[0.1], [0.99]])
    (made,) = conditions_of(space, History(points, np.zeros(2), np.ones(2, dtype=bool))).values()
    assert len(made.groups) == 1, "two thirds of the space have the same value, and no cut lies within"
    assert made.codes.tolist() == [0, 0]


def test_each_sampler_has_its_own_rates():
    """Four of ten calls are explored whatever is found, the first four: no failure and one call without an outcome."""
    tables = error_tables(Missing(), history(FAILURES), [""] * 10)
    explored, everything = (rates(tables, sample, DETECTION) for sample in (0, 1))
    assert [(sample.sampler, sample.calls) for sample in tables.samples] == [("Sobol points", 4), ("active search", 10)]
    assert (explored["", "", False].errors, explored["", "", False].images) == (0, 3)
    assert everything["", "", False].estimate == pytest.approx(3 / 8)
    assert everything["skin_tone", "6 to 9", False].estimate == 1.0
    assert np.isnan(explored["skin_tone", "6 to 9", False].estimate), "nothing was explored there"
    assert "6 to 9" in explored["skin_tone", "", True].reason
    assert everything["skin_tone", "", True].estimate == pytest.approx((0 + 1 / 3 + 1) / 3)


def test_no_face_found_is_a_miss_and_other_reasons_are_not():
    reasons = [""] * 10
    reasons[3], reasons[9] = NO_FACE, "failed: timed out after 10 s"
    tables = error_tables(FakeSearch(), history(FAILURES), reasons)
    at = ("", "", False)
    detection, given, counted = (rates(tables, 1, name)[at] for name in (DETECTION, GIVEN, COUNTED))
    assert (detection.errors, detection.images, detection.left_out) == (1, 9, 1)
    assert (given.errors, given.images) == (3, 8)
    assert (counted.errors, counted.images) == (4, 9)
    silent = error_tables(FakeSearch(), history(FAILURES), ["", *["failed: timed out"] * 9])
    assert {row.measure for row in silent.samples[1].rows} == {ATTRIBUTE}


def pictures(part):
    """Five pictures of 128 pixels a part: the number of the call times ten, as gray."""
    return np.stack([np.full((128, 128, 3), 10 * number, np.uint8) for number in range(5 * part, 5 * part + 5)])


def shown(png):
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image)


def test_mean_faces_are_means_of_right_and_of_wrong_answers():
    faces = mean_faces(FakeSearch(), history(FAILURES), ["skin_tone"], 2, pictures)
    everyone, dark, _, light = faces
    # right: calls 0, 1, 2, 4, 6, mean 26; wrong: 5, 7, 8, mean 66.67
    assert (everyone.right, everyone.wrong) == (5, 3)
    assert shown(everyone.right_picture).shape == (SIDE, SIDE, 3)
    assert np.unique(shown(everyone.right_picture)).tolist() == [26]
    assert np.unique(shown(everyone.wrong_picture)).tolist() == [67]
    assert (dark.group, dark.right, dark.wrong, dark.wrong_picture) == ("0 to 3", 3, 0, None)
    assert (light.right_picture, light.wrong) == (None, 2)
    assert np.unique(shown(light.wrong_picture)).tolist() == [75]


def test_combinations_of_searched_attributes_are_a_condition():
    """Of the thirds of tone and glasses: the last three calls have light skin and glasses on, both failures of two."""
    tables = error_tables(Missing(), history(FAILURES), [""] * 10, by=["skin_tone", "glasses"])
    row = rates(tables, 1, DETECTION)["skin_tone × glasses", "skin tone 6 to 9, glasses on", False]
    assert (row.errors, row.images, row.left_out) == (2, 2, 1)
    assert tables.shown == ("skin_tone × glasses",)
    faces = mean_faces(FakeSearch(), history(FAILURES), tables.shown, 2, pictures, ["skin_tone", "glasses"])
    assert (faces[-1].group, faces[-1].wrong) == ("skin tone 6 to 9, glasses on", 2)
