"""Aligned crops: by hand, against an SVD, and against OpenCV's own warp."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from transect.errors import BadInput
from transect.marks.records import five_points
from transect.targets.preprocess import ARCFACE, cropped, from_crop, similarity

NO_BOX = np.full((1, 4), np.nan)
POINTS = ARCFACE[None] + 0.5


def at(to_image, points):
    """The points through a map."""
    return points @ to_image[:, :2].T + to_image[:, 2]


def umeyama(source, target):
    """Umeyama's own solution by singular values, for one set of points: scale, turn, shift."""
    a, b = source - source.mean(axis=0), target - target.mean(axis=0)
    u, s, v = np.linalg.svd(b.T @ a)
    flip = np.diag([1.0, np.sign(np.linalg.det(u @ v))])
    scale = (s * np.diag(flip)).sum() / (a**2).sum()
    turn = scale * u @ flip @ v
    return np.column_stack([turn, target.mean(axis=0) - turn @ source.mean(axis=0)])


@given(st.integers(0, 2**32 - 1))
def test_least_squares_are_umeyamas(seed):
    random = np.random.default_rng(seed)
    source, target = random.normal(size=(2, 5, 2)) * random.uniform(0.1, 100)
    assert_allclose(similarity(source[None], target)[0], umeyama(source, target), rtol=1e-6, atol=1e-6)


@given(st.floats(-3, 3), st.floats(0.1, 20), st.floats(-500, 500), st.floats(-500, 500))
def test_a_planted_transform_is_found(angle, scale, x, y):
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    planted = np.array([[c, -s, x], [s, c, y]])
    source = np.random.default_rng(0).normal(size=(5, 2))
    assert_allclose(similarity(source[None], at(planted, source))[0], planted, rtol=1e-6, atol=1e-6)


def test_no_mirror_image_is_made():
    """Points of a mirrored face: the best turn, and not the reflection that would fit exactly."""
    found = similarity(POINTS * (-1, 1), ARCFACE)[0]
    assert np.linalg.det(found[:, :2]) > 0


def test_the_crop_is_opencvs():
    """As the usual tools cut it: warpAffine, bilinear, black outside; their pixel 0 is at 0."""
    cv2 = pytest.importorskip("cv2")
    random = np.random.default_rng(1)
    pixels = cv2.GaussianBlur(random.integers(0, 256, (300, 400, 3), np.uint8), (0, 0), 3)
    points = at(np.array([[1.6, -0.5, 120.0], [0.5, 1.6, 10.0]]), ARCFACE) + random.normal(size=(5, 2))
    to_crop = umeyama(points, ARCFACE).astype(np.float64)
    expected = cv2.warpAffine(pixels, to_crop, (112, 112), flags=cv2.INTER_LINEAR, borderValue=0)
    found = from_crop("arcface-112", points[None] + 0.5, NO_BOX, 112)[0]
    made = cropped(pixels, found, 112, "bilinear")
    apart = np.abs(made.astype(int) - expected)
    assert apart[1:-1, 1:-1].mean() < 0.6
    assert (expected == 0).all(axis=2).mean() < 0.2  # the face is in the picture


def test_ffhq_by_hand():
    """Eyes 20 apart at (50, 50), mouth 20 below: half a side is 40 = 2 * 20 > 1.8 * 20, around (50, 52)."""
    points = np.array([[[40.0, 50], [60, 50], [50, 60], [45, 70], [55, 70]]])
    assert_allclose(from_crop("ffhq", points, NO_BOX, 80)[0], [[1, 0, 10], [0, 1, 12]], atol=1e-9)
    long = points.copy()
    long[0, 3:, 1] = 90  # mouth 40 below: 1.8 * 40 = 72, around (50, 54)
    assert_allclose(from_crop("ffhq", long, NO_BOX, 144)[0], [[1, 0, -22], [0, 1, -18]], atol=1e-9)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["arcface-112", "ffhq"])
@given(angle=st.floats(-3, 3), scale=st.floats(0.5, 4))
def test_turning_the_face_turns_the_crop(name, angle, scale):
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    move = np.array([[c, -s, 7.0], [s, c, -3.0]])
    points = POINTS[0] + np.random.default_rng(0).normal(size=(5, 2))
    before = from_crop(name, points[None], NO_BOX, 112)[0]
    after = from_crop(name, at(move, points)[None], NO_BOX, 112)[0]
    grid = np.random.default_rng(1).uniform(0, 112, (9, 2))
    assert_allclose(at(after, grid), at(move, at(before, grid)), atol=1e-6)


def test_the_box_by_hand():
    """A box 40 wide and 80 high around (60, 70): a square of 100 from (10, 20)."""
    found = from_crop("box", POINTS, np.array([[40.0, 30, 80, 110]]), 50)[0]
    assert_allclose(found, [[2, 0, 10], [0, 2, 20]])


def test_sixty_eight_points_become_five():
    points = np.zeros((1, 68, 2))
    points[0, 36:42] = [[0, 0], [2, 0], [4, 0], [6, 0], [3, 3], [3, 3]]
    points[0, [30, 48, 54]] = [[1, 2], [3, 4], [5, 6]]
    assert_allclose(five_points(points)[0], [[3, 1], [0, 0], [1, 2], [3, 4], [5, 6]])
    with pytest.raises(BadInput, match=r"landmarks: expected 5 .* or 68 of each face, got 7"):
        five_points(np.zeros((1, 7, 2)))


@pytest.mark.parametrize("name", ["arcface-112", "ffhq", "box"])
def test_points_in_one_place_and_unknown_ones_have_no_map(name):
    points, boxes = np.full((2, 5, 2), 3.0), np.full((2, 4), 3.0)
    points[1], boxes[1] = np.nan, np.nan
    assert np.isnan(from_crop(name, points, boxes, 112)).any(axis=(1, 2)).all()
