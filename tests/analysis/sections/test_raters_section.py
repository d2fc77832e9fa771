"""The sections on raters, on what they saw along transects, and on what lies farthest from them, by hand."""

import numpy as np
import pytest
from small_answers import AGE, answers, checked, rows

from transect.analysis.sections import raters
from transect.analysis.sections.raters import Excluded, Rated, Shown, rated_of
from transect.annotation.agreement.image_validation import Rule
from transect.effects.outcomes import Truth
from transect.records import Annotations, Design, Question

N = np.nan
SMILE = Rated(
    "smile", np.array([[0, 0, 1], [1, 2, N], [2, 2, 2], [N, N, N]], dtype=float), (0.0, 1.0, 2.0),
    levels=("no", "a little", "yes"), unsure=2,
)  # fmt: skip


def test_who_answered_and_how_far_they_agree():
    made = checked(raters.section("run", [SMILE], Excluded(1, 7, {"repeats answered the same": (3, 4)})))
    who = rows(made, "Who answered")
    assert who[0] == {
        "question": "smile", "raters": 3, "answers": 8, "images rated": 3, "not rated": 1,
        "answers per image, median": 3, "cannot tell": 2,
    }  # fmt: skip
    assert (who[1]["raters"], who[1]["answers"]) == (1, 7)
    assert who[2]["question"] == "repeats answered the same: 3 of 4"
    (agreed,) = rows(made, "Agreement between raters")
    assert agreed["equal pairs"] == pytest.approx(4 / 7)  # 1 of 3, 0 of 1 and 3 of 3 pairs
    # Spreads: sqrt(2)/3 of a range of 2, a half of it, and 0: the middle one is sqrt(2)/6 = .236.
    assert agreed["median spread"] == pytest.approx(2**0.5 / 6)
    assert made["warnings"] == []


def test_nobody_is_named():
    said = Annotations(Question("smile", "?"), np.array([0, 0, 1]), ("Ada Lovelace", "Ben", "Ada Lovelace"), np.ones(3))
    made = raters.section("run", [rated_of("smile", said, 2)], Excluded())
    assert "Ada" not in str(made)
    assert "Ben" not in str(made)
    assert made.warnings == ["It is not known whether raters were left out before these answers were supplied"]


def test_answers_of_unknown_raters_are_kept_in_slots():
    """Each answer by a rater of its own: nobody can be compared with others, and a table of 3 x 3 would say so falsely."""
    said = Annotations(Question("smile", "?"), np.array([1, 1, 0]), ("0", "1", "2"), np.array([0.0, 1.0, 1.0]))
    made = rated_of("smile", said, 2)
    assert made.anonymous
    np.testing.assert_equal(made.ratings, [[1, N], [0, 1]])
    section = checked(raters.section("run", [made], Excluded()))
    assert rows(section, "Who answered")[0]["raters"] is None
    assert rows(section, "Each rater") == []
    assert "The raters of smile are not known" in section["warnings"]


def test_means_and_majorities():
    np.testing.assert_allclose(SMILE.mean, [1 / 3, 1.5, 2, N])
    np.testing.assert_equal(SMILE.majority, [0, N, 2, N])  # one each of 1 and 2: no majority
    # 1.5 is halfway between "a little" and "yes" and counts to the higher one.
    assert [one.value for one in raters.histogram(SMILE)] == [1, 0, 2]


def shown(levels=(20.0, 50.0, 80.0), subjects=2):
    design = Design({"age": levels}, subjects=subjects)
    intended = {"age": np.tile(np.array(levels), subjects)}
    return Shown("run", design, {"age": AGE}, intended, np.repeat(np.arange(subjects), len(levels)))


def test_answers_along_a_transect_have_dots_a_curve_and_a_table():
    said = np.array([[0, 0], [1, 2], [2, 2], [0, N], [1, 1], [2, 1]], dtype=float)
    rated = Rated("age_seen", said, (0.0, 1.0, 2.0), attribute="age")
    made = checked(raters.seen_along_section(shown(), [rated]))
    along, against = made["figures"]
    assert [one["heading"] for one in along["panels"]] == ["subject 0", "subject 1", "all subjects"]
    dots = along["panels"][2]["series"][0]["points"]
    # At 20: 0, 0, 0. At 50: 1, 2, 1, 1. At 80: 2, 2, 2, 1.
    assert {(one["x"], one["value"]): one["n"] for one in dots} == {
        (20, 0): 3, (50, 1): 3, (50, 2): 1, (80, 1): 1, (80, 2): 3,
    }  # fmt: skip
    assert along["panels"][2]["series"][1]["drawn"] == "line"
    assert sum(one["n"] for one in against["panels"][0]["series"][0]["points"]) == 6
    found = rows(made, "Intended against perceived")
    assert [row["mean perceived"] for row in found] == pytest.approx([0.0, 1.25, 1.75])  # of images' means
    assert rows(made, "Logistic curves")[0]["answers"] == 11


def test_a_gallery_by_score_marks_what_rules_leave_out():
    made = raters.by_score("s", ["a", "b", "c", "d"], np.arange(4), SMILE, [Rule("smile", 1.4), Rule("age", 0.1)])
    placed = {p.id: (k, p.left_out) for k, group in enumerate(made.groups) for p in group.pictures}
    # Means 1/3, 1.5 and 2 of a scale of 2, in tenths of 0.2: the second, the eighth, the last; d was not rated.
    assert placed == {"a": (1, ""), "b": (7, "left out"), "c": (9, "left out")}
    assert "left out by smile >= 1.4" in made.text


def test_the_farthest_from_people_come_first():
    one = answers(Design({"age": (20.0, 80.0)}, subjects=2), scores=[0.9, 0.2, 0.5, 0.6])
    found = raters.deviations(one, Truth.parse("smile>=1"), SMILE)
    # People's means on 0..1: 1/6, 3/4, 1, none. The model: .73 above on the first; .55 and .5 below on the next two.
    assert found.over.tolist() == [0]
    assert found.under.tolist() == [1, 2]
    made = checked(raters.deviations_section(found, list("abcd")))
    assert [row["image"] for row in rows(made, "The model below people")] == ["b", "c"]
    (far,) = rows(made, "How far apart")
    assert (far["images with both"], far["without"]) == (3, 1)
    assert far["largest"] == pytest.approx(0.9 - 1 / 6)
    turned = raters.deviations(one, Truth.parse("smile<1"), SMILE)
    assert turned.people[0] == pytest.approx(5 / 6)
