"""Planted models: the truth is found, experiment covers it, observation is off by the confounding, by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from planted_models import sees_lipstick, sees_lipstick_on_faint_smiles, world
from scipy.special import ndtr

from validation.__main__ import main
from validation.image_methods import AUDITED, QUICK, SMILING, Sizes, overall, summary, true_effects
from validation.images import compare_methods, intervened, not_smiling, observed, section

SMALL = Sizes(training=2, held_out=60, truth=300, observed=4000, experiment=120, budgets=(1000,), repeats=1)


@pytest.fixture(scope="module")
def of_lipstick():
    return compare_methods(SMALL, model=sees_lipstick())


def rows_of(found, method, attribute, images):
    (row,) = (r for r in found["rows"] if (r["method"], r["attribute"], r["images"]) == (method, attribute, images))
    return row


def test_no_audited_attribute_causes_the_smile():
    of = world()
    subjects = of.sample(not_smiling(of, 0, 50))
    for name, ends in AUDITED.items():
        for value in ends:
            smile = of.read(of.set(subjects, {name: value}))["smile"].to_numpy()
            assert (smile <= SMILING).all(), name


def test_the_truth_of_a_model_that_sees_lipstick(of_lipstick):
    """It errs exactly where there is lipstick: setting it moves everybody, setting anything else nobody."""
    effects = {row["attribute"]: row["effect"] for row in of_lipstick["truth"]}
    assert effects == {"lipstick": 1.0, "skin_tone": 0.0, "hair_length": 0.0, "age": 0.0, "glasses": 0.0}
    errors = [row["standard_error"] for row in of_lipstick["truth"]]
    assert errors == [0.0] * 5


def test_observation_is_off_by_the_confounding(of_lipstick):
    """By hand: lipstick L, hair H and smile S are cut at the medians of normal scores (shares .5; the mean of a
    symmetric cut normal). P(L, H, not S) of three scores at their medians is 1/8 + (asin r_LH - asin r_LS - asin r_HS)
    / 4π and r_HS = 0, so that P(L, H, not S) - P(L, not H, not S) = 2 asin(r_LH) / 4π; each group has 1/4. The
    difference of the rates of L, which are the rates of error, is 2 asin(.45) / π = .297; the effect is 0.
    """
    row = rows_of(of_lipstick, "difference of groups", "hair_length", 1000)
    # One draw of 1,000; rates are near .1 and .5: the standard error is sqrt(.09 / 500 + .25 / 500) = .026.
    assert row["bias"] == pytest.approx(2 * np.arcsin(0.45) / np.pi, abs=0.08)
    assert row["coverage"] == 0.0


def test_the_experiment_is_exact_where_nothing_else_moves(of_lipstick):
    for name, effect in (("hair_length", 0.0), ("lipstick", 1.0)):
        row = rows_of(of_lipstick, "transects", name, 1000)
        assert (row["mean"], row["rmse"], row["coverage"]) == (effect, 0.0, 1.0)


def test_adjustment_is_right_with_lipstick_recorded_and_wrong_without(of_lipstick):
    found = of_lipstick
    assert abs(rows_of(found, "AIPW", "hair_length", 1000)["bias"]) < 0.01
    without = rows_of(found, "AIPW, no lipstick", "hair_length", 1000)
    assert without["bias"] > 0.2
    assert without["coverage"] == 0.0
    with pytest.raises(ValueError, match="unpack"):
        rows_of(found, "AIPW, no lipstick", "lipstick", 1000)


def test_an_effect_on_some_subjects_is_their_share():
    """Lipstick moves who smiles more than .3: P(smile > .3 | smile <= .5) = (Φ(0) - Φ(-1)) / (Φ(0) - Φ(-2.5)) for a
    normal of mean .5 and sd .2 that is cut at 0; the standard error with 1,500 subjects is .012.
    """
    sizes = Sizes(training=2, held_out=2, truth=1500, observed=100, experiment=20, budgets=(100,), repeats=2)
    found = compare_methods(sizes, model=sees_lipstick_on_faint_smiles())
    by_hand = (0.5 - ndtr(-1)) / (0.5 - ndtr(-2.5))
    truth = found["truth"][0]
    assert truth["attribute"] == "lipstick"
    assert truth["effect"] == pytest.approx(by_hand, abs=4 * 0.0121)
    assert truth["standard_error"] == pytest.approx(np.sqrt(by_hand * (1 - by_hand) / 1500), rel=0.05)
    assert truth["rate"] == 0.0
    assert truth["score_effect"] == pytest.approx(2 * truth["effect"])


def test_tables_in_columns():
    seen = observed(world(), sees_lipstick(), 50, 7)
    both = intervened(world(), sees_lipstick(), "pairs", 50, 7)
    assert seen.column_names == ["seed", "smile", *AUDITED, "score"]
    assert both["seed"].to_pylist() == seen["seed"].to_pylist()
    # Exactly one of the two scores is the subject's own.
    own = np.where(seen["age"].to_numpy() == 1, both["high.age"].to_numpy(), both["low.age"].to_numpy())
    np.testing.assert_array_equal(own, seen["score"].to_numpy())


def made(estimate, low, high):
    n = len(estimate)
    columns = {"method": ["AIPW"] * n, "attribute": ["age"] * n, "images": [100] * n, "repeat": list(range(n))}
    return pa.table(columns | {"estimate": estimate, "low": low, "high": high})


def test_a_summary_by_hand():
    """Estimates .1, .3 and none around a truth of .1: bias .1, RMSE sqrt(.04 / 2); one interval of two holds it, and a
    missing interval does not.
    """
    truth = {"age": 0.1}
    (row,) = summary(made([0.1, 0.3, np.nan], [0.0, np.nan, np.nan], [0.2, np.nan, np.nan]), truth)
    assert row["bias"] == pytest.approx(0.1)
    assert row["rmse"] == pytest.approx(np.sqrt(0.02))
    assert (row["coverage"], row["half_width"]) == (0.5, pytest.approx(0.1))
    assert (row["repeats"], row["not_estimable"], row["no_interval"]) == (3, 1, 1)


def test_a_method_without_any_estimate_is_counted_not_averaged():
    truth = {"age": 0.1}
    rows = summary(made([np.nan] * 2, [np.nan] * 2, [np.nan] * 2), truth)
    assert (rows[0]["mean"], rows[0]["not_estimable"]) == (None, 2)
    assert overall(rows) == []


def test_true_effects_by_hand():
    """Two of four subjects change to an error, one back: (2 - 1) / 4, sd of (1, 1, -1, 0) is sqrt(11 / 12)."""
    low, high = pa.array([-1.0, -1.0, 1.0, -1.0]), pa.array([1.0, 1.0, -1.0, -1.0])
    table = pa.table({f"{end}.{name}": column for name in AUDITED for end, column in (("low", low), ("high", high))})
    row = true_effects(table)[0]
    assert (row["effect"], row["rate"], row["score_effect"]) == (0.25, 0.25, 0.5)
    assert row["standard_error"] == pytest.approx(np.sqrt(11 / 12) / 2)


@pytest.mark.integration
def test_a_network_is_taught_and_the_command_prints_what_it_found(monkeypatch, capsys):
    tiny = replace(QUICK, training=24, held_out=6, truth=3, observed=40, experiment=4, budgets=(40,), repeats=2)
    monkeypatch.setattr("validation.image_methods.QUICK", tiny)
    assert main(["images", "--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"]["pictures"], found["interventions"]) == (6, 3 * len(AUDITED))
    assert "#### What 40 images say (points; 2 draws)" in section(found)
