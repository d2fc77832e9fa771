"""Whether two estimates differ: by hand, and how often two of one truth are said to."""

import numpy as np
import pytest
from scipy.stats import norm

from transect.effects.paired_models import disagreement_of_designs


def test_by_hand_with_intervals_that_are_not_symmetric():
    """.30 less .10: low is .2 - sqrt(.05² + .12²) = .2 - .13, high .2 + sqrt(.08² + .06²) = .2 + .1."""
    found = disagreement_of_designs((0.30, 0.25, 0.38), (0.10, 0.04, 0.22))
    assert (found.estimate, found.low, found.high) == pytest.approx((0.2, 0.07, 0.3))
    # widths .13 and .18
    error = np.hypot(0.13, 0.18) / (2 * norm.ppf(0.975))
    assert found.p == pytest.approx(2 * norm.sf(0.2 / error))
    assert found.smallest_found == pytest.approx((norm.ppf(0.975) + norm.ppf(0.8)) * error)


def test_two_of_one_truth_are_said_to_differ_in_one_of_twenty():
    """4,000 pairs of estimates with their own intervals: .05 within three Monte Carlo errors of .0034."""
    rng = np.random.default_rng(0)
    errors = np.array([0.02, 0.05])
    drawn = 0.1 + errors * rng.normal(size=(4000, 2))
    half = errors * norm.ppf(0.975)
    found = [disagreement_of_designs((m, m - half[0], m + half[0]), (e, e - half[1], e + half[1])) for m, e in drawn]
    assert np.mean([one.p <= 0.05 for one in found]) == pytest.approx(0.05, abs=0.0103)
    assert all((one.p <= 0.05) == (one.low > 0 or one.high < 0) for one in found)


def test_what_cannot_be_told_has_a_reason():
    nothing = (np.nan,) * 3
    assert disagreement_of_designs(nothing, (0.1, 0.0, 0.2)).reason == "one of the two has no estimate"
    bare = disagreement_of_designs((0.3, np.nan, np.nan), (0.1, 0.0, 0.2))
    assert bare.estimate == pytest.approx(0.2)
    assert bare.reason == "one of the two has no interval"
    assert disagreement_of_designs((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)).reason == "neither interval has a width: no test"
