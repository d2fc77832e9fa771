"""The verdict on an effect in several worlds, with numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from transect.effects import WorldEstimate, agreements

Z = 1.959964


def world(estimate, error, n=100, seen=None):
    p, shows = 2 * norm.sf(abs(estimate) / error), abs(estimate) > Z * error if seen is None else seen
    return WorldEstimate(estimate, estimate - Z * error, estimate + Z * error, p=p, n=n, seen=shows)


def one(*worlds, margin=0.02):
    return agreements([worlds], [margin])[0]


def test_both_show_it_and_no_difference_is_found():
    """.30 and .27 with errors .02 and .04: the difference −.03 has error .0447, so p = .50."""
    result = one(world(0.30, 0.02), world(0.27, 0.04))
    assert (result.verdict, result.within, result.seen_in) == ("same direction", False, (0, 1))
    # the largest difference of both 90 % intervals: .03 + 1.645 × .0447 = .1036
    assert one(world(0.30, 0.02), world(0.27, 0.04), margin=0.104).verdict == "replicates"
    assert one(world(0.30, 0.02), world(0.27, 0.04), margin=0.103).verdict == "same direction"
    assert result.estimate == pytest.approx(-0.03)
    assert result.p == pytest.approx(2 * norm.sf(0.03 / np.hypot(0.02, 0.04)), rel=1e-6)
    assert (result.low, result.high) == pytest.approx((-0.03 - Z * 0.0447214, -0.03 + Z * 0.0447214), abs=1e-6)


def test_one_direction_with_sizes_that_may_be_very_different_is_no_replication():
    """.10 and .40 with errors .02 and .15: p = .047 alone, .094 among two effects, and the sizes may differ by .55."""
    rows = [[world(0.10, 0.02), world(0.40, 0.15, n=50)], [world(0.3, 0.1), world(0.3, 0.1)]]
    result = agreements(rows, [0.02, 0.02])[0]
    assert (result.verdict, result.seen_in, result.against) == ("same direction", (0, 1), ())
    assert result.most == pytest.approx(0.3 + 1.644854 * np.hypot(0.02, 0.15), abs=1e-6)
    (need,) = result.needed  # that the difference .3 is found with 90 % power at 2.5 %: 2.2414 + 1.2816
    assert need.world == 1
    assert need.subjects == pytest.approx(50 * 0.15**2 / ((0.3 / 3.522955) ** 2 - 0.02**2), abs=1.5)


def test_one_significant_and_the_other_not_is_no_disagreement():
    """.10 ± .04 and .05 ± .06: shown in one, and the difference has p = .49."""
    result = one(world(0.10, 0.04, n=200), world(0.05, 0.06, n=80))
    assert (result.verdict, result.seen_in) == ("cannot tell", (0,))
    (need,) = result.needed
    # as large as in the first world, found with 90 % power: 80 ((1.96 + 1.2816) .06 / .10)²
    assert (need.world, need.subjects) == (1, int(np.ceil(80 * (3.241516 * 0.06 / 0.10) ** 2)))


def test_worlds_without_an_effect_agree_within_the_margin():
    """Both 0 with errors .005: the difference's 90 % interval is ± 1.645 × .00707 = .0116."""
    result = one(world(0.0, 0.005), world(0.0, 0.005))
    assert (result.verdict, result.seen_in, result.within) == ("agrees", (), True)
    result = one(world(0.012, 0.005), world(0.0, 0.005), margin=0.03)  # seen in the first alone
    assert (result.verdict, result.seen_in) == ("agrees", (0,))
    assert one(world(0.012, 0.005), world(0.011, 0.005), margin=0.03).verdict == "replicates"
    result = one(world(0.0, 0.005), world(0.0, 0.005), margin=0.01)
    assert (result.verdict, result.within) == ("cannot tell", False)
    assert result.most == pytest.approx(1.644854 * 0.005 * np.sqrt(2), abs=1e-6)


def test_effects_too_close_for_any_number_of_subjects_need_none():
    """1e-200 squared is no number above 0; 1e-160 squared is, and would need 1e300 subjects."""
    for effect in (1e-200, 1e-160):
        assert one(world(0.0, 0.02), world(effect, 0.02), margin=np.nan).needed == ()
        assert one(world(effect, 0.02, seen=True), world(0.0, 0.02), margin=np.nan).needed == ()


def test_the_p_of_three_worlds_is_that_of_all_pairs():
    """.1, .1 and .2 with errors .03: the largest difference .1 has error .0424, z = 2.357, and there are 3 pairs."""
    result = one(world(0.1, 0.03), world(0.1, 0.03), world(0.2, 0.03))
    assert result.p == pytest.approx(3 * 2 * norm.sf(0.1 / (0.03 * np.sqrt(2))), rel=1e-6)


