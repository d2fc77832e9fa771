import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects.samples import Exclusions

NAN = np.nan


def test_counts_by_category():
    values = np.array([1.0, NAN, NAN, NAN, NAN])
    reasons = np.array(["", "failed: timed out", "failed: raised ValueError", "truth is no", ""], dtype=object)
    why = Exclusions.of(values, reasons)
    assert why.count(np.ones(5, dtype=bool)) == {"failed": 2, "truth is no": 1, "no valid answer": 1}
    assert why.count(np.arange(5) < 2) == {"failed": 1}
    assert why.count(np.zeros(5, dtype=bool)) == {}


def test_the_shape_is_that_of_the_outcomes():
    why = Exclusions.of(np.full((2, 3), NAN), np.full((2, 3), "failed", dtype=object))
    assert why.codes.shape == (2, 3)
    assert why.count(np.ones((2, 3), dtype=bool)) == {"failed": 6}


@settings(deadline=None)
@given(st.lists(st.sampled_from(["", "failed: a", "failed: b", "truth is no"])))
def test_every_missing_value_is_counted_once(reasons):
    values = np.array([NAN if reason else 0.5 for reason in reasons])
    counted = Exclusions.of(values, np.array(reasons, dtype=object)).count(np.ones(len(reasons), dtype=bool))
    assert sum(counted.values()) == np.isnan(values).sum()
