"""A latent part of the search: which directions, and what a point of the cube makes of a subject."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import WithoutPictures

from transect.designs.search.rules import Rule
from transect.designs.search.space import latent_part, space_of
from transect.errors import BadInput
from transect.records import Attribute, Latents

AGE = Attribute("age", "continuous", "apparent age", "years", 20, 80)
STYLE = Attribute("style", "categorical", "hair style", levels=("a", "b", "c"))
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))


class City(WithoutPictures):
    """Latents of four coordinates, N(0, I); age follows the first, style the second, glasses the third."""

    attributes = (AGE, STYLE, GLASSES)

    def sample(self, seeds):
        return Latents(np.asarray(seeds), np.array([np.random.default_rng(int(s)).standard_normal(4) for s in seeds]))

    def read(self, latents):
        z = latents.values
        made = {"age": np.clip(50 + 10 * z[:, 0], 20, 80), "style": (z[:, 1] > 0) * 1.0, "glasses": (z[:, 2] > 0) * 1.0}
        return pa.table({**made, **latents.settings})

    def set(self, latents, values, hold=()):
        return Latents(latents.seeds, latents.values, settings=dict(values))


@pytest.fixture(scope="module")
def space():
    return space_of(City(), ["age", "glasses=off,on"], kind="latent", latent_dims=2)


def test_where_nothing_stands_out_the_first_coordinates_are_searched(space):
    assert [one.name for one in space.attributes] == ["age", "glasses", "latent_1", "latent_2"]
    np.testing.assert_array_equal(space.latent.directions, np.eye(4)[:2])


def test_principal_directions_where_the_latents_vary_along_them():
    # z = 3 a (1, 1, 0) / sqrt(2) + N(0, I): variance 10 along (1, 1, 0) / sqrt(2), 1 across.
    random = np.random.default_rng(0)
    rows = random.standard_normal((2000, 3)) + 3 * random.standard_normal((2000, 1)) * np.array([1, 1, 0]) / np.sqrt(2)
    (first,) = latent_part(Latents(np.arange(2000), rows), 1).directions
    assert first @ np.array([1, 1, 0]) / np.sqrt(2) > 0.99


def test_a_network_s_conditions_are_no_latent_coordinates():
    random = np.random.default_rng(1)
    rows = np.column_stack([random.integers(0, 3, 400), random.standard_normal((400, 2))])
    part = latent_part(Latents(np.arange(400), rows), 2)
    assert (part.directions[:, 0] == 0).all()
    with pytest.raises(BadInput, match="--latent-dims from 1 to 2"):
        latent_part(Latents(np.arange(400), rows), 3)


@given(st.integers(0, 2**31 - 1))
def test_coordinates_are_placed_and_what_is_orthogonal_stays(seed):
    random = np.random.default_rng(seed)
    part = latent_part(Latents(np.arange(60), random.standard_normal((60, 5)) * [5, 3, 1, 1, 1]), 2)
    latents, wanted = Latents(np.arange(4), random.standard_normal((4, 5))), random.standard_normal((4, 2))
    placed = part.placed(latents, wanted).values
    np.testing.assert_allclose(placed @ part.directions.T, wanted, atol=1e-9)
    across = np.eye(5) - part.directions.T @ part.directions
    np.testing.assert_allclose(placed @ across, latents.values @ across, atol=1e-9)
    np.testing.assert_array_equal(
        part.placed(latents.take(slice(2, 3)), wanted[[2]]).values[0], placed[2]
    )  # whatever the batch


def test_a_point_sets_attributes_and_latent_coordinates_of_a_fresh_subject(space):
    points = np.array([[0.5, 0.75, 0.5, 0.975]])
    (before,) = City().sample([7]).values
    subject = space.subjects(City(), np.array([7]), points)
    assert subject.settings["glasses"].tolist() == [1.0]
    assert abs(subject.settings["age"][0] - 50) < 1
    (after,) = subject.values
    np.testing.assert_allclose(after[:2], [0, 1.96], atol=0.15)  # the median and the 97.5 % quantile of N(0, 1)
    np.testing.assert_array_equal(after[2:], before[2:])


def test_conditions_are_levels_alone():
    made = space_of(City(), ["age=30,60,45", "style=c,a"], kind="conditions")
    assert made.conditions_alone
    assert not space_of(City(), ["age", "glasses=off,on"]).conditions_alone
    points = made.snapped(np.array([[0.2, 0.2], [0.9, 0.9]]))
    np.testing.assert_allclose(points, [[1 / 6, 0.25], [5 / 6, 0.75]], atol=1e-3)
    assert {name: values.tolist() for name, values in made.values(points).items()} == {
        "age": [30.0, 60.0],
        "style": [0.0, 2.0],
    }
    rule = Rule(np.array([made.steps[0][0], 0.0]), np.array([1.0, made.steps[1][0]]))
    assert made.words(rule) == "age = 45 or 60 and style = a"


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (["age"], "give the levels of age"),
        (["age=30,30"], "a level is repeated"),
        (["style=a,d"], "expected one of a, b, c"),
        ([f"age={','.join(map(str, range(20, 80)))}", "glasses"], "at most 64 conditions, got 120"),
    ],
)
def test_a_search_of_latents_refuses_conditions_that_are_none(vary, message):
    with pytest.raises(BadInput, match=message):
        space_of(City(), vary, kind="conditions")
