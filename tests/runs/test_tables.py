"""Records go to tables and come back."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from transect.records import Design, Images, Predictions, Task
from transect.runs.tables import columns_of, images_of, images_table, predictions_of, predictions_table


@pytest.fixture
def images():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 8, 6, 3), dtype=np.uint8)
    return Images(pixels, np.arange(16, dtype=np.float64).reshape(4, 4))


def test_images_come_back_pixel_by_pixel(images):
    design = Design({"glasses": (0.0, 1.0)}, subjects=2)
    true = pa.table({"glasses": [0.0, 1.0, 0.0, 1.0], "age": [20.0, 20.0, 50.0, 50.0]})
    table = images_table(design, design.subject_seeds(), true, images)
    assert table["id"].to_pylist() == ["0-0000", "0-0001", "1-0000", "1-0001"]
    assert columns_of(table, "intended")["glasses"].tolist() == [0, 1, 0, 1]
    assert columns_of(table, "true")["age"].tolist() == [20, 20, 50, 50]
    back = images_of(table)
    np.testing.assert_array_equal(back.pixels, images.pixels)
    np.testing.assert_array_equal(back.face_boxes, images.face_boxes)
    assert table["sha256"][0].as_py() == hashlib.sha256(table["image"][0].as_py()).hexdigest()


def test_detections_and_failures_come_back():
    boxes = (np.array([[1.0, 2, 3, 4, np.nan], [0, 0, 5, 5, 2.5]]), np.zeros((0, 5)), np.zeros((0, 5)))
    given = Predictions(Task.DETECTION, np.array([[2.5], [0.0], [np.nan]]), ("", "", "hung"), boxes)
    back = predictions_of(predictions_table(["a", "b", "c"], given), Task.DETECTION)
    assert back.failures == ("", "", "hung")
    assert back.failed.tolist() == [False, False, True]
    np.testing.assert_array_equal(back.scores, given.scores)
    for one, other in zip(back.boxes, boxes, strict=True):
        np.testing.assert_array_equal(one, other)


def test_answers_of_several_parts_come_back_in_order():
    """Lists of rows that lie in several pieces, with a failed row between them and two boxes in the second."""
    first = Predictions(Task.DETECTION, np.array([[np.nan], [1.0]]), ("hung", ""), (np.zeros((0, 5)), np.ones((1, 5))))
    second = Predictions(Task.DETECTION, np.array([[2.0]]), ("",), (np.full((2, 5), 2.0),))
    tables = [predictions_table(["a", "b"], first), predictions_table(["c"], second)]
    back = predictions_of(pa.concat_tables(tables).slice(1), Task.DETECTION)
    assert back.scores.tolist() == [[1.0], [2.0]]
    assert [boxes.tolist() for boxes in back.boxes] == [[[1.0] * 5], [[2.0] * 5] * 2]


def test_all_failed_has_one_column_of_nan():
    given = Predictions(Task.BINARY, np.full((2, 1), np.nan), ("x", "x"))
    back = predictions_of(predictions_table(["a", "b"], given), Task.BINARY)
    assert back.scores.shape == (2, 1)
    assert np.isnan(back.scores).all()
