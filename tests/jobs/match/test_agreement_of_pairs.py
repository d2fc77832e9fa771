"""How far the outcomes of the two images of a pair agree, by hand and with scikit-learn as the judge."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from transect.analysis.matched.outcomes import agreement

ANSWERS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=20)


@given(ANSWERS)
def test_yes_or_no_has_the_kappa_of_the_judge(answers):
    first, second = np.array(answers, dtype=float).T
    found = agreement(np.concatenate([first, second]), np.arange(len(first)), np.arange(len(first), 2 * len(first)))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        assert math.isnan(found)
    else:
        assert abs(found - cohen_kappa_score(first, second)) < 1e-9


def test_numbers_have_a_correlation_that_a_constant_difference_does_not_lower():
    """Deviations of 1, 2, 3 are -1, 0, 1; of 5, 4, 4.5 they are 0.5, -0.5, 0: r = -0.5 / sqrt(2 x 0.5)."""
    values = np.array([1.0, 2.0, 3.0, 3.0, 4.0, 5.0])
    assert agreement(values, np.arange(3), np.arange(3, 6)) == 1.0
    values[3:] = [5.0, 4.0, 4.5]
    assert agreement(values, np.arange(3), np.arange(3, 6)) == -0.5


def test_what_cannot_be_said_is_nan():
    values = np.array([1.0, 2.0, np.nan, 1.0, 3.0, 2.0])
    assert math.isnan(agreement(values, np.arange(3), np.arange(3, 6)))  # two pairs have both
    assert math.isnan(agreement(np.arange(6.0), np.array([0, 0, 1]), np.array([3, 4, 5])))  # one image in two pairs
