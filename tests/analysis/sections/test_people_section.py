"""Few ratings by people beside many by a machine, group by group."""

import numpy as np
import pytest
from small_answers import answers, checked

from transect.analysis.sections import ratings
from transect.effects import ppi_mean
from transect.records import Design

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
    made = checked(ratings.people_section(one(seen, said)))
    whole, *groups = [row for title in (0, 1, 2) for row in as_rows(made["tables"][title])]
    assert (whole["people alone"], whole["with the machine"], whole["machine's weight"]) == (0.5, 0.5, 0.0)
    assert (whole["subjects rated"], whole["others"]) == (10, 30)
    # images 0, 4, ..., 16 without glasses (0, 8, 16 wrong) and 20, ..., 36 with them (24, 32 wrong)
    by_name = {row.get("group", row.get("groups")): row["people alone"] for row in groups}
    assert by_name["glasses: off"] == pytest.approx(3 / 5)
    assert by_name["glasses: on"] == pytest.approx(2 / 5)
    assert by_name["glasses: on minus off"] == pytest.approx(-1 / 5)


def test_a_machine_that_is_often_right_narrows_the_interval():
    """40 of the 80 rated images are wrong by people's truth; the machine's truth is another on one of them."""
    truth = np.tile([1.0, 0.0, 0.0, 1.0], N)
    machine = truth.copy()
    machine[0] = 0.0
    said, rated = np.tile([1.0, 0.0], 2 * N), np.arange(4 * N) % 8 < 4
    given = answers(
        Design({}, 4 * N), answers=said, truth=machine, values={"glasses": np.tile([0, 1], 2 * N)},
        people_truth=np.where(rated, truth, np.nan),
    )  # fmt: skip
    whole = as_rows(checked(ratings.people_section(given))["tables"][0])[0]
    wrong = np.abs(given.answers - truth)
    expected = ppi_mean(wrong[rated], given.errors[rated], given.errors[~rated])
    assert whole["with the machine"] == pytest.approx(expected.estimate)
    assert whole["people alone"] == pytest.approx(wrong[rated].mean())
    alone, both = ((whole[f"{side}: low"], whole[f"{side}: high"]) for side in ("people alone", "with the machine"))
    assert both[1] - both[0] < alone[1] - alone[0]


def test_nothing_where_nobody_or_everybody_was_asked():
    assert ratings.people_section(answers(Design({}, N), answers=np.zeros(N), values={"glasses": GLASSES})) is None
    every = answers(
        Design({}, N), answers=np.zeros(N), values={"glasses": GLASSES}, people={"glasses": GLASSES.astype(float)}
    )
    assert ratings.people_section(every) is None


def test_no_error_among_twenty_images_is_no_certainty():
    """Wilson's interval of 0 of 20 is 0 to z² / (20 + z²) = 3.841 / 23.841 = .161; with t of 19 degrees, t² = 4.381."""
    given = answers(
        Design({}, N), answers=np.ones(N), truth=np.ones(N), values={"glasses": GLASSES},
        people_truth=np.where(np.arange(N) % 2 == 0, 1.0, np.nan),
    )  # fmt: skip
    made = checked(ratings.people_section(given))
    whole = as_rows(made["tables"][0])[0]
    assert (whole["people alone"], whole["people alone: low"]) == (0, 0)
    assert whole["people alone: high"] == pytest.approx(0.161, abs=5e-4)
    assert [whole[f"with the machine{end}"] for end in ("", ": low", ": high")] == pytest.approx(
        [0, 0, 4.381 / 24.381], abs=5e-4
    )
    # 0 of 10 in either group is 0 to 5.117 / 15.117 = .3385 (t of 9 degrees), and their difference as far to both sides
    (apart,) = as_rows(made["tables"][2])
    for side in ("people alone", "with the machine"):
        assert [apart[f"{side}: {end}"] for end in ("low", "high")] == pytest.approx([-0.3385, 0.3385], abs=5e-4)
    assert apart["note"] == ""
