"""Each section on tables so small that its numbers can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from small_answers import answers, checked, rows, settings

from transect.analysis.sections import adjustment, associations, error_rates, ratings
from transect.effects.intervals import wilson
from transect.records import Attribute, Design, Task

NAN = np.nan


def test_adjustment():
    """Errors at 1 of 4 images where smile is no and 3 of 4 where it is yes, at either age alike."""
    wrong = [1, 0, 0, 0, 1, 1, 0, 1] * 2
    values = {"smile": [0, 0, 0, 0, 1, 1, 1, 1] * 2, "age": [30.0] * 8 + [60.0] * 8}
    one = answers(Design({}, 16), answers=wrong, truth=np.zeros(16), values=values)
    as_seen = {"smile": np.array(values["smile"], dtype=float), "age": np.array(values["age"])}
    table = {row["level"]: row for row in rows(checked(adjustment.section(replace(one, perceived=as_seen))), "Coeff")}
    # By symmetry ∓b for smile with intercept 0 and 0 for age; 8 images at yes, 6 of them errors, penalty b each:
    # 8 expit(b) - 6 + b = 0
    b = brentq(lambda x: 8 * expit(x) - 6 + x, 0, 3)
    assert table["smile: yes"]["log odds"] == pytest.approx(b, abs=1e-6)
    assert table["smile: no"]["log odds"] == pytest.approx(-b, abs=1e-6)
    assert table["age: 60"]["log odds"] == pytest.approx(0, abs=1e-6)
    assert table["smile: yes"]["images"] == 8
    assert table["smile: yes"]["SD by subject"] > 0
    made = checked(adjustment.section(one))
    assert [table["title"] for table in made["tables"]] == ["Differences in the error rate"]
    smile, age = rows(made, "Differences in the error rate")
    # both estimators agree where age is the same in both groups: 3/4 - 1/4
    for estimate in ("unadjusted", "adjusted"):
        assert smile[f"{estimate}, points"] == pytest.approx(0.5)
        assert age[f"{estimate}, points"] == pytest.approx(0, abs=1e-12)
    assert (smile["compared"], age["compared"]) == ("yes vs no", "45 or above vs below")
    assert smile["adjusted by"] == "OLS"  # eight subjects on a side
    assert smile["note"].endswith("effective subjects (at least 20)")


def test_an_attribute_of_several_levels_is_adjusted_for_level_by_level():
    """Of 16 images of each hair style 4, 12, 4 wear glasses and 4, 12, 4 are errors, apart from each other.

    Given the style the difference is 0. Both peak at the middle level, so that its number 0, 1, 2 goes with neither:
    adjusting for the number leaves the whole unadjusted difference, (1 + 9 + 1) / 20 - (3 + 3 + 3) / 28.
    """
    worn = {0: (4, 1, 12, 3), 1: (12, 9, 4, 3), 2: (4, 1, 12, 3)}  # with glasses, errors of them; without, errors
    hair, glasses, wrong = [], [], []
    for level, (on, on_wrong, off, off_wrong) in worn.items():
        hair += [level] * 16
        glasses += [1] * on + [0] * off
        wrong += [1] * on_wrong + [0] * (on - on_wrong) + [1] * off_wrong + [0] * (off - off_wrong)
    one = answers(Design({}, 48), answers=wrong, truth=np.zeros(48), values={"glasses": glasses, "hair": hair})
    glasses_row, *hair_rows = rows(checked(adjustment.section(one)), "Differences in the error rate")
    assert glasses_row["unadjusted, points"] == pytest.approx(11 / 20 - 9 / 28)
    assert glasses_row["adjusted, points"] == pytest.approx(0, abs=1e-12)
    # 12 and 4 of 16 against 4 of 16; where glasses and errors are apart within the styles, glasses explain none of it
    assert [row["unadjusted, points"] for row in hair_rows] == pytest.approx([0.5, 0.0])
    assert [row["adjusted, points"] for row in hair_rows] == pytest.approx([0.5, 0.0], abs=1e-12)


SCORED = {
    "scores": [0.2, 0.4, 0.6, 0.9, 0.1, 0.3, 0.7, 0.8],
    "truth": [0, 1, 0, 1, 0, 0, 1, 1],
    "values": {"glasses": [0, 0, 0, 0, 1, 1, 1, 1], "smile": [0, 1, 0, 1, 0, 0, 1, 1]},
    "truth_attribute": "smile",
}


def test_thresholds():
    made = checked(error_rates.threshold_section(answers(Design({}, 8), **SCORED)))
    table = {(r["group"], r["threshold"], r["measure"]): r for r in rows(made, "Errors by glasses at 2 thresholds")}
    # at 0.5 without glasses 0.4 is missed and 0.6 a false alarm; with glasses all are right
    assert table["off", 0.5, "error"]["rate"] == 0.5
    assert (table["off", 0.5, "FPR"]["rate"], table["off", 0.5, "FNR"]["rate"]) == (0.5, 0.5)
    assert table["on", 0.5, "error"]["rate"] == 0.0
    assert [table["off", 0.5, "error"][end] for end in ("low", "high")] == pytest.approx(list(map(float, wilson(2, 4))))
    # from 0.4 on only the false alarm is left, as few as anywhere; 0.4 is the smallest such threshold
    assert (table["all", 0.4, "error"]["rate"], table["off", 0.4, "FNR"]["rate"]) == (0.125, 0.0)
    assert len(made["figures"]) == len(made["tables"]) == 1, "the truth's own attribute groups by the truth"
    panels = made["figures"][0]["panels"]
    lowest = {one["name"]: one["points"][0]["value"] for one in panels[1]["series"]}
    assert lowest == {"all": 1.0, "off": 1.0, "on": 1.0}  # from the lowest score on all say yes


def test_stated_thresholds_stand_in_for_the_best_one_and_have_intervals():
    """Scores from 0.61 on are a yes: without glasses 0.4 is missed, and 0.6 is no false alarm any more."""
    given = answers(Design({}, 8), **SCORED, at_thresholds=(0.61, 0.5))
    made = checked(error_rates.threshold_section(given))
    table = {(r["group"], r["threshold"], r["measure"]): r for r in rows(made, "Errors by glasses at 2 thresholds")}
    assert {threshold for _, threshold, _ in table} == {0.5, 0.61}
    # at 0.61 the false alarm of 0.6 is gone, and 0.4 is missed still: 1 of 4
    assert (table["off", 0.61, "error"]["rate"], table["off", 0.61, "FPR"]["rate"]) == (0.25, 0.0)
    ends = [table["off", 0.61, "error"][end] for end in ("low", "high")]
    assert ends == pytest.approx(list(map(float, wilson(1, 4))))
    assert "stated 0.61, 0.5" in made["text"][0]


def test_a_target_that_cuts_no_score_has_its_own_decision_and_no_boundary():
    """The images of the test above, decided otherwise than at 0.5: all a yes but the first, three of four no wrong."""
    said = [0, 1, 1, 1, 1, 1, 1, 1]
    made = checked(error_rates.threshold_section(answers(Design({}, 8), **SCORED, answers=said, task=Task.DETECTION)))
    table = {(r["group"], r["threshold"], r["measure"]): r for r in rows(made, "Errors by glasses by the target's")}
    assert table["all", "own decision", "error"]["rate"] == 3 / 8
    assert (table["off", "own decision", "FPR"]["rate"], table["on", "own decision", "FPR"]["rate"]) == (0.5, 1.0)
    assert table["all", "cut of the score at 0.4", "error"]["rate"] == 0.125


def test_observation_beside_experiment():
    design = Design({"glasses": (0.0, 1.0), "age": (20.0, 50.0, 80.0)}, subjects=2)
    tried = answers(design, answers=[[0, 1, 1, 0, 0, 1], [1, 1, 1, 0, 0, 0]])
    seen = answers(
        Design({}, 6),
        answers=[1, 0, 1, 1, 1, 0],
        # nearest of 20, 50, 80: 20, 20 (as near to 50: the first), 50, 80, none, 50
        values={"age": [30, 35, 36, 70, NAN, 50], "glasses": [0, 0, 0, 1, 1, NAN]},
    )
    made = checked(associations.comparison_section(tried, seen))
    table = {row["cell"]: row for row in rows(made, "Rate of yes in the experiment")}
    assert table["glasses off, age 20"]["experiment"] == 0.5
    assert table["glasses on, age 80"]["experiment"] == 0.5
    assert table["glasses on, age 80"]["experiment: images"] == 2
    cells = {cell: (row["observation"], row["observation: images"]) for cell, row in table.items()}
    assert cells == {
        "glasses off, age 20": (0.5, 2), "glasses off, age 50": (1.0, 1), "glasses off, age 80": (None, 0),
        "glasses on, age 20": (None, 0), "glasses on, age 50": (None, 0), "glasses on, age 80": (1.0, 1),
    }  # fmt: skip
    empty = [one for one in made["figures"][0]["panels"][0]["series"][1]["points"] if one["value"] is None]
    assert {one["reason"] for one in empty} == {"no image in this cell"}
    assert [table["glasses off, age 20"][f"observation: {end}"] for end in ("low", "high")] == pytest.approx(list(map(float, wilson(1, 2))))  # fmt: skip


def test_levels_meet_by_name_and_two_of_two_by_order():
    labels = Attribute("hair", "categorical", "label hair", levels=("afro", "bald", "bun", "long"))
    tried = answers(Design({"hair": (0.0, 2.0)}, subjects=1), answers=[[0, 1]])
    seen = answers(Design({}, 4), answers=[1, 1, 0, 0], values={"hair": [0, 1, 3, 2]}, attributes={"hair": labels})
    (bald, long) = rows(associations.comparison_section(tried, seen), "Rate of yes")
    assert (bald["cell"], bald["observation"], bald["observation: images"]) == ("hair bald", 1.0, 1)
    assert (long["cell"], long["observation"], long["observation: images"]) == ("hair long", 0.0, 1)

    other = Attribute("glasses", "binary", "label glasses", levels=("no", "yes"))
    tried = answers(Design({"glasses": (0.0, 1.0)}, subjects=1), answers=[[0, 1]])
    seen = answers(Design({}, 2), answers=[1, 0], values={"glasses": [0, 1]}, attributes={"glasses": other})
    assert [row["observation"] for row in rows(associations.comparison_section(tried, seen), "Rate")] == [1.0, 0.0]


def test_balance():
    seen = answers(
        Design({}, 4),
        answers=[0, 1, 0, 1],
        values={"smile": [0, 0, 1, 1], "age": [20, 30, 50, 60]},
        truth=[0, 0, 1, 1],
        truth_attribute="smile",
    )
    made = checked(associations.balance_section([seen]))
    assert made["title"] == "Attributes by smile"
    # (55 - 25) / sqrt((50 + 50) / 2)
    assert rows(made, "Standardized")[0]["observation (4 images)"] == pytest.approx(30 / np.sqrt(50))
    assert rows(made, "Correlations")[0]["observation"] is None
    (panel,) = made["figures"][0]["panels"]
    no, yes = panel["series"][0]["points"]
    assert (no["label"], no["value"], no["low"], no["high"], no["n"]) == ("no", 25.0, 22.5, 27.5, 2)
    assert (no["counts"], yes["counts"]) == ([1, 1, 0, 0], [0, 0, 1, 1])
    assert panel["edges"] == [15, 25, 40, 55, 65]  # half-way between values, half the smallest gap at the ends
    ages = [20, 30, 50, 60] * 3
    thrice = answers(Design({}, 12), answers=[0] * 12, values={"smile": [0, 0, 1, 1] * 3, "age": ages})
    # covariance 7.5, SDs 1/2 and sqrt(250)
    made = checked(associations.balance_section([thrice]))
    assert rows(made, "Correlations")[0]["observation"] == pytest.approx(3 / np.sqrt(10))


def test_perceived_values():
    design = Design({"glasses": (0.0, 1.0)}, subjects=4)
    one = answers(
        design,
        answers=[[0, 1], [0, 1], [1, 1], [0, 1]],
        perceived={"glasses": [0, 0.8, 0.2, 1, 0.1, 0.9, NAN, 1], "age": [30, 40, 30, 44, 30, NAN, 50, 50]},
    )
    made = checked(ratings.perceived_section(one))
    glasses, age = rows(made, "Perception sensitivity")
    # three subjects rated at both ends, +.8 each; for age +10, +14 and 0, one missing
    assert glasses["mean change"] == pytest.approx(0.8)
    assert (glasses["subjects"], glasses["not rated at both ends"]) == (3, 1)
    assert (age["manipulated"], age["perceived"], age["mean change"]) == ("glasses", "age", pytest.approx(8.0))
    # Wald's ratio over the 7 rated images: answers 1/3 without and 1 with glasses, ratings .1 and .925
    (row,) = rows(made, "Effect on the answer per unit")
    assert row["two-stage least squares"] == pytest.approx((1 - 1 / 3) / (0.925 - 0.1))


def test_a_varied_attribute_without_ratings_is_held_equal_and_no_instrument():
    """Smiles are answered and also make glasses look worn a little: glasses themselves do nothing.

    Taken as an instrument the smile gave cov(fit, y) / var(fit) = .25 / (.5² + .25²) = .8 times the .75 of subjects
    that answer the smile.
    """
    design = Design({"glasses": (0.0, 1.0), "smile": (0.0, 1.0)}, subjects=4)
    glasses, smile = settings(design).values()
    said = np.where(np.arange(16) // 4 == 3, 1.0, smile)  # the last subject is a yes always
    one = answers(design, answers=said, perceived={"glasses": 0.5 * glasses + 0.25 * smile})
    (row,) = rows(
        checked(ratings.perceived_section(one)), "Effect on the answer per unit of the perceived value, intended smile"
    )
    assert row["two-stage least squares"] == pytest.approx(0, abs=1e-12)
    assert row["least squares"] == pytest.approx(0, abs=1e-12)
