"""Groups of a report: levels as they were set, and observed ranges at the user's cut points."""

from dataclasses import replace

import numpy as np
import pytest
from small_answers import answers, checked, rows

from transect.analysis.sections import adjustment, error_rates, unanswered
from transect.analysis.sections.answers import condition, splits, whole
from transect.records import Design

NO_FACE = "no face: as the answer says"
TONES = Design({"skin_tone": (1.0, 4.0, 7.0, 10.0)}, subjects=20)
# Of 20 subjects none, 1, 2 and 7 have no face at tones 1, 4, 7 and 10: 0, 5, 10 and 35 %.
MISSED = np.array([[subject < missed for missed in (0, 1, 2, 7)] for subject in range(20)]).reshape(-1)
AGES = [20, 25, 30, 35, 40, 45, 50, 60]
LABELS = ["[20, 30)", "[30, 50)", "[50, 60]"]


def test_each_level_that_was_set_has_its_own_share_without_an_answer():
    failures = tuple(np.where(MISSED, NO_FACE, "").tolist())
    section = unanswered.section(answers(TONES, scores=np.where(MISSED, np.nan, 0.5), failures=failures))
    rates = {row["group"]: row["rate"] for row in rows(checked(section), f"Outcome: {error_rates.NO_FACE}")}
    assert rates == {
        "all images": pytest.approx(10 / 80), "skin tone: 1": 0, "skin tone: 4": 1 / 20, "skin tone: 7": 2 / 20,
        "skin tone: 10": 7 / 20,
    }  # fmt: skip


def observed(**more):
    options = {"scores": [0.9, 0.1, 0.8, 0.9, 0.1, 0.2, 0.9, 0.3], "truth": [1, 1, 0, 1, 0, 0, 1, 1]}
    values = {"age": AGES, "glasses": [0, 1, 0, 1, 0, 1, 0, 1]}
    return answers(Design({}, 8), values=values, bins={"age": (30.0, 50.0)}, **options, **more)


def test_the_users_cut_points_group_observed_images_everywhere():
    assert condition(observed(), "age").groups == tuple(LABELS)
    assert condition(observed(), "age").codes.tolist() == [0, 0, 1, 1, 1, 1, 2, 2]
    errors = {row["images"] for row in rows(checked(error_rates.condition_section(observed())), "Errors: attribute")}
    assert {f"age: {label}" for label in LABELS} < errors
    curves = {row["group"] for row in rows(checked(error_rates.threshold_section(observed())), "Errors by age")}
    assert curves == {"all", *LABELS}
    contrasts = [
        next(iter(row.values())) for row in rows(checked(adjustment.confounding_section(observed())), "E-values of the")
    ]
    assert f"age: {LABELS[0]} to {LABELS[2]}" in contrasts


def test_a_stated_cut_that_parts_no_image_leaves_the_attribute_out_with_the_reason():
    """Ages are at most 80: no image is on the far side of 99, and the median does not stand in."""
    one = replace(observed(), bins={"age": (99.0,)})
    parted = splits(one, one.values, {})
    assert set(parted) == {"glasses"}
    assert whole(one, one.values, parted) == {"age": "no image on one side of the cut that --bins states"}
    assert splits(observed(), one.values, {})["age"].at in (30.0, 50.0)


def test_few_observed_values_are_groups_by_themselves():
    one = answers(Design({}, 8), values={"age": [20, 30, 40, 50, 20, 30, 40, np.nan]})
    assert condition(one, "age").groups == ("20", "30", "40", "50")
    assert condition(one, "age").codes.tolist() == [0, 1, 2, 3, 0, 1, 2, -1]
