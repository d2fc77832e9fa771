"""The gap between the groups with the highest and the lowest rate: by hand, and with an interval for all pairs."""

import numpy as np
import pytest

from transect.effects.intervals import wilson
from transect.effects.recognition import rate_gaps, recognition_verification

PEOPLE = 20


def errors(missed):
    """Twenty people with two images in each group; as many as `missed` says have theirs too far apart to match."""
    shift = np.array([3.0 if person < count else 1.0 for count in missed for person in range(PEOPLE)])
    who = np.repeat(np.arange(len(shift)), 2)
    x = 5.0 * who + np.tile([0.0, 1.0], len(shift)) * np.repeat(shift, 2)
    tone = np.repeat([f"g{group}" for group in range(len(missed))], 2 * PEOPLE)
    return recognition_verification(x[:, None], who, tone, [2.0])


@pytest.mark.parametrize("missed", [(2, 9), (2, 9, 4), (2, 9, 4, 5, 3, 6)])
def test_the_interval_is_that_of_both_rates_at_the_level_of_all_pairs(missed):
    """Every person has one comparison, so that a rate has Wilson's interval of independent trials."""
    gap = rate_gaps(errors(missed), [2.0])[0]
    pairs = len(missed) * (len(missed) - 1) // 2
    (low, high), (other_low, other_high) = (wilson(count, PEOPLE, 1 - 0.05 / pairs) for count in (9, 2))
    assert (gap.rate, gap.threshold, gap.group, gap.other, gap.pairs) == ("fnmr", 2.0, "g1", "g0", pairs)
    assert gap.estimate == pytest.approx(0.35)
    assert gap.low == pytest.approx(0.35 - np.hypot(0.45 - low, other_high - 0.1))
    assert gap.high == pytest.approx(0.35 + np.hypot(high - 0.45, 0.1 - other_low))


def test_a_rate_without_an_interval_gives_none_and_one_group_gives_no_gap():
    x = np.arange(12.0)[:, None]
    few = recognition_verification(x, np.arange(12) // 2, ["a"] * 6 + ["b"] * 6, [2.0])
    fnmr, fmr = rate_gaps(few, [2.0])
    assert np.isfinite(fnmr.low)
    assert (np.isnan(fmr.low), fmr.reason) == (True, "no interval: a has none")  # three people, and a tie: both are a
    assert rate_gaps(few[:1], [2.0]) == []
