"""The mesh head: what its displacements move, and that attributes move the measured face the way they say."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core import caching

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.kernels import compiled
from transect.generators.faceworld.mesh.shading import LEFT_EYE, RIGHT_EYE, _reached
from transect.generators.faceworld.mesh.shape import Pose, rest_shape
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.world import FaceWorld

WORLD = FaceWorld(image_size=128, threads=1)
UPRIGHT = {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "distance": 1.0, "smile": 0.0, "mouth_open": 0.0, "brow_raise": 0.0}
SUBJECTS = WORLD.set(WORLD.sample(range(30, 36)), UPRIGHT)


def points(**values):
    return WORLD.landmarks(WORLD.set(SUBJECTS, values))


MEASURED = {
    "smile": lambda p: p[:, 54, 0] - p[:, 48, 0],
    "mouth_open": lambda p: p[:, 66, 1] - p[:, 62, 1],
    "brow_raise": lambda p: p[:, 36:48, 1].mean(1) - p[:, 17:27, 1].mean(1),
    "brows_raised": lambda p: p[:, 36:48, 1].mean(1) - p[:, 17:27, 1].mean(1),
    "eyes_closed": lambda p: p[:, 37:39, 1].mean(1) - p[:, 40:42, 1].mean(1),
    "mouth_slant": lambda p: p[:, 48, 1] - p[:, 54, 1],
    "face_width": lambda p: np.ptp(p[:, :17, 0], axis=1) / (p[:, 8, 1] - p[:, 27, 1]),
    "roll": lambda p: p[:, 45, 1] - p[:, 36, 1],
    "yaw": lambda p: p[:, 30, 0] - (p[:, 0, 0] + p[:, 16, 0]) / 2,
}


@pytest.mark.parametrize("name", MEASURED)
def test_what_attributes_move_is_monotone(name):
    low, high = next(a.bounds for a in WORLD.attributes if a.name == name)
    steps = np.stack([MEASURED[name](points(**{name: value})) for value in np.linspace(low, high, 5)])
    assert (np.diff(steps, axis=0) > 0).all()


def test_eyes_are_one_apart_around_the_origin_for_everybody():
    p = parameters(WORLD.model.solve(SUBJECTS), SUBJECTS.values[:, IDENTITY_COLUMNS])
    for row in range(len(SUBJECTS)):
        rest = rest_shape(p[row].values)
        left, right = (rest[vertices_of(part)].mean(0) for part in (LEFT_EYE, RIGHT_EYE))
        assert np.linalg.norm(left - right) == pytest.approx(1, abs=0.02)
        np.testing.assert_allclose((left + right) / 2, 0, atol=0.02)


def test_a_turned_head_leaves_the_shoulders():
    turned = Pose(np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]), 1.0).turn(np.array([[0.0, 0, 0], [0.0, -4.5, 0]]))
    # A quarter turn around (0, -.35, -1.2): the nose's root goes 1.2 to the side; 2 below the bend e^-8.5 is left of it.
    np.testing.assert_allclose(turned[0], [1.2, 0, -1.2], atol=2e-3)
    np.testing.assert_allclose(turned[1], [0, -4.5, 0], atol=2e-3)


def test_an_identity_code_of_zeros_is_nobody_in_particular_and_traits_are_local():
    base = SUBJECTS.take(slice(0, 1))
    values = base.values.copy()
    values[:, IDENTITY_COLUMNS] = 0
    wide = values.copy()
    wide[:, IDENTITY_COLUMNS[IDENTITY.index("nose_tip")]] = 2.0
    p = [parameters(WORLD.model.solve(base), v[:, IDENTITY_COLUMNS])[0].values for v in (values, wide)]
    moved = np.abs(rest_shape(p[1]) - rest_shape(p[0])).max(1)
    far = np.abs(asset().mean - np.array([0, -0.6, 0.4])).max(1) > 0.8
    assert moved.max() > 0.02
    assert moved[far].max() < 0.002


def test_loops_are_compiled_where_no_cache_can_be_written(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    @compiled
    def double(values):
        for i in range(values.shape[0]):
            values[i] *= 2

    values = np.arange(3, dtype=np.float32)
    double(values)
    assert values.tolist() == [0, 2, 4]


@pytest.mark.parametrize("soft", [0.0, 1.0])
def test_a_shadow_is_as_soft_as_what_casts_it_is_far(soft):
    lamp = np.zeros((10, 3), np.float32)
    lamp[0, 2], lamp[5], lamp[6:9] = 1, [soft, 32, 0.05], np.eye(3)

    def widths(above):
        """Between where nine tenths and where one tenth of the light arrives at a plane, from an edge over it."""
        shadow = np.full((256, 256), -0.01, np.float32)
        shadow[:, 128:] = above
        lit = []
        for x in np.arange(-1, 1, 1 / 32, dtype=np.float32):
            at = np.zeros(21, np.float32)
            at[5], at[6], at[20] = 1, x, 1
            lit.append(_reached(at, lamp, shadow, np.float32(1)))
        assert [lit[0], lit[-1]] == pytest.approx([1, 0], abs=1e-6)
        return (np.sum(np.array(lit) > 0.1) - np.sum(np.array(lit) > 0.9)) / 32

    # A round lamp of radius r, seen as .10 + .24 soft at distance 1, leaves 1.37 r of shade between these shares.
    radius = 0.10 + 0.24 * soft
    assert widths(1.5) == pytest.approx(1.37 * radius * 1.5, rel=0.35)
    assert widths(0.4) < 0.75 * widths(1.5)
