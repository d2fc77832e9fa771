"""What a point of the cube means in an attribute's units, and back in words."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import WithoutPictures

from transect.designs.search.rules import Rule
from transect.designs.search.space import SUBJECTS, space_of
from transect.errors import BadInput
from transect.records import Attribute, Latents

AGE = Attribute("age", "continuous", "apparent age", "years", 20, 80)
BEARD = Attribute("beard", "continuous", "beard")
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
STYLE = Attribute("style", "categorical", "hair style", levels=("a", "b", "c"))
LIGHT = Attribute("light", "continuous", "light", role="nuisance")
FIXED = Attribute("fixed", "continuous", "the same for all")


class Town(WithoutPictures):
    """Age even from 20 to 80; a beard on 30 %; glasses on every fifth; light even; one attribute that never differs."""

    attributes = (AGE, BEARD, GLASSES, STYLE, LIGHT, FIXED)

    def sample(self, seeds):
        return Latents(np.asarray(seeds), np.zeros((len(seeds), 1)))

    def read(self, latents):
        rank = (np.arange(len(latents)) + 0.5) / len(latents)
        beard = np.where(rank > 0.7, rank, 0.0)
        glasses = (rank > 0.8).astype(float)
        style, fixed = np.zeros(len(latents)), np.full(len(latents), 0.5)
        columns = (20 + 60 * rank, beard, glasses, style, rank, fixed)
        return pa.table({one.name: column for one, column in zip(Town.attributes, columns, strict=True)})


def test_the_default_is_every_continuous_attribute_that_differs():
    assert [one.name for one in space_of(Town()).attributes] == ["age", "beard"]


def test_values_are_the_population_s_at_their_rank():
    space = space_of(Town(), ["age", "beard", "glasses"])
    values = space.values(np.array([[0.5, 0.5, 0.5], [0.25, 0.85, 0.9]]))
    np.testing.assert_allclose(values["age"], [50, 35], atol=0.05)
    np.testing.assert_allclose(values["beard"], [0, 0.85], atol=0.01)
    assert values["glasses"].tolist() == [0.0, 1.0]


@given(st.integers(0, 2**31 - 1), st.integers(0, 18), st.sampled_from([0, 1, 2]))
def test_a_box_says_the_same_of_values_as_of_points(seed, which, attribute):
    """Also where many subjects have one value: cuts lie only between values that differ."""
    space = space_of(Town(), ["age", "beard", "glasses"])
    cuts = space.thresholds[attribute]
    rule = Rule(np.zeros(3), np.ones(3))
    rule.low[attribute] = cuts[which % len(cuts)]
    points = np.random.default_rng(seed).random((200, 3))
    values = space.values(points)[space.attributes[attribute].name]
    stated = space._value(attribute, rule.low[attribute])
    np.testing.assert_array_equal(rule.holds(points), values > stated)


def test_words_name_both_ends_and_levels():
    space = space_of(Town(), ["age=20:80", "glasses"])
    ends = round(0.25 * (SUBJECTS - 1)) / (SUBJECTS - 1), round(0.5 * (SUBJECTS - 1)) / (SUBJECTS - 1)
    rule = Rule(np.array([ends[0], 0.0]), np.array([ends[1], space.thresholds[1][0]]))
    assert space.words(rule) == "age > 35 and age <= 50.01 and glasses <= off"


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (["age", "age"], "repeated"),
        (["style"], "no order to search along"),
        (["age=5:30"], "between 20 and 80"),
        (["age=a:b"], "NAME=LOW:HIGH"),
        (["fixed"], "the same for all subjects"),
        (["glasses=0:1"], "levels have no range"),
    ],
)
def test_a_search_space_refuses_attributes_that_it_cannot_vary(vary, message):
    with pytest.raises(BadInput, match=message):
        space_of(Town(), vary)
