"""Sensitivity on walks so small that every number can be worked out by hand."""

import numpy as np
import pytest
from small_answers import checked, points, rows, stepped

from transect.analysis.sections import sensitivity
from transect.effects.intervals import wilson

NAN = np.nan
STEPS = [-1.0, 0.0, 1.0]
WALK = [[0.2, 0.4, 0.9], [0.1, 0.6, 0.7], [NAN, 0.5, 0.6], [0.8, 0.8, 0.8]]
"""Scores at λ = -1, 0, 1; the answers at 0.5 are 001, 011, -11, 111. Near the boundary: all but the last subject."""
LONG = [[0.5 - 0.01 * k, 0.5, 0.5 + 0.02 * k] for k in range(1, 21)]


def of(made, title, over="all subjects", **more):
    """The rows of a table about all subjects, or those near the boundary."""
    wanted = {"over": over, **more}
    return [row for row in rows(made, title) if all(row[key] == value for key, value in wanted.items())]


def test_every_measure_at_every_step():
    made = checked(sensitivity.section([stepped(STEPS, scores=WALK)]))
    below, above = of(made, "Changes of the score")
    # λ = -1: changes -.2, -.5, none, 0 of the score; 0, -1, none, 0 of the answer; of those that say yes s2 flips, s4 not
    assert (below["S"], below["E|Δ|"]) == pytest.approx((-0.7 / 3, 0.7 / 3))
    assert (below["subjects"], below["not counted"]) == (3, "no valid answer: 1")
    # λ = 1: changes .5, .1, .1, 0; s1 alone says no at 0, and flips
    assert above["S"] == pytest.approx(0.7 / 4)
    below, above = of(made, "Changes of the answer")
    assert (below["S, points"], below["flips"]) == pytest.approx((-1 / 3, 1 / 3))
    assert (above["S, points"], above["flips"]) == (0.25, 0.25)
    assert [above["flips: low"], above["flips: high"]] == pytest.approx(list(map(float, wilson(1, 4))))
    up, down = of(made, "Flips one way", **{"λ": -1.0})
    assert (up["flip"], up["signed, points"], up["frequency"]) == ("0→1", 0.0, 0.0)
    assert (down["flip"], down["signed, points"], down["frequency"], down["subjects"]) == ("1→0", -0.5, 0.5, 2)
    # Wilson's interval of 1 of 2, and the same below 0 for the signed one
    low, high = map(float, wilson(1, 2))
    assert (down["frequency: low"], down["frequency: high"]) == pytest.approx((low, high))
    assert (down["signed, points: low"], down["signed, points: high"]) == pytest.approx((-high, -low))


def test_those_near_the_boundary_beside_all():
    """Own scores .4, .6, .5 lie between .3 and .7, .8 does not."""
    made = checked(sensitivity.section([stepped(STEPS, scores=WALK)]))
    near = "near the boundary"
    below, above = of(made, "Changes of the score", near)
    assert (below["S"], below["E|Δ|"], above["S"]) == pytest.approx((-0.35, 0.35, 0.7 / 3))
    assert below["not counted"] == "no valid answer: 1; not near the boundary: 1"
    below, above = of(made, "Changes of the answer", near)
    assert (below["S, points"], below["flips"], above["flips"]) == pytest.approx((-0.5, 0.5, 1 / 3))
    assert above["not counted"] == "not near the boundary: 1"
    up, down = of(made, "Flips one way", near, **{"λ": -1.0})
    assert (up["frequency"], up["subjects"]) == (0.0, 1)  # s1
    assert (down["signed, points"], down["frequency"], down["subjects"]) == (-1.0, 1.0, 1)  # s2; s3 has no answer
    four, absolute, flips = made["figures"]
    assert points(four, "Score, near", "age")[1.0] == pytest.approx(0.7 / 3)
    assert points(four, "Classification, all", "age") == {-1.0: pytest.approx(-1 / 3), 0.0: 0.0, 1.0: 0.25}
    assert points(absolute, "Score, near", "age")[-1.0] == pytest.approx(0.35)
    assert points(absolute, "Classification, near", "age")[1.0] == pytest.approx(1 / 3)
    assert points(flips, "λ = −1: attribute removed, all subjects", "S 1→0") == {"age": 0.5}
    assert points(flips, "λ = −1: attribute removed, near the boundary", "S 1→0") == {"age": 1.0}
    assert points(flips, "λ = +1: attribute added, near the boundary", "S 0→1") == {"age": 1.0}


