"""Angles between the ways in which controls move latents."""

import math

import numpy as np
import pyarrow as pa
import pytest

from transect.controls.directions import Direction
from transect.controls.hyperplanes import angles
from transect.controls.learned import LearnedControls
from transect.controls.separation import direction_angles
from transect.errors import BadInput
from transect.generators import FaceWorld
from transect.records import Attribute, Latents


def direction(name, normal):
    normal = np.array(normal, dtype=float)
    return Direction(
        name, "binary", normal / np.linalg.norm(normal), 0.0, math.nan, 0.0, -1.0, 1.0, 0.9, "balanced accuracy", 100, 20
    )  # fmt: skip


def latents(n, d):
    return Latents(np.arange(n), np.random.default_rng(0).standard_normal((n, d)), "w")


class Bent:
    """Turns: age moves a latent along its own first two coordinates, turned by what it is; smile along the first."""

    attributes = (
        Attribute("age", "continuous", "age", low=0.0, high=2.0),
        Attribute("smile", "binary", "smiles", levels=("no", "yes")),
        Attribute("style", "categorical", "style", levels=("a", "b", "c")),
        Attribute("glasses", "binary", "wears glasses", levels=("no", "yes")),
    )

    def read(self, latents):
        return pa.table({})

    def set(self, latents, values, hold=()):
        ((name, value),) = values.items()
        turned = latents.values[:, 2]
        ways = {
            "age": np.column_stack([np.cos(turned), np.sin(turned), 0 * turned]),
            "smile": np.tile([1.0, 0.0, 0.0], (len(latents), 1)),
            "glasses": np.zeros((len(latents), 3)),
        }
        return Latents(latents.seeds, latents.values + value * ways[name], latents.space)


def test_two_learned_directions_move_apart_by_what_their_normals_are_alike():
    """Normals at 45 degrees: the moves that leave the other alone are (1, -1) / √2 and (0, 1), at 135."""
    controls = LearnedControls([direction("age", [1, 0]), direction("smile", [1, 1])], "w")
    (angle,) = direction_angles(controls, latents(5, 2))
    assert (angle.first, angle.second, angle.subjects, angle.reason) == ("age", "smile", 5, "")
    assert (angle.degrees, angle.cosine) == (pytest.approx(135), pytest.approx(-(0.5**0.5)))
    assert angle.spread == pytest.approx(0, abs=1e-12)
    normals = np.array([direction.normal for direction in controls.directions.values()])
    assert angles(normals)[0, 1] == pytest.approx(180 - angle.degrees)


def test_perpendicular_ones_stay_so_whatever_their_number():
    controls = LearnedControls([direction(name, row) for name, row in zip("abc", np.eye(3), strict=True)], "w")
    separations = direction_angles(controls, latents(2, 3))
    assert [(angle.first, angle.second) for angle in separations] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [angle.degrees for angle in separations] == pytest.approx([90, 90, 90])


def test_a_way_that_differs_between_subjects_has_a_spread():
    """Turned by 0 and by 90 degrees: cosines 1 and 0, mean 1/2 at 60 degrees, standard deviation √(1/2)."""
    two = Latents(np.arange(2), np.array([[0.0, 0.0, 0.0], [0.0, 0.0, math.pi / 2]]), "w")
    separations = {(angle.first, angle.second): angle for angle in direction_angles(Bent(), two)}
    angle = separations["age", "smile"]
    assert (angle.cosine, angle.degrees) == (pytest.approx(0.5), pytest.approx(60))
    assert angle.spread == pytest.approx(0.5**0.5)


def test_what_has_no_direction_says_why():
    separations = {(angle.first, angle.second): angle for angle in direction_angles(Bent(), latents(2, 3))}
    assert separations["age", "glasses"].reason == "glasses moves no latent: it has no direction in space w"
    assert separations["smile", "style"].reason == "style has levels in no order"
    for pair in (("age", "glasses"), ("smile", "style")):
        assert (math.isnan(separations[pair].degrees), separations[pair].subjects) == (True, 0)
    alone = direction_angles(Bent(), latents(1, 3))[0]
    assert math.isnan(alone.spread)
    assert math.isfinite(alone.degrees)


def test_attributes_of_the_world_are_set_beside_its_latents():
    world = FaceWorld(image_size=32)
    separations = direction_angles(world, world.sample(range(2)))
    assert all(angle.reason for angle in separations)
    assert any(angle.reason.endswith("moves no latent: it has no direction in space u") for angle in separations)


def test_too_little_is_refused():
    controls = LearnedControls([direction("age", [1, 0])], "w")
    with pytest.raises(BadInput, match="got 2 latents and 1 attributes"):
        direction_angles(controls, latents(2, 2))
    with pytest.raises(BadInput, match="got 0 latents"):
        direction_angles(Bent(), latents(0, 3))
