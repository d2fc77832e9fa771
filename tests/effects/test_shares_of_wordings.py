"""Shares of 0/1 answers over several wordings: the paired score interval, and the same in every part of a report."""

import numpy as np
import pytest

from transect.effects.analysis import analyse_transects, factorial_effects
from transect.effects.contrasts import level_differences
from transect.effects.intervals import PAIRED_SCORE, mean_difference_interval
from transect.effects.samples import Measure
from transect.effects.verdicts import judge, outermost, pairs_of_levels, sizes_of_differences, status
from transect.effects.wordings import wording_effects
from transect.records import Attribute, Design

REFUSAL = Measure("mine", "refusal", "proportion", is_binary=False, answers=3)
TONE = Attribute("tone", "binary", "tone", levels=("bright", "dark"))
HAT = Attribute("hat", "binary", "wears a hat", levels=("off", "on"))


def analysed(values, measure, people=None, seed=0):
    reasons = np.where(np.isfinite(values), "", "incomplete").astype(object)
    design = Design({"tone": (0.0, 1.0)}, subjects=len(values), seed=seed)
    return analyse_transects(values, reasons, design, {"tone": TONE}, measure, people=people, seed=seed)


def test_a_model_that_never_refuses_has_an_interval():
    z = 1.959964
    found = analysed(np.zeros((20, 2)), REFUSAL)
    (effect,) = found.effects
    assert (effect.interval_method, effect.reason) == (PAIRED_SCORE, "")
    assert (-effect.low, effect.high) == pytest.approx((z**2 / (20 + z**2),) * 2, abs=1e-6)
    # Wilson's interval of none of 20: all wordings of a subject may agree.
    assert found.rates[0].high == pytest.approx(z**2 / (20 + z**2), abs=1e-6)


def test_a_model_that_never_refuses_is_shown_to_make_no_difference():
    z = 1.644854  # 90 %: two one-sided tests
    low, high = outermost(pairs_of_levels(np.zeros((100, 2)), 0, REFUSAL))
    assert (-low, high) == pytest.approx((z**2 / (100 + z**2),) * 2, abs=1e-6)
    assert judge(False, low, high, 0.03) == "no difference"
    assert status(sizes_of_differences(np.zeros((100, 2)), 0, REFUSAL), 0.03) == "met"


def test_pairs_are_cells_times_wordings():
    """Sixty subjects with two hats each, who seldom refuse in some of three wordings: six pairs a subject."""
    rng = np.random.default_rng(0)
    values = np.round(3 * rng.random((60, 2, 2)) ** 6) / 3
    design = Design({"tone": (0.0, 1.0), "hat": (0.0, 1.0)}, subjects=60)
    about = values, np.full(values.shape, "", dtype=object), design, {"tone": TONE, "hat": HAT}, REFUSAL
    effect = analyse_transects(*about).effects[0]
    d = level_differences(values[:, 0], values[:, 1])[:, None]
    alone = mean_difference_interval(d, binary=True, pairs=np.array([2 * 3.0]))
    assert (effect.low, effect.high) == pytest.approx((alone.low[0], alone.high[0]), abs=1e-12)
    (both,) = (one for one in factorial_effects(*about) if one.kind == "interaction")
    assert both.interval_method == PAIRED_SCORE


@pytest.mark.parametrize("photographs", [1, 3])
@pytest.mark.parametrize("subjects", [8, 60, 210])
@pytest.mark.parametrize("wordings", [2, 3])
def test_the_headline_and_the_mean_of_the_paraphrases_are_one_estimate(subjects, wordings, photographs):
    rng = np.random.default_rng([subjects, wordings])
    said = (rng.random((subjects, 2, wordings, 2)) < np.array([0.3, 0.5])[None, :, None, None]).astype(float)
    said[rng.random(said.shape[:3]) < 0.05] = np.nan  # a paraphrase that has no answer
    people = np.arange(subjects) // photographs
    values = said.mean(axis=3).mean(axis=2)
    measure = Measure("mine", "answer", "proportion", is_binary=False, answers=2 * wordings)
    (effect,) = analysed(values, measure, people, seed=5).effects
    found = wording_effects(said[:, :1], said[:, 1:], binary=True, people=people, seed=5)
    numbers = found.mean.estimate, found.mean.low, found.mean.high
    assert numbers == pytest.approx((effect.estimate, effect.low, effect.high), abs=1e-12)
    assert (found.method, found.subjects) == (effect.interval_method, effect.n_subjects)