def test_moves_that_cancel_show_in_the_absolute_variant():
    made = checked(sensitivity.section([stepped([0.0, 1.0], scores=[[0.4, 0.6], [0.6, 0.4]])]))
    (scores,), (flips,) = of(made, "Changes of the score"), of(made, "Changes of the answer")
    assert (scores["S"], scores["E|Δ|"]) == pytest.approx((0.0, 0.2), abs=1e-12)
    assert (flips["S, points"], flips["flips"]) == (0.0, 1.0)


def test_a_band_of_the_users():
    """Between .55 and .85 at λ = 0 lie .6 and .8: their changes at λ = 1 are .1 and 0."""
    made = checked(sensitivity.section([stepped(STEPS, scores=WALK, boundary=(0.55, 0.85))]))
    row = of(made, "Changes of the score", "near the boundary", **{"λ": 1.0})[0]
    assert (row["S"], row["subjects"]) == (pytest.approx(0.05), 2)
    assert len(made["warnings"]) == 1  # it does not contain the threshold


def test_intervals_are_by_subject_and_hold_the_estimate():
    """Twenty subjects with changes -.01 k and .02 k, k = 1 … 20: means -.105 and .21, half-widths of about 2 SE."""
    made = checked(sensitivity.section([stepped(STEPS, scores=LONG)]))
    below, above = of(made, "Changes of the score")
    error = np.std(np.arange(1, 21), ddof=1) / np.sqrt(20)
    for row, scale in ((below, 0.01), (above, 0.02)):
        assert row["S: low"] < row["S"] < row["S: high"]
        assert row["S: high"] - row["S: low"] == pytest.approx(2 * 1.96 * error * scale, rel=0.15)
        assert (row["E|Δ|: low"], row["E|Δ|: high"]) == pytest.approx(
            (row["S: low"], row["S: high"]) if scale == 0.02 else (-row["S: high"], -row["S: low"]), rel=0.05
        )


SMILE = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1]]


def test_whether_the_label_stayed():
    made = checked(sensitivity.section([stepped(STEPS, scores=WALK, truth=SMILE, truth_attribute="smile")]))
    below, above = rows(made, "Did the label (smile) stay, by the world's causal model?")
    assert (below["label moved"], above["label moved"], above["subjects"]) == (0.0, 0.25, 4)
    assert [above["low"], above["high"]] == pytest.approx(list(map(float, wilson(1, 4))))
    assert above["change of the rate"] == 0.25
    assert above["within the margin"] == "not shown"  # four subjects show no equivalence
    # at λ = 1 s1, the only one that flips, is the one that smiles more
    kept = rows(made, "Classification sensitivity with and without")[1]
    assert (kept["S class, points: all"], kept["S class, points: label stayed"]) == (0.25, 0.0)
    assert (kept["subjects"], kept["label stayed: subjects"]) == (4, 3)
    # its score rose by .5; without it (.1 + .1 + 0) / 3
    kept = rows(made, "Score sensitivity with and without")[1]
    assert (kept["S score: all"], kept["S score: label stayed"]) == pytest.approx((0.175, 0.2 / 3))
    assert len(made["warnings"]) == 1


def test_whether_people_saw_the_label_stay():
    """The world says that smiles stayed; of three subjects rated at both ends, raters saw one smile less at λ = -1."""
    seen = [[0, 1, 1], [1, 1, NAN], [0, 0, 0], [NAN, 1, 1]]
    stayed = [[0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 1]]
    one = stepped(
        STEPS, scores=WALK, truth=stayed, truth_attribute="smile", rated=np.array(seen, dtype=float).reshape(-1)
    )
    made = checked(sensitivity.section([one]))
    below, above = rows(made, "Did the label (smile) stay, as rated?")
    assert (below["label moved"], below["subjects"], below["without a label"]) == (pytest.approx(1 / 3), 3, 1)
    assert (above["label moved"], above["subjects"], above["without a label"]) == (0.0, 3, 1)
    assert [row["label moved"] for row in rows(made, "Did the label (smile) stay, by the world's causal model?")] == [
        0.0,
        0.0,
    ]
    # at λ = -1 s1 moved, s3 has no answer and s4 no rating: s2 alone is left, which flips
    title = "Classification sensitivity with and without the images whose label moved, as rated"
    below, above = rows(made, title)
    assert (below["S class, points: label stayed"], below["label stayed: subjects"]) == (-1.0, 1)
    drawn = {figure["title"]: figure for figure in made["figures"]}
    assert points(drawn["Did the label stay, as rated?"], "Smile", "age") == {-1.0: pytest.approx(1 / 3), 0.0: 0.0, 1.0: 0.0}  # fmt: skip
    assert points(drawn[title], "Age", "label stayed")[-1.0] == -1.0
