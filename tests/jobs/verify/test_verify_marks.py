"""`transect verify marks`: planted errors are counted as they are, by group, and refusals are one line."""

import json

import numpy as np
import pytest
import replicas
from published import fits

import transect
from transect.errors import BadInput
from transect.experiment.marks_accuracy import LEFT_OUT, TONES, MarksSettings
from transect.marks import Marks


class Planted:
    """Moves every true point by a share of the eyes' distance; unsure of the darkest tone of the first subject."""

    name, threshold = "planted", 0.5

    def __init__(self, truth):
        self.truth = truth

    def describe(self):
        return {"name": self.name}

    def find(self, pixels, rows=None):
        truth = self.truth(pixels, rows)
        apart = np.linalg.norm(truth.five[:, 1] - truth.five[:, 0], axis=1)
        share = np.resize([0.01, 0.02, 0.03, 0.05], len(pixels))
        moved = truth.points + (share * apart)[:, None, None] * np.array([0.6, 0.8])
        sure = np.ones(len(pixels))
        sure[len(TONES) - 1] = 0.2
        return Marks(moved, truth.five, truth.masks, sure, truth.reasons, self.name)


@pytest.fixture
def planted(monkeypatch):
    """The finder of every name; it learns the truth as the check asks FaceWorld for it."""
    from transect.generators.faceworld import world as module

    known = {}
    true_marks = module.own_marks

    def remembered(world, latents):
        known["marks"] = true_marks(world, latents)
        return known["marks"]

    monkeypatch.setattr(module, "own_marks", remembered)
    monkeypatch.setattr(
        "transect.experiment.marks_accuracy.open_marks",
        lambda name, labelled: Planted(lambda pixels, rows: known["marks"]),
    )


def test_planted_errors_on_faceworld(planted):
    result = transect.verify("marks", settings=MarksSettings(subjects=3, image_size=32), quiet=True)
    fits(result)
    figures = result.numbers.marks
    whole, *tones = figures.groups
    assert (whole.pictures, whole.people, whole.left_out) == (12, 3, 1)
    assert [tone.level for tone in tones] == ["1", "4", "7", "10"]
    assert [tone.value for tone in tones] == pytest.approx([0.01, 0.02, 0.03, 0.05])
    assert [tone.left_out for tone in tones] == [0, 0, 0, 1]
    assert whole.value == pytest.approx((3 * 0.06 + 2 * 0.05) / 11)
    assert figures.reasons == {LEFT_OUT: 1}
    error, lost = figures.differences
    assert (error.subjects, error.value) == (2, pytest.approx(0.04))
    assert (lost.subjects, lost.value) == (3, pytest.approx(1 / 3))
    parts = {part.part: part for part in figures.parts}
    assert parts["jaw"].value == pytest.approx(whole.value)
    assert parts["five points"].value == 0
    assert parts["skin"].value == 1
    assert result.table["level"].to_pylist() == ["", "1", "4", "7", "10"]


def test_a_data_set_with_groups(tmp_path, monkeypatch):
    from transect.marks.dataset_marks import OwnMarks

    transect.render(tmp_path / "set", subjects=6, image_size=32, data_set=True, quiet=True)
    monkeypatch.setattr(
        "transect.experiment.marks_accuracy.open_marks", lambda name, labelled: Planted(OwnMarks(labelled).find)
    )
    settings = MarksSettings(dataset=f"parquet:{tmp_path / 'set'}", by="glasses")
    figures = transect.verify("marks", settings=settings, quiet=True).numbers.marks
    whole, *groups = figures.groups
    assert sum(group.pictures for group in groups) == whole.pictures == 6
    assert figures.differences == ()
    assert figures.source == "parquet:set"
    assert whole.value == pytest.approx((0.01 * 2 + 0.02 * 2 + 0.03) / 5)
    monkeypatch.setattr("transect.experiment.marks_accuracy.MOST_LEVELS", 3)
    with pytest.raises(BadInput, match="by age: expected at most 3 levels, got 6 numbers"):
        transect.verify("marks", settings=MarksSettings(dataset=settings.dataset, by="age"), quiet=True)


def test_a_finder_is_not_judged_by_its_own_marks(tmp_path):
    root = replicas.ffhq(tmp_path, labelled=False)
    points = {"0": {"category": "training", "image": {"face_landmarks": [[1, 2]] * 68}}}
    (root / "ffhq-dataset-v2.json").write_text(json.dumps(points))
    with pytest.raises(BadInput, match="got the data set's own marks, which are the truth"):
        transect.verify("marks", settings=MarksSettings("dataset", f"ffhq:{root}"), quiet=True)


def test_settings_of_the_other_check_are_refused(tmp_path):
    with pytest.raises(BadInput, match="and its options do not apply to a run's files"):
        transect.verify("run", run=tmp_path, settings=MarksSettings(subjects=3))
    with pytest.raises(BadInput, match="do not apply to marks"):
        transect.verify("marks", key=tmp_path / "key.pub")
