"""Models from outside whose answers are planted: one reads perfectly, one says always the same, one the opposite."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from transect.generators.faceworld.attributes import ATTRIBUTES, attribute
from transect.generators.faceworld.validity import stored_readers, validity_of
from transect.generators.faceworld.world import FaceWorld
from transect.records import Predictions, Task
from validation.discrimination import correlation, slope
from validation.light_by_attribute import codings
from validation.outside_readers import Outside, levels_of, read_from_outside
from validation.world import keep_readers

WORLD = FaceWorld(image_size=32, threads=1)


class Planted:
    """Answers in the order of the pictures: a subject's levels, then the next subject's."""

    def __init__(self, answers, task=Task.REGRESSION, name="planted"):
        self.answers, self.task, self.name, self.asked = np.asarray(answers, float), task, name, 0
        self.answers = self.answers.reshape(-1, self.answers.shape[-1] if task is Task.EMBEDDING else 1)

    def describe(self):
        return {"planted": self.answers.tolist()}

    def predict(self, images):
        scores = self.answers[self.asked : self.asked + len(images.pixels)]
        self.asked += len(scores)
        return Predictions(self.task, scores, tuple("" if np.isfinite(row).all() else "no face" for row in scores))


def read(target, attribute="smile", subjects=3, **more):
    outside = Outside(((attribute, target),), **more)
    return read_from_outside(outside, WORLD, np.arange(subjects), resamples=50)[0]


def test_a_perfect_reader():
    # Years as set at 18, 34.75, 51.5, 68.25 and 85: every old face above every young one, a year per year.
    row = read(Planted([[18, 34.75, 51.5, 68.25, 85]] * 3), "age")
    assert row["auc"] == {"value": 1, "low": 1, "high": 1, "n": 3, "reason": ""}
    assert row["correlation"]["value"] == pytest.approx(1)
    assert row["slope"]["value"] == pytest.approx(1)
    assert [level["value"] for level in row["levels"]] == [18, 34.75, 51.5, 68.25, 85]
    assert (row["unit"], row["subjects"], row["unanswered"]) == ("years", 3, 0)


def test_a_constant_reader():
    row = read(Planted([[0.3] * 5] * 3))
    assert row["auc"]["value"] == 0.5
    assert row["slope"]["value"] == pytest.approx(0)
    assert row["correlation"]["value"] is None
    assert row["correlation"]["reason"]


def test_an_area_by_hand():
    # Full smiles .5, .8, .3 against none .1, .4, .6: .5 wins 2 of 3, .8 wins 3, .3 wins 1: 6 of 9 pairs.
    # Slopes of each subject: sum of (x - .5) y over .625: (.2, .2, -.15) / .625, mean .25 / 3 / .625 = .1333.
    rows = [[low, 0.5, 0.5, 0.5, high] for low, high in ((0.1, 0.5), (0.4, 0.8), (0.6, 0.3))]
    row = read(Planted(rows))
    assert row["auc"]["value"] == pytest.approx(6 / 9)
    assert row["slope"]["value"] == pytest.approx(0.25 / 3 / 0.625)
    assert row["auc"]["low"] < 6 / 9 < row["auc"]["high"]


def test_a_subject_without_an_answer_does_not_count():
    rows = [[0, 0.2, 0.5, 0.7, 1], [1, 1, np.nan, 0, 0], [0, 0.2, 0.5, 0.7, 1]]
    row = read(Planted(rows))
    assert (row["unanswered"], row["subjects"], row["auc"]["n"], row["auc"]["value"]) == (1, 2, 2, 1)


def test_levels_with_names_are_first_against_the_others():
    levels = len(attribute("hat").levels)
    row = read(Planted([[0.0] + [0.9] * (levels - 1)] * 3), "hat")
    assert row["auc"]["value"] == 1
    assert row["slope"]["reason"] == "levels have no order"
    assert row["levels"][0]["level"] == "none"
    assert len(row["levels"]) == levels


def test_embeddings_are_read_along_the_direction_of_others():
    # The first coordinate is the smile, the second the subject: whoever is left out, the direction is the first.
    rows = [[[level, subject] for level in (0, 0.25, 0.5, 0.75, 1)] for subject in range(6)]
    row = read(Planted(rows, Task.EMBEDDING), subjects=6)
    assert row["auc"]["value"] == 1
    assert row["slope"]["value"] == pytest.approx(1)


@pytest.fixture
def photographs(tmp_path):
    """Grey pictures of levels 10, 60, 110 and 160; Smiling 0 1 0 1, No_Beard 1 0 0 0, age 20 30 40 50."""
    folder = tmp_path / "faces"
    folder.mkdir()
    for k, level in enumerate((10, 60, 110, 160)):
        Image.new("RGB", (32, 32), (level,) * 3).save(folder / f"{k}.png")
    rows = ["0.png,no,yes,20", "1.png,yes,no,30", "2.png,no,no,40", "3.png,yes,no,50"]
    (folder / "labels.csv").write_text("\n".join(["file,Smiling,No_Beard,age", *rows]))
    return f"folder:{folder}"


class Brightness:
    name, task = "brightness", Task.REGRESSION

    def describe(self):
        return {}

    def predict(self, images):
        scores = images.pixels.mean((1, 2, 3))[:, None]
        return Predictions(self.task, scores, ("",) * len(scores))


def test_photographs_stand_beside(photographs):
    # Smiling 60 and 160 against 10 and 110: 60 wins 1, 160 wins 2: 3 of 4 pairs; means 60 and 110.
    seen = read(Brightness(), dataset=photographs)["photographs"]
    assert (seen["label"], seen["images"], seen["auc"]["value"]) == ("Smiling", 4, 0.75)
    assert [(level["level"], level["value"]) for level in seen["levels"]] == [("no", 60), ("yes", 110)]


def test_a_label_that_says_the_opposite_is_turned(photographs):
    # No_Beard: 10; bearded: 60, 110, 160. All of these are brighter.
    seen = read(Brightness(), "facial_hair", dataset=photographs)["photographs"]
    assert (seen["label"], seen["auc"]["value"]) == ("not No_Beard", 1)


def test_every_coding_is_of_an_attribute_and_in_its_range():
    known = {each.name: each for each in ATTRIBUTES}
    for coding in codings():
        low, high = known[coding.attribute].bounds
        assert low <= min(coding.at_0, coding.at_1) < max(coding.at_0, coding.at_1) <= high
    assert {coding.label for coding in codings() if coding.inverted} == {"Young", "No_Beard"}
    assert levels_of(known["age"]).tolist() == [18, 34.75, 51.5, 68.25, 85]


def test_slopes_and_correlations_are_weighted():
    # A weight of two is the row twice.
    x, y, w = np.array([0.0, 1, 2]), np.array([0.0, 1, 4]), np.array([[1.0, 2, 2]])
    repeated = np.array([0, 1, 1, 2, 2])
    assert slope(x, y, w)[0] == pytest.approx(np.polyfit(x[repeated], y[repeated], 1)[0])
    assert correlation(x, y, w)[0] == pytest.approx(np.corrcoef(x[repeated], y[repeated])[0, 1])


def test_figures_of_another_renderer_are_not_shown(tmp_path):
    row = read(Planted([[0, 0.25, 0.5, 0.75, 1]] * 3))
    keep_readers(tmp_path, "5", [row])
    assert stored_readers("6", tmp_path) == []
    assert stored_readers("5", tmp_path)[0]["reader"] == "planted"
    keep_readers(tmp_path, "5", [{**row, "subjects": 9}, {**row, "reader": "other"}])
    assert [(each["reader"], each["subjects"]) for each in stored_readers("5", tmp_path)] == [
        ("planted", 9),
        ("other", 3),
    ]
    said = validity_of({}, "5", stored_readers("5", tmp_path))
    assert [each["reader"] for each in said["readers"]["smile"]] == ["planted", "other"]
    assert validity_of({"renderer_version": "4", "photometry": None, "readers": [row]}, "5")["readers"] == {}
