import numpy as np
import pandas as pd

from transect.effects.samples import one_hot

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
