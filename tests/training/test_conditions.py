"""Conditions: cuts, names, balance, and what is refused."""

import numpy as np
import pytest

from transect.errors import BadInput
from transect.records import Attribute
from transect.training.pictures import Balanced, parse

HAT = Attribute("hat", "binary", "hat", levels=("off", "on"))
GLASSES = Attribute("glasses", "categorical", "glasses", levels=("none", "clear", "dark"))
AGE = Attribute("age", "continuous", "age", low=20, high=80)


class Table:
    def __init__(self, **columns):
        self.columns = {name: np.array(values, dtype=float) for name, values in columns.items()}

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def pixels(self, rows):
        return np.array(rows, dtype=np.uint8)[:, None, None, None].repeat(3, axis=3)

    def column(self, name):
        return self.columns[name]


def test_every_class_comes_as_often_and_nothing_is_invented():
    # hat: 0 0 0 1, age 30 30 70 70, cut at 50: classes (off, below) twice, (off, from) once, (on, from) once.
    # (on, below) has none: refused, by name.
    data = Table(hat=[0, 0, 0, 1], age=[30, 30, 70, 70])
    with pytest.raises(BadInput, match="no pictures of on, below 50"):
        Balanced(data, ["hat", "age=50"], [HAT, AGE])
    data = Table(hat=[0, 0, 0, 1, 1], age=[30, 31, 70, 70, 20])
    rows = Balanced(data, ["hat", "age=50"], [HAT, AGE])
    assert rows.conditions == [("hat", ("off", "on")), ("age", ("below 50", "from 50"))]
    # The largest class has two rows; the others' one row comes twice. The second condition runs fastest.
    assert rows.pixels(np.arange(len(rows)))[:, 0, 0, 0].tolist() == [0, 1, 2, 2, 4, 4, 3, 3]
    assert rows.classes.argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert rows.left_out == 0


def test_a_value_at_a_cut_belongs_above_and_missing_ones_are_counted():
    balanced = Balanced(Table(age=[50, 49.9, np.nan]), ["age=50"], [AGE])
    assert balanced.left_out == 1
    rows = balanced.pixels(np.arange(len(balanced)))[:, 0, 0, 0]
    assert dict(zip(balanced.classes.argmax(axis=1).tolist(), rows.tolist(), strict=True)) == {0: 1, 1: 0}


def test_any_level_but_none_is_one_class():
    balanced = Balanced(Table(glasses=[0, 0, 1, 2, np.nan]), ["glasses != none"], [GLASSES])
    assert balanced.conditions == [("glasses", ("none", "any"))]
    rows = balanced.pixels(np.arange(len(balanced)))[:, 0, 0, 0]
    assert rows.tolist() == [0, 1, 2, 3]
    assert balanced.classes.argmax(axis=1).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "increasing cuts between 20 and 80; try age=50"),
        ("age=20", "increasing cuts"),
        ("hat=1", "already has levels"),
        ("hat!=off", "expected NAME!=none of an attribute whose first level is none"),
    ],
)
def test_texts_that_are_no_condition_are_refused(text, message):
    with pytest.raises(BadInput, match=message):
        parse(text, [HAT, GLASSES, AGE])
