import numpy as np
import pandas as pd
import pytest

from transect.effects import one_hot
from transect.errors import BadInput, UnknownName

NAN = np.nan


def test_levels_agree_with_pandas():
    values = np.array([0.0, 2.0, 1.0, 2.0])
    made = one_hot({"age": values})
    judge = pd.get_dummies(pd.Series(values), dtype=float)
    np.testing.assert_array_equal(made.x, judge.to_numpy())
    assert made.names == ("age: 0", "age: 1", "age: 2")
    assert made.attributes == ("age",) * 3


def test_the_seventeen_variables_of_the_paper():
    rng = np.random.default_rng(0)
    table = {name: rng.random(60) for name in ("hair", "skin", "gender", "beard", "makeup", "smile")}
    table["age"] = rng.integers(0, 6, 60).astype(float)
    edges = {name: [0.5] for name in ("hair", "skin", "gender", "beard", "makeup")} | {"smile": [1 / 3, 2 / 3]}
    edges["age"] = [0.5, 1.5, 2.5]
    made = one_hot(table, edges=edges)
    assert made.x.shape == (60, 17)
    np.testing.assert_array_equal(made.x.sum(axis=1), 7)


def test_edges_are_left_closed_and_missing_values_stay_missing():
    made = one_hot({"age": [0.39, 0.4, NAN]}, edges={"age": [0.4]}, levels={"age": ["child", "adult"]})
    np.testing.assert_array_equal(made.x, [[1, 0], [0, 1], [NAN, NAN]])
    assert made.names == ("age: child", "age: adult")
    assert one_hot({"age": [0.1, 0.5]}, edges={"age": [0.2, 0.4]}).names == (
        "age: < 0.2",
        "age: 0.2 to 0.4",
        "age: >= 0.4",
    )


def test_named_levels_that_no_image_has_keep_their_column():
    made = one_hot({"age": [0.0, 2.0]}, levels={"age": ["child", "adult", "senior"]})
    np.testing.assert_array_equal(made.x, [[1, 0, 0], [0, 0, 1]])


def test_many_values_are_cut_at_their_terciles():
    made = one_hot({"age": np.arange(9.0)})
    np.testing.assert_array_equal(made.x.sum(axis=0), [3, 3, 3])
    assert made.edges["age"] == pytest.approx((8 / 3, 16 / 3))


def test_the_first_level_may_be_left_out():
    made = one_hot({"age": [0.0, 1.0, 2.0], "hat": [0.0, 1.0, 0.0]}, drop_first=True)
    assert made.names == ("age: 1", "age: 2", "hat: 1")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"edges": {"age": [2.0, 1.0]}}, BadInput, "age: expected edges that increase, got 2, 1"),
        ({"edges": {"hair": [1.0]}}, UnknownName, "unknown column 'hair'"),
        ({"edges": {"age": [1.0]}, "levels": {"age": ["a"]}}, BadInput, "expected 2 names of levels, got 1"),
        ({"levels": {"age": ["a", "b"]}}, BadInput, "age: expected levels 0 to 1, got 2"),
    ],
)
def test_one_hot_refuses_edges_and_levels_that_do_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        one_hot({"age": [0.0, 2.0]}, **options)
