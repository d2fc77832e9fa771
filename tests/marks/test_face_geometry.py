"""Anchors, boxes, squares and outlines of faces, and errors and overlaps of marks, against what is derived by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.marks import Marks
from transect.marks.geometry import (
    LEFT_EYE,
    LIPS,
    OVAL,
    RIGHT_EYE,
    Boxes,
    Square,
    TurnedSquare,
    about,
    anchors,
    as_68,
    brought_back,
    decoded,
    largest,
    merged,
    mesh_masks,
    seen,
    seen_turned,
)
from transect.marks.records import errors, overlaps


@pytest.mark.parametrize(("size", "grids"), [(128, [(16, 2), (8, 6)]), (192, [(48, 1)])])
def test_anchors_are_the_middles_of_cells_row_by_row(size, grids):
    by_hand = [
        [(column + 0.5) / cells, (row + 0.5) / cells]
        for cells, times in grids
        for row in range(cells)
        for column in range(cells)
        for _ in range(times)
    ]
    assert anchors(size).tolist() == by_hand


def test_boxes_of_one_face_become_their_mean():
    """Two boxes of 2 x 2 that are 0.5 apart overlap by 3 / 5; a third is elsewhere."""
    boxes = np.array([[0, 0, 2, 2], [0.5, 0, 2.5, 2], [5, 5, 6, 6]], dtype=float)
    points = np.repeat(boxes[:, None, :2], 6, axis=1)
    found = merged(Boxes(np.array([0.9, 0.6, 0.7]), boxes, points))
    assert found.scores.tolist() == [0.9, 0.7]
    np.testing.assert_allclose(found.boxes, [[0.2, 0, 2.2, 2], [5, 5, 6, 6]])
    np.testing.assert_allclose(found.points[:, 0], [[0.2, 0], [5, 5]])
    assert largest(found) == 0
    assert largest(Boxes(found.scores, np.array([[0, 0, 1.9, 1], [5, 5, 6, 6]]), found.points)) is None
    assert largest(decoded(np.zeros((896, 16)), np.full(896, -1.0), 128)) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e3, 1e30, np.inf, np.nan]))
def test_no_number_of_a_network_makes_a_box_that_is_not_one(seed, odd):
    draws = np.random.default_rng(seed)
    numbers, logits = draws.normal(0, 40, (896, 16)), draws.normal(-2, 4, 896)
    numbers[draws.integers(896, size=50), draws.integers(16, size=50)] *= odd
    logits[draws.integers(896, size=50)] *= odd
    found = decoded(numbers, logits, 128)
    assert np.isfinite(found.boxes).all()
    assert np.isfinite(found.points).all()
    assert (found.boxes[:, 2:] > found.boxes[:, :2]).all()
    assert (np.diff(found.scores) <= 0).all()
    assert ((found.scores >= 0.5) & (found.scores <= 1)).all()
    faces = merged(found)
    assert (len(faces) > 0) == (len(found) > 0)
    assert len(faces) <= len(found)
    for place in range(len(faces)):
        square = about(faces, place, TurnedSquare(50, 40, 100))
        seen_turned(np.zeros((80, 100, 3), np.uint8), square, 8)


@settings(max_examples=40, deadline=None)
@given(st.floats(-np.pi, np.pi), st.floats(20, 300), st.sampled_from([16, 48]))
def test_what_is_seen_lies_where_it_is_placed(angle, side, size):
    """On a picture whose red is x and whose green is y, each cell shows the place of its middle; also where it shrinks."""
    across, down = np.meshgrid(np.arange(240), np.arange(240))
    picture = np.stack([across, down, 0 * across], axis=-1).astype(np.uint8)
    square = TurnedSquare(120, 110, min(side, 150), angle)
    middles = (np.arange(size) + 0.5) / size
    grid = np.stack(np.meshgrid(middles, middles), axis=-1)
    expected = square.placed(grid.reshape(-1, 2)).reshape(size, size, 2) - 0.5
    np.testing.assert_allclose(seen_turned(picture, square, size)[..., :2], expected, atol=0.51)


def test_the_square_about_a_face_stands_on_its_eyes():
    """On a whole of 200 pixels: a box of 60 x 40 about (100, 80), eyes that rise by 3 over 4."""
    points = np.full((1, 6, 2), 0.5)
    points[0, :2] = [[0.4, 0.5], [0.6, 0.35]]
    face = Boxes(np.ones(1), np.array([[0.35, 0.3, 0.65, 0.5]]), points)
    square = about(face, 0, TurnedSquare(100, 100, 200))
    assert (square.x, square.y, square.side) == pytest.approx((100, 80, 90))
    eyes = TurnedSquare(0, 0, 1, square.angle).placed(np.array([[0.5, 0.5], [1.5, 0.5]]))
    np.testing.assert_allclose(eyes[1] - eyes[0], [0.8, -0.6])


def test_the_68_points_are_those_of_the_mesh():
    """Point k of this mesh is at (k, -k): corners of eyes and mouth, chin, tip and bridge of the nose are known by number."""
    numbers = np.arange(468.0)
    points = as_68(np.stack([numbers, -numbers], axis=1))
    assert points.shape == (68, 2)
    assert (points[:, 0] == -points[:, 1]).all()
    known = {0: 127, 8: 152, 16: 356, 27: 168, 30: 4, 33: 2, 36: 33, 39: 133, 42: 362, 45: 263, 48: 61, 51: 0}
    known |= {54: 291, 57: 17, 60: 78, 62: 13, 64: 308, 66: 14, 17: (70 + 46) / 2, 26: (300 + 276) / 2}
    assert {place: points[place, 0] for place in known} == pytest.approx(known)
    line = np.array([127, 234, 93, 132, 58, 172, 136, 150, 149, 176, 148, 152.0])
    steps = np.interp(np.linspace(0, 1, 9), np.append(0, abs(np.diff(line)).cumsum()) / abs(np.diff(line)).sum(), line)
    np.testing.assert_allclose(points[:9, 0], steps)


def test_masks_are_the_shares_of_pixels_in_the_outlines():
    """The left eye is 3.5 x 2 pixels, the other is a point, and the mouth is the whole picture."""
    mesh = np.zeros((468, 2))
    mesh[list(LEFT_EYE)] = [[2.5, 3]] * 4 + [[6, 3]] * 4 + [[6, 5]] * 4 + [[2.5, 5]] * 4
    mesh[list(RIGHT_EYE)] = [-20, -20]
    mesh[list(LIPS)] = [[-9, -9]] * 5 + [[30, -9]] * 5 + [[30, 30]] * 5 + [[-9, 30]] * 5
    mesh[list(OVAL)] = [[0, 0]] * 12 + [[10, 0]] * 12 + [[0, 8]] * 12
    masks = mesh_masks(mesh, 10, 8)
    assert masks["eyes"][4].round(2).tolist() == [0, 0, 0.5, 1, 1, 1, 0, 0, 0, 0]
    assert masks["eyes"].sum() == pytest.approx(7, abs=0.01)
    assert masks["mouth"].min() == 1
    assert masks["face"].sum() == pytest.approx(40, abs=0.5)
    assert max(mask.max() for mask in mesh_masks(None, 10, 8).values()) == 0


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
