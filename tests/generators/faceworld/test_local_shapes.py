"""Shapes that are set in standard deviations move their own part of the head, by their name, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.mesh.asset import asset, vertices_of
from transect.generators.faceworld.mesh.shading import LEFT_EYE, RIGHT_EYE
from transect.generators.faceworld.mesh.shape import rest_shape
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.world import FaceWorld

WORLD = FaceWorld(image_size=64, threads=1)
SUBJECTS = WORLD.sample(range(30, 36))


def shapes(base=SUBJECTS, **values):
    """Vertices at rest [n, v, 3]."""
    latents = WORLD.set(base, values)
    p = parameters(WORLD.model.solve(latents), latents.values[:, IDENTITY_COLUMNS])
    return np.array([rest_shape(p[row].values) for row in range(len(latents))])


def marks(rest):
    """The 68 points [n, 68, 3]."""
    held = asset()
    return (rest[:, held.landmark_corners] * held.landmark_weights[..., None]).sum(2)


def wide(first, last):
    return lambda rest: marks(rest)[:, last, 0] - marks(rest)[:, first, 0]


def high(first, last):
    return lambda rest: marks(rest)[:, first, 1] - marks(rest)[:, last, 1]


def ear_height(rest):
    ear = (asset().regions["ears"] > 0.5) & (asset().mean[:, 0] > 0)
    return np.ptp(rest[:, ear, 1], axis=1)


def fold(rest):
    """How far the skin above the opening of the lids comes forward."""
    x, y = np.abs(asset().mean[:, 0]), asset().mean[:, 1]
    over = (np.abs(x - 0.5) < 0.15) & (np.abs(y - 0.1) < 0.05) & (asset().mean[:, 2] > 0.1)
    return -rest[:, over, 1].mean(1) + rest[:, over, 2].mean(1)


def cheeks(rest):
    """How far apart the cheekbones stand."""
    x, y, z = asset().mean.T
    bone = (np.abs(x) > 0.85) & (np.abs(x) < 1.07) & (np.abs(y + 0.55) < 0.25) & (np.abs(z + 0.12) < 0.25)
    return 2 * np.abs(rest[:, bone, 0]).mean(1)


# What grows with the value; and the box beyond which nothing moves on the mean head: largest |x|, lowest and highest y.
SHAPES = {
    "nose_width": (wide(31, 35), (0.60, -1.1, 0.2)),
    "nose_length": (high(27, 33), (0.60, -1.1, 0.2)),
    "lip_fullness": (high(51, 57), (0.50, -1.8, -0.8)),
    "eye_fold": (fold, (0.95, -0.4, 0.4)),
    "eye_size": (wide(42, 45), (1.0, -0.75, 0.45)),
    "jaw_width": (lambda rest: wide(4, 12)(rest) + high(27, 4)(rest), (1.4, -2.3, 1.9)),
    "chin": (high(57, 8), (1.15, -3.1, -0.7)),
    "cheekbones": (cheeks, (1.25, -1.2, 0.0)),
    "brow_ridge": (lambda rest: marks(rest)[:, 19, 2], (1.1, -0.1, 1.5)),
    "ear_size": (ear_height, (1.6, -1.8, 0.9)),
    "face_width": (wide(2, 14), (1.6, -3.1, 2.2)),
}
# How far brows, eyes, nose and mouth move at most, four standard deviations apart: the chin's end at the lip, the brows'.
INNER = {"jaw_width": 0.008, "chin": 0.008, "cheekbones": 0.002, "ear_size": 0.002, "face_width": 0.030}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_grows_by_its_name_and_moves_only_its_part(name):
    measure, (across, low, top) = SHAPES[name]
    small, middle, large = (shapes(**{name: value}) for value in (-2.0, 0.0, 2.0))
    assert (measure(middle) > measure(small) + 0.01).all()
    assert (measure(large) > measure(middle) + 0.01).all()
    moved = np.abs(large - small).max((0, 2))
    x, y = np.abs(asset().mean[:, 0]), asset().mean[:, 1]
    assert moved[(x > across) | (y < low) | (y > top)].max() < 0.004
    eyes = vertices_of(LEFT_EYE, RIGHT_EYE)
    assert moved[eyes].max() < (0.1 if name == "eye_size" else 1e-5)


@pytest.mark.parametrize("name", INNER)
def test_the_frame_of_the_face_leaves_brows_eyes_and_mouth(name):
    apart = marks(shapes(**{name: 2.0})) - marks(shapes(**{name: -2.0}))
    assert np.abs(apart[:, 17:68]).max() < INNER[name]


def test_a_shape_moves_everybody_alike_in_equal_steps():
    low, middle, top = (shapes(nose_width=value) for value in (-2.0, 0.0, 2.0))
    np.testing.assert_allclose(top - middle, middle - low, atol=1e-5)
    # Heads differ in their eyes' distance, to which all is scaled.
    apart = np.linalg.norm((top - low).reshape(len(low), -1), axis=1)
    assert np.ptp(apart) < 0.15 * apart.mean()


def test_people_have_a_mean_of_zero_and_a_standard_deviation_of_one():
    values = WORLD.read(WORLD.sample(range(3000)))
    for name in SHAPES:
        own = values[name].to_numpy()
        # Standard errors: .018 of the mean, .012 of the standard deviation.
        assert own.mean() == pytest.approx(0, abs=0.075)
        assert own.std() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_closing_eyes_takes_its_share_of_everybodys_opening(share):
    for smile in (0.0, 1.0):
        base = WORLD.set(SUBJECTS, {"smile": smile})
        for measure in (
            lambda rest: marks(rest)[:, 43:45, 1].mean(1) - marks(rest)[:, 46:48, 1].mean(1),
            lambda rest: marks(rest)[:, 37:39, 1].mean(1) - marks(rest)[:, 40:42, 1].mean(1),
        ):
            open_, closed = measure(shapes(base, eyes_closed=0.0)), measure(shapes(base, eyes_closed=share))
            np.testing.assert_allclose(closed, (1 - share) * open_, atol=2e-3)


@pytest.mark.parametrize(("name", "still"), [("eyes_closed", slice(48, 68)), ("brows_raised", slice(48, 68))])
def test_the_upper_face_moves_without_the_mouth(name, still):
    apart = marks(shapes(**{name: 1.0})) - marks(shapes(**{name: 0.0}))
    assert np.abs(apart[:, still]).max() < 0.01


def test_smiles_and_open_mouths_lean_a_little_to_the_persons_own_side():
    many = WORLD.set(WORLD.sample(range(40)), {"mouth_slant": 0.0})
    smile = marks(shapes(many, smile=1.0)) - marks(shapes(many, smile=0.0))
    left, right = smile[:, 48, 1], smile[:, 54, 1]
    lean = (right - left) / (right + left)
    assert 0.02 < lean.std() < 0.12
    assert abs(lean.mean()) < 0.04
    jaw = marks(shapes(many, mouth_open=1.0)) - marks(shapes(many, mouth_open=0.0))
    assert 0.003 < jaw[:, 8, 0].std() < 0.04
