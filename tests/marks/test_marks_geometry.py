"""Squares of pictures and back, and what is measured of marks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.marks import Marks
from transect.marks.geometry import Square, brought_back, seen
from transect.marks.records import errors, overlaps


def test_a_square_that_is_the_picture_changes_nothing():
    picture = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
    np.testing.assert_array_equal(seen(picture, Square.whole(16, 16), 16), picture)
    mask = np.random.default_rng(0).random((16, 16)).astype(np.float32)
    back, inside = brought_back(mask, Square.whole(16, 16), 16, 16)
    np.testing.assert_allclose(back, mask, atol=1e-6)
    assert inside.all()


def test_edges_repeat_beyond_the_picture():
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:, -1] = 200
    square = seen(picture, Square(4.0, -2.0, 8.0), 8)
    assert square[:, :3].max() == 0
    assert (square[:, 4:] == 200).all()


@given(st.integers(20, 90), st.integers(20, 90), st.floats(-0.4, 0.9), st.floats(-0.4, 0.9), st.floats(0.3, 1.5))
def test_points_lie_where_pixels_go(width, height, x, y, share):
    """A white block's middle on the square is the block's middle on the picture, there and back."""
    picture = np.zeros((height, width, 3), np.uint8)
    cx, cy = width // 2, height // 2
    picture[cy - 5 : cy + 5, cx - 5 : cx + 5] = 255
    side = share * max(width, height) + 24
    square = Square(cx - side / 2 + x * 8, cy - side / 2 + y * 8, side)
    light = seen(picture, square, 64)[..., 0].astype(float)
    at = [(light.sum(axis=axis) * (np.arange(64) + 0.5)).sum() / light.sum() / 64 for axis in (0, 1)]
    np.testing.assert_allclose(square.placed(np.array([at]))[0], (cx, cy), atol=0.03 * side)
    back, _ = brought_back((light / 255).astype(np.float32), square, width, height)
    again = [(back.sum(axis=axis) * (np.arange(n) + 0.5)).sum() / back.sum() for axis, n in ((0, width), (1, height))]
    np.testing.assert_allclose(again, (cx, cy), atol=0.04 * side)


def test_errors_by_hand():
    truth = np.zeros((2, 68, 2))
    truth[:, 42:48, 0] = 20.0
    moved = truth.copy()
    moved[0, :17] += (3.0, 4.0)  # the jaw, by a quarter of the eyes' distance
    moved[1, 60, 0] = np.nan
    found = errors(Marks.of_points(moved, "a"), Marks.of_points(truth, "b"))
    assert found["jaw"].tolist() == [0.25, 0.0]
    assert found["all points"][0] == pytest.approx(0.25 * 17 / 68)
    assert np.isnan(found["mouth"][1])
    assert found["five points"].tolist() == [0.0, 0.0]


def test_overlaps_by_hand():
    def marks(**masks):
        there = {name: np.array([rows], np.float32) for name, rows in masks.items()}
        return Marks(np.zeros((1, 68, 2)), np.zeros((1, 5, 2)), there, np.ones(1), ("",), "hand")

    one = marks(hair=[[1, 1, 0, 0]], hat=[[0, 0, 0, 0]], skin=[[1, 0, 0, 0]])
    other = marks(hair=[[0, 1, 1, 1]], hat=[[0, 0, 0, 0]])
    found = overlaps(one, other)
    assert found["hair"].tolist() == [0.25]
    assert np.isnan(found["hat"][0])
    assert "skin" not in found
