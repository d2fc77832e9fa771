"""The highest and the lowest rate of many groups: picked by the data that they are compared on."""

import numpy as np

from transect.effects.recognition import RateGap
from transect.jobs.recognition import _sized, recognition
from transect.records import Estimate


def test_the_largest_gap_of_many_equal_groups_is_not_taken_for_a_difference(tmp_path):
    """Eight groups of one distribution. By chance the 95 % intervals of the highest and the lowest rate are apart."""
    rng = np.random.default_rng(58)
    centers, noise = 3 * rng.normal(size=(160, 1, 8)), 0.4 * rng.normal(size=(160, 3, 8))
    who, tone = np.repeat(np.arange(160), 3), np.repeat([f"g{place}" for place in range(8)], 60)
    table = {"who": who.tolist(), "tone": tone.tolist()}
    made = recognition(table, "who", "tone", embeddings=(centers + noise).reshape(-1, 8), thresholds=[1.8])
    rates = [group.rates[0] for group in made.numbers.samples["all"].groups]
    assert max(rate.fnmr_low for rate in rates) > min(rate.fnmr_high for rate in rates)
    text = made.report(tmp_path).read_text()
    assert "these two groups differ" not in text.lower()
    fnmr, _ = made.numbers.samples["all"].largest_gaps
    assert (fnmr.group, fnmr.other, fnmr.pairs) == ("g7", "g4", 28)
    assert "picked from 8 groups: the interval of their difference is wider" in text


def test_a_difference_without_interval_names_the_group_that_has_none():
    some, none = Estimate(0.2, 0.1, 0.3), Estimate(0.1, np.nan, np.nan)
    gap = RateGap(0.1, np.nan, np.nan, reason="no interval", rate="fmr", threshold=1.0, group="a", other="b", pairs=1)
    assert _sized(gap, 40, {"a": some, "b": none}) == "; no interval of b, so none of the difference."
    assert _sized(gap, 40, {"a": none, "b": none}) == "; no interval of a and b, so none of the difference."
    assert _sized(gap, 40, {"a": some, "b": some}) == "; no interval."
