"""What the photographer decides: whether the meter reads the scene or the face, and how much fill light there is."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.population import SHIPPED, load_population
from transect.generators.faceworld.reflectance import (
    COMMON_LUMINANCE,
    FILL,
    LUMINANCE,
    MAXIMUM_GAIN,
    decode_srgb,
    luminance,
    metered_exposure,
    skin_reflectance,
)
from transect.generators.faceworld.skin import AMBIENT, KEY
from transect.generators.faceworld.world import FaceWorld

TONES = np.array([1.0, 3.0, 5.0, 7.0, 9.0, 10.0])
STILL = {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "facial_hair": 0.0, "noise": 0.0, "blur": 0.0, "light_level": 0.0}


def exposure(skin_tone, metering, fill_light, light_level=0.0):
    return float(metered_exposure(np.array([skin_tone]), np.array([light_level]), metering, fill_light)[0])


def test_exposures_by_hand():
    # Skin of Monk 5 reflects Y = .4740. The scene: .44 * log2(3.83 / .4740) = 1.3263; half of the fill light makes the
    # face 1 + .58 as light, log2(1.58) = .6599 stops, of which .44 count: 1.3263 - .2904.
    assert exposure(5.0, 0.0, 0.0) == pytest.approx(1.3263, abs=1e-3)
    assert exposure(5.0, 0.0, 0.5) == pytest.approx(1.0359, abs=1e-3)
    # The face: .44 * log2(3.83 / .30) = 1.6167 where skin reflects .30, and log2(.312 / .486) = -.6394 more; fill light
    # in full.
    assert exposure(5.0, 1.0, 0.0) == pytest.approx(0.9773, abs=1e-3)
    assert exposure(5.0, 1.0, 0.5, light_level=-1.0) == pytest.approx(1.3174, abs=1e-3)


def test_both_meters_agree_on_one_skin_and_the_face_counts_more_on_all_others():
    tones = np.linspace(1, 10, 200)
    skin = luminance(skin_reflectance(tones))
    scene, face = (metered_exposure(tones, np.zeros(200), metering) for metering in (0.0, 1.0))
    assert (face[skin < COMMON_LUMINANCE - 0.01] > scene[skin < COMMON_LUMINANCE - 0.01]).all()
    assert (face[skin > COMMON_LUMINANCE + 0.01] < scene[skin > COMMON_LUMINANCE + 0.01]).all()


def test_the_gain_has_a_maximum_whatever_the_meter_reads():
    assert exposure(10.0, 1.0, 0.0, light_level=-6.0) == MAXIMUM_GAIN


def test_all_the_fill_light_makes_a_lighting_ratio_of_two_to_one():
    fill = AMBIENT + FILL
    assert (KEY + fill) / fill == pytest.approx(2.0, abs=0.01)


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


def test_with_fill_light_the_meter_darkens_what_is_behind_a_face():
    world = FaceWorld(image_size=64, threads=1)
    base = world.set(world.sample([4]), STILL | {"metering": 1.0})
    behind = world.masks(base)["background"][0]
    levels = [world.render(world.set(base, {"fill_light": f})).pixels[0][behind].mean() for f in (0.0, 0.5, 1.0)]
    assert levels[0] > levels[1] + 5 > levels[2] + 10


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != "face-metered"])
def test_other_populations_meter_the_scene_and_add_no_light(name):
    values = load_population(name).values(np.random.default_rng(0).standard_normal((500, len(NAMES))))
    assert (values[:, NAMES.index("metering")] == 0).all()
    assert (values[:, NAMES.index("fill_light")] == 0).all()


def test_in_face_metered_the_photographer_responds_to_dark_skin():
    world = FaceWorld(image_size=32, population="face-metered", threads=1)
    # Tone 8: metered on the face where 8 - 6 + z > 0, in 97.7 % (standard error .7 % of 500); half of the fill light.
    subjects = world.sample(np.arange(500))
    for tone, on_face, fill in ((2.0, 0.0, 0.0), (6.0, 0.5, None), (8.0, 0.977, 0.5), (10.0, 1.0, None)):
        values = world.read(world.set(subjects, {"skin_tone": tone}))
        assert values["metering"].to_numpy().mean() == pytest.approx(on_face, abs=0.07)
        if fill is not None:
            assert values["fill_light"].to_numpy().mean() == pytest.approx(fill, abs=0.02)


def test_the_camera_s_part_is_held_apart_from_tone():
    world = FaceWorld(image_size=32, population="face-metered", threads=1)
    light = world.set(world.sample([3]), {"skin_tone": 2.0})
    held = world.read(world.set(light, {"skin_tone": 9.0}, hold=["metering", "fill_light"]))
    assert (held["metering"][0].as_py(), held["fill_light"][0].as_py()) == (0.0, 0.0)
    free = world.read(world.set(light, {"skin_tone": 9.0}))
    assert free["metering"][0].as_py() == 1.0
    assert free["exposure"][0].as_py() != held["exposure"][0].as_py()
