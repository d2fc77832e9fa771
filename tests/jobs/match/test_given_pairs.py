"""Pairs and sets that the user brings: balance, outcomes, bounds and changes of these, with nothing searched."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from published import fits

import transect
from transect.analysis.matched.request import MatchOptions
from transect.errors import BadInput

N = 40
TABLE = {
    "id": [f"i{row}.png" for row in range(N)],
    "group": ["f"] * 20 + ["m"] * 20,
    "age": [30.0 + row % 20 for row in range(N)],
    "error": [0.0] * 20 + [1.0] * 12 + [0.0] * 8,
    "before": [0.0] * 20 + [1.0] * 6 + [0.0] * 14,
    "person": [f"p{row}" for row in range(N)],
}
PAIRS = {"a": list(range(20, 40)), "b": list(range(20))}


def given(pairs=PAIRS, table=TABLE, treatment="group", features=None, **options):
    known = {"outcomes", "identity", "covariates", "caliper", "method"}
    more = {name: options.pop(name) for name in known & options.keys()}
    return transect.match(features, treatment, table, **more, options=MatchOptions(pairs=pairs, **options))


def test_the_outcome_within_given_pairs_is_counted_by_hand():
    """12 of 20 pairs differ, all one way: .6 and McNemar's mid-p of 1 / 2^12. Ages of each pair are equal."""
    result = given(outcomes=["error"])
    numbers = result.numbers
    assert (numbers.method, numbers.pairs, numbers.treated, numbers.control) == ("as given", 20, 20, 20)
    assert numbers.outcomes[0].estimate == pytest.approx(0.6)
    assert numbers.outcomes[0].p == pytest.approx(1 / 2**12)
    assert numbers.outcomes[0].discordant == 12
    assert {row.covariate: row.after for row in numbers.balance}["age"] == 0
    assert result.table.column_names == ["a", "b", "distance"]
    assert not numbers.refused
    fits(result)


def test_they_are_the_pairs_that_a_matching_writes(tmp_path):
    """Written, and read again: the same balance and outcomes, and the same distances."""
    features = np.array([[age + 0.1 * (row >= 20)] for row, age in enumerate(TABLE["age"])])
    found = transect.match(features, "group", TABLE, outcomes=["error"])
    pq.write_table(found.table, tmp_path / "pairs.parquet")
    again = given(tmp_path / "pairs.parquet", outcomes=["error"])
    assert (again.numbers.balance, again.numbers.outcomes) == (found.numbers.balance, found.numbers.outcomes)
    assert again.table.equals(found.table)
    without = found.table.drop(["distance"])
    np.testing.assert_allclose(given(without, features=features).table["distance"], found.table["distance"])


def test_ids_turned_pairs_and_images_in_none():
    """By id without suffix, the control first; 18 treated images are in no pair."""
    result = given({"a": ["i0", "i21"], "b": ["i20", "i1"]}, covariates=["age"])
    assert result.table.to_pydict()["a"] == [20, 21]
    assert result.table.to_pydict()["b"] == [0, 1]
    assert result.numbers.refused == {"in no pair that was given": 18}


def test_a_change_is_the_difference_of_differences():
    """Errors differ in 12 pairs now, in 6 of these before: 6 of 20 pairs changed, .3."""
    result = given(outcomes=["error", "before"], changes=[("error", "before")])
    change = result.numbers.outcomes[-1]
    assert change.outcome == "error minus before"
    assert change.estimate == pytest.approx(0.3)
    assert change.low > 0
    assert change.estimate == pytest.approx(result.numbers.outcomes[0].estimate - result.numbers.outcomes[1].estimate)


def test_whether_a_change_is_one_of_shares_is_read_from_its_columns():
    """No pair changes by -1 here, and a change of numbers may be 0 and 1 by chance; Tango's end is 2 z² / (20 + z²)."""
    later = {
        **TABLE,
        "before": TABLE["error"][:],
        "score": [3.0 + error for error in TABLE["error"]],
        "three": [3.0] * N,
    }
    outcomes = ["error", "before", "score", "three"]
    numbers = given(table=later, outcomes=outcomes, changes=[("error", "before"), ("score", "three")]).numbers
    change, difference = numbers.outcomes[-2:]
    assert (change.is_binary, difference.is_binary) == (True, False)
    assert change.high == pytest.approx(2 * 3.8415 / 23.8415, abs=1e-4)  # twice what one column of 0 and 1 can differ
    other = given(outcomes=["error", "before"], changes=[("before", "error")]).numbers.outcomes[-1]
    assert other.is_binary  # half of the changes are -1


