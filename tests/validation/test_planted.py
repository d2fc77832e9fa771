"""Planted worlds: each truth is there with the effect on, and not with it off."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from validation import contenders, planted
from validation.estimators import WORLDS
from validation.planted import COVARIATES, EFFECT, FACES, HIDDEN_ODDS, HIDDEN_RATIO, HIDDEN_SHARES, rates
from validation.planted_scores import DIFFICULT, SIZES, STEPS, SUBJECTS

BY_NAME = {world.name: world for world in WORLDS}


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_table_depends_on_its_seed_alone(world):
    few, many = world.tables(2, 0.0), world.tables(4, 0.0)
    for key in few:
        np.testing.assert_array_equal(few[key], many[key][:2])
        assert (
            not np.array_equal(many[key][2], many[key][3])
            or key.endswith("_set")
            or key in ("intended", "attribute", "subject", "errors", "first", "second", "group")  # set by the design
        )


def mean_difference(tables, key="pairs"):
    y = tables[key].astype(float)
    return (y[..., 1] - y[..., 0]).mean()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("direct effect", "pairs"),
        ("confounded population", "pairs"),
        ("hidden attribute", "pairs"),
        ("near-separated", "pairs"),
    ],
)
def test_the_planted_effect_is_there_with_the_effect_on_and_not_off(name, key):
    """400 tables of 200 subjects: standard error of a mean difference at most sqrt(.5 / 80,000) = .0025."""
    world = BY_NAME[name]
    assert mean_difference(world.tables(400, 1.0), key) == pytest.approx(world.truths["effect"], abs=0.008)
    assert mean_difference(world.tables(400, 0.0), key) == pytest.approx(0.0, abs=0.008)


def test_the_truths_of_the_worlds_by_brute_force():
    square = BY_NAME["interaction"].tables(300, 1.0)["square"].mean(axis=(0, 1))
    assert square[1, 1] - square[1, 0] - square[0, 1] + square[0, 0] == pytest.approx(0.2, abs=0.01)
    assert (square[1] - square[0]).mean() == pytest.approx(0.1, abs=0.01)
    cells = BY_NAME["another population"].tables(300, 1.0)["square"].mean(axis=(0, 1))
    impact = (0.2 * cells[1, 0] + 0.3 * cells[1, 1]) / 0.5 - (0.4 * cells[0, 0] + 0.1 * cells[0, 1]) / 0.5
    assert impact == pytest.approx(BY_NAME["another population"].truths["impact"], abs=0.01)
    people = BY_NAME["rater bias"].tables(100, 1.0)["people"].mean(axis=(0, 2))
    assert people[1] - people[0] == pytest.approx(0.4, abs=0.02)
    clustered = BY_NAME["heavy clustering"].tables(300, 1.0)
    assert clustered["images"][:, 40:].mean() - clustered["images"][:, :40].mean() == pytest.approx(0.2, abs=0.015)
    assert mean_difference(clustered, "cells") == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("world", [w for w in DIFFICULT if "effect" in w.truths], ids=lambda world: world.name)
@pytest.mark.parametrize("on", [0.0, 1.0])
def test_every_table_of_a_difficult_world_has_the_planted_effect(world, on):
    """300 tables: contrasts, groups, slopes and means lie within four standard errors of their truth, over tables."""
    tables, truth = world.tables(300, on), on * world.truths["effect"]
    pairs = next(tables[key] for key in ("cells", "photographs") if key in tables)
    found = [(pairs[..., 1] - pairs[..., 0]).reshape(300, -1).mean(axis=1)]
    if "mean" in world.truths:
        first = pairs[..., 0].reshape(300, -1).mean(axis=1)
        assert first.mean() == pytest.approx(world.truths["mean"], abs=4 * first.std() / np.sqrt(300))
    if "grouped" in tables:
        bearer = tables["group"][0] == 1
        found.append(tables["grouped"][:, bearer].mean(axis=1) - tables["grouped"][:, ~bearer].mean(axis=1))
        found.append(np.array([np.polyfit(x, y, 1)[0] for x, y in zip(tables["amount"], tables["along"], strict=True)]))
    if "steps" in tables:
        found.append(tables["steps"] @ (STEPS - 0.5) @ np.ones(SUBJECTS) / SUBJECTS / ((STEPS - 0.5) ** 2).sum())
    for each in found:
        assert each.mean() == pytest.approx(truth, abs=4 * each.std() / np.sqrt(300))


def test_most_tied_scores_are_equal_and_people_have_one_to_thirty_photographs():
    assert (BY_NAME["tied scores"].tables(50, 1.0)["cells"] == 0).mean() == pytest.approx(0.8, abs=0.02)
    assert (SIZES.min(), SIZES.max(), len(SIZES)) == (1, 30, 40)
    judged = BY_NAME["common answers"].tables(300, 1.0)
    assert (judged["judge"] - judged["people"]).mean() == pytest.approx(0.07, abs=0.01)  # a tenth of .7 of the texts


def test_the_truths_of_the_further_worlds_by_brute_force():
    errors = BY_NAME["absolute errors"].tables(300, 1.0)["images"]
    # 80 subjects of correlation .6: the standard error of a mean of 12,000 subjects is at most .25 / 110 = .0023.
    assert [errors[:, :40].mean(), errors[:, 40:].mean()] == pytest.approx([0.2, 0.3], abs=0.008)
    rates = BY_NAME["rates that multiply"].tables(100, 1.0)
    expected = 0.25 * np.exp(np.log(1.5) * rates["attribute"] + 0.5 * rates["covariate"])
    for bearer in (0.0, 1.0):
        chosen = rates["attribute"] == bearer
        assert rates["outcome"][chosen].mean() == pytest.approx(expected[chosen].mean(), abs=0.008)
    few = BY_NAME["few bearers"].tables(300, 1.0)["images"].mean(axis=(0, 2))
    assert few[35:].mean() - few[:35].mean() == pytest.approx(1.5, abs=0.1)  # sqrt(1 / 1500) = .026
    kinds = BY_NAME["kinds"].tables(200, 1.0)
    for kind, rate in enumerate((0.1, 0.5, 0.15, 0.45)):
        there = kinds["kind"] == kind
        found = [kinds["outcome"][there & (kinds["attribute"] == a)].mean() for a in (0, 1)]
        assert found == pytest.approx([rate, rate + 0.1], abs=0.01)
    pairs = BY_NAME["hidden cause, pairs"].tables(200, 0.0)["differences"]
    assert (pairs == 1).sum() / (pairs == -1).sum() == pytest.approx(HIDDEN_ODDS, abs=0.08)


def test_the_average_partial_effect_of_dragged_answers_by_differences():
    """Each person's chance with a little more hair, minus that with a little less, over many people: .20529."""
    rng = np.random.default_rng(0)
    trait, level = rng.standard_normal(400_000), rng.integers(0, 2, 400_000)
    hair = level + 0.8 * trait + 0.5 * rng.standard_normal(400_000)
    chance = lambda shift: ndtr(-0.3 + 0.6 * (hair + shift) - 0.9 * trait)  # noqa: E731
    found = (chance(0.01) - chance(-0.01)).mean() / 0.02
    assert found == pytest.approx(BY_NAME["dragged answers"].truths["effect"], abs=2e-4)


