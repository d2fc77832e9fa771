"""Ratings and rules beside a run: what a rule says, how rows meet images, and that nothing is kept that does not fit."""

import json
from dataclasses import asdict
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audited
import transect
from transect import findings, ratings, study
from transect.effects import Truth
from transect.effects.pruning import Rule
from transect.errors import BadInput, UnknownName
from transect.finished import Run
from transect.records import Annotations, Attribute, Question


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
    with pytest.raises(
        BadInput, match=r"--prune .*: expected NAME>=A, NAME<=B, NAME<B or A<=NAME<=B, .* or as-published"
    ):
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


def test_a_folder_that_is_no_run(tmp_path):
    seen = csv(tmp_path / "seen.csv", id=IDS, age=range(6))
    with pytest.raises(BadInput, match="nowhere is not a run folder"):
        ratings.attach(tmp_path / "nowhere", seen, [])


@pytest.fixture
def several(folder, tmp_path):
    """The run and a walk of its subjects, whose images have the same ids."""
    path = tmp_path / "several"
    options = {"image_size": 32, "quiet": True, "control": False, "outcomes": ["score"]}
    transect.audit(audited.brightness, steps=["age=0,1"], subjects=3, out=path / "studies" / "steps-age", **options)
    folder.rename(path / "studies" / "experiment")
    return path


def test_a_column_study_says_of_which_study_a_row_is(several, tmp_path):
    assert refusal(several, csv(tmp_path / "seen.csv", id=IDS, age=range(6))) == (
        f"{tmp_path / 'seen.csv'}: expected a column study beside id, since {several} has 2 studies with images of "
        "their own (experiment, steps-age), got none; add it"
    )
    odd = csv(tmp_path / "odd.csv", id=IDS[:2], study=["experiment", "steps"], age=[1, 2])
    assert refusal(several, odd) == f"{odd}: expected studies experiment, steps-age, got steps; mend them"
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
    made, walked = (ratings.read(several / "studies" / name, IDS) for name in ("experiment", "steps-age"))
    assert (made.columns["age"][0], walked.columns["age"][0]) == (30, 40)
    assert (made.reasons[0], walked.reasons[0]) == ("", "pruned by age >= 35")
    assert (made.unknown, walked.unknown) == ((), ("9-0000",))
    result = study.report(several)
    titles = [one["title"] for one in result.results["sections"] if one["key"] == "ratings"]
    # the first run calls itself audit, wherever it was moved
    assert titles == ["Ratings of audit, and images left out", "Ratings of steps-age, and images left out"]


def test_one_study_alone_needs_no_column_and_may_have_one(several, tmp_path):
    mine = csv(tmp_path / "mine.csv", id=[IDS[0], IDS[0]], study=["audit", "another"], age=[30, 40])
    assert ratings.attach(several / "studies" / "experiment", mine, []) == []
    assert ratings.read(several / "studies" / "experiment", IDS).columns["age"][0] == 30


def test_ratings_of_no_image_are_counted_and_said(folder, tmp_path):
    seen = csv(tmp_path / "seen.csv", id=[IDS[3], "9-0000", "9-0001"], age=[40, 99, 98])
    (line,) = ratings.attach(folder, seen, [])
    assert line == "Ratings whose id is of no image of run, and that are not used: 2 (9-0000, 9-0001)"
    (made,) = (one for one in study.report(folder).results["sections"] if one["key"] == "ratings")
    assert made["warnings"] == ["Ratings whose id is of no image of audit, and that are not used: 2 (9-0000, 9-0001)"]
    assert dict(zip(made["tables"][0]["columns"], made["tables"][0]["rows"][0], strict=True)) == {
        "rating": "age", "given as": "a value per image", "images rated": 1, "not rated": 5, "mean": 40.0, "least": 40.0, "most": 40.0, "note": "",
    }  # fmt: skip


PAPER = {
    "fakeness": [0.8, 0.1, 0.1, 0.1, 0.1, 0.1],
    "skin_color": [0.1, 0.5, 0.1, 0.1, 0.1, 0.1],
    "gender": [0.5, 0.1, 0.1, 0.1, 0.1, 0.1],
    "hair_length": [0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
    "age": [0.1, 0.5, 0.3, 0.5, 0.5, 0.5],
}
"""The first image is fake, ambiguous and young, the second of an ambiguous color, the third young."""


def test_pruning_as_published_is_two_steps(folder, tmp_path):
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, **PAPER), ["as-published"])
    assert json.loads((folder / "pruning.json").read_text()) == ["as-published"]
    made = ratings.read(folder, IDS)
    fake, young = "pruned by fake or ambiguous", "pruned by children and teenagers"
    assert made.reasons.tolist() == [fake, fake, young, "", "", ""]
    assert made.reasons_after(1).tolist() == [fake, fake, "", "", "", ""]
    assert made.reasons_after(0).tolist() == [""] * 6
    assert made.pruning.counts() == [6, 4, 3]


