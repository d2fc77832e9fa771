"""Few ratings by people beside many by a machine, group by group."""

import numpy as np
import pytest

from sections.small_answers import answers, checked
from transect.effects import ppi_mean
from transect.records import Design
from transect.sections import people

N = 40
RATED = np.arange(N) % 4 == 0
GLASSES = np.arange(N) // 20


def as_rows(table):
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def one(truth_by_people, machine_truth, **more):
    said = np.tile([1.0, 0.0], N // 2)
    return answers(
        Design({}, N), answers=said, truth=machine_truth, values={"glasses": GLASSES, "age": np.linspace(20, 80, N)},
        people_truth=np.where(RATED, truth_by_people, np.nan), people={"smile": np.zeros(N)}, **more,
    )  # fmt: skip


def test_a_machine_that_tells_nothing_leaves_people_alone():
    """The machine finds every answer right: its errors are 0 everywhere, so that its weight is 0."""
    said = np.tile([1.0, 0.0], N // 2)
    seen = np.where(np.arange(N) % 8 == 0, 0.0, 1.0)  # of the 10 rated images (answers 1) five are wrong
    made = checked(people.section(one(seen, said)))
    whole, *groups = [row for title in (0, 1, 2) for row in as_rows(made["tables"][title])]
    assert (whole["people alone"], whole["with the machine"], whole["machine's weight"]) == (0.5, 0.5, 0.0)
    assert (whole["subjects rated"], whole["others"]) == (10, 30)
    # images 0, 4, ..., 16 without glasses (0, 8, 16 wrong) and 20, ..., 36 with them (24, 32 wrong)
    by_name = {row.get("group", row.get("groups")): row["people alone"] for row in groups}
    assert by_name["glasses: off"] == pytest.approx(3 / 5)
    assert by_name["glasses: on"] == pytest.approx(2 / 5)
    assert by_name["glasses: on minus off"] == pytest.approx(-1 / 5)


def test_a_machine_that_agrees_narrows_the_interval():
    rng = np.random.default_rng(0)
    truth = (rng.random(N) < 0.5).astype(float)
    given = one(truth, truth)
    whole = as_rows(checked(people.section(given))["tables"][0])[0]
    wrong = np.abs(given.answers - truth)
    expected = ppi_mean(wrong[RATED], wrong[RATED], wrong[~RATED])
    assert whole["with the machine"] == pytest.approx(expected.estimate)
    assert whole["people alone"] == pytest.approx(wrong[RATED].mean())
    alone, both = ((whole[f"{side}: low"], whole[f"{side}: high"]) for side in ("people alone", "with the machine"))
    assert both[1] - both[0] < alone[1] - alone[0]


def test_ratings_stand_beside_what_the_world_or_a_machine_has():
    """People see an age 1 year above the world's: the mean of all images is the world's and 1."""
    age = np.linspace(20, 80, N)
    given = answers(
        Design({"glasses": (0.0, 1.0)}, N // 2), answers=np.zeros(N), values={"glasses": np.tile([0, 1], N // 2), "age": age},
        people={"age": np.where(RATED, age + 1, np.nan)},
    )  # fmt: skip
    whole = as_rows(checked(people.section(given))["tables"][0])[0]
    assert whole["machine's weight"] > 0.5
    assert whole["with the machine"] == pytest.approx(51, abs=2)
    assert abs(whole["with the machine"] - 51) < abs(whole["people alone"] - 51)


def test_nothing_where_nobody_or_everybody_was_asked():
    assert people.section(answers(Design({}, N), answers=np.zeros(N), values={"glasses": GLASSES})) is None
    every = answers(
        Design({}, N), answers=np.zeros(N), values={"glasses": GLASSES}, people={"glasses": GLASSES.astype(float)}
    )
    assert people.section(every) is None
