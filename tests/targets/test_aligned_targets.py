"""Targets that get aligned crops: where landmarks come from, and images that cannot be aligned."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

import transect
from transect.generators.faceworld.world import FaceWorld
from transect.records import Images
from transect.targets import FailureBudget, as_target, describe, guarded, preprocess
from transect.targets.isolated.target import images_message, images_of
from transect.targets.preprocess import ARCFACE, from_crop

ALIGN = {"align": "arcface-112"}


def shades(pixels):
    """An embedding: mean red, green and blue of what the model gets."""
    return np.asarray(pixels).mean(axis=(2, 3))


def embedder(**settings):
    return as_target(shades, name="shades", task="embedding", preprocess={**ALIGN, **settings})


def faces(n=3, size=128):
    """White pictures with a black square where the aligned face is; all of ARCFACE's points, moved by (8, 8)."""
    pixels = np.full((n, size, size, 3), 255, np.uint8)
    pixels[:, 8:120, 8:120] = 0
    return Images(pixels, landmarks=np.repeat(ARCFACE[None] + 8.5, n, axis=0))


def test_the_model_gets_the_face_alone():
    target = embedder()
    assert target.wants_landmarks
    assert_allclose(target.predict(faces()).scores, np.zeros((3, 3)), atol=1e-6)
    assert describe(target)["preprocess"]["align"] == "arcface-112"


def test_an_image_without_landmarks_is_not_enrolled_and_no_failure_of_the_model():
    images = faces(4)
    images.landmarks[1] = np.nan
    images.landmarks[2] = 5.0
    budget = FailureBudget("shades", 4, limit_share=0.0)
    answers = guarded(embedder(), images, timeout=5, batch=4, budget=budget)
    assert answers.failures == ("", preprocess.NO_LANDMARKS, preprocess.NOT_ALIGNED, "")
    assert np.isnan(answers.scores[1:3]).all()
    assert_allclose(answers.scores[[0, 3]], 0, atol=1e-6)
    assert (budget.seen, budget.failed) == (4, 0)


def test_a_detectors_landmarks(monkeypatch):
    """The detector finds a face on the first picture alone."""

    class Finder:
        def boxes(self, pixels):
            return [np.array([[8.0, 8, 120, 120]]), np.zeros((0, 4))]

        def describe(self):
            return {"name": "finder"}

    class Predictor:
        points, sha256 = 68, "a" * 64

        def of(self, pixels, face):
            return np.random.default_rng(0).uniform(10, 100, (68, 2))

    monkeypatch.setattr(preprocess, "_detector", lambda file: (Finder(), Predictor()))
    target = embedder(landmarks="models/points.dat")
    assert not target.wants_landmarks
    answers = target.predict(Images(faces(2).pixels))
    assert answers.failures == ("", preprocess.NO_FACE)
    facts = describe(target)
    assert (facts["landmarks_sha256"], facts["detector"]) == ("a" * 64, {"name": "finder"})
    assert facts["preprocess"]["landmarks"] == "points.dat"


def test_landmarks_reach_a_separate_process():
    images = faces(2)
    for boxes in (None, np.arange(8.0).reshape(2, 4)):
        sent = Images(images.pixels, boxes, images.landmarks)
        read = images_of(*images_message(sent))
        assert (read.landmarks == images.landmarks).all()
        assert (read.face_boxes is None) if boxes is None else (read.face_boxes == boxes).all()
    assert images_of(*images_message(Images(images.pixels))).landmarks is None


@pytest.mark.parametrize("name", ["arcface-112", "ffhq"])
def test_features_of_the_worlds_faces_lie_in_one_place(name):
    """Near and far, turned in the plane: in the crop the eyes and the mouth of one person hardly move."""
    world = FaceWorld(image_size=128)
    latents = world.set(world.sample([3, 3]), {"roll": [-20.0, 20.0], "distance": [0.8, 1.2], "yaw": 0.0, "pitch": 0.0})
    from transect.marks.records import five_points

    points = five_points(world.landmarks(latents))
    maps = from_crop(name, points, np.full((2, 4), np.nan), 112)
    there = [np.linalg.solve(one[:, :2], (place - one[:, 2]).T).T for one, place in zip(maps, points, strict=True)]
    assert np.abs(there[0] - there[1]).max() < 3
    assert np.abs(points[0] - points[1]).max() > 15


@pytest.mark.integration
def test_an_audit_aligns_by_the_worlds_landmarks(tmp_path):
    target = as_target(shades, name="shades", task="embedding", preprocess={**ALIGN, "size": 32})
    settings = {"vary": "skin_tone=1,10", "subjects": 2, "image_size": 64, "quiet": True}
    result = transect.audit(target, out=tmp_path / "run", **settings)
    assert {effect.outcome for effect in result.effects} == {"distance"}
    (part,) = sorted((tmp_path / "run" / "images").glob("*.parquet"))
    stored = pq.read_table(part)
    assert len(stored["landmarks"][0]) == 136
    # Resumed from the stored images, whose landmarks are in the table: the same answers.
    for file in (tmp_path / "run" / "predictions" / "shades").glob("*.parquet"):
        before = file.read_bytes()
        file.unlink()
        transect.audit(target, out=tmp_path / "run", **settings)
        assert file.read_bytes() == before