def test_pruning_as_published_needs_the_papers_ratings(folder, tmp_path):
    lacking = {name: values for name, values in PAPER.items() if name not in ("gender", "age")}
    said = refusal(folder, csv(tmp_path / "seen.csv", id=IDS, **lacking), ["as-published"])
    assert said.startswith("--prune as-published: expected mean ratings from 0 to 1 of fakeness, skin_color, gender,")
    assert "got no gender, age; add or scale those columns" in said
    said = refusal(
        folder, csv(tmp_path / "seen.csv", id=IDS, **{**PAPER, "age": [20, 30, 40, 50, 60, 70]}), ["as-published"]
    )
    assert "got other values of age;" in said


def test_how_results_move_with_each_exclusion(folder, tmp_path):
    """Differences of subjects 0, 1, 2: all three, then without subject 0, then without subject 1 too."""
    differences = np.diff(findings.analyse(folder).answered[0].values, axis=1)[:, 0]
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, **PAPER), ["as-published"])
    result = study.report(folder)
    (made,) = (one for one in result.results["sections"] if one["key"] == "ratings")
    points = made["figures"][0]["panels"][0]["series"][0]["points"]
    assert [one["label"] for one in points] == [
        "all images", "without fake or ambiguous", "without children and teenagers",
    ]  # fmt: skip
    expected = [differences.mean(), differences[1:].mean(), differences[2]]
    assert [one["value"] for one in points] == pytest.approx(expected)
    assert [one["n"] for one in points] == [6, 4, 2]
    # the last is what the rest of the page says
    assert result.effects[0].estimate == pytest.approx(points[-1]["value"])
    (steps,) = (one for one in made["tables"] if one["title"] == "Images left out, step by step")
    rows = [dict(zip(steps["columns"], row, strict=True)) for row in steps["rows"]]
    assert [row["images that match"] for row in rows] == [None, 1, 1, 1, 0, 2]
    assert [(row["left out at this step"], row["images left"]) for row in rows if row["images left"]] == [
        (None, 6), (2, 4), (1, 3),
    ]  # fmt: skip


def test_an_audit_takes_ratings_and_refuses_bad_ones_before_anything_is_made(folder, tmp_path):
    options = {"image_size": 32, "quiet": True, "control": False, "outcomes": ["score"], "subjects": 3}
    with pytest.raises(BadInput, match="expected a readable CSV or Parquet of ratings"):
        transect.audit(
            audited.brightness, vary=["glasses"], out=tmp_path / "a", perceived=tmp_path / "nowhere.csv", **options
        )
    with pytest.raises(BadInput, match="--prune 'x': expected NAME>=A"):
        transect.audit(audited.brightness, vary=["glasses"], out=tmp_path / "a", prune=["x"], **options)
    assert not (tmp_path / "a").exists()
    seen = csv(tmp_path / "seen.csv", id=IDS, fakeness=[0, 0, 1, 0, 0, 0])
    made = transect.audit(
        audited.brightness, vary=["glasses"], out=folder, perceived=seen, prune=["fakeness>=0.75"], **options
    )
    assert made.effects[0].n_subjects == 2


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


def test_answers_of_no_image_are_counted_by_row_and_said(folder, tmp_path):
    path = csv(tmp_path / "answers.csv", id=[IDS[0], "9-0000", "9-0000"], rater=["a", "a", "b"], smile=[1, 0, 1])
    assert ratings.attach(folder, None, [], path) == [
        "People's answers whose id is of no image of run, and that are not used: 2 (9-0000)"
    ]
    assert ratings.read(folder, IDS).unknown_people == ("9-0000", "9-0000")
    (made,) = (one for one in study.report(folder).results["sections"] if one["key"] == "ratings")
    assert made["warnings"] == ["People's answers whose id is of no image of audit, and that are not used: 2 (9-0000)"]


