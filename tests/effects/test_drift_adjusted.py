"""Effects adjusted for drift, against planted truths: bias of the raw effect, coverage of the adjusted ones."""

from __future__ import annotations

import numpy as np
import pytest

from transect.effects.instruments import PER_SUBJECTS, drift_adjusted

SET, DRIFTED = 0.3, 0.5


def world(seed: int, subjects: int = 30, noise: float = 0.0):
    """An attribute of effect .3 that drags another along, by .8 on average, whose own effect is .5 a unit."""
    draws = np.random.default_rng(seed)
    who, set_ = np.repeat(np.arange(subjects), 8), np.tile([0.0, 1.0] * 4, subjects)
    own, moved = draws.normal(size=subjects)[who], 0.8 + 0.5 * draws.normal(size=subjects)
    drifted = own + moved[who] * set_ + 0.6 * draws.normal(size=len(who))
    outcome = SET * set_ + DRIFTED * drifted + draws.normal(size=subjects)[who] + 0.4 * draws.normal(size=len(who))
    return outcome, {"smile": set_}, {"age": drifted + noise * draws.normal(size=len(who))}, who


def test_by_hand():
    """Two subjects, four images: outcome = 1 smile + 10 age, and age moves by 1 or by 3 with the smile, and by itself."""
    who = np.repeat([0, 1], 4)
    smile = np.array([0.0, 1.0, 0.0, 1.0] * 2)
    age = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 5.0, 8.0])
    found = drift_adjusted(smile + 10 * age, {"smile": smile}, {"age": age}, who)
    assert found.raw.estimate == pytest.approx(1 + 10 * 2)  # the mean drift is 2
    assert found.readings == ()  # two subjects are too few to adjust for anything
    assert found.left_out == ("age",)
    many = np.tile(np.arange(10), 1).repeat(4)
    twice = {"smile": np.tile(smile, 5)}, {"age": np.tile(age, 5)}
    found = drift_adjusted(twice[0]["smile"] + 10 * twice[1]["age"], *twice, many)
    assert found.readings == ("age",)
    assert found.adjusted.estimate == pytest.approx(1.0)


@pytest.mark.coverage
def test_the_raw_effect_is_biased_and_the_adjusted_covers_the_truth():
    found = [drift_adjusted(outcome, set_, readings, who) for outcome, set_, readings, who in map(world, range(150))]
    raw, adjusted = np.array([each.raw.estimate for each in found]), [each.adjusted for each in found]
    assert raw.mean() == pytest.approx(SET + DRIFTED * 0.8, abs=0.02)
    assert np.mean([each.estimate for each in adjusted]) == pytest.approx(SET, abs=0.02)
    assert not np.mean([each.raw.low < SET < each.raw.high for each in found]) > 0.02
    covered = np.mean([each.low < SET < each.high for each in adjusted])
    assert 0.91 <= covered <= 0.985  # 95 % of 150, two standard errors to either side


@pytest.mark.coverage
def test_noise_of_the_readings_hides_a_part_of_the_drift():
    """Noise as large as the drift's own spread hides half of it."""
    simulated = [world(seed, noise=0.6) for seed in range(150)]
    found = [drift_adjusted(y, set_, readings, who) for y, set_, readings, who in simulated]
    adjusted = np.mean([each.adjusted.estimate for each in found])
    assert SET + 0.1 < adjusted < SET + DRIFTED * 0.8 - 0.05


def test_where_everybody_drifts_alike_nothing_can_be_told_apart():
    outcome, set_, _, who = world(0)
    found = drift_adjusted(outcome, set_, {"age": 2 * set_["smile"] + who}, who)
    assert np.isnan(found.adjusted.estimate)
    assert "age" in found.adjusted.reason
    assert np.isfinite(found.raw.estimate)


def test_with_few_subjects_what_followed_most_is_adjusted_for():
    outcome, set_, first, who = world(0, subjects=PER_SUBJECTS)
    steady = np.random.default_rng(2).normal(size=len(who))
    found = drift_adjusted(outcome, set_, {"steady": steady, **first}, who)
    assert (found.readings, found.left_out) == (("age",), ("steady",))


def photographs(seed: int, people: int = 60, each: int = 4):
    """Photographs of people, each edited or not, of true effect .2; the light of a photograph moves reading and answer.

    Photographs of one person differ in light alone: a reading falls by 1 with it, an answer rises by 2.
    """
    draws = np.random.default_rng(seed)
    picture, n = np.repeat(np.arange(people * each), 2), people * each
    who, set_ = picture // each, np.tile([0.0, 1.0], n)
    light = draws.normal(size=n)[picture]
    reading = 0.3 * set_ - light + 0.2 * draws.normal(size=len(picture))
    outcome = 0.2 * set_ + 2 * light + 0.3 * draws.normal(size=people)[who] * set_ + 0.1 * draws.normal(size=len(who))
    return outcome, {"glasses": set_}, {"age": reading}, picture, who


def test_only_images_of_one_photograph_are_compared_and_errors_are_by_person():
    found = [drift_adjusted(*planted, people=who).adjusted for *planted, who in map(photographs, range(100))]
    assert np.mean([each.estimate for each in found]) == pytest.approx(0.2, abs=0.02)
    assert 0.9 <= np.mean([each.low < 0.2 < each.high for each in found]) <= 0.985
    *planted, who = photographs(0)
    of_people = drift_adjusted(*planted[:3], who).adjusted
    assert of_people.low > 0.3  # the light of another photograph is taken for drift
    assert found[0].n_subjects == 60
    alone = drift_adjusted(*planted).adjusted
    assert alone.estimate == found[0].estimate
    assert found[0].high - found[0].low > 1.3 * (alone.high - alone.low)
