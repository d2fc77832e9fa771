"""Each rule on hand-made rows: where the pixels show an attribute and where they cannot."""

from __future__ import annotations

import numpy as np
import pytest
from small_world import neutral_truth

from transect.generators.faceworld.attributes import HAIR_STYLES, NAMES
from transect.jobs.verify.reading import readings
from transect.jobs.verify.visibility import RULES, rule

STRAIGHT, BALD = float(HAIR_STYLES.index("straight")), float(HAIR_STYLES.index("bald"))


def seen(name, **values):
    truth = neutral_truth(1, np.random.default_rng(0))
    truth |= {"hat": np.zeros(1), "hair_style": np.full(1, STRAIGHT), "glasses": np.zeros(1), "age": np.full(1, 30.0)}
    truth |= {"facial_hair": np.zeros(1)}
    truth |= {key.replace("__", "."): np.array([float(value)]) for key, value in values.items()}
    return bool(rule(name).seen(truth)[0])


@pytest.mark.parametrize(
    ("name", "shown", "hidden"),
    [
        ("hair_style", {}, {"hat": 1}),
        ("hair_style", {"hair_style": BALD, "area__hair": 0}, {"area__hair": 0.019}),
        ("hair_length", {"area__hair": 0.02}, {"hair_style": BALD}),
        ("hair_color", {"hat": 1}, {"age": 60}),
        ("hair_redness", {"age": 47}, {"area__hair": 0.01}),
        ("hair_volume", {}, {"hat": 2}),
        ("baldness", {"area__hair": 0}, {"hair_style": BALD}),
        ("bangs", {}, {"hat": 1}),
        ("facial_hair_style", {"facial_hair": 0.2}, {"facial_hair": 0.1}),
        ("eye_color", {"area__eyes": 0.002}, {"glasses": 1}),
        ("eye_color", {}, {"area__eyes": 0.001}),
        ("earrings", {"seen__earrings": 0.0002}, {"seen__earrings": 0.0001}),
        ("identity.frame_shape", {"glasses": 1}, {}),
        ("identity.frame_color", {"glasses": 4}, {}),
        ("identity.hat_hue", {"hat": 1}, {}),
        ("identity.hat_lightness", {"hat": 2}, {}),
    ],
)
def test_where_it_is_seen(name, shown, hidden):
    assert seen(name, **shown)
    assert not seen(name, **hidden)


def test_every_rule_is_of_something_that_is_read_and_says_why():
    assert set(RULES) <= {reading.name for reading in readings()}
    assert set(NAMES) <= {reading.name for reading in readings()}
    assert all(one.words.startswith("where ") for one in RULES.values())


def test_all_else_is_always_seen():
    assert seen("lipstick", hat=1, glasses=1, age=80, area__hair=0, area__eyes=0)
    assert seen("glasses")
