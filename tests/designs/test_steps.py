"""Steps λ from a subject's own value: which λ, how far a step goes, where it stops, and one line for what does not fit."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.designs import transect_design, transect_latents
from transect.designs.steps import DIRECTION, parse_steps
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Latents

AGE = Attribute("age", "continuous", "apparent age", unit="years", low=20, high=80)
TONE = Attribute("skin_tone", "continuous", "tone of the skin", unit="Monk", low=1, high=10)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))


class World:
    """Subjects whose own age stands in their latents; remembers what it was asked to set."""

    name, image_size, latent_dim = "small", 8, 1
    attributes = (AGE, TONE, GLASSES)

    def __init__(self, ages=(30.0, 50.0, 75.0)):
        self.ages, self.asked = np.array(ages), []

    def sample(self, seeds):
        rows = np.asarray(seeds)
        return Latents(rows, self.ages[rows][:, None])

    def render(self, latents):
        return SimpleNamespace(of=latents)

    def read(self, latents):
        return pa.table({"age": latents.settings.get("age", latents.values[:, 0])})

    def set(self, latents, values, hold=()):
        self.asked.append((dict(values), tuple(hold)))
        return Latents(latents.seeds, latents.values, settings=dict(values))


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("age", tuple(k / 4 for k in range(-4, 5))),  # nine from -1 to 1
        ("age=-1:1:5", (-1.0, -0.5, 0.0, 0.5, 1.0)),
        ("age=0,-1,0.25", (-1.0, 0.0, 0.25)),
        ("age=-0.9:0.3:5", (-0.9, -0.6, -0.3, 0.0, 0.3)),  # not 0 in floating point
    ],
)
def test_levels(text, levels):
    ((steps, found),) = parse_steps([text], World())
    assert found == pytest.approx(levels)
    assert 0.0 in found
    assert steps.own is AGE


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from([0.01, 0.02, 0.025, 0.1 / 7]))
def test_a_walk_whose_steps_meet_zero_has_zero(below, above, width):
    ((_, found),) = parse_steps([f"age={-below * width!r}:{above * width!r}:{below + above + 1}"], World())
    assert found[below] == 0.0


def test_a_step_is_half_the_range_from_the_subjects_own_value_and_stops_at_the_ends():
    world = World()
    ((steps, levels),) = parse_steps(["age=-1:1:5"], world)
    design = transect_design({"age": levels}, steps.attributes, subjects=3, hold=("skin_tone",))
    moved = transect_latents(design, steps.sample([0, 1, 2]), steps)
    # half of 20 to 80 is 30: steps of 15 years from 30, 50 and 75, within 20 to 80
    expected = [[20, 20, 30, 45, 60], [20, 35, 50, 65, 80], [45, 60, 75, 80, 80]]
    np.testing.assert_array_equal(steps.read(moved)["age"].to_numpy().reshape(3, 5), expected)
    assert world.asked[0][1] == ("skin_tone",)


class Plane(World):
    """A world whose age is the first of two coordinates, along a direction that also moves the second."""

    def move(self, latents, name, lengths):
        assert name == "age"
        return Latents(latents.seeds, latents.values + np.asarray(lengths)[:, None] * [0.6, 0.8])

    def sample(self, seeds):
        rows = np.asarray(seeds)
        return Latents(rows, np.column_stack([self.ages[rows], np.zeros(len(rows))]))


def test_steps_in_units_of_the_direction_are_not_stopped_by_a_range():
    """z + λ d by hand: from age 75 two units of d are 1.2 years, and a hundred are 60, beyond the range's end of 80."""
    ((steps, levels),) = parse_steps(["age=-2,0,100"], Plane(), DIRECTION)
    assert levels == (-2.0, 0.0, 100.0)
    design = transect_design({"age": levels}, steps.attributes, subjects=3)
    moved = transect_latents(design, steps.sample([0, 1, 2]), steps)
    expected = [[75 - 1.2, -1.6], [75, 0], [75 + 60, 80]]
    np.testing.assert_allclose(moved.values.reshape(3, 3, 2)[2], expected)
    assert steps.step.bounds == (-100.0, 100.0)
    assert steps.step.meaning == "apparent age; steps of one unit of the direction from the subject's own"
    assert steps.describe()["steps"] == {"attribute": "age", "half_range": 30.0, "unit": "years", "by": "direction"}
    with pytest.raises(BadInput, match="--hold does not apply to --step-unit direction"):
        steps.set(steps.sample([0]), {"age": 1.0}, hold=("skin_tone",))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["agee"], "unknown attribute 'agee': did you mean age? See: transect list attributes"),
        (["glasses"], "--steps glasses: it has levels (off, on), not a range; use --vary"),
        (["age=-2:2:5"], "age: expected between -1 and 1 λ, got -2; see: transect list attributes"),
        (["age=-1:1:4"], "--steps 'age=-1:1:4': expected λ = 0, the subject's own image, among the steps; add it"),
        (["age", "skin_tone", "age=-1,0"], "--steps age is repeated: give it once, with all its steps"),
    ],
)
def test_errors_say_what_to_do(texts, message):
    with pytest.raises((BadInput, UnknownName)) as error:
        parse_steps(texts, World())
    assert str(error.value) == message
