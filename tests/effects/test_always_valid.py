"""Always-valid intervals against stakes by hand, and exact probabilities of ever missing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects.always_valid import always_valid_difference

NAN = np.nan
SHARES = [(k + 0.5) / 50 for k in range(50)]


def stake(values, truth):
    """What a gambler has who bets every share, side by side, that values in [0, 1] are above `truth`, one by one."""
    ends = []
    for share in SHARES:
        money = 1.0
        for value in values:
            money *= 1 + share * (value / truth - 1)
        ends.append(money)
    return sum(ends) / len(ends)


def test_the_ends_are_where_the_stake_has_grown_forty_fold():
    d = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=40, p=[0.1, 0.5, 0.4])
    result = always_valid_difference(d)
    low, high = result.low, result.high
    above, below = (1 + d) / 2, (1 - d) / 2
    assert stake(above, (1 + low) / 2) == pytest.approx(40, rel=1e-6)
    assert stake(below, (1 - high) / 2) == pytest.approx(40, rel=1e-6)
    assert stake(above, (1 + low) / 2 + 0.01) < 40


@pytest.mark.coverage
@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_the_chance_of_ever_missing_is_at_most_five_percent(rate):
    """Exactly: the chance of each number of successes among those courses that have not missed yet."""
    alive, missed = np.array([1.0]), 0.0
    for n in range(1, 41):
        alive = np.append(alive, 0.0) * (1 - rate) + np.insert(alive, 0, 0.0) * rate
        for k in range(n + 1):
            result = always_valid_difference(np.repeat([1.0, -1.0], [k, n - k]))
            if not result.low <= 2 * rate - 1 <= result.high:
                missed += alive[k]
                alive[k] = 0.0
    assert 0 < missed <= 0.05


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, NAN]), min_size=1, max_size=30), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_order_and_missing_differences_do_not_matter_and_signs_mirror(values, seed):
    d = np.array(values)
    result, shuffled = always_valid_difference(d), always_valid_difference(np.random.default_rng(seed).permutation(d))
    assert (shuffled.low, shuffled.high) == (result.low, result.high) or np.isnan(result.low)
    if np.isfinite(d).any():
        mirrored = always_valid_difference(-d)
        assert [-mirrored.high, -mirrored.low] == pytest.approx([result.low, result.high], abs=1e-9)
        assert result.low <= np.nanmean(d) <= result.high


@pytest.mark.parametrize("reach", [0.01, 2.0])
def test_the_reach_scales_the_interval(reach):
    d = np.random.default_rng(1).uniform(-1, 1, size=64)
    result, scaled = always_valid_difference(d), always_valid_difference(reach * d, reach)
    assert (scaled.low, scaled.high) == pytest.approx((reach * result.low, reach * result.high))


def test_what_has_no_interval_says_why():
    assert always_valid_difference(np.full(3, NAN)).reason == "no subject has a difference"
