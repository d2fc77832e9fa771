"""dlib's models beside the world's own knowledge, with stand-ins whose answers are known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from transect.errors import BadInput
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify import dlib_models as module
from transect.jobs.verify.cache import Cache
from transect.jobs.verify.pictures import Pictures, landmarks, plain

dlib = pytest.importorskip("dlib")
ANY = Path("model.dat")


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    with Cache(tmp_path_factory.mktemp("faces")) as cache:
        return Pictures(cache, FaceWorld(128, threads=1), "faces", 4, plain(0), key={}, quiet=True)


def test_a_known_error_is_measured_in_eye_distances(faces, monkeypatch):
    """A predictor that answers with the world's points, the mouth moved right by a tenth of the eyes' distance."""
    own = landmarks(faces)
    apart = np.linalg.norm(own[:, 45] - own[:, 36], axis=1)
    told = own.copy()
    told[:, 48:, 0] += 0.1 * apart[:, None]
    turn = iter(told)

    def predictor(_image, _box):
        points = next(turn)
        return SimpleNamespace(parts=lambda: [SimpleNamespace(x=4 * x - 0.5, y=4 * y - 0.5) for x, y in points])

    monkeypatch.setattr(module, "read_model", lambda *_: predictor)
    monkeypatch.setattr(module, "matching_boxes", lambda _boxes, expected: [np.append(expected[0], 1.0)[None]])
    found = module.landmark_errors(faces, ANY)
    assert (found["n"], found["not_found"]) == (4, 0)
    assert found["regions"]["mouth"]["mean"] == pytest.approx(0.1)
    assert found["regions"]["mouth"]["offset"] == pytest.approx([0.1, 0], abs=1e-12)
    assert found["regions"]["nose"]["mean"] == pytest.approx(0, abs=1e-12)
    assert found["regions"]["all"]["mean"] == pytest.approx(0.1 * 20 / 68)


def test_faces_that_are_not_found_are_counted(faces, monkeypatch):
    monkeypatch.setattr(module, "read_model", lambda *_: None)
    monkeypatch.setattr(module, "matching_boxes", lambda *_: [np.empty((0, 5))])
    assert module.landmark_errors(faces, ANY) == {
        "n": 0,
        "not_found": 4,
        "regions": {},
        "reason": "dlib found no face",
    }


def test_descriptors_are_of_the_face_at_the_worlds_landmarks(faces, monkeypatch):
    seen = []

    def describe(image, shape):
        seen.append((image.shape, shape.num_parts, (shape.part(30).x, shape.part(30).y)))
        return [0.0] * 128

    monkeypatch.setattr(module, "read_model", lambda *_: SimpleNamespace(compute_face_descriptor=describe))
    assert module.descriptors(faces, ANY).shape == (4, 128)
    tip = (4 * landmarks(faces)[0, 30]).astype(int)
    assert seen[0] == ((512, 512, 3), 68, (tip[0], tip[1]))


def test_a_file_that_is_no_model_is_refused(tmp_path, faces):
    (tmp_path / "model.dat").write_bytes(b"not a model")
    with pytest.raises(BadInput, match="expected a model file of dlib's"):
        module.landmark_errors(faces, tmp_path / "model.dat")
