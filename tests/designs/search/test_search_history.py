"""What a search keeps, and which failures count as different."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transect.designs.search import History, Suggestions, apart


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(0, 40))
def test_failures_kept_apart_are_far_and_the_others_are_near_one_kept_before(seed, dimensions, n):
    points = np.random.default_rng(seed).random((n, dimensions))
    kept = apart(points).tolist()
    least = 0.1 * np.sqrt(dimensions)
    for row in range(n):  # one by one, as the definition says
        before = [float(np.linalg.norm(points[row] - points[k])) for k in kept if k < row]
        assert (row in kept) == all(distance >= least - 1e-9 for distance in before)


def test_a_point_without_an_answer_is_no_failure_and_is_kept():
    asked = Suggestions(np.array([[0.5], [0.6], [0.7]]), np.array([True, True, False]))
    history = History.empty(1).with_answers(asked, np.array([np.nan, 1.0, 0.0]))
    assert len(history) == 3
    assert history.failed.tolist() == [False, True, False]
    assert history.found.tolist() == [[0.6]]
