"""The interval of a threshold over groups: outside it the false match rate is surely another."""

import numpy as np
import pytest

from transect.effects.recognition import pooled_thresholds, recognition_verification, threshold_ends


def faces(people, seed=0):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), 2)
    return rng.normal(size=(people, 5))[who] + 0.4 * rng.normal(size=(2 * people, 5)), who


@pytest.mark.parametrize("rate", [0.02, 0.1])
def test_of_one_group_the_interval_of_its_rate_excludes_the_rate_at_both_ends_and_not_within(rate):
    x, who = faces(60)
    group = ["g"] * len(x)
    (at,), _, _ = pooled_thresholds(x, who, group, [rate])
    low, high = threshold_ends(x, who, group, at, rate)
    assert 0 < low < at < high
    tried = [low, (low + 3 * at) / 4, at, (high + 3 * at) / 4, high]
    ends = recognition_verification(x, who, group, tried)[0].fmr_interval
    assert [bool(a <= rate <= b) for a, b in ends] == [False, True, True, True, False]


def test_few_identities_bound_it_from_above_alone_and_fewer_not_at_all():
    x, who = faces(12)
    (at,), _, _ = pooled_thresholds(x, who, ["g"] * len(x), [0.05])
    low, high = threshold_ends(x, who, ["g"] * len(x), at, 0.05)
    assert low == 0 < at < high
    x, who = faces(9)
    assert np.isnan(threshold_ends(x, who, ["g"] * len(x), at, 0.05)).all()