def test_several_b_weigh_in_the_balance_as_in_the_outcome():
    """Twelve b of the first a have age 49, its own: row by row a gap of 4.5 years is 12 of 13 times none."""
    table = {**TABLE, "age": [49.0] * 12 + [30.0] * 8 + [49.0, 39.0] + [40.0] * 18}
    pairs = {"a": [20] * 12 + [21], "b": [*range(12), 12]}
    result = given(pairs, table, outcomes=["error"], covariates=["age"])
    side = result.numbers.matched.balance[0].after
    assert (side.treated, side.control, side.n) == (44.0, 39.5, (2.0, pytest.approx(4 / (1 + 1 / 12))))
    assert abs(side.smd) > 0.1
    assert result.numbers.verdict.startswith("not balanced")
    ages = given(pairs, table, outcomes=["age"], covariates=["before"]).numbers.outcomes[0]
    assert ages.estimate == side.treated - side.control  # the same weights


def test_images_without_identity_are_people_of_their_own():
    """Three pairs of images without a name are no person in three pairs; the page says how they count."""
    names = ["" if row in (1, 2, 3) else None if row == 21 else person for row, person in enumerate(TABLE["person"])]
    numbers = given(table={**TABLE, "person": names}, outcomes=["error"], identity="person").numbers
    assert numbers.outcomes[0].n_pairs == 20
    assert "4 images of the given pairs have no person: each counts as a separate person" in numbers.notes[-1]
    again = {**TABLE, "person": ["p1" if row in (1, 2) else name for row, name in enumerate(names)]}
    with pytest.raises(BadInput, match="got a person in 2"):
        given(table=again, outcomes=["error"], identity="person")


GROUPS = ["a", "b", "c", "d", "e", "f", "g"]


def seven():
    """Seven groups of 12 images; a errs always, b never, the others in every second image."""
    errs = {"a": lambda k: 1.0, "b": lambda k: 0.0}
    rows = [(group, errs.get(group, lambda k: float(k % 2))(k), float(k)) for group in GROUPS for k in range(12)]
    return {name: [row[place] for row in rows] for place, name in enumerate(("race", "error", "age"))}


def test_outcomes_of_seven_groups_are_compared_with_the_base():
    """a minus b is 1, a minus the others .5: 6 of 12 pairs, mid-p = 1 / 2^6; 1 / 2^12 for b; corrected for 6 groups."""
    table = seven()
    features = np.array(table["age"])[:, None] + np.linspace(0, 0.1, 84)[:, None]
    options = MatchOptions(base="a")
    result = transect.match(features, "race", table, outcomes="error", covariates="age", options=options)
    outcomes = {outcome.versus: outcome for outcome in result.numbers.outcomes}
    assert list(outcomes) == ["b", "c", "d", "e", "f", "g"]
    assert outcomes["b"].estimate == 1
    assert outcomes["c"].estimate == pytest.approx(0.5)
    assert outcomes["c"].p == pytest.approx(1 / 2**6)
    assert outcomes["b"].p_groups == pytest.approx(6 / 2**12)
    assert outcomes["c"].p_groups == pytest.approx(5 / 2**6)
    assert outcomes["c"].label == "error (with c)"
    fits(result)
    again = given(result.table, table, "race", outcomes="error", covariates="age")
    assert again.numbers.outcomes == result.numbers.outcomes


def test_a_set_without_every_group_is_refused():
    table = {"race": ["a", "a", "b", "b", "c"], "age": [1.0, 2, 1, 2, 1]}
    result = given({"a": [0, 0, 1], "b": [2, 4, 3]}, table, "race")
    assert result.numbers.sets == 1
    assert result.numbers.refused == {"no image of c in its set": 1}


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ({"a": [0], "b": [40]}, {}, "expected row numbers from 0 to 39"),
        ({"a": [0, 20], "b": [1, 2]}, {}, r"an image of each group of group in every pair, missing in 1 pair, first pair 0"),
        ({"a": [20, 21], "b": [0, 0]}, {"outcomes": "error"}, "each image in one pair, .* got an image in 2"),
        (PAIRS, {"caliper": 1.0}, "`caliper` does not apply to pairs given"),
        (PAIRS, {"changes": [("error", "age")], "outcomes": "error"}, "`changes` error=age: expected two columns of"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_pairs_is_refused(pairs, options, message):
    with pytest.raises(BadInput, match=message):
        given(pairs, **options)


def test_the_command_takes_pairs(tmp_path):
    pq.write_table(pa.table(TABLE), tmp_path / "t.parquet")
    pq.write_table(pa.table(PAIRS), tmp_path / "p.parquet")
    files = f"--table {tmp_path}/t.parquet --pairs {tmp_path}/p.parquet --out {tmp_path}/o.parquet"
    words = f"match {files} --treatment group --outcome error --outcome before --change error=before --json"
    answer = json.loads(printed(*words.split()))
    assert [outcome["outcome"] for outcome in answer["outcomes"]] == ["error", "before", "error minus before"]
