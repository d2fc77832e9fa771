"""People's single answers beside a run: averaged by image, and asked one by one."""

from unittest.mock import Mock

import audited
import auditing
import numpy as np
import pytest
from rating_files import IDS, csv

from transect.analysis import findings, reporting
from transect.analysis.finished_run import Run
from transect.effects import Truth
from transect.errors import BadInput
from transect.ratings import rating_tables as ratings
from transect.records import Attribute
from transect.runs.folder import FinishedRun


def answered(folder, path, rules=(), perceived=None):
    ratings.attach(folder, perceived, rules, path)
    return ratings.read(FinishedRun(folder), IDS)


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


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"rater": ["a"], "smile": [1]}, "expected a column id, if you like one named rater, and one per attribute"),
        (
            {"id": [IDS[0]] * 2, "rater": ["a", "a"], "smile": [1, 0]},
            "expected one row per image and rater, got several",
        ),
        ({"id": [IDS[0]], "rater": ["a"], "smile": ["a lot"]}, "smile: expected numbers, got string"),
    ],
)
def test_answers_that_do_not_fit_are_refused(folder, tmp_path, columns, words):
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(BadInput, match=words):
        ratings.attach(folder, None, (), csv(tmp_path / "answers.csv", **columns))
    assert sorted(path.name for path in folder.iterdir()) == before


def test_rules_look_at_both_kinds_and_at_values_by_image_first(folder, tmp_path):
    """People's fakeness leaves image 0 out; of age the file by image says 30 of image 2, people 10."""
    people = csv(tmp_path / "answers.csv", id=[IDS[0], IDS[0], IDS[2]], fakeness=[1, 0.8, 0], age=[50, 50, 10])
    seen = csv(tmp_path / "seen.csv", id=IDS[2:4], age=[30, 15])
    ratings.attach(folder, seen, ["fakeness>=0.75", "age<20"], people)
    assert ratings.read(FinishedRun(folder), IDS).reasons.tolist() == [
        "pruned by fakeness >= 0.75", "", "", "pruned by age < 20", "", "",
    ]  # fmt: skip


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
    made, walked = (ratings.read(FinishedRun(several / "studies" / name), IDS) for name in ("experiment", "steps-age"))
    assert made.people["age"][:2].tolist()[0] == 30
    assert walked.people["age"][:2].tolist() == [40, 50]
    assert (made.columns, walked.columns) == ({}, {})


@pytest.mark.integration
def test_the_label_along_a_walk_is_people_s_where_nothing_else_says_it(tmp_path):
    """Two raters of every image; at the last step both see earrings that nobody saw before."""
    run = tmp_path / "walk"
    options = {"image_size": 32, "quiet": True, "control": False, "threshold": 0.4}
    auditing.audit(audited.brightness, steps=["age=-1,0,1"], subjects=4, truth="earrings", out=run, **options)
    ids = [f"{subject}-{cell:04d}" for subject in range(4) for cell in range(3)]
    rows = [(one, rater, int(one.endswith("2"))) for one in ids for rater in "ab"]
    of, raters, said = zip(*rows, strict=True)
    ratings.attach(run, None, [], csv(tmp_path / "answers.csv", id=of, rater=raters, earrings=said))
    (made,) = (one for one in reporting.report(run).results["sections"] if one["key"] == "sensitivity")
    (shares,) = (one for one in made["tables"] if one["title"].startswith("Did the label (earrings) stay, as rated?"))
    found = [dict(zip(shares["columns"], row, strict=True)) for row in shares["rows"]]
    assert [(row["λ"], row["label moved"], row["subjects"]) for row in found] == [(-1, 0, 4), (1, 1, 4)]


def test_people_and_the_file_by_image_are_asked_one_by_one():
    """People rated the smile alone: the truth of earrings is the file's, and people's truth of them is none."""
    columns, people = {"earrings": np.array([0.25, 1.0])}, {"smile": np.array([0.55, np.nan])}
    earrings = Attribute("earrings", "binary", "wears earrings", levels=("off", "on"))
    known = {"earrings": earrings, "smile": Attribute("smile", "continuous", "smiles")}

    def found(text):
        run = Mock(Run)
        run.known, truth = known, Truth.parse(text, known)
        made = findings._rated_truth(run, truth, truth.attribute, columns, people)
        return [each.tolist() for each in made]

    assert found("earrings") == [[0, 1], []]
    np.testing.assert_equal(found("smile>0.5"), [[1, np.nan], [1, np.nan]])
    assert found("face") == [[], []]
