"""Gates on edits: limits and verdicts worked out by hand."""

import numpy as np
import pytest

from transect.designs.edit_validity import (
    DRIFT,
    IDENTITY,
    RANGE,
    REALISM,
    SHIFT,
    Expected,
    Limits,
    Measured,
    judge,
    limits_of,
)

CURVE = Expected(np.array([0.0, 10.0]), np.array([20.0, 40.0]), 3.0)
LIMITS = Limits({"age": CURVE}, {"age": 10.0, "smile": 0.2, "hat": 0.5}, 0.3, 0.6, 0.05, {})


def measures(n=1, *, age=30.0, smile=0.5, hat=0.0, face=(1.0, 0.0), realism=0.9, cut=0.0):
    readings = {"age": np.full(n, age), "smile": np.full(n, smile), "hat": np.full(n, hat)}
    return Measured(readings, np.full(n, cut), np.tile(face, (n, 1)), np.full(n, realism), frozenset({"hat"}))


OWN = measures(age=22.0)


def verdict(edited, value=5.0):
    """Which gates an edit to that value fails."""
    judged = judge(LIMITS, edited, OWN, {"age": np.array([value])})
    return {gate for gate, column in judged.fails.items() if column[0]}


@pytest.mark.parametrize(
    ("edited", "failed"),
    [
        (measures(), set()),  # half way from 0 to 10: an age of 30 is expected
        (measures(age=33.0), set()),  # off by 3, which is allowed
        (measures(age=33.1), {SHIFT}),
        (measures(age=22.0), {SHIFT}),  # nothing happened
        (measures(smile=0.7), set()),  # 0.2 is one standard deviation
        (measures(smile=0.71), {DRIFT}),
        (measures(hat=1.0), {DRIFT}),  # another level
        (measures(face=(0.71, np.sqrt(1 - 0.71**2))), set()),  # cosine 0.71: a distance of 0.29
        (measures(face=(0.0, 1.0)), {IDENTITY}),
        (measures(realism=0.59), {REALISM}),
        (measures(cut=0.06), {RANGE}),
        (measures(age=50.0, smile=0.0, face=(0.0, 1.0)), {SHIFT, DRIFT, IDENTITY}),
    ],
)
def test_each_gate_by_itself(edited, failed):
    assert verdict(edited) == failed


def test_an_own_image_that_is_cut_allows_as_much():
    own = measures(cut=0.2)
    judged = judge(LIMITS, measures(cut=0.205), own, {"age": np.array([5.0])})
    assert not judged.fails[RANGE][0]


def test_a_measure_without_a_value_neither_passes_nor_fails():
    judged = judge(LIMITS, measures(age=np.nan, realism=np.nan), OWN, {"age": np.array([5.0])})
    assert judged.unknown[SHIFT][0]
    assert judged.unknown[REALISM][0]
    assert not judged.failed[0]


def reference(n=200, seed=0):
    """Age is 5 v + noise of sd 1 at value v ~ N(0, 1): expected readings lie on that line."""
    draws = np.random.default_rng(seed)
    values = draws.standard_normal(n)
    age = 5 * values + draws.standard_normal(n)
    faces = draws.standard_normal((n, 16))
    made = Measured({"age": age, "smile": draws.standard_normal(n) * 0.2}, np.zeros(n), faces, draws.random(n))
    return made, values


def test_limits_come_from_unedited_images():
    made, values = reference()
    limits = limits_of(made, {"age": values}, ["age"])
    assert limits.expected["age"].at(np.array([0.0]))[0] == pytest.approx(0, abs=1)
    # 97.5 % of |N(0, 1)| lie below 2.24; half a standard deviation of age is sqrt(26) / 2 = 2.55, which is more.
    assert limits.expected["age"].tolerance == pytest.approx(2.55, abs=0.4)
    assert limits.spreads["smile"] == pytest.approx(0.2, abs=0.03)
    # Cosines of random directions in 16 dimensions have sd 1/4: 5 % of distances lie below 1 - 1.645 / 4 = 0.59.
    assert limits.identity == pytest.approx(0.59, abs=0.03)
    assert limits.realism == pytest.approx(0.025, abs=0.02)
    assert limits.reasons == {}


def test_what_is_not_measured_is_no_gate_and_says_so():
    made = Measured({}, np.zeros(50))
    limits = limits_of(made, {"age": np.zeros(50)}, ["age"])
    assert limits.reasons == {
        "intended shift: age": "no rater, model or truth reads it",
        DRIFT: "no attribute other than those that vary is read",
        IDENTITY: "no embedding of faces was given",
        REALISM: "no score of realism was given",
    }
    judged = judge(limits, made, made, {"age": np.zeros(50)})
    assert set(judged.fails) == {RANGE}
