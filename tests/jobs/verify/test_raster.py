"""Masks beside OpenCV's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.jobs.verify.raster import convex_hull, disc, hull, line

SHAPE = (64, 64)
POINTS = st.lists(st.tuples(st.floats(3, 60), st.floats(3, 60)), min_size=4, max_size=12)


def drawn(draw):
    cv2 = pytest.importorskip("cv2")
    mask = np.zeros(SHAPE, np.uint8)
    draw(cv2, mask)
    return mask > 0


@given(st.floats(0, 63), st.floats(0, 63), st.floats(0.2, 12))
@settings(max_examples=80, deadline=None)
def test_a_disc_is_opencvs(x, y, radius):
    judge = drawn(lambda cv2, m: cv2.circle(m, (int(x), int(y)), max(1, int(radius)), 1, -1))
    np.testing.assert_array_equal(disc(SHAPE, np.array([x, y]), radius), judge)


@given(POINTS)
@settings(max_examples=120, deadline=None)
def test_a_hull_is_opencvs_but_for_pixels_on_its_edge(points):
    array = np.array(points)
    judge = drawn(lambda cv2, m: cv2.fillConvexPoly(m, cv2.convexHull(array.astype(np.int32)), 1))
    ours = hull(SHAPE, array)
    corners = convex_hull(array.astype(np.int64)).astype(float)
    near_edge = line(SHAPE, np.vstack([corners, corners[:1]]), 3)
    assert not ((ours != judge) & ~near_edge).any()
    if len(corners) > 2:  # where all points lie on a line, all pixels are edge
        assert (ours != judge).sum() <= 0.5 * near_edge.sum()


@given(POINTS)
@settings(max_examples=60, deadline=None)
def test_a_thin_line_is_opencvs_but_for_ties(points):
    array = np.array(points)
    judge = drawn(lambda cv2, m: cv2.polylines(m, [array.astype(np.int32)], False, 1, 1))
    ours = line(SHAPE, array, 1)
    # Halfway between two pixels either may be drawn: none is more than one pixel from the other's line.
    for one, other in ((ours, judge), (judge, ours)):
        padded = np.pad(other, 1)
        thick = np.any([padded[i : i + 64, j : j + 64] for i in range(3) for j in range(3)], axis=0)
        assert not (one & ~thick).any()


def test_a_hull_by_hand():
    # The square of pixels 1..4 holds 4 * 4; a point inside changes nothing.
    square = np.array([[1.2, 1.9], [4.0, 1.0], [4.9, 4.1], [1.0, 4.0], [2.5, 2.5]])
    mask = hull((8, 8), square)
    assert mask.sum() == 16
    assert mask[1:5, 1:5].all()


def test_hulls_of_one_and_two_pixels_are_a_pixel_and_a_line():
    assert hull((8, 8), np.array([[3.0, 3.0], [3.4, 3.9]])).sum() == 1
    assert hull((8, 8), np.array([[1.0, 3.0], [5.0, 3.0]])).sum() == 5


def test_what_lies_beyond_the_picture_is_cut():
    mask = hull((8, 8), np.array([[-4.0, -4.0], [20.0, -4.0], [20.0, 20.0], [-4.0, 20.0]]))
    assert mask.all()
    assert line((8, 8), np.array([[-5.0, 2.0], [20.0, 2.0]]), 1)[2].all()
