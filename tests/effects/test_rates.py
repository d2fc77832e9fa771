import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import effects_by_loops

from transect.effects import wilson
from transect.effects.intervals import STUDENT, mean_interval, wilson_clustered
from transect.effects.rates import transect_rates

NAN = np.nan
LEVELS = {"tone": (1.0, 10.0), "glasses": (0.0, 1.0), "light": (-1.0, 0.0, 1.0)}


def no_reasons(values):
    return np.where(np.isnan(values), "failed: x", "").astype(object)


def rates_of(values, levels, **options):
    return transect_rates(values, no_reasons(values), levels, **{"is_binary": True, **options})


def test_by_hand():
    # Off 0, 0, 1 and on 1, 1, failed: 1/3, 2/2, overall 3/5 of five images of three subjects.
    y = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, NAN]])
    overall, off, on = rates_of(y, {"glasses": (0.0, 1.0)})
    assert (overall.estimate, off.estimate, on.estimate) == pytest.approx((3 / 5, 1 / 3, 1))
    assert (overall.order, off.order, dict(off.cell)) == (0, 1, {"glasses": 0.0})
    assert (overall.n_subjects, overall.n_images, on.n_subjects) == (3, 5, 2)
    assert (overall.excluded, off.excluded, on.excluded) == ({"failed": 1}, {}, {"failed": 1})
    np.testing.assert_allclose((off.low, off.high), wilson(1, 3))
    assert (off.method, overall.method) == ("Wilson score", "Wilson score on effective images")
    expected = wilson_clustered(np.nansum(y, axis=1)[:, None], np.array([[2.0], [2.0], [1.0]]))
    assert (overall.low, overall.high) == pytest.approx((expected[0][0], expected[1][0]))


@settings(max_examples=20, deadline=None)
@given(arrays(np.float64, (3, 2, 2, 3), elements=st.sampled_from([0.0, 1.0, NAN])), st.integers(0, 3))
def test_every_intersection_against_loops(values, max_order):
    expected = effects_by_loops.rates(values, LEVELS, max_order)
    made = rates_of(values, LEVELS, max_order=max_order)
    assert [tuple(rate.cell.items()) for rate in made] == list(expected)
    for rate in made:
        mean, images, subjects = expected[tuple(rate.cell.items())]
        np.testing.assert_allclose(rate.estimate, mean)
        assert (rate.n_images, rate.n_subjects) == (images, subjects)
        assert (rate.method == "") == (images == 0)
        assert np.isnan(rate.low) == (images == 0)
        assert images == 0 or rate.low <= rate.estimate <= rate.high
        assert images + sum(rate.excluded.values()) == values.size // np.prod([len(LEVELS[name]) for name in rate.cell])


def test_scores_have_the_interval_of_means_by_subject():
    y = np.array([[0.5, 1.5], [1.2, NAN], [2.0, 4.0], [0.1, 0.2], [0.3, 0.4], [0.7, 0.5]])
    overall, off, on = rates_of(y, {"glasses": (0.0, 1.0)}, is_binary=False)
    assert overall.method == off.method == on.method == STUDENT
    assert overall.estimate == pytest.approx(11.4 / 11)
    pooled = mean_interval(np.nansum(y, axis=1)[:, None], np.isfinite(y).sum(axis=1)[:, None].astype(float))
    assert (overall.low, overall.high) == pytest.approx((pooled.low[0], pooled.high[0]))
    # One image per subject, of which one is missing where glasses are on.
    alone = mean_interval(y)
    assert (off.low, on.low, off.high, on.high) == pytest.approx((*alone.low, *alone.high))
