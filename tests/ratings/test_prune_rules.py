"""Rules by which images are left out: what a rule says, and how results move with each."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rating_files import IDS, csv, refusal

from transect.analysis import findings, finished_run, reporting
from transect.annotation.agreement.image_validation import Rule
from transect.errors import BadInput, UnknownName
from transect.ratings import rating_tables as ratings
from transect.runs.folder import FinishedRun


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


def test_the_first_rule_that_matches_is_the_reason(folder, tmp_path):
    seen = csv(tmp_path / "seen.csv", id=IDS, fakeness=[0.9, 0.9, 0, 0, 0, 0], age=[0.1, 0.9, 0.1, 0.4, 0.9, 0.9])
    ratings.attach(folder, seen, ["fakeness>=0.75", "age<0.4"])
    fake, young = "pruned by fakeness >= 0.75", "pruned by age < 0.4"
    assert ratings.read(FinishedRun(folder), IDS).reasons.tolist() == [fake, fake, young, "", "", ""]


def test_pruned_images_are_left_out_and_counted(folder, tmp_path):
    """Without subject 1's bare image two subjects are left: the mean of their own differences."""
    before = findings.analyse(finished_run.read(folder)).answered[0].values
    seen = csv(tmp_path / "seen.csv", id=IDS, fakeness=[0, 0, 1, 0, 0, 0])
    ratings.attach(folder, seen, ["fakeness>=0.75"])
    made = reporting.report(folder)
    (effect,) = made.effects
    assert effect.estimate == pytest.approx(np.mean(before[[0, 2], 1] - before[[0, 2], 0]))
    (section,) = [one for one in made.results["sections"] if one["key"] == "beside"]
    ((_, every, _, _, images, left, *_),) = section["tables"][0]["rows"]
    assert (every, images) == (pytest.approx(np.mean(before[:, 1] - before[:, 0])), 6)
    assert left == pytest.approx(effect.estimate)
    assert effect.n_subjects == 2
    # its mate has an answer but nothing to be compared with
    assert effect.excluded["pruned by fakeness >= 0.75"] == 1
    assert sum(effect.excluded.values()) == 6 - effect.n_images
    (folder / "pruning.json").unlink()
    assert reporting.report(folder).effects[0].n_subjects == 3


def test_rules_alone_are_about_the_ratings_that_are_there(folder, tmp_path):
    assert refusal(folder, None, ["fakeness>=0.75"]) == (
        f"{folder}: no ratings for --prune to look at; give --perceived or --ratings too"
    )
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, fakeness=[1, 0, 0, 0, 0, 0]), [])
    ratings.attach(folder, None, ["fakeness>=0.75"])
    assert ratings.read(FinishedRun(folder), IDS).reasons[0] == "pruned by fakeness >= 0.75"
    with pytest.raises(UnknownName, match="unknown column 'fakenes': did you mean fakeness"):
        ratings.attach(folder, None, ["fakenes>=0.75"])
    assert json.loads((folder / "pruning.json").read_text()) == ["fakeness >= 0.75"]
    # ratings that lack what the kept rules are about are refused too, and the report goes on as it was
    with pytest.raises(UnknownName, match="unknown column 'fakeness'"):
        ratings.attach(folder, csv(tmp_path / "other.csv", id=IDS, age=range(6)), [])
    assert reporting.report(folder).effects[0].n_images == 4


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
    made = ratings.read(FinishedRun(folder), IDS)
    fake, young = "pruned by fake or ambiguous", "pruned by children and teenagers"
    assert made.reasons.tolist() == [fake, fake, young, "", "", ""]
    assert made.reasons_after(1).tolist() == [fake, fake, "", "", "", ""]
    assert made.reasons_after(0).tolist() == [""] * 6
    assert made.pruning.counts() == [6, 4, 3]


def test_how_results_move_with_each_exclusion(folder, tmp_path):
    """Differences of subjects 0, 1, 2: all three, then without subject 0, then without subject 1 too."""
    differences = np.diff(findings.analyse(finished_run.read(folder)).answered[0].values, axis=1)[:, 0]
    ratings.attach(folder, csv(tmp_path / "seen.csv", id=IDS, **PAPER), ["as-published"])
    result = reporting.report(folder)
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
