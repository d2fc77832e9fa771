"""PNG files of the run folder: what goes in comes out, and packed no larger than a general encoder makes it."""

import io

import numpy as np
import pytest
from PIL import Image

from transect.generators import load
from transect.runs.pictures import packed, png


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 3, 3), (1, 7), (6, 4)])
def test_pixels_come_back(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    with Image.open(io.BytesIO(png(pixels))) as image:
        assert image.mode == ("RGB" if len(shape) == 3 else "L")
        np.testing.assert_array_equal(np.asarray(image), pixels)


def test_a_face_takes_no_more_bytes_than_from_pillow():
    world = load("faceworld", image_size=64)
    ours = theirs = 0
    for pixels in world.render(world.sample(range(16))).pixels:
        sink = io.BytesIO()
        Image.fromarray(pixels).save(sink, "PNG", compress_level=1)
        ours, theirs = ours + len(packed(png(pixels))), theirs + sink.tell()
    assert ours < 1.05 * theirs


def test_packing_changes_no_pixel_and_no_packed_picture():
    pixels = np.random.default_rng(0).integers(0, 9, (5, 7, 3), dtype=np.uint8)
    once = packed(png(pixels))
    assert len(once) < len(png(pixels))
    assert packed(once) == once
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(once))), pixels)
