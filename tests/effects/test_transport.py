"""Photographs with the help of renderings: the formula by hand, and what it makes of good, wrong and useless renderings."""

import numpy as np
import pytest

from transect.effects import transported
from transect.effects.several_worlds import NO_OTHERS


def planted(seed=0, n=60, m=2000, off=0.2, likeness=0.9):
    """Effects on n + m subjects around .1; renderings that are off by a constant and alike in part."""
    rng = np.random.default_rng(seed)
    own = 0.1 + 0.3 * rng.standard_normal(n + m)
    noise = 0.3 * rng.standard_normal(n + m)
    rendered = 0.1 + off + likeness * (own - 0.1) + np.sqrt(1 - likeness**2) * noise
    return own[:n], rendered[:n], rendered[n:]


def test_the_estimate_is_the_rendering_plus_what_it_gets_wrong():
    """With the estimated weight λ: mean of both + λ (mean of the others − mean of the twins)."""
    both, twins, others = planted()
    result = transported(both, twins, others)
    expected = both.mean() + result.trust * (others.mean() - twins.mean())
    assert result.estimate == pytest.approx(expected)
    assert result.alone == pytest.approx(both.mean())
    assert result.rendered == pytest.approx(np.concatenate([twins, others]).mean())
    assert result.off == pytest.approx((twins - both).mean())
    covariance = np.cov(both, twins)[0, 1]
    assert result.trust == pytest.approx(covariance / (1 + 60 / 2000) / np.var(others), rel=0.1)


def test_a_wrong_rendering_that_moves_along_narrows_the_interval_and_moves_nothing():
    small, large = (transported(*planted(off=off)) for off in (0.0, 5.0))
    assert small.estimate == pytest.approx(large.estimate)
    assert (small.low, small.high, small.gained) == pytest.approx((large.low, large.high, large.gained))
    assert large.off - small.off == pytest.approx(5.0)
    assert small.gained > 0.4
    assert small.worth == pytest.approx(60 * (1 / (1 - small.gained) ** 2 - 1), rel=1e-6)


def test_a_rendering_that_has_nothing_to_do_with_the_photographs_counts_for_little():
    result = transported(*planted(likeness=0.0))
    assert result.trust < 0.25
    assert abs(result.gained) < 0.05


def test_without_others_or_pairs_there_is_nothing_to_add():
    both, twins, _ = planted()
    nothing = transported(both, twins, [])
    assert (nothing.estimate, nothing.trust, nothing.reason) == (pytest.approx(both.mean()), 0.0, NO_OTHERS)
    few = transported([0.1], [0.2], np.arange(10.0))
    assert np.isnan(few.low)
    assert "fewer than two subjects" in few.reason
    assert np.isnan(transported(both[:8], twins[:8], np.arange(50.0)).low)


def test_a_change_that_lacks_a_no_is_no_rate():
    """One change among 12: mean and standard error are both 1/12, so that Student's interval has 0 inside it."""
    photographed, rendered = np.array([1.0] + [0.0] * 11), np.tile([0.0, 1.0], 6)
    result = transported(photographed, rendered, np.tile([0.0, 1.0], 250))
    assert result.low < 0 < result.high
    assert result.alone_low == pytest.approx(1 / 12 - 2.200985 / 12, abs=1e-6)
    assert result.alone_high > 1 / 12 + 2.200985 / 12
    assert np.isnan(transported([0.0] * 12, rendered, np.tile([0.0, 1.0], 250)).low)


@pytest.mark.coverage
@pytest.mark.parametrize("n", [12, 20, 40])
def test_rare_changes_show_no_effect_that_is_not_there(n):
    """Differences of −1, 0 and 1 in 2, 96 and 2 % of subjects, whose mean is 0; a rate's interval misses it in 16 to 25 %."""
    rng = np.random.default_rng(n)
    missed = []
    for _ in range(300):
        own, other = rng.choice([-1.0, 0.0, 1.0], size=(2, n + 500), p=[0.02, 0.96, 0.02])
        rendered = np.where(rng.random(n + 500) < 0.5, own, other)
        result = transported(own[:n], rendered[:n], rendered[n:])
        missed.append(result.low > 0 or result.high < 0 or result.alone_low > 0 or result.alone_high < 0)
    assert np.mean(missed) <= 0.05


def test_rows_without_a_known_effect_are_counted():
    own, twins, others = np.arange(15) / 15, np.arange(15) / 14, np.arange(40) / 40
    own[2], twins[3], others[5] = np.nan, np.nan, np.nan
    found = transported(own, twins, others)
    assert (found.n_both, found.n_rendered, found.n_missing) == (13, 39, 3)
    assert transported(own[:1], twins[:1], others).n_missing == 1
