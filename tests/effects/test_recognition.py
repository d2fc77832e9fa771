"""Verification errors against every comparison one by one, differentials by hand, coverage of the dyadic interval."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from transect.effects.recognition import difference_of_means, differentials, recognition_verification


def _mean(values):
    """NaN of nothing: a small group may have no two images of one person."""
    return values.mean() if len(values) else np.nan


def one_by_one(x, people, thresholds):
    """FNMR, FMR, the mean genuine distance and the numbers of comparisons, by a loop over all pairs of images."""
    genuine, impostor = [], []
    for i, j in itertools.combinations(range(len(x)), 2):
        (genuine if people[i] == people[j] else impostor).append(np.linalg.norm(x[i] - x[j]))
    genuine, impostor = np.array(genuine), np.array(impostor)
    rates = [[_mean(genuine >= t), _mean(impostor < t)] for t in thresholds]
    return np.array(rates), _mean(genuine), (len(genuine), len(impostor))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_rates_equal_all_comparisons_one_by_one(seed):
    rng = np.random.default_rng(seed)
    x, people = rng.normal(size=(40, 3)), rng.integers(0, 12, 40)
    group = rng.choice(["f", "m"], 40)
    for found in recognition_verification(x, people, group, [0.8, 1.5, 3.0]):
        mask = group == found.group
        rates, mean, counts = one_by_one(x[mask], people[mask], [0.8, 1.5, 3.0])
        np.testing.assert_allclose(found.fnmr, rates[:, 0], atol=1e-12)
        np.testing.assert_allclose(found.fmr, rates[:, 1], atol=1e-12)
        assert found.mean_genuine == pytest.approx(mean, nan_ok=True)
        assert (found.genuine, found.impostor) == counts


def test_the_dyadic_variance_by_hand():
    """Four identities of one image each, of which a and b match: p = 1/6.

    Residuals ab 5/6, the other five -1/6; sums by identity 1/2, 1/2, -1/2, -1/2, together 1, as independent comparisons
    have: identities add nothing. Comparisons have 30/36 on 5 degrees of freedom, 1/6 each, so that of six has 1/36.
    """
    found = recognition_verification(np.array([[0.0], [1.0], [10.0], [20.0]]), list("abcd"), ["g"] * 4, [2.0])[0]
    assert found.fmr[0] == pytest.approx(1 / 6)
    assert found.fmr_variance[0] == pytest.approx(1 / 36)
    assert found.fmr_freedom[0] == pytest.approx(1 / (4 / 16) - 1)
    assert np.isnan(found.fnmr[0])
    assert np.isnan(found.mean_genuine)
    assert np.isnan(found.fmr_interval[0]).all()
    assert found.without_interval(0) == "no interval of FMR: 4 identities, at least 10"


def test_a_difference_of_means_agrees_with_welch_where_identities_have_two_images():
    """One comparison per identity, and groups of unlike spread: Welch's test."""
    rng = np.random.default_rng(3)
    people = np.repeat(np.arange(25), 2)
    group = np.where(people < 8, "f", "m")
    x = 10 * people[:, None] + np.where(people < 8, 2.0, 0.5)[:, None] * rng.normal(size=(50, 1))
    found = recognition_verification(x, people, group, [1.0])
    effect = difference_of_means(found[0], found[1], "", "")
    apart = np.abs(x[::2, 0] - x[1::2, 0])
    judge = ttest_ind(apart[:8], apart[8:], equal_var=False)
    assert (effect.estimate, effect.p) == (
        pytest.approx(apart[:8].mean() - apart[8:].mean()),
        pytest.approx(judge.pvalue),
    )
    assert (effect.low, effect.high) == pytest.approx(tuple(judge.confidence_interval()))


def test_ratio_intervals_combine_those_of_the_rates_by_hand():
    """Of two groups the log ratio is half the difference of logs: its distance is half the root of squared distances."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), 3)
    group = np.where(people < 30, "f", "m")
    x = rng.normal(size=(60, 4))[people] + 0.5 * rng.normal(size=(180, 4))
    found = recognition_verification(x, people, group, [1.0])
    fmr = differentials(found, [1.0])[0]
    (low, high), (other_low, other_high) = (np.log(part.fmr_interval[0]) for part in found)
    rate, other = (np.log(part.fmr[0]) for part in found)
    ends = (
        (rate - other) / 2 - np.hypot(rate - low, other_high - other) / 2,
        (rate - other) / 2 + np.hypot(high - rate, other - other_low) / 2,
    )
    assert fmr.ratio_interval[0] == pytest.approx(tuple(np.exp(ends)))


def test_an_estimated_threshold_widens_the_interval_of_fnmr_alone():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(30), 3)
    x = rng.normal(size=(30, 4))[people] + 0.5 * rng.normal(size=(90, 4))
    held, low, high = recognition_verification(x, people, ["g"] * 90, [1.2, 1.0, 1.5])[0].fnmr
    plain = recognition_verification(x, people, ["g"] * 90, [1.2])[0]
    carried = recognition_verification(x, people, ["g"] * 90, [1.2], ends=[(1.0, 1.5)])[0]
    down = held - np.hypot(held - plain.fnmr_interval[0, 0], held - high)
    up = held + np.hypot(plain.fnmr_interval[0, 1] - held, low - held)
    assert carried.fnmr_interval[0] == pytest.approx((max(down, 0), min(up, 1)))
    np.testing.assert_array_equal(carried.fmr_interval, plain.fmr_interval)
    stated = recognition_verification(x, people, ["g"] * 90, [1.2], ends=[None])[0]
    np.testing.assert_allclose(stated.fnmr_interval, plain.fnmr_interval)
    unknown = recognition_verification(x, people, ["g"] * 90, [1.2], ends=[(np.nan, np.nan)])[0]
    assert np.isnan(unknown.fnmr_interval).all()
    assert unknown.without_interval(0) == "no interval of FNMR: the threshold has none"


def test_chosen_rows_failed_images_and_identities_in_both_groups():
    x = np.array([[0.0], [1.0], [np.nan], [5.0], [5.5], [9.0]])
    people, group = list("aaabba"), list("ffffmm")
    found = {one.group: one for one in recognition_verification(x, people, group, [2.0])}
    assert found["f"].images == 3  # the failed one is left out
    assert found["f"].genuine == 1
    assert found["m"].genuine == 0
    few = recognition_verification(x, people, group, [2.0], rows=np.array([0, 1]))
    assert [one.group for one in few] == ["f"]
    assert np.isnan(few[0].fmr[0])


def test_differentials_by_hand():
    """Rates .02 and .08 have the geometric mean .04: ratios 1/2 and 2."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), 4)
    group = np.where(people < 30, "f", "m")
    spread = np.where(people < 30, 0.9, 0.5)[:, None]
    x = rng.normal(size=(60, 8))[people] + spread * rng.normal(size=(240, 8))
    found = recognition_verification(x, people, group, [2.5])
    fnmr = next(one for one in differentials(found, [2.5]) if one.rate == "fnmr")
    rates = [one.fnmr[0] for one in found]
    np.testing.assert_allclose(fnmr.ratio, np.array(rates) / np.sqrt(rates[0] * rates[1]))
    assert fnmr.largest == max(fnmr.ratio)
    for ratio, (low, high) in zip(fnmr.ratio, fnmr.ratio_interval, strict=True):
        assert low < ratio < high
    effect = difference_of_means(found[0], found[1], "model", "perceived gender")
    assert effect.low > 0
    assert effect.estimate == pytest.approx(found[0].mean_genuine - found[1].mean_genuine)
