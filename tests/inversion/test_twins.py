"""Twins of pictures whose settings are known: FaceWorld's own, as if they were photographs."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.world import FaceWorld
from transect.inversion.twins import interocular, latents_of, placed, skin_colors, twin


@pytest.fixture(scope="module")
def world():
    return FaceWorld(image_size=64, threads=1)


@pytest.fixture(scope="module")
def known(world):
    """A bare face with everything of it known, and the photograph of twice the size, moved by (7, 4) pixels."""
    code = np.random.default_rng(3).normal(size=len(IDENTITY))
    settings = {
        "yaw": 9.0, "pitch": -5.0, "roll": 6.0, "smile": 0.5, "skin_tone": 7.0, "light_azimuth": 30.0, "hat": 0.0,
        "glasses": 0.0, "baldness": 1.0, "noise": 0.0, "jpeg_quality": 100.0, "bangs": 0.0, "facial_hair": 0.0,
    }  # fmt: skip
    latents = latents_of(settings, code)
    pixels = world.render(latents).pixels[0]
    large = np.asarray(Image.fromarray(pixels).resize((128, 128), Image.Resampling.BILINEAR))
    photograph = np.pad(large, ((4, 9), (7, 2), (0, 0)), mode="edge")
    return settings, photograph, 2 * world.landmarks(latents)[0] + np.array([7.0, 4.0])


@pytest.fixture(scope="module")
def found(world, known):
    return twin(known[1], known[2], world)


@pytest.mark.integration
def test_the_pose_and_the_landmarks_are_found_again(world, known, found):
    assert all(abs(found.settings[angle] - known[0][angle]) < 2.0 for angle in ("yaw", "pitch", "roll"))
    (twins,) = world.landmarks(found.latents)
    scale, shift = placed(twins[None], known[2])
    away = np.sqrt(((scale * twins + shift - known[2]) ** 2).sum(axis=1).mean())
    assert away / interocular(known[2]) < 0.01
    assert found.settings["smile"] == pytest.approx(0.5, abs=0.25)


@pytest.mark.integration
def test_tone_and_light_are_near(world, known, found):
    shown = skin_colors(world.render(found.latents).pixels[0], world.landmarks(found.latents)[0])
    assert np.sqrt(np.nanmean((shown - skin_colors(known[1], known[2])) ** 2)) < 0.05
    assert found.settings["skin_tone"] == pytest.approx(7.0, abs=1.5)
    assert found.settings["light_azimuth"] > 10  # from the same side


def test_placement_by_hand():
    """A square of side 2 about (1, 1), and the same three times as large about (10, 20)."""
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]] * 17)
    scale, shift = placed(square[None], 3 * (square - 1) + np.array([10.0, 20.0]))
    assert scale.tolist() == pytest.approx([3.0])
    assert shift[0].tolist() == pytest.approx([7.0, 17.0])


def test_places_beyond_the_picture_have_no_color(known):
    points = known[2] + np.array([1000.0, 0.0])
    assert np.isnan(skin_colors(known[1], points)).all()
