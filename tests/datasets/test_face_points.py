"""Landmarks of data sets: as stored, and where they lie once a picture is cut and fitted."""

import io

import numpy as np
import replicas
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import transect
from transect.datasets import open_dataset
from transect.datasets.files import Crop, fitted_points, pixels_of
from transect.generators.faceworld.world import FaceWorld


@given(st.integers(30, 90), st.integers(30, 90), st.integers(20, 120), st.booleans())
def test_points_lie_where_pixels_go(width, height, size, cut):
    """The middle of a white block, found again in the picture that was cut and fitted."""
    x, y = width // 2, height // 2
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[y - 4 : y + 4, x - 4 : x + 4] = 255
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "PNG")
    crop = Crop(min(width, height) - 5) if cut else None
    made = pixels_of(sink.getvalue(), "picture", size, crop)[..., 0].astype(float)
    made[made == 128] = 0  # the margins
    middle = [(made.sum(axis=axis) * (np.arange(size) + 0.5)).sum() / made.sum() for axis in (0, 1)]
    expected = fitted_points(np.array([[x, y]], dtype=float), width, height, size, crop)[0]
    np.testing.assert_allclose(middle, expected, atol=0.6)


def test_points_of_celeba(tmp_path):
    root = replicas.celeba(tmp_path)
    names = "lefteye_x lefteye_y righteye_x righteye_y nose_x nose_y leftmouth_x leftmouth_y rightmouth_x rightmouth_y"
    rows = [f"{k:06d}.jpg {' '.join(str(k + at) for at in range(10))}" for k in (1, 2, 4, 5, 6)]
    (root / "Anno" / "list_landmarks_align_celeba.txt").write_text("\n".join(["5", names, *rows]) + "\n")
    made = open_dataset(f"celeba:{root}")
    found = made.landmarks(made.sample([0, 1, 2]))
    np.testing.assert_array_equal(found[1], 2 + np.arange(10.0).reshape(5, 2))
    assert np.isnan(found[2]).all()  # picture 3 has no row
    smaller = open_dataset(f"celeba:{root}?crop=178", image_size=89)
    np.testing.assert_allclose(smaller.landmarks(smaller.sample([1]))[0], (made.points[1] - (0, 20)) / 2)
    assert open_dataset(f"celeba:{replicas.celeba(tmp_path / 'without')}").landmarks(made.sample([0])) is None


def test_points_of_rendered_parquet(tmp_path):
    transect.render(tmp_path / "set", subjects=3, image_size=48, data_set=True, quiet=True)
    made = open_dataset(f"parquet:{tmp_path / 'set'}")
    world = FaceWorld(image_size=48)
    np.testing.assert_allclose(made.landmarks(made.sample(range(3))), world.landmarks(world.sample(range(3))))
