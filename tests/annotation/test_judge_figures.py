"""A judge against people: figures by hand, planted sensitivity and specificity in the intervals, corrected effects."""

import numpy as np
import pytest

from transect.annotation.agreement.judge_errors import Codes, agreement, corrected_effects, figure_of, majority
from transect.effects.intervals import paired_score_interval

nan = np.nan


def test_figures_are_those_counted_by_hand():
    judge = np.array([1, 1, 0, 0, 1, 0, 0, nan, 1], dtype=float)
    people = np.array([1, 1, 1, 0, 0, 0, 0, 1, nan], dtype=float)
    found = agreement(Codes(judge, people, np.arange(9)))
    assert (found.texts, found.yes) == (7, 3)
    assert found.sensitivity.estimate == pytest.approx(2 / 3)
    assert found.specificity.estimate == pytest.approx(3 / 4)
    low, high = (float(end) for end in paired_score_interval(1, 1, 7))
    assert (found.excess.estimate, found.excess.low, found.excess.high) == pytest.approx((0.0, low, high))


def test_what_cannot_be_estimated_says_why():
    nothing = agreement(Codes(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)))
    for figure in (nothing.sensitivity, nothing.specificity, nothing.excess):
        assert figure.estimate is None
        assert figure.reason
    alone = agreement(Codes(np.array([1.0, 0.0]), np.array([0.0, 0.0]), np.zeros(2, dtype=np.int64))).excess
    assert (alone.estimate, alone.low, alone.reason) == (0.5, None, "no interval: texts of one subject alone")
    same = agreement(Codes(np.ones(20), np.ones(20), np.arange(20)))
    assert same.excess.high == pytest.approx(3.8415 / 23.8415, abs=1e-4)  # z² / (n + z²): no error seen is not none
    assert same.sensitivity.estimate == 1.0
    assert same.specificity.reason == "people say no to no text"


def test_ties_are_undecided():
    assert majority(np.array([[1.0, 0.0], [1.0, nan], [0.0, 0.0]])).tolist()[1:] == [1.0, 0.0]
    assert np.isnan(majority(np.array([[1.0, 0.0]]))[0])


def planted(rng, subjects, sensitivity, specificity, effect=0.0, coded=1.0):
    """Two texts of each subject, one at each of two levels; what is true is likelier at the second by `effect`."""
    people = rng.integers(0, 1 << 30, subjects).repeat(2)
    levels = np.tile([0, 1], subjects)
    true = (rng.random(2 * subjects) < 0.4 + effect * levels).astype(float)
    sensitivity, specificity = (np.broadcast_to(each, 2)[levels] for each in (sensitivity, specificity))
    right = rng.random(2 * subjects) < np.where(true == 1, sensitivity, specificity)
    judge = np.where(right, true, 1 - true)
    return Codes(judge, np.where(rng.random(2 * subjects) < coded, true, nan), people), levels


def coverage(trials, check):
    return sum(check(np.random.default_rng(seed)) for seed in range(trials)) / trials


def within(figure, truth):
    return figure.low is not None and figure.low <= truth <= figure.high


def test_intervals_hold_a_planted_sensitivity_and_specificity():
    def check(rng):
        codes, _ = planted(rng, 60, 0.85, 0.9)
        found = agreement(codes)
        return within(found.sensitivity, 0.85) + within(found.specificity, 0.9)

    assert coverage(100, check) / 2 > 0.90


@pytest.mark.integration
@pytest.mark.parametrize(("most", "errs"), [(1, (0.05, 0.0)), (1, (0.3, 0.1)), (6, (0.05, 0.0)), (6, (0.3, 0.1))])
def test_the_judge_s_rate_minus_people_s_is_held(most, errs):
    """20 subjects of one text, or of one to six: a bootstrap covered .28 to .83 where the judge errs in 2 to 12 %."""

    def check(rng):
        who = np.repeat(np.arange(20), rng.integers(1, most + 1, 20))
        off = rng.choice([1.0, -1.0, 0.0], p=(*errs, 1 - sum(errs)), size=20)[who]  # all texts of a subject alike
        return within(agreement(Codes((off >= 0) * 1.0, (off < 0) * 1.0 + (off == 0), who)).excess, errs[0] - errs[1])

    assert coverage(300, check) >= 0.91


def test_a_judge_that_errs_by_level_makes_an_effect_that_people_s_codes_take_away():
    held, corrected = 0, []
    for seed in range(40):
        codes, levels = planted(np.random.default_rng(seed), 300, (0.9, 0.9), (0.95, 0.65), coded=0.4)
        ((judged, powered),) = corrected_effects(codes, levels, 2)
        assert judged > 0.08  # 0.6 x 0.3 = 0.18 is planted in its errors, and no effect in what is true
        figure = figure_of(powered)
        held += within(figure, 0.0)
        corrected.append(figure.estimate)
    assert held >= 34
    assert abs(np.mean(corrected)) < 0.02
