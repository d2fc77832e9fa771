"""Non-matches by edit and by group, on eight subjects of which each share can be counted."""

from dataclasses import replace

import numpy as np
import pytest
from small_answers import AGE, GLASSES, TONE, answers, checked, rows

from transect.analysis.sections import verification
from transect.effects.intervals import wilson
from transect.effects.verification import Threshold, Verified, reference_rows
from transect.records import Design, Task

# Cells: tone 2 without and with glasses, tone 9 without and with.
DESIGN = Design({"skin_tone": (2.0, 9.0), "glasses": (0.0, 1.0)}, subjects=8)
NAN = np.nan
# With glasses nobody is lost at tone 2, and subjects 0 to 5 at tone 9; subject 7 has no answer there.
LOST = np.array([[0, 0, 0, 1]] * 6 + [[0, 0, 0, 0]] + [[0, 0, 0, np.nan]], dtype=float).ravel()
FOUND = Threshold(0.2, 0.15, 0.3, 0.1, 0.1, 0.02, 0.3, 5, 56, 8, 0, ((0, 0.0, 0.0, 0.1, 0, 28), (2, 5 / 28, 0.1, 0.3, 5, 28)))  # fmt: skip
AGES = np.repeat([20.0, 21, 22, 40, 41, 60, 61, 62], 4)


def made(threshold=FOUND, **more):
    distance = np.where(LOST == 1, 0.25, 0.0) + np.where(np.isnan(LOST), np.nan, 0.0)
    known = {"own": {"age": AGES}, "known": {"age": AGE}, "within": ("skin_tone",), **more}
    found = Verified(threshold, distance, LOST, reference_rows(DESIGN, known["within"]), **known)
    attributes = {"skin_tone": TONE, "glasses": GLASSES}
    return verification.section(answers(DESIGN, task=Task.EMBEDDING, attributes=attributes, verified=found))


def test_the_rate_of_an_edit_is_of_the_images_that_have_it_alone():
    """15 images with glasses have an answer, six of them are non-matches; at .3, the threshold's high end, none is."""
    (row,) = rows(checked(made()), "Non-matches by edit")[:1]
    assert row["edit"] == "glasses: off to on"
    assert (row["non-match rate"], row["images"], row["without an answer"]) == (6 / 15, 15, 1)
    assert row["mean distance"] == pytest.approx(6 * 0.25 / 15)
    assert [row[f"at threshold's {end}"] for end in ("low", "high")] == [6 / 15, 0]


def test_groups_that_were_set_are_the_same_subjects():
    section = made()
    tone = {row["group"]: row for row in rows(section, "Non-matches by group") if row["attribute"] == "skin tone"}
    assert (tone["2"]["non-match rate"], tone["9"]["non-match rate"]) == (0, 6 / 7)
    # At the threshold's high end none is lost, so that the rate may be 0; at its low end no more are.
    assert (tone["9"]["low"], tone["9"]["high"]) == pytest.approx((0, float(wilson(6, 7)[1])))
    change = next(row for row in rows(section, "For whom") if row["attribute"] == "skin tone")
    # Subjects 0 to 6 have both: six differ by 1, one way; the exact test is 2 / 2^6.
    assert (change["groups"], change["difference"], change["subjects"]) == ("2 to 9", 6 / 7, 7)
    assert change["p"] == pytest.approx(2 / 64)
    assert change["p (Holm)"] == pytest.approx(min(1, 2 * 2 / 64))
    assert change["the attribute"] == "was set"


def test_groups_that_came_with_the_subjects_are_others():
    """Terciles of age are cut at 22 and 60: subjects 0 and 1, 2 to 4, 5 to 7: 2 of 4 images, 3 of 6, and 1 of 5."""
    section = made()
    ages = [row for row in rows(section, "Non-matches by group") if row["attribute"] == "age"]
    assert [(row["non-match rate"], row["images"]) for row in ages] == [(2 / 4, 4), (3 / 6, 6), (1 / 5, 5)]
    change = next(row for row in rows(section, "For whom") if row["attribute"] == "age")
    assert change["difference"] == pytest.approx(1 / 5 - 2 / 4)
    assert change["the attribute"] == "came with the subjects"


def test_where_nothing_says_who_is_shown_all_but_one_edit_stay_at_their_first():
    section = made(within=(), own={}, known={})
    table = {row["edit"]: row["images"] for row in rows(checked(section), "Non-matches by edit")}
    assert table == {"skin tone: 2 to 9": 8, "glasses: off to on": 8}
    assert rows(section, "For whom") == []


def test_a_stated_threshold_has_no_error_of_its_own():
    stated = replace(FOUND, low=NAN, high=NAN, requested=NAN)
    tone = {row["group"]: row for row in rows(made(stated), "Non-matches by group") if row["attribute"] == "skin tone"}
    assert (tone["9"]["low"], tone["9"]["high"]) == pytest.approx(tuple(map(float, wilson(6, 7))))


def test_a_threshold_of_few_subjects_and_rates_at_it_have_no_interval():
    section = made(replace(FOUND, low=NAN, high=NAN))
    (row,) = rows(checked(section), "Non-matches by edit")[:1]
    assert (row["non-match rate"], row["low"], row["high"]) == (6 / 15, None, None)
