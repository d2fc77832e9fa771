"""Effects of wordings: by hand, against a two-way table's sums of squares, and on planted truth."""

import numpy as np
import pytest
from scipy.stats import t as student

from transect.effects.contrasts import level_differences
from transect.effects.intervals import NO_SPREAD, mean_difference_interval
from transect.effects.wordings import ALONE, NO_SUBJECTS, TOO_FEW, wording_effects


def asked(rng, subjects, wordings, spread, effect=0.2, cells=1):
    """Scores at two levels, whose difference has a part of the subject, of the wording, and of both."""
    own = effect + 0.3 * rng.normal(size=(subjects, 1, 1)) + spread * rng.normal(size=(1, 1, wordings))
    first = rng.normal(size=(subjects, cells, wordings))
    return first, first + own + 0.4 * rng.normal(size=first.shape)


def by_hand(first, second):
    """Spread between wordings from the sums of squares of a complete table, one loop a term."""
    d = (second - first).mean(axis=1)
    n, k = d.shape
    of_wording = sum((d[:, j].mean() - d.mean()) ** 2 for j in range(k)) / (k - 1)
    rest = sum((d[i, j] - d[i].mean() - d[:, j].mean() + d.mean()) ** 2 for i in range(n) for j in range(k))
    return of_wording - rest / ((n - 1) * (k - 1)) / n


def test_effects_of_wordings_are_those_of_each_alone():
    rng = np.random.default_rng(1)
    first, second = asked(rng, 30, 3, 0.2, cells=2)
    found = wording_effects(first, second, binary=False)
    for place, each in enumerate(found.each):
        d = level_differences(first[:, :, place], second[:, :, place])
        assert each.effect.estimate == pytest.approx(d.mean())
        alone = mean_difference_interval(d[:, None], binary=False)
        assert each.effect.low == pytest.approx(alone.low[0], abs=0.02)
    whole = (second - first).mean(axis=(1, 2))
    assert found.mean.estimate == pytest.approx(whole.mean())
    assert sum(each.deviation for each in found.each) == pytest.approx(0)
    assert found.mean.low < found.mean.estimate < found.mean.high


@pytest.mark.parametrize("wordings", [2, 5, 8])
def test_the_spread_is_that_of_the_sums_of_squares(wordings):
    first, second = asked(np.random.default_rng(wordings), 40, wordings, 0.3)
    found = wording_effects(first, second, binary=False)
    assert found.spread == pytest.approx(np.sqrt(by_hand(first, second)), rel=1e-6)


def test_the_interval_over_a_sample_of_wordings_by_hand():
    first, second = asked(np.random.default_rng(3), 60, 8, 0.3)
    found = wording_effects(first, second, binary=False)
    further = student.ppf(0.975, 7) * found.spread / np.sqrt(8)
    assert found.sampled.low == pytest.approx(
        found.mean.estimate - np.hypot(found.mean.estimate - found.mean.low, further)
    )
    assert found.sampled.high == pytest.approx(
        found.mean.estimate + np.hypot(found.mean.high - found.mean.estimate, further)
    )


def test_wordings_that_all_do_the_same_have_no_spread():
    change = np.repeat(np.arange(30) < 9, 1).astype(float)[:, None, None]
    found = wording_effects(np.zeros((30, 1, 8)), np.broadcast_to(change, (30, 1, 8)), binary=True)
    assert (found.spread, found.p) == (0.0, 1.0)
    assert (found.sampled.low, found.sampled.high) == (found.mean.low, found.mean.high)
    assert [each.deviation for each in found.each] == [0.0] * 8


def test_planted_spread_is_found_and_its_wording_named():
    rng = np.random.default_rng(5)
    first, second = asked(rng, 200, 5, 0.0)
    second[:, :, 3] += 0.5
    found = wording_effects(first, second, binary=False)
    # Effects 0, 0, 0, .5, 0: standard deviation .5 / sqrt(5).
    assert found.spread == pytest.approx(0.5 / np.sqrt(5), abs=0.05)
    assert found.p < 0.001
    assert found.each[3].deviation == pytest.approx(0.4, abs=0.08)
    assert found.each[3].p == found.p


def test_what_cannot_be_estimated_has_a_reason():
    one = wording_effects(np.zeros((30, 1, 1)), np.ones((30, 1, 1)), binary=True)
    assert (one.reason, np.isnan(one.p), np.isnan(one.spread)) == (ALONE, True, True)
    seven = wording_effects(np.zeros((30, 1, 7)), np.ones((30, 1, 7)), binary=True)
    assert (seven.sampled.reason, np.isnan(seven.sampled.low), seven.reason) == (TOO_FEW, True, "")
    none = wording_effects(np.full((30, 1, 8), np.nan), np.ones((30, 1, 8)), binary=True)
    assert (none.mean.reason, none.reason, none.sampled.reason) == (NO_SUBJECTS,) * 3
    assert none.subjects == none.incomplete == 0
    same = wording_effects(np.zeros((30, 1, 5)), np.ones((30, 1, 5)), binary=False)
    assert (same.mean.estimate, same.mean.reason) == (1.0, NO_SPREAD)
