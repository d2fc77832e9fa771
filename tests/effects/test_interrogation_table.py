"""The table of error rates: expectations by hand, Wilson's interval as oracle, and what must hold for any answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects.interrogation import (
    COUNTED,
    DETECTION,
    GIVEN,
    NO_ANSWER,
    UNKNOWN,
    Condition,
    error_rates,
)
from transect.effects.intervals import weighted_sum, wilson

NAN = float("nan")


def only(rows, measure, by="", group="", uniform=False):
    """The one row of the table at a place."""
    (row,) = [r for r in rows if (r.measure, r.by, r.group, r.uniform) == (measure, by, group, uniform)]
    return row


def planted():
    """Ten faces: of four dark ones two are missed and one of the two found is wrong; of six light ones one is wrong."""
    missed = np.array([1, 1, 0, 0] + [0] * 6, dtype=float)
    wrong = np.array([NAN, NAN, 1, 0, 1, 0, 0, 0, 0, 0], dtype=float)
    return missed, wrong, {"tone": Condition.of(["dark"] * 4 + ["light"] * 6)}


@pytest.mark.parametrize(
    ("measure", "everyone", "dark", "light", "uniform"),
    [
        (DETECTION, 2 / 10, 2 / 4, 0 / 6, (2 / 4 + 0) / 2),
        (GIVEN, 2 / 8, 1 / 2, 1 / 6, (1 / 2 + 1 / 6) / 2),
        (COUNTED, 4 / 10, 3 / 4, 1 / 6, (3 / 4 + 1 / 6) / 2),
    ],
)
def test_rates_all_by_condition_and_uniform(measure, everyone, dark, light, uniform):
    rows = error_rates(*planted())
    assert only(rows, measure).estimate == pytest.approx(everyone)
    assert only(rows, measure, "tone", "dark").estimate == pytest.approx(dark)
    assert only(rows, measure, "tone", "light").estimate == pytest.approx(light)
    assert only(rows, measure, "tone", uniform=True).estimate == pytest.approx(uniform)


def test_intervals_are_wilson_s_and_their_combination():
    rows = error_rates(*planted())
    light = only(rows, GIVEN, "tone", "light")
    assert (light.low, light.high) == pytest.approx([float(end) for end in wilson(1, 6)])
    assert (light.errors, light.images, light.subjects, light.left_out) == (1, 6, 6, 0)
    assert only(rows, GIVEN, "tone", "dark").left_out == 2, "faces that were missed have no attribute"
    uniform = only(rows, DETECTION, "tone", uniform=True)
    assert (uniform.estimate, uniform.low, uniform.high) == pytest.approx(weighted_sum([0.5, 0.5], [2, 0], [4, 6]))


def test_the_published_all_weighs_races_equally_and_genders_not():
    """Table 2, IBM, in tenths of a per mille of 10,000 faces a group: All is the races' mean, not the genders'.

    (16.9 + 7.63 + 3.96 + 3.8) / 4 = 8.07, printed 8.05 after rounding; (11.3 + 2.27) / 2 = 6.79.
    """
    per_group = 10_000
    missed = np.concatenate([np.repeat([1.0, 0.0], [k, per_group - k]) for k in (1690, 763, 396, 380)])
    races = Condition(("Black", "South Asian", "Northeast Asian", "White"), np.repeat(np.arange(4), per_group))
    made = only(error_rates(missed, None, {"race": races}), DETECTION, "race", uniform=True)
    assert made.estimate == pytest.approx(0.0805, abs=0.0003)
    genders = Condition(("men", "women"), np.repeat([0, 1], per_group))
    missed = np.concatenate([np.repeat([1.0, 0.0], [k, per_group - k]) for k in (1130, 227)])
    made = only(error_rates(missed, None, {"gender": genders}), DETECTION, "gender", uniform=True)
    assert made.estimate == pytest.approx(0.06785)
    assert abs(made.estimate - 0.0805) > 0.01


def test_images_of_one_subject_do_not_narrow_the_interval():
    """Each subject twice with the same answers: rates as before, intervals as from the subjects alone."""
    missed, wrong, tone = planted()
    once = error_rates(missed, wrong, tone)
    twice = error_rates(
        np.tile(missed, 2),
        np.tile(wrong, 2),
        {"tone": Condition(tone["tone"].groups, np.tile(tone["tone"].codes, 2))},
        np.tile(np.arange(10), 2),
    )
    for a, b in zip(once, twice, strict=True):
        assert (a.estimate, 2 * a.images, a.subjects) == (b.estimate, b.images, b.subjects)
        assert a.uniform or b.high - b.low >= 0.999 * (a.high - a.low), (a, b)
    both = only(twice, DETECTION, "tone", uniform=True)
    # Weights by subject: 4 of 1/8, 6 of 1/12, so 1 / (4/64 + 6/144) = 9.6 subjects. Residuals: 4 of (1/8) (1/2), so
    # .25 .75 / (4/256 10/9) = 10.8 images, times (1.960 / 2.262)² = 8.1: below 9.6, which holds.
    assert (both.low, both.high) == pytest.approx([float(end) for end in wilson(0.25 * 9.6, 9.6)])


def test_a_subject_seen_in_every_group_is_one_subject():
    """Five subjects, each dark and light: nobody is missed. Least weights: five subjects of 1/5, so five images."""
    codes, subjects = np.tile([0, 1], 5), np.repeat(np.arange(5), 2)
    rows = error_rates(np.zeros(10), None, {"tone": Condition(("dark", "light"), codes)}, subjects)
    made = only(rows, DETECTION, "tone", uniform=True)
    assert (made.estimate, made.low, made.subjects) == (0.0, 0.0, 5)
    assert made.high == pytest.approx(float(wilson(0, 5)[1]))


def test_what_is_not_known_is_counted_and_has_its_reason():
    missed = np.array([0.0, NAN, NAN, 1.0])
    rows = error_rates(missed, None, {"tone": Condition(("dark", "light"), np.array([0, 1, 1, -1]))})
    everyone, light = only(rows, DETECTION), only(rows, DETECTION, "tone", "light")
    assert (everyone.estimate, everyone.images, everyone.left_out) == (0.5, 2, 2)
    assert np.isnan([light.estimate, light.low, light.high]).all()
    assert (light.reason, light.left_out, light.method) == (NO_ANSWER, 2, "")
    assert only(rows, DETECTION, "tone", UNKNOWN).estimate == 1.0
    uniform = only(rows, DETECTION, "tone", uniform=True)
    assert np.isnan(uniform.estimate)
    assert uniform.reason == "no image of tone: light has an answer"
    assert uniform.left_out == 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=40))
def test_rates_lie_in_their_intervals_and_counts_add_up(drawn):
    missed, codes, subjects = (np.array(column) for column in zip(*drawn, strict=True))
    rows = error_rates(missed.astype(float), None, {"tone": Condition(("a", "b", "c"), codes)}, subjects)
    everyone, groups = rows[0], [row for row in rows if row.group]
    assert everyone.errors == missed.sum() == sum(row.errors for row in groups)
    assert everyone.images == len(missed) == sum(row.images for row in groups)
    uniform = rows[-1]
    if not uniform.reason:
        assert uniform.estimate == pytest.approx(np.mean([row.estimate for row in groups]))
    for row in rows:
        if not row.reason:
            assert -1e-9 <= row.low <= row.estimate + 1e-9
            assert row.estimate - 1e-9 <= row.high <= 1 + 1e-9
