import numpy as np
import pandas as pd
import pytest

from transect.effects import most_common_ratings, perception_sensitivity
from transect.effects.intervals import mean_interval
from transect.effects.sensitivity import correlations
from transect.records import Annotations, Question

NAN = np.nan


def ends():
    rng = np.random.default_rng(0)
    before = {name: {"hair": rng.random(30), "beard": rng.random(30)} for name in ("hair", "beard")}
    after = {name: {k: v + 0.2 * (k == name) for k, v in table.items()} for name, table in before.items()}
    after["hair"]["beard"] = after["hair"]["beard"] + 0.1 * rng.random(30)  # hair brings some beard
    return before, after


def test_the_matrix_by_hand():
    before, after = ends()
    after["beard"]["hair"][:3] = NAN
    made = perception_sensitivity(before, after)
    for row, manipulated in enumerate(("hair", "beard")):
        for column, seen in enumerate(("hair", "beard")):
            change = after[manipulated][seen] - before[manipulated][seen]
            judge = mean_interval(change[:, None])
            assert made.values[row, column] == pytest.approx(np.nanmean(change))
            if np.isfinite(made.low[row, column]):
                assert made.low[row, column] == pytest.approx(judge.low[0])
    np.testing.assert_array_equal(made.missing, [[0, 0], [3, 0]])


def test_the_most_common_rating_of_levels_without_an_order():
    """Image 0: 2, 2, 0; image 1: 0 and 2 tie; image 2: one answer and one missing; image 3: nobody."""
    image, value = [0, 0, 0, 1, 1, 2, 2], [2, 2, 0, 0, 2, 1, NAN]
    said = Annotations(Question("hair", "Which hair?"), np.array(image), tuple("abcabab"), np.array(value, dtype=float))
    np.testing.assert_array_equal(most_common_ratings(said, 4), [2, NAN, 1, NAN])
    silent = Annotations(Question("hair", "Which hair?"), np.array([0]), ("a",), np.array([NAN]))
    np.testing.assert_array_equal(most_common_ratings(silent, 2), [NAN, NAN])


def test_correlations_agree_with_pandas_pair_by_pair():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
    table["d"] = table["a"] * 2 + 1e6
    table = table.mask(rng.random((40, 4)) < 0.2)
    table["still"] = 3.0
    made = correlations({name: table[name].to_numpy() for name in table})
    np.testing.assert_allclose(made.values, table.corr().to_numpy(), atol=1e-7)
    assert made.rows[0, 1] == int((table["a"].notna() & table["b"].notna()).sum())
