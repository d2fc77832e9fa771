"""What cannot be estimated is null with its reason and count, in one clear line, and never a crash."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_answers import answers, checked, points, rows, stepped
from small_answers import settings as set_values

from transect.analysis.sections import adjustment, associations, build, error_rates, ratings, sensitivity
from transect.records import Design

NAN = np.nan
TRIED = Design({"glasses": (0.0, 1.0), "smile": (0.0, 1.0)}, subjects=6)
WALK = [-1.0, 0.0, 1.0]


def observed(**changed):
    """Twelve images of both ages, wearers and truths; some answers wrong."""
    given = {
        "scores": [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.9, 0.2, 0.1, 0.8],
        "truth": [0, 1] * 6,
        "values": {"age": np.linspace(20, 80, 12), "glasses": [0, 0, 1, 1] * 3, "smile": [0, 1] * 6},
        "truth_attribute": "smile",
    }
    return answers(Design({}, 12), **{**given, **changed})


def tried(**changed):
    scores = np.random.default_rng(1).random(24)
    return answers(TRIED, **{"scores": scores, "truth": set_values(TRIED)["smile"], "truth_attribute": "smile", **changed})  # fmt: skip


@pytest.mark.parametrize("error", [0, 1])
def test_errors_that_are_all_alike_are_said_and_nothing_is_drawn(error):
    one = observed(answers=np.full(12, error), truth=np.zeros(12))
    made = checked(adjustment.section(replace(one, perceived=one.values)))
    said = f"no variation: all 12 outcomes are {error}; complete separation, the penalised coefficients are 0"
    assert said in made["warnings"]
    assert made["figures"] == []
    for row in rows(made, "Coefficients"):
        assert (row["log odds"], row["SD by image"], row["note"]) == (None, None, said)
    for row in rows(made, "Differences"):
        assert (row["adjusted, points"], row["adjusted by"]) == (None, "OLS")
        assert row["adjusted: 95 %"] == f"no variation: all 12 outcomes are {error}"


def test_complete_separation_is_said_beside_the_penalised_answer():
    glasses = np.repeat([0.0, 1.0], 6)
    one = observed(answers=glasses, truth=np.zeros(12), values={"glasses": glasses, "smile": [0, 1] * 6})
    made = checked(adjustment.section(replace(one, perceived=one.values)))
    table = {row["level"]: row for row in rows(made, "Coefficients")}
    assert np.isfinite(table["glasses: on"]["log odds"])
    notes = {row["note"] for name, row in table.items() if name.startswith("glasses")}
    assert "complete separation: only the penalty keeps it finite" in notes
    glasses_row = rows(made, "Differences")[0]
    # Groups without spread give no standard error: 1 with no interval, not 1 with one of no width.
    assert glasses_row["adjusted, points"] == pytest.approx(1.0)
    assert glasses_row["adjusted: 95 %"] == "the errors cannot be estimated"


def test_an_attribute_without_any_value_is_left_out_of_the_adjustment_and_said():
    one = observed(values={"age": np.full(12, NAN), "glasses": [0, 0, 1, 1] * 3})
    made = checked(adjustment.section(one))
    assert made["warnings"] == ["No image has a value of age: it is left out (12 images)"]
    assert [row["attribute"] for row in rows(made, "Differences")] == ["glasses"]
    nothing = checked(adjustment.section(observed(values={"age": np.full(12, NAN)})))
    assert (nothing["tables"], nothing["figures"], len(nothing["warnings"])) == ([], [], 1)


def test_an_attribute_that_nobody_rated_does_not_take_the_others_along():
    glasses = set_values(TRIED)["glasses"]
    made = checked(ratings.perceived_section(tried(perceived={"glasses": glasses, "smile": np.full(24, NAN)})))
    table = {row["perceived attribute"]: row for row in rows(made, "Effect on the error")}
    assert np.isfinite(table["glasses"]["two-stage least squares"])
    assert table["smile"]["two-stage least squares"] is None
    assert table["smile"]["two-stage least squares: 95 %"] == "no image was rated"
    matrix = {(r["manipulated"], r["perceived"]): r for r in rows(made, "Perception sensitivity")}
    assert matrix["glasses", "smile"]["mean change"] is None
    assert matrix["glasses", "smile"]["not rated at both ends"] == 6
    reasons = {one["reason"] for panel in made["figures"][0]["panels"] for one in panel["series"][0]["points"]}
    assert reasons == {"", "no subject has both ratings"}


def test_a_group_with_no_image_of_one_truth_has_no_rate_of_its_kind():
    one = observed(values={"glasses": [0, 1] * 6, "smile": [0, 1] * 6})  # all wearers smile
    made = checked(error_rates.threshold_section(one))
    table = {(row["group"], row["measure"]): row for row in rows(made, "Errors by glasses") if row["threshold"] == 0.5}
    assert (table["on", "FPR"]["rate"], table["on", "FPR"]["images"]) == (None, 0)
    assert table["on", "FPR"]["note"] == "no image where the truth is no"
    assert table["off", "FNR"]["note"] == "no image where the truth is yes"
    assert set(points(made["figures"][0], "FPR", "on").values()) == {None}


def test_balance_where_a_group_is_empty_or_nothing_varies():
    same = observed(values={"smile": np.zeros(12), "age": np.full(12, 30.0)})
    made = checked(associations.balance_section([same]))
    assert rows(made, "Standardized")[0]["observation (12 images)"] is None
    assert rows(made, "Correlations")[0]["observation"] is None
    assert made["figures"] == []
    nobody = observed(values={"smile": np.full(12, NAN), "age": np.linspace(20, 80, 12)})
    assert associations.balance_section([nobody]) is None


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (np.full((4, 3), NAN), "no valid answer at λ = 0: 4"),
        ([[0.1, NAN, 0.9]] * 4, "no valid answer at λ = 0: 4"),
        ([[NAN, 0.4, NAN]] * 4, "no valid answer: 4"),
    ],
)
def test_walks_without_answers(scores, said):
    made = checked(sensitivity.section([stepped(WALK, scores=scores)]))
    found = [row for row in rows(made, "Changes of the answer") if row["over"] == "all subjects"]
    assert len(found) == 2
    for row in found:
        assert (row["S, points"], row["flips"], row["subjects"], row["not counted"]) == (None, None, 0, said)


SPARSE = st.lists(st.sampled_from([NAN, 0.0, 0.3, 0.6, 1.0]), min_size=24, max_size=24)
LABELS = st.lists(st.sampled_from([NAN, 0.0, 1.0]), min_size=24, max_size=24)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scores=SPARSE, truth=LABELS, glasses=LABELS, age=SPARSE, seen=SPARSE)
def test_any_table_makes_sections_that_the_page_accepts(scores, truth, glasses, age, seen):
    values = {"age": 20 + 60 * np.array(age), "glasses": glasses, "smile": truth}
    some = {"scores": scores, "truth": truth, "truth_attribute": "smile"}
    walk = stepped([-1.0, -0.5, 0.0, 0.5, 1.0, 0.75], scores=np.reshape(scores, (4, 6)), truth=np.reshape(truth, (4, 6)), truth_attribute="smile")  # fmt: skip
    found = [answers(TRIED, perceived={"smile": seen, "age": age}, **some), answers(Design({}, 24), values=values, **some)]  # fmt: skip
    for one in build.build([*found, walk]):
        checked(one)
