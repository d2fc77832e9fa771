"""Boxes in a detector's convention, worked out by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from transect.targets import BoxConvention

FACE = np.array([[10.0, 20.0, 50.0, 100.0]])  # 40 wide, 80 high, center (30, 60)


def test_center_and_size_in_units_of_the_face():
    # Center (30 + .25 x 40, 60 - .125 x 80) = (40, 50); 1.5 x 40 = 60 wide, .5 x 80 = 40 high.
    assert_array_equal(BoxConvention(0.25, -0.125, 1.5, 0.5).expected_box(FACE), [[10, 30, 70, 70]])


def test_the_face_of_a_box_undoes_the_convention():
    convention = BoxConvention(0.25, -0.125, 1.5, 0.5)
    assert_allclose(convention.face_box(np.array([[10.0, 30.0, 70.0, 70.0]])), FACE)


@given(st.floats(-50, 50), st.floats(0.1, 9))
def test_moves_and_scales_with_the_face(shift, factor):
    convention = BoxConvention(0.1, 0.2, 0.9, 0.7)
    expected = convention.expected_box(FACE)
    # A coordinate of up to 1000 in double precision is good to 1e-12; 1e-9 leaves room for a few sums.
    assert_allclose(convention.expected_box(FACE * factor + shift), expected * factor + shift, atol=1e-9)
