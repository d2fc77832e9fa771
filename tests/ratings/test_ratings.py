"""Ratings by image beside a run: how rows meet images, and that nothing is kept that does not fit."""

import json

import audited
import auditing
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rating_files import IDS, csv, refusal

from transect.analysis import reporting
from transect.errors import BadInput
from transect.ratings import rating_tables as ratings
from transect.runs.folder import FinishedRun


def test_rows_meet_images_by_id_whatever_their_order(folder, tmp_path):
    seen = csv(tmp_path / "seen.csv", id=[IDS[3], "9-0000", IDS[0]], age=[40, 99, ""], fakeness=[0.8, 0, 0.1])
    ratings.attach(folder, seen, ["fakeness >= 0.75"])
    made = ratings.read(FinishedRun(folder), IDS)
    np.testing.assert_equal(made.columns["age"], [np.nan, np.nan, np.nan, 40, np.nan, np.nan])
    np.testing.assert_equal(made.columns["fakeness"], [0.1, np.nan, np.nan, 0.8, np.nan, np.nan])
    assert made.reasons.tolist() == ["", "", "", "pruned by fakeness >= 0.75", "", ""]
    assert json.loads((folder / "pruning.json").read_text()) == ["fakeness >= 0.75"]


def test_parquet_and_csv_say_the_same(folder, tmp_path):
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, age=range(6)), [])
    first = ratings.read(FinishedRun(folder), IDS).columns
    pq.write_table(pa.table({"id": IDS, "age": list(range(6))}), tmp_path / "seen.parquet")
    ratings.attach(folder, tmp_path / "seen.parquet", [])
    np.testing.assert_equal(ratings.read(FinishedRun(folder), IDS).columns, first)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": IDS, "age": range(6)}, "expected a column id and one per attribute, each once, got name, age"),
        ({"id": [*IDS[:5], IDS[0]], "age": range(6)}, "expected unique ids; average an image's ratings"),
        ({"id": ["a.png", "b.png"], "age": [1, 2]}, "expected ratings of this run's images, such as 0-0000, got a.png, b.png; check the ids"),
        ({"id": IDS, "glasses": [0, 1, 1, 5, 0, 4]}, "ratings of glasses: expected values from 0 to 4 (none, thin frame, thick frame, tinted, dark), got 5 in 1 of 6"),
        ({"id": IDS, "age": ["old"] * 6}, "age: expected numbers, got string; encode levels as numbers"),
    ],
)  # fmt: skip
def test_ratings_that_do_not_fit_are_one_line_and_are_not_kept(folder, tmp_path, columns, message):
    assert message in refusal(folder, csv(tmp_path / "seen.csv", **columns))


def test_infinity_is_no_rating(folder, tmp_path):
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, age=["inf", 1, 2, 3, 4, "-inf"]), [])
    np.testing.assert_equal(ratings.read(FinishedRun(folder), IDS).columns["age"], [np.nan, 1, 2, 3, 4, np.nan])


def test_a_column_study_says_of_which_study_a_row_is(several, tmp_path):
    assert refusal(several, csv(tmp_path / "seen.csv", id=IDS, age=range(6))) == (
        f"{tmp_path / 'seen.csv'}: expected a column study next to id, since {several} has 2 studies with separate "
        "images (experiment, steps-age), got none; add it"
    )
    odd = csv(tmp_path / "odd.csv", id=IDS[:2], study=["experiment", "steps"], age=[1, 2])
    assert refusal(several, odd) == f"{odd}: expected studies experiment, steps-age, got steps"
    both = csv(
        tmp_path / "both.csv",
        id=[IDS[0], IDS[0], "9-0000"],
        study=["experiment", "steps-age", "steps-age"],
        age=[30, 40, 50],
    )
    # rules without ratings of a study leave that study alone
    assert ratings.attach(several, both, ["age >= 35"]) == [
        "Ratings whose id is of no image of steps-age, and that are not used: 1 (9-0000)"
    ]
    made, walked = (ratings.read(FinishedRun(several / "studies" / name), IDS) for name in ("experiment", "steps-age"))
    assert (made.columns["age"][0], walked.columns["age"][0]) == (30, 40)
    assert (made.reasons[0], walked.reasons[0]) == ("", "pruned by age >= 35")
    assert (made.unknown, walked.unknown) == ((), ("9-0000",))


def test_rows_of_other_studies_beside_a_single_run_are_counted_and_said(folder, tmp_path):
    """Of five ratings two are of this study; of four answers of people one. What was counted stays with the files."""
    seen = csv(
        tmp_path / "seen.csv", id=[*IDS[:2], *IDS[:3]], study=["audit"] * 2 + ["b", "c", "b"], age=[30, 40, 1, 2, 3]
    )
    said = csv(tmp_path / "said.csv", id=IDS[:4], study=["audit", "b", "c", "d"], rater=["x"] * 4, smile=[1, 0, 0, 1])
    expected = [
        "Ratings of other studies than {}, and that are not used: 3 (b, c)",
        "People's answers of other studies than {}, and that are not used: 3 (b, c, d)",
    ]
    assert ratings.attach(folder, seen, [], said) == [line.format("run") for line in expected]
    (made,) = (one for one in reporting.report(folder).results["sections"] if one["key"] == "ratings")
    assert made["warnings"] == [line.format("audit") for line in expected]
    assert (made["tables"][0]["rows"][0][2], made["tables"][0]["rows"][1][2]) == (2, 1)
    # ratings that are all of this study take the others' place, and nothing is said of them any more
    own = csv(tmp_path / "own.csv", id=IDS[:2], study=["audit"] * 2, age=[30, 40])
    assert ratings.attach(folder, own, []) == [expected[1].format("run")]


def test_an_audit_takes_ratings_and_refuses_bad_ones_before_anything_is_made(folder, tmp_path):
    options = {"image_size": 32, "quiet": True, "control": False, "outcomes": ["score"], "subjects": 3}
    with pytest.raises(BadInput, match="no such file"):
        auditing.audit(
            audited.brightness, vary=["glasses=0,1"], out=tmp_path / "a", perceived=tmp_path / "nowhere.csv", **options
        )
    with pytest.raises(BadInput, match="`prune` 'x': expected NAME>=A"):
        auditing.audit(audited.brightness, vary=["glasses=0,1"], out=tmp_path / "a", prune=["x"], **options)
    assert not (tmp_path / "a").exists()
    seen = csv(tmp_path / "seen.csv", id=IDS, fakeness=[0, 0, 1, 0, 0, 0])
    made = auditing.audit(
        audited.brightness, vary=["glasses=0,1"], out=folder, perceived=seen, prune=["fakeness>=0.75"], **options
    )
    assert made.effects[0].n_subjects == 2
