"""A generator with fitted directions: transects in latent space, true values apart, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hyperplane_cells import at_decisions

from transect import generators
from transect.controls.directions import fit_direction, hyperplanes
from transect.controls.learned import FittedDirections, LearnedWorld
from transect.designs import transect_design, transect_latents
from transect.errors import BadInput, UnknownName
from transect.testing import check_controls, check_generator


@pytest.fixture(scope="module")
def view():
    return generators.load("faceworld-latent", image_size=32)


@pytest.fixture(scope="module")
def fitted(view):
    latents = view.sample(range(1200))
    truths = view.truths(latents)
    tone = fit_direction("skin_tone", latents.values, truths["skin_tone"].to_numpy(), "continuous", source="truth")
    glasses = fit_direction(
        "glasses", latents.values, 1.0 * (truths["glasses"].to_numpy() > 0), "binary", source="target:x"
    )
    straight = tuple(replace(direction, along=None) for direction in (tone, glasses))  # as `fit_linear` does in z
    return FittedDirections(straight, "z", {"generator": view.describe()})


@pytest.fixture(scope="module")
def world(view, fitted):
    return LearnedWorld(view, fitted)


def test_it_keeps_both_contracts(world):
    check_generator(world)
    check_controls(world, world.sample(range(4)))


def test_a_transect_has_the_decision_values_of_algorithm_1(world, fitted):
    """All fitted attributes varied: projection onto both hyperplanes, then signed values along the dual directions."""
    design = transect_design({"skin_tone": [2.0, 8.0], "glasses": [-1.0, 1.0]}, world.attributes, subjects=3)
    subjects = world.sample(design.subject_seeds())
    latents = transect_latents(design, subjects, world).values.reshape(3, 4, -1)
    tone = fitted.directions[0]
    cells = np.array([[(cell["skin_tone"] - tone.mean) / tone.slope, cell["glasses"]] for cell in design.cells()])
    expected = at_decisions(subjects.values, hyperplanes(fitted.directions), cells)
    np.testing.assert_allclose(latents, expected, atol=1e-9)


def test_a_move_is_along_the_attributes_own_unit_direction(world, fitted):
    """Length 2: two units further along the normal, whatever the range, and the other attribute by their cosine."""
    subjects = world.sample(range(3))
    moved = world.move(subjects, "skin_tone", np.array([2.0, 0.0, -50.0]))
    change = moved.values - subjects.values
    np.testing.assert_allclose(np.linalg.norm(change, axis=1), [2.0, 0.0, 50.0], atol=1e-9)
    tone, glasses = (direction.normal for direction in fitted.directions)
    np.testing.assert_allclose(change @ glasses, np.array([2.0, 0.0, -50.0]) * (tone @ glasses), atol=1e-9)
    with pytest.raises(UnknownName, match="hat"):
        world.move(subjects, "hat", np.ones(3))


def test_true_values_follow_what_was_intended(world):
    subjects = world.sample(range(40))
    light, dark = (world.truths(world.set(subjects, {"skin_tone": tone})) for tone in (2.0, 9.0))
    assert dark["skin_tone"].to_numpy().mean() - light["skin_tone"].to_numpy().mean() == pytest.approx(7, abs=0.6)
    assert np.mean((dark["glasses"].to_numpy() > 0) == (light["glasses"].to_numpy() > 0)) > 0.9
    assert {attribute.name for attribute in world.truth_attributes} == set(dark.column_names)


def test_directions_of_another_space_or_generator_are_refused(view, fitted):
    with pytest.raises(BadInput, match="expected space z, which faceworld-latent samples, got space w"):
        LearnedWorld(view, FittedDirections(fitted.directions, "w"))
    other = {"generator": {"name": "ffhq", "weights_sha256": "0" * 64}}
    with pytest.raises(BadInput, match="expected directions of generator faceworld-latent, got some fitted on ffhq"):
        LearnedWorld(view, FittedDirections(fitted.directions, "z", other))
