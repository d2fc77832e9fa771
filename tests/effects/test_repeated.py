"""People on several photographs: by-hand answers, an eigenvalue oracle, and that every transect estimator counts people."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from transect.analysis.secondary_results import REPEATED, with_always_valid
from transect.effects import clusters, intervals
from transect.effects.analysis import analyse_transects, factorial_effects
from transect.effects.contrasts import CellMeans
from transect.effects.curves import difference_band
from transect.effects.rates import transect_rates
from transect.effects.samples import Measure
from transect.effects.verdicts import pairs_of_levels
from transect.records import Attribute, Design

GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
HAT = Attribute("hat", "binary", "wears a hat", levels=("off", "on"))
TONE = Attribute("tone", "continuous", "tone", unit="step", low=1, high=3)
KNOWN = {"glasses": GLASSES, "hat": HAT, "tone": TONE}
MISS, SCORE = Measure("t", "miss"), Measure("t", "score", "number", False)


def none(y):
    return np.full(y.shape, "", dtype=object)


def analysed(y, people, measure=MISS, levels=None):
    levels = levels or {"glasses": (0.0, 1.0)}
    return analyse_transects(y, none(y), Design(levels, len(y)), KNOWN, measure, people=people, max_order=1)


def oracle(counts):
    """tr(BW)² / tr(BWBW) with the matrices written out."""
    n = counts.sum()
    m = np.eye(len(counts)) - np.outer(counts, np.ones(len(counts))) / n
    b = m.T @ np.diag(1 / (1 - counts / n)) @ m
    bw = b @ np.diag(counts**2)
    return np.trace(bw) ** 2 / np.trace(bw @ bw)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=12))
def test_degrees_of_freedom_are_satterthwaites(sizes):
    counts = np.array(sizes, dtype=float)
    assert intervals.degrees_of_freedom(counts[:, None])[0] == pytest.approx(max(oracle(counts), 1.0))


def test_two_photographs_of_ten_people_are_ten_people():
    """Each person's photographs agree: the interval is that of the ten people, and not of twenty photographs."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=10)
    d, people = np.repeat(own, 2), np.repeat(np.arange(10), 2)
    found = clusters.mean_difference_interval(d[:, None], clusters.clusters_of(people), binary=False)
    of_people = intervals.mean_interval(own[:, None])
    assert (found.low[0], found.high[0]) == pytest.approx((of_people.low[0], of_people.high[0]))
    assert found.methods == (intervals.STUDENT,)
    alone = intervals.mean_difference_interval(d[:, None], binary=False)
    assert alone.high[0] - alone.low[0] < 0.75 * (found.high[0] - found.low[0])


def test_the_test_flips_people():
    y = np.repeat(np.array([[0.0, 1.0]] * 5), 4, axis=0)
    effect = analysed(y, np.repeat(np.arange(5), 4)).effects[0]
    assert (effect.p, effect.test_method) == (2 / 2**5, "exact sign-flip")
    assert analysed(y, np.arange(20)).effects[0].p == 1 / 2**20  # nobody repeats: McNemar's mid-p


def test_nobody_repeats_nothing_changes():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, (40, 2)).astype(float)
    for measure in (MISS, SCORE):
        assert analysed(y, None, measure) == analysed(y, rng.permutation(40), measure)


def test_the_estimate_is_the_mean_over_photographs_and_agrees_with_the_rates():
    people = np.array([0, 0, 0, 1, 2])
    y = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    found = analysed(y, people)
    rates = {tuple(rate.cell.values()): rate for rate in found.rates}
    assert found.effects[0].estimate == pytest.approx(2 / 5) == rates[1.0,].estimate - rates[0.0,].estimate
    assert rates[()].n_subjects == 3
    assert found.differences[0].tolist() == [3.0, 0.0, -1.0]


def test_one_person_has_no_interval_and_people_without_an_answer_are_none():
    y = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, np.nan]])
    effect = analysed(y, np.array([4, 4, 9])).effects[0]
    assert (effect.n_subjects, effect.reason) == (1, "one subject: no interval")
    assert np.isnan([effect.low, effect.high]).all()
    flat = analysed(np.array([[0.0, 1.0]] * 10), np.repeat(np.arange(5), 2), SCORE).effects[0]
    assert (flat.estimate, flat.reason) == (1.0, intervals.NO_SPREAD)


ORDERED = np.repeat(np.random.default_rng(3).normal(size=(30, 3, 2)), 4, axis=0)
"""Thirty people, four photographs each that agree in every cell."""
PEOPLE = np.repeat(np.arange(30), 4)
LEVELS = {"tone": (1.0, 2.0, 3.0), "hat": (0.0, 1.0)}


