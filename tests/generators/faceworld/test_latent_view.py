"""The rotated view: exact both ways, the same everywhere, and truthful about directions."""

from __future__ import annotations

import numpy as np
import pytest

from transect.errors import BadInput
from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.causal_model import ATTRIBUTE_COLUMNS, rotation
from transect.generators.faceworld.world import FaceWorld

WORLD = FaceWorld(image_size=32, threads=1)


def test_round_trip_keeps_noise_settings_and_seeds():
    latents = WORLD.set(WORLD.sample(range(40)), {"age": 40.0})
    back = WORLD.from_z(WORLD.to_z(latents))
    np.testing.assert_allclose(back.values, latents.values, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(back.settings["age"], latents.settings["age"])
    np.testing.assert_array_equal(back.seeds, latents.seeds)
    assert (WORLD.to_z(latents).space, back.space) == ("z", "u")


def test_the_view_keeps_distances_and_mixes_every_coordinate():
    latents = WORLD.sample([1, 2])
    z = WORLD.to_z(latents)
    # A rotation keeps the Gram matrix.
    np.testing.assert_allclose(z.values @ z.values.T, latents.values @ latents.values.T)
    # Of a random unit vector in d > 60 dimensions no coordinate exceeds .9 (probability below 1e-40).
    assert np.abs(rotation()).max() < 0.9


def test_one_step_along_a_rotated_direction_moves_one_attribute():
    latents = WORLD.sample([5])
    column = ATTRIBUTE_COLUMNS[NAMES.index("age")]
    z = WORLD.to_z(latents)
    z.values[0] += 0.5 * rotation()[:, column]
    before, after = (WORLD.read(subject).to_pydict() for subject in (latents, WORLD.from_z(z)))
    assert after["age"][0] > before["age"][0]
    for name in set(NAMES) - {"age"}:
        assert after[name][0] == pytest.approx(before[name][0], abs=1e-9)


def test_a_row_does_not_depend_on_the_batch():
    whole = WORLD.to_z(WORLD.sample(range(9))).values
    np.testing.assert_array_equal(WORLD.to_z(WORLD.sample([4])).values[0], whole[4])


def test_the_wrong_space_is_refused():
    latents = WORLD.sample([1])
    with pytest.raises(BadInput, match="expected latents of FaceWorld's latent view .*got space u"):
        WORLD.from_z(latents)
    with pytest.raises(BadInput, match="got space z"):
        WORLD.to_z(WORLD.to_z(latents))
    with pytest.raises(BadInput, match="got space z"):
        WORLD.render(WORLD.to_z(latents))
