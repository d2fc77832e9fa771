"""Directions scored against the truth of the latent view: the truth itself, and what the ways to move do."""

import numpy as np
import pytest

from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.world import FaceWorld
from validation import latent_directions
from validation.latent_directions import score, true_directions, true_normals


def test_along_a_true_direction_one_attribute_changes_alone():
    """In the causal model itself: age moves, and no other attribute does but exposure, which has its own mechanism."""
    world = FaceWorld(image_size=32, population="celebrity-like")
    z = world.to_z(world.sample([3, 4]))
    step = 0.4 * true_directions("celebrity-like")[NAMES.index("age")]
    before = world.read(world.from_z(z))
    z.values[:] += step
    after = world.read(world.from_z(z))
    assert (after["age"].to_numpy() > before["age"].to_numpy()).all()
    for name in set(NAMES) - {"age", "exposure"}:
        np.testing.assert_allclose(after[name].to_numpy(), before[name].to_numpy(), atol=1e-6, err_msg=name)


def test_dual_directions_take_the_drift_that_normals_have(monkeypatch):
    """With exact normals the dual drift would be 0; along normals it is the mean correlation of the scores."""
    monkeypatch.setattr(latent_directions, "FITS", ("ridge",))
    made = score(["celebrity-like"], [600], repeats=1)
    ways = {(one.fit, one.way): one for one in made}
    places = [NAMES.index(name) for name in latent_directions.FITTED]
    normals = true_normals("celebrity-like")[places]
    between = np.abs(normals @ normals.T)[~np.eye(len(places), dtype=bool)]
    assert ways["ridge", "normals"].drift == pytest.approx(between.mean(), abs=0.03)
    assert ways["ridge", "as published"].drift < 0.7 * ways["ridge", "normals"].drift
    assert ways["ridge", "dual"].drift < 0.2 * ways["ridge", "normals"].drift
    assert ways["ridge", "dual"].direction > ways["ridge", "normals"].direction


def test_in_an_independent_population_the_ways_are_alike(monkeypatch):
    monkeypatch.setattr(latent_directions, "FITS", ("ridge",))
    made = [one for one in score(["balanced"], [600], repeats=1) if one.fit == "ridge"]
    assert np.ptp([one.direction for one in made]) < 0.01
    assert all(one.normal > 0.95 for one in made)
