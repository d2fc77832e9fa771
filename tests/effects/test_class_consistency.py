"""Images between two of one class, by hand."""

import numpy as np
import pytest

from transect.effects.rates import interpolation_consistency

NAN = np.nan


def test_a_line_without_a_class_is_dropped_and_counted():
    made = interpolation_consistency([1, NAN], [[1, 1], [1, 1]])
    assert list(made) == ["all", "1"]
    assert [made["all"][key] for key in ("share", "lines", "images", "dropped")] == [1.0, 1, 2, 1]


def test_interpolation_keeps_the_class_by_hand():
    made = interpolation_consistency([1, 1, 0], [[1, 1], [1, 0], [0, NAN]])
    assert made["all"]["share"] == pytest.approx(4 / 5)
    assert made["1"]["share"] == pytest.approx(3 / 4)
    assert (made["0"]["share"], made["0"]["images"], made["0"]["lines"]) == (1.0, 1, 1)
