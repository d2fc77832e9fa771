"""TensorFlow Lite models: what is read off them, and the numbers that quantised ones stand for."""

import numpy as np
import pytest
from lite_files import network
from numpy.testing import assert_allclose

from transect.errors import BadInput
from transect.records import Images
from transect.targets import Preprocess, describe, resolve

RAMP = Images(np.stack([np.full((4, 4, 3), value, np.uint8) for value in (0, 51, 255)]))


def saved(path, *answers, quantized=None):
    path.write_bytes(network(4, *answers, quantized=quantized))
    return str(path)


def test_the_input_is_read_off_the_model_and_images_are_asked_about_one_by_one(tmp_path):
    target = resolve(saved(tmp_path / "m.tflite", np.zeros((1, 1))), isolate=False)
    facts = describe(target)
    assert (facts["preprocess"]["size"], facts["preprocess"]["layout"]) == ([4, 4], "NHWC")
    assert facts["assumed"] == ["channel_order", "range"]
    assert_allclose(target.predict(RAMP).scores[:, 0], [0, 0.2, 1], atol=1e-6)


def test_whole_numbers_stand_for_others_at_both_ends(tmp_path):
    """Signed bytes q are (q + 128) / 255, so that 51 is 0.2; bytes of the answer are (q - 10) / 100."""
    spec = saved(tmp_path / "m.tflite", np.zeros((1, 1)), quantized=[(1 / 255, -128), (0.01, 10)])
    target = resolve(spec, isolate=False)
    assert describe(target)["assumed"] == ["channel_order"]
    assert_allclose(target.predict(RAMP).scores[:, 0], [0, 0.2, 1], atol=1e-6)
    # a range that the input cannot hold ends at its limits: 2 is no signed byte, and stands for 1
    doubled = resolve(spec, preprocess=Preprocess(layout="NHWC", range=(0, 2)), isolate=False)
    assert_allclose(doubled.predict(RAMP).scores[:, 0], [0, 0.4, 1], atol=1e-6)


def test_rounded_probabilities_sum_to_one(tmp_path):
    """Ten bytes of 1/8 each, of 0.1 rounded: their sum is 1.25, as far off as rounding can bring it."""
    spec = saved(tmp_path / "m.tflite", np.full((1, 10), 0.1), quantized=[(1 / 255, -128), (0.125, 0)])
    found = resolve(spec, task="multiclass", isolate=False).predict(Images(RAMP.pixels[:1]))
    assert_allclose(found.scores, np.full((1, 10), 0.1))


def test_what_is_no_tflite_model(tmp_path):
    (tmp_path / "m.tflite").write_bytes(b"<!doctype html>")
    with pytest.raises(BadInput, match=r"m.tflite: expected a TensorFlow Lite model, found an HTML or XML page"):
        resolve(str(tmp_path / "m.tflite"), isolate=False)