def test_subjects_that_show_agreement_when_nothing_is_seen():
    """Nothing seen: the noisier world needs the variance that the margin leaves, (.02 / 3.29)² − .003²."""
    result = one(world(0.0, 0.003, n=1000), world(0.001, 0.02, n=100))
    (need,) = result.needed
    left = (0.02 / (2 * 1.644854)) ** 2 - 0.003**2
    assert (need.world, need.subjects) == (1, pytest.approx(100 * 0.02**2 / left, abs=1.5))


def test_p_of_replication_is_the_largest_of_worlds_and_of_differences_and_corrected_for_all_effects():
    """.10 and .11 with errors .02 and .04, margin .15: the difference has error .0447, so that z = .14 / .0447."""
    worlds = world(0.10, 0.02), world(0.11, 0.04)
    within = norm.sf((0.15 - 0.01) / np.hypot(0.02, 0.04))  # .0009; the second world alone has p = .0060
    assert one(*worlds, margin=0.15).p_replication == pytest.approx(2 * norm.sf(0.11 / 0.04), rel=1e-5)
    exact = world(0.10, 0.02), world(0.11, 0.04, seen=True)
    exact = [replace(each, p=1e-9) for each in exact]
    assert one(*exact, margin=0.15).p_replication == pytest.approx(within, rel=1e-5)
    many = agreements([worlds] * 8, [0.15] * 8)
    assert {each.verdict for each in many} == {"replicates"}  # 8 × .0060
    many = agreements([worlds] * 9, [0.15] * 9)
    assert {(each.verdict, each.within) for each in many} == {("same direction", True)}
    assert one(world(0.004, 0.001), world(-0.004, 0.001)).p_replication == 1
    assert np.isnan(one(*worlds, margin=np.nan).p_replication)


def test_opposite_effects_are_never_replicated():
    result = one(world(0.1, 0.03), world(-0.1, 0.03))
    assert (result.verdict, result.seen_in, result.against) == ("differs", (0,), (1,))
    result = one(world(0.1, 0.03), world(-0.1, 0.03), world(-0.2, 0.03))
    assert (result.seen_in, result.against) == ((1, 2), (0,))
    inside = one(world(0.004, 0.001), world(-0.004, 0.001))
    assert (inside.within, inside.verdict, inside.against) == (True, "differs", (1,))
    many = agreements([[world(0.004, 0.0019), world(-0.004, 0.0019)]] * 50, [0.02] * 50)[0]  # p = .0029, 50 effects
    assert (many.within, many.verdict) == (True, "cannot tell")


def test_the_largest_difference_of_several_worlds_is_told():
    result = one(world(0.1, 0.02), world(0.1, 0.02), world(0.3, 0.02))
    assert result.verdict == "differs"
    assert {result.first, result.second} == {0, 2} or {result.first, result.second} == {1, 2}
    assert result.confidence == pytest.approx(1 - 0.05 / 3)


@pytest.mark.parametrize("bad", [
    WorldEstimate(p=np.nan, n=0, seen=False), WorldEstimate(0.1, p=0.5, n=5, seen=False),
    WorldEstimate(0.0, 0.0, 0.0, p=1.0, n=5, seen=False),
])  # fmt: skip
def test_a_world_without_an_interval_is_no_agreement(bad):
    result = one(world(0.1, 0.02), bad)
    assert (result.verdict, result.needed) == ("not estimable", ())
    assert "fewer than two worlds" in result.reason
    known = np.isnan(bad.estimate)  # then it does not count
    assert one(world(0.1, 0.02), bad, world(0.1, 0.02)).verdict == ("same direction" if known else "cannot tell")
    wide = one(world(0.1, 0.02), bad, world(0.1, 0.02), margin=0.3)
    assert wide.verdict == ("replicates" if known else "cannot tell")
    assert one(world(0.1, 0.02), bad, world(0.9, 0.02)).verdict == "differs"


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.01, 0.5), st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_order_and_sign_do_not_matter(a, b, first, second, margin):
    worlds = world(a, first), world(b, second)
    forward, back = one(*worlds, margin=margin), one(*worlds[::-1], margin=margin)
    turned = one(world(-a, first), world(-b, second), margin=margin)
    assert forward.verdict == back.verdict == turned.verdict
    assert forward.p == pytest.approx(back.p)
    assert forward.estimate == pytest.approx(-back.estimate)
    assert sorted(need.subjects for need in forward.needed) == sorted(need.subjects for need in back.needed)
