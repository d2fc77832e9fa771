"""What a setting does not reach stays bitwise equal. Each mask is derived by hand from the geometry, exposure held."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.head import CENTER_Y, HALF_EXTENT
from transect.generators.faceworld.world import FaceWorld

SIZE = 96
WORLD = FaceWorld(image_size=SIZE, threads=1)
UPRIGHT = {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "glasses": 0.0, "earrings": 0.0}
SEEDS = [1, 2, 3, 4]

AXIS = (np.arange(SIZE) + 0.5) * (2 * HALF_EXTENT / SIZE) - HALF_EXTENT
X, Y = np.meshgrid(AXIS, AXIS + CENTER_Y)


def pair(low, high, **settings):
    """The same subjects at two settings, all else and the exposure held: [n, h, w, 3] each."""
    base = WORLD.set(WORLD.sample(SEEDS), UPRIGHT | settings)
    return [WORLD.render(WORLD.set(base, values, hold=["exposure"])).pixels for values in (low, high)]


def changed(low, high):
    """[h, w]: where any subject's pixel differs."""
    return (low != high).any(axis=(0, 3))


def assert_only_within(mask, low, high):
    """Nothing changes outside the mask, something inside it in every picture."""
    assert not (changed(low, high) & ~mask).any()
    assert all((a != b).any() for a, b in zip(low, high, strict=True))


def test_glasses_reach_only_the_glasses():
    # Lenses: centers at most .27 * 1.2 from the middle, .185 wide, .140 high, a rim of .02; arms reach the ears at .70
    # at the height of the eyes (-.13). The plane lies before the face; upright, x and y are the picture's own.
    lenses = (np.abs(X) < 0.33 + 0.185 + 0.05) & (np.abs(Y + 0.07) < 0.140 + 0.06)
    arms = (np.abs(X) < 0.72) & (np.abs(Y + 0.13) < 0.06)
    assert_only_within(lenses | arms, *pair({"glasses": 0.0}, {"glasses": 1.0}))


def test_skin_tone_leaves_background_clothes_and_irises():
    low, high = pair({"skin_tone": 2.0}, {"skin_tone": 9.0}, smile=0.0, age=25.0)
    reached = changed(low, high)
    # Head and ears: half width at most .62 * 1.15 + .1, from the crown at -1.1 down; neck: half width at most .55 above
    # the collar at 1.25.
    head = (np.abs(X) < 0.82) & (Y > -1.15) & (Y < 0.98)
    neck = (np.abs(X) < 0.62) & (Y >= 0.9) & (Y < 1.26)
    assert not (reached & ~(head | neck)).any()
    assert not reached[(Y > 1.26)].any()
    assert reached[(np.abs(X) < 0.1) & (np.abs(Y - 0.75) < 0.05)].all()


def test_skin_tone_leaves_the_irises():
    # Irises have a radius of .058; a pixel is .027 wide. Within .03 of the pupil's center (up to .02 above the eye's
    # line, up to .03 in and out for spacing) a pixel of the iris is covered in full.
    low, high = pair({"skin_tone": 2.0}, {"skin_tone": 9.0}, smile=0.0, age=25.0, light_level=0.0)
    for before, after in zip(low, high, strict=True):
        same = (before == after).all(-1)
        for side in (-1, 1):
            eye = (np.abs(X - side * 0.27) < 0.09) & (np.abs(Y + 0.10) < 0.05)
            # At the least the inner half of the disc: pi * .03² / .027² = 3.9 pixels.
            assert (same & eye).sum() >= 4


def test_earrings_reach_only_below_the_ears():
    # Ears hang at .613 * (1 ± .055) at y = .03; rings of .042 * 1.35 at .18 below, drawn in the ear's frame.
    below = (np.abs(np.abs(X) - 0.62) < 0.16) & (np.abs(Y - 0.21) < 0.16)
    assert_only_within(below, *pair({"earrings": 0.0}, {"earrings": 1.0}, hair_length=0.0))


def test_lipstick_reaches_only_the_lips():
    # Half width at most .2 + .03 + .055, lips between .505 - .17 and .505 + .2 for a closed mouth.
    lips = (np.abs(X) < 0.33) & (np.abs(Y - 0.51) < 0.2)
    assert_only_within(lips, *pair({"lipstick": 0.0}, {"lipstick": 1.0}, mouth_open=0.0))


def test_facial_hair_leaves_the_upper_face():
    # It grows below .43 - .75 (|x| - .27): on the widest face, |x| = .70, from y = .107, less .07 for the ragged edge.
    reach = (Y > 0.0) & (np.abs(X) < 0.8)
    assert_only_within(reach, *pair({"facial_hair": 0.0}, {"facial_hair": 1.0}))


def test_eye_color_reaches_only_the_eyes():
    eyes = (np.abs(np.abs(X) - 0.27) < 0.14) & (np.abs(Y + 0.10) < 0.11)
    assert_only_within(eyes, *pair({"eye_color": 0.0}, {"eye_color": 1.0}, age=25.0))


def test_clothing_reaches_only_below_the_collar():
    for name in ("clothing_hue", "clothing_lightness"):
        assert_only_within(Y > 0.95, *pair({name: 0.1}, {name: 0.6}))


def test_background_leaves_the_face():
    for name in ("background_hue", "background_lightness"):
        face = (X / 0.5) ** 2 + ((Y - 0.05) / 0.7) ** 2 < 1
        assert_only_within(~face, *pair({name: 0.1}, {name: 0.6}))


@pytest.mark.parametrize("name", ["smile", "mouth_open", "makeup"])
def test_expression_and_makeup_stay_on_the_face(name):
    face = (np.abs(X) < 0.75) & (Y > -1.1) & (Y < 0.98)
    assert_only_within(face, *pair({name: 0.0}, {name: 1.0}))


@pytest.mark.parametrize("name", ["hair_color", "hair_length", "bangs", "baldness", "hair_volume"])
def test_hair_leaves_nose_and_mouth(name):
    # Bangs end above the eyes and curtains hang beside |x| = .4; brows have the hair's color, from -.45 to -.2.
    nose_and_mouth = (np.abs(X) < 0.2) & (Y > -0.03) & (Y < 0.6)
    low, high = next(a.bounds for a in ATTRIBUTES if a.name == name)
    assert_only_within(~nose_and_mouth, *pair({name: low}, {name: high}, facial_hair=0.0))


@pytest.mark.parametrize("name", [a.name for a in ATTRIBUTES if a.name != "earrings"])
def test_every_attribute_changes_the_picture(name):
    attribute = next(a for a in ATTRIBUTES if a.name == name)
    low, high = attribute.bounds
    # Hues are circular: not from end to end.
    ends = (low, high if attribute.discrete else low + 0.6 * (high - low))
    base = WORLD.set(WORLD.sample(SEEDS), {"facial_hair": 0.0})
    before, after = (WORLD.render(WORLD.set(base, {name: value})).pixels for value in ends)
    assert all((a != b).any() for a, b in zip(before, after, strict=True))


def test_setting_a_value_that_the_subject_has_changes_nothing():
    latents = WORLD.sample(SEEDS)
    own = WORLD.read(latents)
    again = WORLD.set(latents, {name: own[name] for name in own.column_names})
    np.testing.assert_array_equal(WORLD.render(latents).pixels, WORLD.render(again).pixels)
