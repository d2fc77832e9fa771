"""Depth and the mesh's own points: each is where the other says."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.mesh.shape import face_vertices
from transect.generators.faceworld.world import FaceWorld

WORLD = FaceWorld(image_size=128, threads=1)
PLAIN = {"hat": 0.0, "hair_style": 0.0, "glasses": 0.0, "facial_hair": 0.0, "bangs": 0.0, "face_mask": 0.0}
PEOPLE = WORLD.set(WORLD.sample(range(40, 44)), {**PLAIN, "yaw": 0.0, "pitch": 0.0, "roll": 0.0, "distance": 1.0})


def test_nothing_is_farther_than_the_vertices_behind_it():
    depth, points = WORLD.depth(PEOPLE), WORLD.vertices(PEOPLE)
    for row in range(len(PEOPLE)):
        x, y, away = points[row, face_vertices()].T
        seen = depth[row, y.astype(int), x.astype(int)]
        # A vertex may lie beside the points of its pixel, on the outline of the face: one pixel, .04, is allowed.
        assert (seen < away + 0.08).mean() > 0.97
        # Folds of lids, nostrils and the mouth's inside are hidden; of the others, all but those on slopes agree closely.
        assert np.nanquantile(np.abs(seen - away), 0.3) < 0.02


def test_the_tip_of_the_nose_is_nearest_and_lies_where_its_landmark_does():
    depth, marks = WORLD.depth(PEOPLE), WORLD.landmarks(PEOPLE)
    face = WORLD.masks(PEOPLE)["face"]
    for row in range(len(PEOPLE)):
        near = np.where(face[row], depth[row], np.inf)
        y, x = np.unravel_index(near.argmin(), near.shape)
        assert np.hypot(x - marks[row, 30, 0], y - marks[row, 30, 1]) < 6
    # The eyes lie at the origin, 24 distances between the eyes from a camera at distance 1.
    assert near.min() == pytest.approx(24 - 0.75, abs=0.4)


def test_depth_is_where_the_person_is_and_follows_the_camera():
    depth, person = WORLD.depth(PEOPLE), WORLD.masks(PEOPLE)["person"]
    np.testing.assert_array_equal(~np.isnan(depth), person)
    farther = WORLD.vertices(WORLD.set(PEOPLE, {"distance": 1.5}))[..., 2] - WORLD.vertices(PEOPLE)[..., 2]
    np.testing.assert_allclose(farther, 12, atol=1e-4)


def test_a_beanie_lies_on_the_head():
    bare, hatted = (WORLD.depth(WORLD.set(PEOPLE, {"hat": kind})) for kind in (0.0, 2.0))
    hat = WORLD.masks(WORLD.set(PEOPLE, {"hat": 2.0}), ("hat",))["hat"] & ~np.isnan(bare)
    # Where it lies closest: a few millimeters, of 63 between the eyes.
    assert 0.02 < np.quantile((bare - hatted)[hat], 0.01) < 0.2
