"""Which columns of two tables differ, by how much and in how many rows; expectations by hand."""

import math

import numpy as np
import pyarrow as pa
import pytest

from transect.runs import compared_folders as comparing
from transect.runs.compared_folders import ColumnCompared
from transect.runs.pictures import png

IDS = ["a", "b", "c"]


def picture(level, size=4):
    return png(np.full((size, size, 3), level, np.uint8))


def columns(was, is_now, tolerance=1e-4):
    return comparing.tables("t", [(pa.table(was), pa.table(is_now))], [False], tolerance).columns


def test_equal_values_differ_in_no_column():
    table = {"id": IDS, "score": [0.25, None, math.nan], "boxes": [[{"x0": 1.0}], [], None], "image": [picture(5)] * 3}
    assert columns(table, table) == ()


def test_pixels_may_differ_by_one_of_255():
    was = {"image": [picture(100), picture(100), picture(100)], "sha256": ["a", "b", "c"]}
    is_now = {"image": [picture(100), picture(101), picture(98)], "sha256": ["a", "x", "y"]}
    assert columns(was, is_now) == (ColumnCompared("image", 2, 1, 2.0),)


def test_a_picture_that_is_missing_or_of_another_size_is_beyond():
    was = {"image": pa.array([picture(1), picture(1), None], pa.binary())}
    is_now = {"image": pa.array([None, picture(1, size=5), None], pa.binary())}
    assert columns(was, is_now) == (ColumnCompared("image", 2, 2, None),)


def test_numbers_are_compared_with_the_larger_of_the_two_or_one():
    """200 and 200.01 are 5e-5 apart, 0.5 and 0.5002 are 2e-4 apart, since 1 is the larger there."""
    was, is_now = {"score": [200.0, 0.5, 1e-9]}, {"score": [200.01, 0.5002, 2e-9]}
    (found,) = columns(was, is_now)
    assert (found.differing, found.beyond) == (3, 1)
    assert found.largest == pytest.approx(2e-4)


def test_within_lists_and_boxes_the_largest_difference_counts():
    was = {"scores": [[0.1, 0.2], [0.3], None], "boxes": [[{"x0": 10.0, "x1": 20.0}], [{"x0": 1.0, "x1": 2.0}], None]}
    is_now = {"scores": [[0.1, 0.2001], [0.3], None], "boxes": [[{"x0": 10.0, "x1": 20.5}], [], None]}
    scores, boxes = columns(was, is_now)
    assert (scores.column, scores.differing, scores.beyond) == ("scores", 1, 0 if 0.2001 - 0.2 <= 1e-4 else 1)
    assert (boxes.differing, boxes.beyond) == (2, 2)
    assert boxes.largest == pytest.approx(0.5 / 20.5)


@pytest.mark.parametrize(
    ("was", "is_now"),
    [([True, False], [True, True]), (["", "x"], ["", "y"]), ([1, 2], [1, 3]), ([1.0, None], [1.0, 2.0])],
)
def test_answers_texts_counts_and_missing_values_must_be_the_same(was, is_now):
    (found,) = columns({"value": was}, {"value": is_now}, tolerance=1.0)
    assert (found.differing, found.beyond) == (1, 1)
    assert found.largest is None


def test_a_column_or_row_that_is_missing_is_beyond():
    assert columns({"id": IDS, "old": IDS}, {"id": IDS}) == (ColumnCompared("old", 3, 3, None),)
    assert columns({"id": IDS}, {"id": IDS[:2]}) == (ColumnCompared("(rows)", 1, 1, None),)


def test_numbers_of_json_are_found_by_place():
    was = {"effects": [{"estimate": 0.5, "p": None, "name": "a"}], "rates": [1, 2], "title": "0.5 of 3"}
    is_now = {"effects": [{"estimate": 0.6, "p": None, "name": "b"}], "rates": [1], "title": "0.6 of 3"}
    found = comparing.numbers("r", was, is_now, 1e-4, same_bytes=False)
    assert found.rows == 3
    effects, rates = found.columns
    assert (effects.column, effects.differing, effects.beyond) == ("effects", 1, 1)
    assert effects.largest == pytest.approx(0.1)
    assert rates == ColumnCompared("rates", 1, 1, None)
    assert comparing.numbers("r", was, was, 1e-4, same_bytes=False).columns == ()
    assert comparing.numbers("r", {"p": 1.0}, {"p": None}, 1e-4, same_bytes=False).columns[0].beyond == 1
