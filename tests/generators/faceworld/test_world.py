"""The class: protocols, sizes, seeds, what it says of itself."""

from __future__ import annotations

import numpy as np
import pytest

from transect.errors import BadInput
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.records import SUBJECTS_PER_SEED


@pytest.fixture(scope="module")
def world():
    return FaceWorld(image_size=40, threads=1)


def test_no_subjects_no_pictures(world):
    latents = world.sample([])
    assert world.render(latents).pixels.shape == (0, 40, 40, 3)
    assert world.read(latents).num_rows == 0


def test_seeds_of_the_largest_runs(world):
    seeds = np.array([0, 2**30 * SUBJECTS_PER_SEED, np.iinfo(np.int64).max])
    np.testing.assert_array_equal(world.sample(seeds).seeds, seeds)


@pytest.mark.parametrize("seeds", [[-1], [[1]], ["a"]])
def test_bad_seeds(world, seeds):
    with pytest.raises(BadInput, match="expected seeds as a list of whole numbers"):
        world.sample(seeds)


@pytest.mark.parametrize("size", [31, 513, True])
def test_bad_sizes(size):
    with pytest.raises(BadInput, match="image_size: expected a whole number of pixels from 32 to 512, got"):
        FaceWorld(image_size=size)


def test_the_same_subject_at_another_size_is_the_same_picture():
    small, large = (FaceWorld(size, threads=1) for size in (64, 192))
    latents = small.set(small.sample([1, 2, 3, 4]), {"noise": 0.0})
    a = small.render(latents).pixels.astype(float)
    b = large.render(latents).pixels.astype(float).reshape(4, 64, 3, 64, 3, 3).mean((2, 4))
    # Means of 3 x 3 encoded pixels against one pixel: edges differ by their softness.
    assert np.abs(a - b).mean() < 6


def test_extremes_of_every_attribute_render_finite_pictures(world):
    latents = world.sample([1])
    for end in (0, 1):
        corner = world.set(latents, {a.name: float(a.bounds[end]) for a in ATTRIBUTES})
        assert world.render(corner).pixels.shape == (1, 40, 40, 3)
    radical = latents.values.copy()
    radical[:, IDENTITY_COLUMNS] = 8.0
    extreme = type(latents)(latents.seeds, radical)
    assert world.render(world.set(extreme, {"exposure": 0.0})).pixels.std() > 5
