"""Ratings and rules beside a run: what a rule says, how rows meet images, and that nothing is kept that does not fit."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audited
import transect
from transect import findings, ratings, study
from transect.effects.pruning import Rule
from transect.errors import BadInput, UnknownName


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("fakeness>=0.75", Rule("fakeness", 0.75)),
        (" fakeness >= .75 ", Rule("fakeness", 0.75)),
        ("age<0.4", Rule("age", high=0.4, high_open=True)),
        ("age <= -1e-3", Rule("age", high=-0.001)),
        ("0.4<=gender<=0.6", Rule("gender", 0.4, 0.6)),
        ("0.4<=gender", Rule("gender", 0.4)),
        ("age>=1234567.25", Rule("age", 1234567.25)),
        ("0.4<=gender<0.6", Rule("gender", 0.4, 0.6, True)),
    ],
)
def test_rules(text, rule):
    assert ratings.parse_rule(text) == rule
    assert ratings.parse_rule(rule.text) == rule


@given(st.floats(-10, 10), st.floats(0, 10), st.booleans())
def test_what_is_kept_of_a_rule_reads_back(low, width, is_open):
    rule = Rule("age", low, low + width, is_open)
    assert ratings.parse_rule(rule.text) == rule


@pytest.mark.parametrize(
    "text", ["", "fakeness", "fakeness>0.75", "0.75<=fakeness>=1", "__import__('os')>=1", "age<=old", "a b>=1", "age==1"]
)  # fmt: skip
def test_anything_else_is_no_rule(text):
    with pytest.raises(BadInput, match=r"--prune .*: expected NAME>=A, NAME<=B, NAME<B or A<=NAME<=B"):
        ratings.parse_rule(text)


@pytest.mark.parametrize("text", ["0.6<=gender<=0.4"])
def test_a_range_that_is_upside_down_is_refused(text):
    with pytest.raises(BadInput, match=r"gender: expected a range to leave out, got 0\.6 to 0\.4"):
        ratings.parse_rule(text)


@pytest.fixture
def folder(tmp_path):
    """Three subjects with and without glasses."""
    run = tmp_path / "run"
    options = {"image_size": 32, "quiet": True, "control": False, "outcomes": ["score"]}
    transect.audit(audited.brightness, vary=["glasses"], subjects=3, out=run, **options)
    return run


IDS = [f"{subject}-{cell:04d}" for subject in range(3) for cell in range(2)]


def csv(path, **columns):
    names = list(columns)
    lines = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, line)) for line in lines), ""]))
    return path


def refusal(folder, perceived=None, rules=()):
    """The one line; nothing is written and the report can still be made."""
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(BadInput) as error:
        ratings.attach(folder, perceived, rules)
    assert sorted(path.name for path in folder.iterdir()) == before
    return str(error.value)


def test_rows_meet_images_by_id_whatever_their_order(folder, tmp_path):
    seen = csv(tmp_path / "seen.csv", id=[IDS[3], "9-0000", IDS[0]], age=[40, 99, ""], fakeness=[0.8, 0, 0.1])
    ratings.attach(folder, seen, ["fakeness >= 0.75"])
    made = ratings.read(folder, IDS)
    np.testing.assert_equal(made.columns["age"], [np.nan, np.nan, np.nan, 40, np.nan, np.nan])
    np.testing.assert_equal(made.columns["fakeness"], [0.1, np.nan, np.nan, 0.8, np.nan, np.nan])
    assert made.reasons.tolist() == ["", "", "", "pruned by fakeness >= 0.75", "", ""]
    assert json.loads((folder / "pruning.json").read_text()) == ["fakeness >= 0.75"]


def test_parquet_and_csv_say_the_same(folder, tmp_path):
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, age=range(6)), [])
    first = ratings.read(folder, IDS).columns
    pq.write_table(pa.table({"id": IDS, "age": list(range(6))}), tmp_path / "seen.parquet")
    ratings.attach(folder, tmp_path / "seen.parquet", [])
    np.testing.assert_equal(ratings.read(folder, IDS).columns, first)


def test_the_first_rule_that_matches_is_the_reason(folder, tmp_path):
    seen = csv(tmp_path / "seen.csv", id=IDS, fakeness=[0.9, 0.9, 0, 0, 0, 0], age=[0.1, 0.9, 0.1, 0.4, 0.9, 0.9])
    ratings.attach(folder, seen, ["fakeness>=0.75", "age<0.4"])
    fake, young = "pruned by fakeness >= 0.75", "pruned by age < 0.4"
    assert ratings.read(folder, IDS).reasons.tolist() == [fake, fake, young, "", "", ""]


def test_pruned_images_are_left_out_and_counted(folder, tmp_path):
    """Without subject 1's bare image two subjects are left: the mean of their own differences."""
    before = findings.analyse(folder).answered[0].values
    seen = csv(tmp_path / "seen.csv", id=IDS, fakeness=[0, 0, 1, 0, 0, 0])
    ratings.attach(folder, seen, ["fakeness>=0.75"])
    (effect,) = study.report(folder).effects
    assert effect.estimate == pytest.approx(np.mean(before[[0, 2], 1] - before[[0, 2], 0]))
    assert effect.n_subjects == 2
    # its mate has an answer but nothing to be compared with
    assert effect.excluded["pruned by fakeness >= 0.75"] == 1
    assert sum(effect.excluded.values()) == 6 - effect.n_images
    (folder / "pruning.json").unlink()
    assert study.report(folder).effects[0].n_subjects == 3


