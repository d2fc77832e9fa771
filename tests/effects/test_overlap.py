import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects.outcomes import detected
from transect.effects.outcomes import overlap as overlap_of

FACE = np.array([[0.0, 0.0, 10.0, 10.0]])


def box(x0, y0, x1, y1):
    return np.array([[x0, y0, x1, y1, 0.9]], dtype=np.float64)


def test_overlap_by_hand():
    # Half of the first: 50 / (100 + 50 - 50). A quarter each way: 25 / (100 + 100 - 25) = 1/7. Apart: 0.
    others = np.array([[0.0, 0, 10, 5], [5, 5, 15, 15], [20, 20, 30, 30]])
    np.testing.assert_allclose(overlap_of(FACE[:, None], others), [[1 / 2, 1 / 7, 0]])


def test_boxes_without_area_overlap_nothing():
    flat = np.array([[3.0, 3, 3, 3]])
    assert overlap_of(flat, flat) == 0


def test_a_box_is_found_from_the_stated_overlap_on():
    # Heights 4 and 3.9 of 10: overlaps .4 and .39 around the default of .4.
    boxes = [box(0, 0, 10, 4), box(0, 0, 10, 3.9), np.empty((0, 5))]
    np.testing.assert_array_equal(detected(boxes, np.repeat(FACE, 3, axis=0)), [True, False, False])
    np.testing.assert_array_equal(detected(boxes, np.repeat(FACE, 3, axis=0), iou=0.3), [True, True, False])


coordinates = st.tuples(*[st.integers(0, 12)] * 4).map(
    lambda c: (min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3]))
)


@settings(deadline=None)
@given(coordinates, coordinates)
def test_overlap_is_what_counting_pixels_says(a, b):
    grid_a, grid_b = np.zeros((12, 12), bool), np.zeros((12, 12), bool)
    grid_a[a[1] : a[3], a[0] : a[2]] = True
    grid_b[b[1] : b[3], b[0] : b[2]] = True
    union = (grid_a | grid_b).sum()
    expected = (grid_a & grid_b).sum() / union if union else 0.0
    overlap = overlap_of(np.array(a, dtype=np.float64), np.array(b, dtype=np.float64))
    np.testing.assert_allclose(overlap, expected)