def test_slopes_interactions_and_pairs_of_levels_count_people():
    """Where photographs of a person agree, four of each are as good as one."""
    one = ORDERED[::4]
    effects = analysed(ORDERED, PEOPLE, SCORE, LEVELS).effects
    for effect, alone in zip(effects, analysed(one, None, SCORE, LEVELS).effects, strict=True):
        assert effect.estimate == pytest.approx(alone.estimate)
        assert effect.high - effect.low == pytest.approx(alone.high - alone.low, rel=0.12)
        assert effect.n_subjects == 30
    design = Design(LEVELS, len(ORDERED))
    (crossed,) = factorial_effects(ORDERED, none(ORDERED), design, KNOWN, SCORE, orders=[2], people=PEOPLE)
    (alone,) = factorial_effects(one, none(one), Design(LEVELS, 30), KNOWN, SCORE, orders=[2])
    assert crossed.n_subjects == 30
    assert crossed.p == pytest.approx(alone.p, abs=0.03)
    assert crossed.high - crossed.low == pytest.approx(alone.high - alone.low, rel=0.12)
    for pair, single in zip(
        pairs_of_levels(ORDERED, 0, SCORE, people=PEOPLE), pairs_of_levels(one, 0, SCORE), strict=True
    ):
        assert pair.n_subjects == 30
        assert pair.high - pair.low == pytest.approx(single.high - single.low, rel=0.12)


def test_rates_bands_and_cell_means_count_people():
    one = ORDERED[::4]
    rates = transect_rates(ORDERED, none(ORDERED), LEVELS, people=PEOPLE, is_binary=False, max_order=0)
    alone = transect_rates(one, none(one), LEVELS, is_binary=False, max_order=0)
    assert (rates[0].n_subjects, rates[0].low, rates[0].high) == pytest.approx((30, alone[0].low, alone[0].high))
    cells, single = CellMeans.of(ORDERED, PEOPLE), CellMeans.of(one)
    np.testing.assert_allclose(cells.influence, single.influence)
    np.testing.assert_allclose(cells.means, single.means)
    y = np.repeat((one[:, :, 0] > 0.5).astype(float), 4, axis=0)
    d = y[:, 1:] - y[:, :1]
    band, narrow = difference_band(d, who=PEOPLE), difference_band(d)
    assert (band.high - band.low > 1.5 * (narrow.high - narrow.low)).all()


def test_there_is_no_always_valid_interval_of_people_who_repeat():
    found = analysed(ORDERED, PEOPLE, SCORE, LEVELS)
    told = with_always_valid(found.effects, found.differences, Design(LEVELS, 120), {}, people_repeat=True)
    assert {effect.always_reason for effect in told} == {REPEATED}


def test_the_variance_is_that_of_the_regressions_cr2():
    """`few_subjects.bias_reduced` of a regression on a constant: another code of the same errors."""
    rng = np.random.default_rng(5)
    people = np.repeat(np.arange(12), rng.integers(1, 8, 12))
    d = rng.normal(size=len(people)) + rng.normal(size=12)[people]
    covariance, _ = clusters.bias_reduced(np.ones((len(d), 1)), d - d.mean(), people)
    found = clusters.mean_difference_interval(d[:, None], people, binary=False)
    counts = clusters.by_person(d[:, None], people)[1]
    r = clusters.by_person((d - d.mean())[:, None], people)[0][:, 0]
    skewed = float((r**3).sum() / (r**2).sum() ** 1.5) * np.sqrt(12 * 11) / 10
    freedom, unseen = intervals.degrees_of_freedom(counts)[0], np.sqrt(6) / 2 / 12
    expected = intervals.skewed_interval(d.mean(), np.sqrt(covariance[0, 0]), freedom, skewed, 0.95, unseen)
    assert (found.low[0], found.high[0]) == pytest.approx([float(end) for end in expected])


@pytest.mark.parametrize(("differ", "allowed"), [(11, 0.5), (12, 0.0)])
def test_few_who_differ_allow_for_one_who_was_not_drawn(differ, allowed):
    """200 people with 4 photographs, of which 1 differs of some people: variance by hand, and half a person of 16."""
    d, who = np.zeros((800, 1)), np.repeat(np.arange(200), 4)
    d[: 4 * differ : 4] = 1.0
    mean = differ / 800
    scattered = differ * (1 - 4 * mean) ** 2 + (200 - differ) * (4 * mean) ** 2
    effect = (scattered / (1 - 1 / 200) + allowed * 16) / (800 * mean * (1 - mean))
    effect *= (stats.t.ppf(0.975, 199) / stats.norm.ppf(0.975)) ** 2 if allowed else 1.0
    expected = intervals.paired_score_interval(differ, 0, 800, design_effect=min(max(effect, 1.0), 4.0))
    low, high = clusters.paired_score(d, who, np.ones(1), 0.95)
    assert (low[0], high[0]) == pytest.approx((float(expected[0]), float(expected[1])))
