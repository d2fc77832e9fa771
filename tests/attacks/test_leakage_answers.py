"""Answers from a file beside the labels: rows by identifier, columns by name, and what could not be matched is said."""

import numpy as np
import pyarrow as pa
import pytest

from transect.attacks.outputs import Matched, model_outputs, predictions
from transect.attacks.records import labelled
from transect.attacks.tables import labelled_data
from transect.errors import BadInput

TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "split": ["train", "train", "val", "test", "test", "train"],
        "verb": ["cooking", "driving", "cooking", "cooking", "driving", "driving"],
        "obj_cup": [1, 0, 1, 1, 0, 0],
        "obj_car": [0, 1, 0, 0, 1, 1],
        "gender": ["woman", "man", "man", "woman", "man", "woman"],
    }
)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"id": list("abde"), "verb": ["cooking"] * 4}, "1 of 3 train have none, the first 'f'"),
        ({"id": list("uvwxyz"), "verb": ["cooking"] * 6}, "no identifier is in both files"),
        ({"id": list("aacdef"), "verb": ["cooking"] * 6}, "1 identifiers occur twice"),
        ({"verb": ["cooking"] * 5}, "expected 6 rows, one for each label, got 5"),
    ],
)
def test_predictions_that_do_not_match_are_refused(answers, message):
    data = labelled_data(TABLE, ["verb"], "gender", split="split")
    with pytest.raises(BadInput, match=message):
        predictions(pa.table(answers), data, ["verb"])


def test_columns_of_several_labels_are_matched_by_name():
    """A file whose columns stand in another order than the labels' answers the same."""
    data = labelled_data(TABLE, ["obj_*"], "gender")
    cars, cups = [1, 1, 0, 0, 1, 1], [1, 0, 1, 0, 0, 0]
    for names in (("obj_car", "obj_cup"), ("p_obj_car", "p_obj_cup"), ("obj_car_said", "obj_cup_said")):
        answers = pa.table({names[0]: cars, names[1]: cups})
        _, outputs = predictions(answers, data, ["*obj_*"])
        assert outputs.hard.matrix.astype(int).tolist() == [list(pair) for pair in zip(cups, cars, strict=True)]
        assert outputs.matched.columns_by_name
    _, outputs = predictions(pa.table({"x": cars, "y": cups}), data, ["x", "y"])
    assert outputs.hard.matrix[:, 0].astype(int).tolist() == cars
    assert not outputs.matched.columns_by_name


def test_scores_of_categories_are_matched_by_name():
    """As texts sort, 10 stands before 2: the columns' order is not the labels'."""
    data = labelled([2, 10, 2, 10], [0, 1, 1, 0])
    answers = pa.table({"logit_10": [0.0, 3.0, 0.0, 3.0], "logit_2": [1.0, 1.0, 1.0, 1.0]})
    _, outputs = predictions(answers, data, ["logit_*"])
    assert outputs.hard.category.tolist() == [0, 1, 0, 1]


def test_how_answers_were_matched_is_kept():
    data = labelled_data(TABLE, ["verb"], "gender", split="split")
    verbs = ["cooking", "driving", "sleeping"]
    more = pa.table({"id": ["z", "e", "d"], "verb": verbs})
    covered, outputs = predictions(more, data, ["verb"])
    assert outputs.matched == Matched(
        "identifiers", 2, unused=1, unknown=1, columns_by_name=False, cross_fitted=True, id_column="id"
    )
    assert (covered.ids, outputs.hard.category.tolist()) == (("d", "e"), [2, 1])
    assert outputs.f1(covered, np.arange(2)) == 50  # cooking is never said, driving rightly once
    unnamed = pa.table({"verb": TABLE["verb"]})
    assert predictions(unnamed, data, ["verb"])[1].matched == Matched("row order", 6)


@pytest.mark.parametrize("said", [[0.0, 1.0, 1.0], [False, True, True], [0, 1, 1], ["0", "1", "1"]])
def test_a_number_is_the_label_that_it_equals(said):
    data = labelled([0, 1, 0], [0, 1, 1])
    assert model_outputs(data, said).hard.category.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("scores", "threshold"), [([0.3, 0.8, 0.5], None), ([-2.0, 3.0, 0.0], None), ([1.0, 3.0, 2.0], 2)]
)
def test_scores_of_yes_alone_are_enough(scores, threshold):
    """Of a label of 0 and 1: 0.5 of probabilities and 0 of logits is the threshold, or what is given."""
    found = model_outputs(labelled([0, 1, 0], [0, 1, 1]), scores, threshold)
    assert found.hard.category.tolist()[:2] == [0, 1]
    assert (np.diff(found.scores.matrix[2]) == 0).all()  # the third lies on the threshold
    assert np.argsort(found.scores.matrix[:, 1]).tolist() == [0, 2, 1]
    with pytest.raises(BadInput, match="got NaN, infinity or more than 3e38 in 1 of 3 rows"):
        model_outputs(labelled([0, 1, 0], [0, 1, 1]), [0.1, np.nan, 0.3])


def test_identifiers_of_columns_that_count_otherwise_are_not_compared():
    """Labels have a row number `id` and an `image_id`, answers an `image_id` of the same range: 1 is not 1."""
    table = TABLE.set_column(0, "id", pa.array([str(i) for i in range(6)]))
    table = table.append_column("image_id", pa.array(list("543210")))
    answers = pa.table({"image_id": list("543210"), "verb": TABLE["verb"]})
    data = labelled_data(table, ["verb"], "gender", split="split")
    with pytest.raises(BadInput, match="labels' column of identifiers, id, got image_id; give a shared one with"):
        predictions(answers, data, ["verb"])
    data = labelled_data(table, ["verb"], "gender", split="split", ids="image_id")
    covered, outputs = predictions(answers, data, ["verb"], "image_id")
    assert outputs.hard.category.tolist() == covered.labels.category.tolist()
    assert (outputs.matched.by, outputs.matched.id_column) == ("identifiers", "image_id")