def test_rules_look_at_both_kinds_and_at_values_by_image_first(folder, tmp_path):
    """People's fakeness leaves image 0 out; of age the file by image says 30 of image 2, people 10."""
    people = csv(tmp_path / "answers.csv", id=[IDS[0], IDS[0], IDS[2]], fakeness=[1, 0.8, 0], age=[50, 50, 10])
    seen = csv(tmp_path / "seen.csv", id=IDS[2:4], age=[30, 15])
    ratings.attach(folder, seen, ["fakeness>=0.75", "age<20"], people)
    assert ratings.read(folder, IDS).reasons.tolist() == [
        "pruned by fakeness >= 0.75", "", "", "pruned by age < 20", "", "",
    ]  # fmt: skip


def test_single_answers_as_values_by_image_are_told_the_option(folder, tmp_path):
    said = refusal(folder, csv(tmp_path / "seen.csv", id=[IDS[0]] * 2, age=[30, 40]))
    assert said.endswith("got some twice; average an image's ratings, or give single answers as --ratings")


def test_of_levels_in_no_order_most_people_say_which(folder, tmp_path):
    """Hair 0 and 2 have no mean of 1: image 0 is 2 by two of three, image 1 ties."""
    path = csv(tmp_path / "answers.csv", id=[*[IDS[0]] * 3, *[IDS[1]] * 2], hair_style=[0, 2, 2, 0, 2])
    made = answered(folder, path)
    np.testing.assert_equal(made.people["hair_style"], [2, *[np.nan] * 5])


def test_single_answers_about_several_studies(several, tmp_path):
    """People alone tell what the label was along a walk: each image's mean counts."""
    path = csv(
        tmp_path / "answers.csv", id=[IDS[0], IDS[0], IDS[1]], study=["experiment", "steps-age", "steps-age"],
        rater=["a", "a", "a"], age=[30, 40, 50],
    )  # fmt: skip
    assert ratings.attach(several, None, [], path) == []
    made, walked = (ratings.read(several / "studies" / name, IDS) for name in ("experiment", "steps-age"))
    assert made.people["age"][:2].tolist()[0] == 30
    assert walked.people["age"][:2].tolist() == [40, 50]
    assert (made.columns, walked.columns) == ({}, {})


def test_the_label_along_a_walk_is_people_s_where_nothing_else_says_it(tmp_path):
    """Two raters of every image; at the last step both see glasses that nobody saw before."""
    run = tmp_path / "walk"
    options = {"image_size": 32, "quiet": True, "control": False, "target_options": {"threshold": 0.4}}
    transect.audit(audited.brightness, steps=["age=-1,0,1"], subjects=4, truth="glasses", out=run, **options)
    ids = [f"{subject}-{cell:04d}" for subject in range(4) for cell in range(3)]
    rows = [(one, rater, int(one.endswith("2"))) for one in ids for rater in "ab"]
    of, raters, said = zip(*rows, strict=True)
    ratings.attach(run, None, [], csv(tmp_path / "answers.csv", id=of, rater=raters, glasses=said))
    (made,) = (one for one in study.report(run).results["sections"] if one["key"] == "sensitivity")
    (shares,) = (one for one in made["tables"] if one["title"].startswith("Did the label (glasses) stay, as rated?"))
    found = [dict(zip(shares["columns"], row, strict=True)) for row in shares["rows"]]
    assert [(row["λ"], row["label moved"], row["subjects"]) for row in found] == [(-1, 0, 4), (1, 1, 4)]


def test_people_and_the_file_by_image_are_asked_one_by_one():
    """People rated the smile alone: shares of glasses are those of the file by image, and people's truth is none."""
    answers = {"smile": Annotations(Question("smile", "smile"), np.array([0, 0]), ("a", "b"), np.array([0.9, 0.2]))}
    columns, people = {"glasses": np.array([0.25, 1.0])}, {"smile": np.array([0.55, np.nan])}
    glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    known = {"glasses": glasses, "smile": Attribute("smile", "continuous", "smiles")}
    seen = SimpleNamespace(answers=answers)

    def found(text):
        run = Mock(Run)
        run.spec, run.known, run.seen = {"truth": asdict(Truth.parse(text, known))}, known, seen
        return [each.tolist() for each in findings._rated_truth(run, columns, people)]

    assert found("glasses") == [[0, 1], [], [0.25, 1]]
    # of the two answers one is above .5, though the mean is at .55
    np.testing.assert_equal(found("smile>0.5"), [[1, np.nan], [1, np.nan], [0.5, np.nan]])
    assert found("face") == [[], [], []]