def test_the_hidden_causes_are_as_strong_as_is_said():
    line = BY_NAME["hidden cause, line"].tables(200, 0.0)
    attribute, outcome = line["attribute"].ravel(), line["outcome"].ravel()
    # Without an effect the outcome is .5 u + e and the attribute .6 u + .8 v: covariance .3, variances 1.25 and 1.
    assert np.cov(attribute, outcome)[0, 1] == pytest.approx(0.3, abs=0.02)
    assert [outcome.var(), attribute.var()] == pytest.approx([1.25, 1.0], abs=0.03)
    # Of the outcome's 1.25 the attribute explains .09, and leaves 1.16, of which u explains .25 * .64 = .16.
    assert pytest.approx((0.16 / 1.16, 0.36)) == HIDDEN_SHARES
    ratios = BY_NAME["hidden cause, ratios"].tables(100, 0.0)
    first, second = (ratios["outcome"][ratios["attribute"] == a].mean() for a in (0.0, 1.0))
    # (1 + 2 * .6) / (1 + 2 * .2) = 2.2 / 1.4, from a cause of ratio 3 whose shares are .6 and .2.
    assert second / first == pytest.approx(2.2 / 1.4, abs=0.05)
    assert HIDDEN_RATIO == 3.0


@pytest.fixture(scope="module")
def people():
    return planted._people()


def test_setting_the_hair_moves_nothing_else_and_the_rate_by_the_effect(people):
    _, both = people
    for name in COVARIATES:
        np.testing.assert_array_equal(both[name][:, 0], both[name][:, 1])
    short, long = (rates({name: column[:, k] for name, column in both.items()}, 1.0) for k in (0, 1))
    np.testing.assert_allclose(long - short, EFFECT)
    assert 0 < short.min() < long.max() < 1  # a rate of every person, on or off


def test_hair_goes_with_what_makes_errors(people):
    """Most of the people with long hair have feminine faces, on which the model errs more without any effect."""
    observed, _ = people
    long = observed["hair_length"] >= 0.5
    off = rates(observed, 0.0)
    assert 0.06 < off[long].mean() - off[~long].mean() < 0.14
    assert np.corrcoef(observed["hair_length"], observed["face_shape"])[0, 1] < -0.4


def test_pairs_within_a_caliper_are_nearer_the_truth_than_any_pairs():
    tables = FACES[0].tables(5, 1.0)
    near, every = contenders.propensity_pairs(tables), contenders.every_pair(tables)
    assert abs(near.estimate.mean() - EFFECT) < 0.06 < every.estimate.mean() - EFFECT