def test_rules_alone_are_about_the_ratings_that_are_there(folder, tmp_path):
    assert refusal(folder, None, ["fakeness>=0.75"]) == (
        f"{folder}: expected ratings for --prune to look at, got none; give --perceived or --ratings too"
    )
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, fakeness=[1, 0, 0, 0, 0, 0]), [])
    ratings.attach(folder, None, ["fakeness>=0.75"])
    assert ratings.read(folder, IDS).reasons[0] == "pruned by fakeness >= 0.75"
    with pytest.raises(UnknownName, match="unknown column 'fakenes': did you mean fakeness"):
        ratings.attach(folder, None, ["fakenes>=0.75"])
    assert json.loads((folder / "pruning.json").read_text()) == ["fakeness >= 0.75"]
    # ratings that lack what the kept rules are about are refused too, and the report goes on as it was
    with pytest.raises(UnknownName, match="unknown column 'fakeness'"):
        ratings.attach(folder, csv(tmp_path / "other.csv", id=IDS, age=range(6)), [])
    assert study.report(folder).effects[0].n_images == 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": IDS, "age": range(6)}, "expected a column id and one per attribute, each once, got name, age"),
        ({"id": IDS}, "expected a column id and one per attribute, each once, got id"),
        ({"id": [*IDS[:5], IDS[0]], "age": range(6)}, "expected every id once, got some twice; average an image's ratings"),
        ({"id": ["a.png", "b.png"], "age": [1, 2]}, "expected ratings of this run's images, such as 0-0000, got a.png, b.png; check the ids"),
        ({"id": [], "age": []}, "expected ratings of this run's images, such as 0-0000, got no row; check the ids"),
        ({"id": IDS, "age": ["old"] * 6}, "age: expected numbers, got string; encode levels as numbers"),
    ],
)  # fmt: skip
def test_ratings_that_do_not_fit_are_one_line_and_are_not_kept(folder, tmp_path, columns, message):
    assert message in refusal(folder, csv(tmp_path / "seen.csv", **columns))


def test_files_that_are_no_tables(folder, tmp_path):
    assert "expected a readable CSV or Parquet of ratings" in refusal(folder, tmp_path / "nowhere.csv")
    (tmp_path / "seen.parquet").write_bytes(b"no parquet")
    assert "expected a readable CSV or Parquet of ratings" in refusal(folder, tmp_path / "seen.parquet")
    (tmp_path / "twice.csv").write_text(f"id,age,age\n{IDS[0]},1,2\n")
    assert "each once, got id, age, age" in refusal(folder, tmp_path / "twice.csv")


def test_infinity_is_no_rating(folder, tmp_path):
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, age=["inf", 1, 2, 3, 4, "-inf"]), [])
    np.testing.assert_equal(ratings.read(folder, IDS).columns["age"], [np.nan, 1, 2, 3, 4, np.nan])


def test_folders_that_are_not_one_run(folder, tmp_path):
    seen = csv(tmp_path / "seen.csv", id=IDS, age=range(6))
    with pytest.raises(BadInput, match="nowhere is not a run folder"):
        ratings.attach(tmp_path / "nowhere", seen, [])
    several = tmp_path / "several"
    (several / "studies").mkdir(parents=True)
    folder.rename(several / "studies" / "experiment")
    said = refusal(several, seen)
    assert said.startswith(f"{several}: expected one run, got 1 studies with images of their own; give ratings to one")
    ratings.attach(several / "studies" / "experiment", seen, [])
    assert [one["key"] for one in study.report(several).results["sections"]] == ["perceived"]


def answered(folder, path, rules=(), perceived=None):
    ratings.attach(folder, perceived, rules, path)
    return ratings.read(folder, IDS)


def test_peoples_single_answers_are_averaged_by_image(folder, tmp_path):
    path = csv(
        tmp_path / "answers.csv", id=[IDS[2], IDS[2], IDS[0], "9-0000"], rater=["a", "b", "a", "a"],
        smile=[1, 0, 1, 1], age=[30, "", 50, 9],
    )  # fmt: skip
    made = answered(folder, path)
    np.testing.assert_equal(made.people["smile"], [1, np.nan, 0.5, np.nan, np.nan, np.nan])
    np.testing.assert_equal(made.people["age"], [50, np.nan, 30, np.nan, np.nan, np.nan])
    assert made.columns == {}
    both = answered(folder, None, perceived=csv(tmp_path / "seen.csv", id=IDS, smile=range(6)))
    assert both.columns["smile"].tolist() == [0, 1, 2, 3, 4, 5]
    assert both.people["smile"][2] == 0.5


def test_answers_without_raters_count_each(folder, tmp_path):
    made = answered(folder, csv(tmp_path / "answers.csv", id=[IDS[1], IDS[1], IDS[1]], smile=[1, 1, 0]))
    assert made.people["smile"][1] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"rater": ["a"], "smile": [1]}, "expected a column id, if you like one named rater, and one per attribute"),
        ({"id": [IDS[0]], "rater": ["a"]}, "expected a column id"),
        ({"id": ["9-0000"], "smile": [1]}, "expected ratings of this run's images, such as"),
        (
            {"id": [IDS[0]] * 2, "rater": ["a", "a"], "smile": [1, 0]},
            "expected one row per image and rater, got several",
        ),
        ({"id": [IDS[0]], "rater": ["a"], "smile": ["yes"]}, "smile: expected numbers, got string"),
    ],
)
def test_answers_that_do_not_fit_are_refused(folder, tmp_path, columns, words):
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(BadInput, match=words):
        ratings.attach(folder, None, (), csv(tmp_path / "answers.csv", **columns))
    assert sorted(path.name for path in folder.iterdir()) == before
