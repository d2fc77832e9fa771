"""Ratings as crowds leave them: yes and no, skips, several choices, and Label Studio's exports."""

import csv as csv_format
import json

import numpy as np
import pytest
from rating_files import IDS, csv

from transect.errors import BadInput
from transect.ratings.rating_tables import PEOPLE, read_table, single_answers


def answers_of(path):
    table, called = read_table(path, "ratings", PEOPLE)
    return single_answers(table, called, IDS)[0]


def values_of(path, name):
    return answers_of(path)[name].value.tolist()


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["yes", "no", "Yes", "NO", "skip", ""], [1, 0, 1, 0, np.nan, np.nan]),
        (["true", "false", "true", "false", "true", "true"], [1, 0, 1, 0, 1, 1]),
        (["1", "cannot tell", "3", "not sure", "5", "N/A"], [1, np.nan, 3, np.nan, 5, np.nan]),
    ],
)
def test_words_of_one_question_are_numbers(tmp_path, texts, values):
    path = csv(tmp_path / "a.csv", id=IDS, rater=["ada"] * 6, smile=texts)
    np.testing.assert_equal(values_of(path, "smile"), values)


def test_a_word_that_is_none_of_these_is_refused(tmp_path):
    with pytest.raises(BadInput, match="smile: expected numbers, got string"):
        answers_of(csv(tmp_path / "a.csv", id=IDS, rater=["ada"] * 6, smile=["yes", "no", "perhaps", "no", "no", "no"]))


def test_each_of_several_choices_is_a_column(tmp_path):
    """Nobody ticked anything of the last image, which is no answer; an empty list is a no to all."""
    ticked = ['["hat","big glasses"]', '["hat"]', "[]", '{"choices":["big glasses","hat"]}', "hat", ""]
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv_format.writer(file).writerows(
            [["id", "rater", "seen"], *[[i, "ada", t] for i, t in zip(IDS, ticked, strict=True)]]
        )
    np.testing.assert_equal(values_of(path, "seen_hat"), [1, 1, 0, 1, 1, np.nan])
    np.testing.assert_equal(values_of(path, "seen_big_glasses"), [1, 0, 0, 1, 0, np.nan])


def result(name, **value):
    return {"from_name": name, "to_name": "image", "type": "choices", "value": value}


def test_label_studios_json_is_read(tmp_path):
    """Uploaded files have eight digits before their name; people become numbers in the order of their names."""
    tasks = [
        {
            "id": 9,
            "data": {"image": f"/data/upload/3/1a2b3c4d-{IDS[0]}.png"},
            "annotations": [
                {"completed_by": {"id": 2, "email": "bea@example.com"}, "result": [result("smile", choices=["yes"])]},
                {"completed_by": {"id": 1, "email": "ada@example.com"}, "result": [result("age", rating=4)]},
            ],
        },
        {
            "id": 10,
            "data": {"image": f"https://pictures.example/run/{IDS[1]}.png?x=1"},
            "annotations": [
                {"completed_by": 7, "was_cancelled": True, "result": [result("smile", choices=["no"])]},
                {
                    "completed_by": 3,
                    "result": [result("smile", choices=["no"]), result("worn", choices=["hat", "tie"])],
                },
            ],
        },
    ]
    path = tmp_path / "project.json"
    path.write_text(json.dumps(tasks))
    found = answers_of(path)
    np.testing.assert_equal(found["smile"].value, [1, np.nan, np.nan, 0])
    np.testing.assert_equal(found["age"].value, [np.nan, 4, np.nan, np.nan])
    np.testing.assert_equal(found["worn_hat"].value, [np.nan, np.nan, np.nan, 1])
    assert found["smile"].image.tolist() == [0, 0, 1, 1]
    # 3, 7, ada and bea in this order
    assert found["smile"].rater == ("rater-4", "rater-3", "rater-2", "rater-1")


def test_label_studios_csv_is_read(tmp_path):
    path = tmp_path / "project.csv"
    head = ["annotation_id", "annotator", "created_at", "id", "image", "lead_time", "smile", "updated_at", "worn"]
    rows = [
        [1, "ada@example.com", "2026-01-01", 9, f"/data/upload/3/1a2b3c4d-{IDS[0]}.png", 2.5, "yes", "", "hat"],
        [
            2,
            "bea@example.com",
            "2026-01-01",
            9,
            f"/data/upload/3/1a2b3c4d-{IDS[0]}.png",
            2.5,
            "",
            "",
            '{"choices":["hat","tie"]}',
        ],
    ]
    with path.open("w", newline="") as file:
        csv_format.writer(file).writerows([head, *rows])
    found = answers_of(path)
    assert found.keys() == {"smile", "worn_hat", "worn_tie"}
    np.testing.assert_equal(found["smile"].value, [1, np.nan])
    np.testing.assert_equal(found["worn_tie"].value, [0, 1])


@pytest.mark.parametrize("text", ["{", "[1]", '[{"data": {"picture": "a.png"}, "annotations": []}]'])
def test_json_of_another_kind_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"a\.json.*expected"):
        answers_of(path)


def crowd(path, ticked):
    """A table whose fields are quoted where they need it."""
    with path.open("w", newline="") as file:
        csv_format.writer(file).writerows([("id", "rater", "seen"), *zip(IDS, ["ada"] * 6, ticked, strict=True)])
    return path


def test_choices_in_any_script_have_columns_of_their_own(tmp_path):
    ticked = ['["女"]', '["男"]', '["女", "男"]', "[]", '["女"]', '["男"]']
    path = crowd(tmp_path / "a.csv", ticked)
    np.testing.assert_equal(values_of(path, "seen_女"), [1, 0, 1, 0, 1, 0])
    with pytest.raises(BadInput, match="expected choices of different names, got two that are seen_a_b"):
        answers_of(crowd(tmp_path / "b.csv", ['["a b"]', '["a-b"]', *["[]"] * 4]))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"data": {"image": "a.png"}, "annotations": [{"result": []}]}, "task 1: no completed_by"),
        (
            {"data": {"image": "a.png"}, "annotations": [{"completed_by": 1, "result": [
                {"from_name": "kind", "value": {"taxonomy": [["a"]]}}]}]},
            "expected one answer of kind with choices.*got taxonomy",
        ),
        ({"image": "a"}, "expected a list of tasks with data"),
    ],
)  # fmt: skip
def test_what_of_label_studio_would_be_lost_is_refused(tmp_path, task, words):
    (tmp_path / "a.json").write_text(json.dumps([task]))
    with pytest.raises(BadInput, match=words):
        answers_of(tmp_path / "a.json")
