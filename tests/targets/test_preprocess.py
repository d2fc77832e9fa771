"""What a model sees, worked out by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from transect.errors import BadInput
from transect.targets import Preprocess

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def image(*rows):
    return np.array([rows], np.uint8)


def noise(n, height, width):
    return np.random.default_rng(0).integers(0, 256, (n, height, width, 3), np.uint8)


def test_the_default_is_rgb_planes_from_0_to_1():
    # One row of a red and a green pixel: the red plane is 1 0, the green 0 1, the blue 0 0.
    assert_array_equal(Preprocess().apply(image([RED, GREEN])), [[[[1, 0]], [[0, 1]], [[0, 0]]]])


def test_bgr_and_channels_last():
    out = Preprocess(channel_order="BGR", layout="NHWC").apply(image([RED, GREEN]))
    assert_array_equal(out, [[[[0, 0, 1], [0, 1, 0]]]])


def test_gray_is_bt601_luma():
    # .299 x 255 = 76.2, .587 x 255 = 149.7, .114 x 255 = 29.07; to whole 8-bit values.
    out = Preprocess(channel_order="gray", range=(0, 255)).apply(image([RED, GREEN, BLUE]))
    assert_allclose(out, [[[[76, 150, 29]]]], rtol=1e-6)


def test_range_then_mean_then_standard_deviation():
    # 255 -> 1, 0 -> -1; minus mean .5, -1, 0; over 2, 4, .5: red (1, -1, -1) -> (.25, 0, -2).
    settings = Preprocess(range=(-1, 1), mean=(0.5, -1, 0), std=(2, 4, 0.5), layout="NHWC")
    assert_allclose(settings.apply(image([RED])), [[[[0.25, 0, -2]]]], rtol=1e-6)


def test_means_are_in_the_models_channel_order():
    settings = Preprocess(channel_order="BGR", mean=(0, 0, 1), layout="NHWC")
    assert_array_equal(settings.apply(image([RED])), [[[[0, 0, 0]]]])


def test_the_crop_is_the_central_square():
    # 4 x 6, half of the shorter side: 2 x 2 from row 1 and column 2.
    pixels = np.zeros((1, 4, 6, 3), np.uint8)
    pixels[0, 1:3, 2:4] = 255
    assert_array_equal(Preprocess(crop=0.5).apply(pixels), np.ones((1, 3, 2, 2)))


@pytest.mark.parametrize(("name", "value"), [("box", 100), ("nearest", 200)])
def test_resizing_two_by_two_to_one(name, value):
    # The mean of 0, 100, 100, 200 is 100; the nearest to the center (rounded up) is the last.
    pixels = np.repeat(image([(0, 0, 0), (100, 100, 100)], [(100, 100, 100), (200, 200, 200)]), 1, axis=0)
    out = Preprocess(size=(1, 1), filter=name, range=(0, 255)).apply(pixels)
    assert_allclose(out, np.full((1, 3, 1, 1), value), rtol=1e-6)


@pytest.mark.parametrize("name", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(7, 11), (40, 50)])
def test_resizing_against_pytorchs_antialiased_one(name, size):
    # Values in the middle, since Pillow clips what overshoots between the two axes.
    pixels = noise(2, 20, 30) // 4 + 96
    out = Preprocess(size=size, filter=name, range=(0, 255)).apply(pixels)
    judge = torch.nn.functional.interpolate(
        torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy()).float(), size, mode=name, antialias=True
    )
    # Pillow rounds to whole values after each of the two axes: .5 each, the first amplified by cubic weights.
    assert_allclose(out, judge.numpy(), atol=1.2)


settings_strategy = st.fixed_dictionaries(
    {
        "size": st.none() | st.tuples(st.integers(1, 12), st.integers(1, 12)),
        "crop": st.none() | st.floats(0.1, 1),
        "channel_order": st.sampled_from(["RGB", "BGR", "gray"]),
        "layout": st.sampled_from(["NCHW", "NHWC"]),
        "filter": st.sampled_from(["nearest", "box", "bilinear", "bicubic", "lanczos"]),
    }
)


@given(settings_strategy)
def test_each_image_alone_and_the_pixels_stay(table):
    settings = Preprocess(**table)
    pixels = noise(3, 9, 7)
    before = pixels.copy()
    out = settings.apply(pixels)
    assert out.dtype == np.float32
    assert out.flags.c_contiguous
    for i in range(3):
        assert_array_equal(settings.apply(pixels[i : i + 1])[0], out[i])
    assert_array_equal(pixels, before)
    assert out.min() >= 0
    assert out.max() <= 1 + 1e-6


def test_boxes_come_back_to_the_image():
    # The window of a 4 x 6 image is 2 x 2 from (x 2, y 1); given as 4 x 4, each input pixel is half an image pixel.
    settings = Preprocess(size=(4, 4), crop=0.5)
    boxes = settings.boxes_to_image(np.array([[0.0, 0, 4, 4, 0.9], [1, 2, 3, 4, np.nan]]), (4, 6))
    assert_array_equal(boxes, [[2, 1, 4, 3, 0.9], [2.5, 2, 3.5, 3, np.nan]])


FULL = """
[preprocess]
size = 224
crop = 0.875
channel_order = "BGR"
layout = "NHWC"
mean = [0.485, 0.456, 0.406]
std = 0.5
range = [0, 255]
filter = "bicubic"
"""


def test_read_from_toml(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(FULL)
    read = Preprocess.from_toml(path)
    assert read == Preprocess((224, 224), 0.875, "BGR", "NHWC", (0.485, 0.456, 0.406), (0.5,), (0, 255), "bicubic")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("siz = 3", "unknown key 'siz': did you mean size?"),
        ("size = [3]", "size: expected two whole numbers above 0 (height, width), got (3,)"),
        ("crop = 1.5", "crop: expected a number above 0, up to 1, got 1.5"),
        ("mean = [1, 2]", "mean: expected 1 or 3 numbers, got (1, 2)"),
        ("range = [1, 0]", "range: expected two numbers low < high, got (1, 0)"),
    ],
)
def test_errors_name_file_and_key(tmp_path, text, fault):
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        Preprocess.from_toml(path)
    assert str(error.value) == f"{path}: {fault}"
