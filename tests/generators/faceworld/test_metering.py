"""What the photographer decides: whether the meter reads the scene or the face, and how much fill light there is."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.reflectance import (
    LUMINANCE,
    decode_srgb,
    metered_exposure,
)
from transect.generators.faceworld.world import FaceWorld

TONES = np.array([1.0, 3.0, 5.0, 7.0, 9.0, 10.0])
STILL = dict.fromkeys(("yaw", "pitch", "roll", "facial_hair", "noise", "blur", "light_level", "fill_light"), 0.0)


def exposure(skin_tone, metering, fill_light, light_level=0.0):
    return float(metered_exposure(np.array([skin_tone]), np.array([light_level]), metering, fill_light)[0])


def test_exposures_by_hand():
    # Skin of Monk 5 reflects Y = .4740. The scene: .58 * log2(.51 / .4738) = .0616; half of the fill light makes the
    # face 1 + .58 as light, log2(1.58) = .6599 stops, of which .58 count: .0616 - .3828.
    assert exposure(5.0, 0.0, 0.0) == pytest.approx(0.0616, abs=1e-3)
    assert exposure(5.0, 0.0, 0.5) == pytest.approx(-0.3212, abs=1e-3)
    # The face: .58 * log2(.51 / .30) = .4440 where skin reflects .30, and log2(.312 / .486) = -.6388 more; fill light
    # in full.
    assert exposure(5.0, 1.0, 0.0) == pytest.approx(-0.1948, abs=1e-3)
    assert exposure(5.0, 1.0, 0.5, light_level=-1.0) == pytest.approx(0.1453, abs=1e-3)


def cheeks(world, latents):
    """Median luminance of the left cheek of each picture of 64 pixels."""
    pixels = world.render(latents).pixels[:, 34:40, 20:26]
    return np.median(decode_srgb(pixels / 255) @ LUMINANCE, axis=(1, 2))


def test_metered_on_the_face_every_tone_is_exposed_alike():
    world = FaceWorld(image_size=64, threads=1)
    base = world.set(world.sample(np.full(len(TONES), 4)), STILL | {"skin_tone": TONES.tolist()})
    scene, face = (cheeks(world, world.set(base, {"metering": metering})) for metering in (0.0, 1.0))
    assert scene.max() > 1.8 * scene.min()
    assert face.max() < 1.2 * face.min()


def test_fill_light_reaches_the_person_and_not_the_background():
    world = FaceWorld(image_size=64, threads=1)
    dim = world.set(world.sample([4]), STILL)
    filled = world.set(dim, {"fill_light": 1.0}, hold=["exposure"])
    before, after = (world.render(latents).pixels[0].astype(int) for latents in (dim, filled))
    masks = world.masks(dim)
    np.testing.assert_array_equal(before[masks["background"][0]], after[masks["background"][0]])
    assert (after - before)[masks["skin"][0]].min() >= 0
    assert (after - before)[masks["skin"][0]].mean() > 20


def test_in_balanced_the_photographer_responds_to_dark_skin():
    world = FaceWorld(image_size=32, threads=1)
    # Tone 10: metered on the face where 5 - 5.5 + z > 0, in 30.9 % (standard error 2.1 % of 500). Tone 6: half of the
    # fill light.
    subjects = world.sample(np.arange(500))
    for tone, on_face, fill in ((2.0, 0.0, 0.0), (6.0, 0.006, 0.5), (8.5, 0.106, None), (10.0, 0.309, 1.0)):
        values = world.read(world.set(subjects, {"skin_tone": tone}))
        assert values["metering"].to_numpy().mean() == pytest.approx(on_face, abs=0.07)
        if fill is not None:
            assert values["fill_light"].to_numpy().mean() == pytest.approx(fill, abs=0.02)


@pytest.mark.parametrize("population", ["celebrity-like", "parliament-like"])
def test_other_populations_take_the_response_from_balanced(population):
    world = FaceWorld(image_size=32, population=population, threads=1)
    values = world.read(world.set(world.sample(np.arange(50)), {"skin_tone": 10.0}))
    assert 0.1 < values["metering"].to_numpy().mean() < 0.6
    assert values["fill_light"].to_numpy().min() > 0.9


def test_in_scene_metered_nobody_responds_to_dark_skin():
    world = FaceWorld(image_size=32, population="scene-metered", threads=1)
    values = world.read(world.set(world.sample(np.arange(50)), {"skin_tone": 10.0}))
    assert values["metering"].to_numpy().max() == values["fill_light"].to_numpy().max() == 0


def test_the_camera_s_part_is_held_apart_from_tone():
    world = FaceWorld(image_size=32, threads=1)
    light = world.set(world.sample([3]), {"skin_tone": 2.0})
    held = world.read(world.set(light, {"skin_tone": 9.0}, hold=["metering", "fill_light"]))
    assert (held["metering"][0].as_py(), held["fill_light"][0].as_py()) == (0.0, 0.0)
    free = world.read(world.set(light, {"skin_tone": 9.0}))
    assert free["fill_light"][0].as_py() > 0.9
    assert free["exposure"][0].as_py() != held["exposure"][0].as_py()
