import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import effects_by_loops
from scipy import stats

from transect.effects import transect_rates, wilson
from transect.effects.intervals import wilson_clustered
from transect.effects.resampling import bca

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
    assert (overall.rate, off.rate, on.rate) == pytest.approx((3 / 5, 1 / 3, 1))
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
        np.testing.assert_allclose(rate.rate, mean)
        assert (rate.n_images, rate.n_subjects) == (images, subjects)
        assert (rate.method == "") == (images == 0)
        assert np.isnan(rate.low) == (images == 0)
        assert images == 0 or rate.low <= rate.rate <= rate.high
        assert images + sum(rate.excluded.values()) == values.size // np.prod([len(LEVELS[name]) for name in rate.cell])


def test_scores_have_bootstrap_intervals_by_subject():
    y = np.random.default_rng(0).normal(size=(40, 2))
    overall, off, _ = rates_of(y, {"glasses": (0.0, 1.0)}, is_binary=False, seed=3)
    assert overall.method == "BCa bootstrap by subject"
    assert overall.rate == pytest.approx(y.mean())
    expected = bca(y.sum(axis=1, keepdims=True), np.full((40, 1), 2.0), seed=3)
    assert (overall.low, overall.high) == pytest.approx((expected[0][0], expected[1][0]))
    assert (off.low, off.high) == pytest.approx(np.ravel(bca(y[:, [0]], seed=3)))


def test_scores_of_few_subjects_have_students_interval():
    # Sums 2, 1, 6 of 2, 1, 2 images: mean 9/5, residuals -8/5, -4/5, 12/5, squares 64 + 16 + 144 = 224 over 25.
    # sd of the residuals over the mean count 5/3: sqrt(224/25 / 2) * 3/5 = 1.26996; t(2, .975) = 4.30265:
    # 1.8 ± 4.30265 * 1.26996 / sqrt(3) = 1.8 ± 3.15475.
    y = np.array([[0.5, 1.5], [1.0, NAN], [2.0, 4.0]])
    overall, off, on = rates_of(y, {"glasses": (0.0, 1.0)}, is_binary=False)
    assert overall.method == off.method == on.method == "Student t by subject"
    np.testing.assert_allclose((overall.low, overall.high), (1.8 - 3.15475, 1.8 + 3.15475), atol=1e-4)
    # One image per subject: t of the three values, and of the two that are there.
    np.testing.assert_allclose((off.low, off.high), stats.ttest_1samp([0.5, 1, 2], 0).confidence_interval())
    np.testing.assert_allclose((on.low, on.high), stats.ttest_1samp([1.5, 4], 0).confidence_interval())
