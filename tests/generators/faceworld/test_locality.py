"""What a setting does not reach stays bitwise equal. Each mask is derived by hand from the geometry, exposure held."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.mesh.shape import CENTER, VIEW
from transect.generators.faceworld.world import FaceWorld

SIZE = 96
WORLD = FaceWorld(image_size=SIZE, threads=1)
SEEDS = [1, 2, 3, 4]
MANY = range(10, 14)

# From farther off, so that hair and clothes are in the picture.
DISTANCE = 1.2
AXIS = ((np.arange(SIZE) + 0.5) / SIZE - 0.5) * DISTANCE * VIEW
# Distances between the eyes, from their middle, downwards: the chin lies at about 1.9, the ears at 1.2 to either side.
X, Y = np.meshgrid(AXIS, AXIS - CENTER)


def masks(name, *latents):
    """[n, h, w]: where the mask of that name holds for any of the latents."""
    return np.any([WORLD.masks(row)[name] for row in latents], axis=0)


def settled(low, high, **settings):
    """Latents at two settings and their pictures."""
    base = WORLD.set(WORLD.sample(MANY), {"distance": DISTANCE, "blur": 0.0} | settings)
    latents = [WORLD.set(base, values, hold=["exposure", "metering", "fill_light"]) for values in (low, high)]
    return latents, [WORLD.render(row).pixels for row in latents]


def assert_reaches_only(mask, pictures, everywhere=True):
    reached = (pictures[0] != pictures[1]).any(-1)
    assert not (reached & ~mask).any()
    assert reached.any((1, 2)).all() if everywhere else reached.any()


@pytest.mark.parametrize("level", [1.0, 2.0, 3.0, 4.0])
def test_glasses_reach_only_their_mask_and_their_shade(level):
    latents, pictures = settled({"glasses": 0.0}, {"glasses": level})
    # Frames cast a soft shade on the skin behind and below them, but none on what lies behind the person.
    shade = masks("person", latents[0]) & (Y > -1.3) & (Y < 1.6)
    assert_reaches_only(masks("glasses", latents[1]) | shade, pictures)
    assert not masks("glasses", latents[0]).any()


def test_skin_tone_leaves_background_clothes_and_irises():
    latents, pictures = settled({"skin_tone": 2.0}, {"skin_tone": 9.0}, hat=0.0, pitch=0.0, roll=0.0)
    reached = (pictures[0] != pictures[1]).any(-1)
    assert not (reached & masks("background", latents[0])).any()
    # Clothes begin at 2.62 or above it but for the middle, where necklines are open: at most .75 wide on either side.
    clothes = (Y > 2.75) & (np.abs(X) > 1.3)
    assert not reached[:, clothes].any()
    skin = masks("skin", latents[0])
    assert (reached & skin).sum() > 0.95 * skin.sum()


def test_skin_tone_leaves_the_irises():
    latents, pictures = settled({"skin_tone": 2.0}, {"skin_tone": 9.0}, smile=0.0, age=25.0, hat=0.0, bangs=0.0)
    eyes = masks("eyes", latents[0])
    colored = [WORLD.render(WORLD.set(latents[0], {"eye_color": value})).pixels for value in (0.0, 1.0)]
    iris = (colored[0] != colored[1]).any(-1) & eyes
    same = (pictures[0] == pictures[1]).all(-1)
    # An iris has a radius of about .1 and a pixel a width of .06; mixed with sclera or lid are those at its edge.
    assert ((same & iris).sum((1, 2)) >= 4).all()


@pytest.mark.parametrize(("name", "mask"), [("eye_color", "eyes"), ("gaze", "eyes"), ("lipstick", "mouth")])
def test_parts_of_the_face_reach_only_their_mask(name, mask):
    latents, pictures = settled({name: 0.0}, {name: 1.0}, hat=0.0, facial_hair=0.0, glasses=0.0)
    assert_reaches_only(masks(mask, *latents), pictures)


@pytest.mark.parametrize("name", ["background_hue", "background_lightness", "background"])
def test_the_background_leaves_the_person(name):
    latents, pictures = settled({name: 0.0}, {name: 1.0 if name == "background" else 0.6}, yaw=0.0)
    # Edges of the person let the background through; where it is covered in full nothing changes.
    inner = (X / 0.8) ** 2 + ((Y - 0.2) / 1.1) ** 2 < 1
    reached = (pictures[0] != pictures[1]).any(-1)
    assert not (reached & inner).any()
    assert (reached & masks("background", latents[0])).any((1, 2)).all()


@pytest.mark.parametrize("name", ["clothing_hue", "clothing_lightness", "clothing", "clothing_pattern"])
def test_clothing_reaches_only_below_the_chin(name):
    discrete = next(a.discrete for a in ATTRIBUTES if a.name == name)
    latents, pictures = settled({name: 0.0}, {name: 2.0 if discrete else 0.6})
    # The highest collar starts at 1.92 on the mean head, behind the neck; its shade falls on the jaw.
    assert_reaches_only(np.broadcast_to(Y > 1.0, pictures[0].shape[:3]), pictures)
    assert not ((pictures[0] != pictures[1]).any(-1) & masks("background", *latents)).any() or name == "clothing"


@pytest.mark.integration
@pytest.mark.parametrize("name", ["hair_style", "hair_color", "hair_redness", "hair_length", "bangs", "hair_volume"])
def test_hair_leaves_the_background_and_the_middle_of_the_face(name):
    low, high = next(a.bounds for a in ATTRIBUTES if a.name == name)
    fixed = {"facial_hair": 0.0, "hat": 0.0, "age": 25.0, "baldness": 0.0, "hair_style": 4.0, "hair_color": 0.5}
    latents, pictures = settled({name: low}, {name: high}, **{k: v for k, v in fixed.items() if k != name})
    outside = np.all([WORLD.masks(row)["background"] for row in latents], axis=0)
    nose_and_mouth = (np.abs(X) < 0.28) & (Y > 0.3) & (Y < 1.1)
    faint = np.abs(pictures[0].astype(int) - pictures[1]).max(-1, keepdims=True) <= 1  # of the shade that hair casts
    assert_reaches_only(~outside & ~nose_and_mouth, [pictures[0], np.where(faint, *pictures)])


@pytest.mark.parametrize("style", [0.0, 3.0])
def test_facial_hair_leaves_the_upper_face_and_the_background(style):
    upright = {"pitch": 0.0, "roll": 0.0, "glasses": 0.0}
    latents, pictures = settled({"facial_hair": 0.0}, {"facial_hair": 1.0}, facial_hair_style=style, **upright)
    outside = np.all([WORLD.masks(row)["background"] for row in latents], axis=0)
    # It grows from .5 below the eyes, before the ears.
    assert_reaches_only(~outside & (Y > 0.2) & (np.abs(X) < 1.6), pictures)


def test_earrings_reach_only_below_the_ears():
    _, pictures = settled({"earrings": 0.0}, {"earrings": 1.0}, hair_style=1.0, yaw=0.0, roll=0.0, pitch=0.0)
    # Lobes lie at 1.22 to either side, .82 below the eyes; rings of radius .23 hang from them.
    below = (np.abs(np.abs(X) - 1.2) < 0.40) & (np.abs(Y - 1.05) < 0.50)
    assert_reaches_only(np.broadcast_to(below, pictures[0].shape[:3]), pictures)


@pytest.mark.parametrize(("name", "end"), [("smile", 9), ("mouth_open", 9), ("makeup", 2.2)])
def test_expression_and_makeup_stay_on_the_head_and_the_shade_of_its_chin(name, end):
    latents, pictures = settled({name: 0.0}, {name: 1.0})
    outside = np.all([WORLD.masks(row)["background"] for row in latents], axis=0)
    # The chin's shade falls on neck and shoulders; the chin drops with the jaw.
    assert_reaches_only(~outside & (end > Y), pictures)


@pytest.mark.integration
@pytest.mark.parametrize("name", [a.name for a in ATTRIBUTES if a.name != "earrings"])
def test_every_attribute_changes_the_picture(name):
    attribute = next(a for a in ATTRIBUTES if a.name == name)
    low, high = attribute.bounds
    # Hues are circular: not from end to end.
    ends = (low, high if attribute.discrete else low + 0.6 * (high - low))
    worn = {
        "facial_hair": 0.8 if name == "facial_hair_style" else 0.0,
        "hair_style": 4.0,
        "hat": 0.0,
        "age": 30.0,
        "distance": 1.2,
    }
    base = WORLD.set(WORLD.sample(SEEDS), worn | {"baldness": 0.0, "glasses": 0.0})
    before, after = (WORLD.render(WORLD.set(base, {name: value})).pixels for value in ends)
    assert all((a != b).any() for a, b in zip(before, after, strict=True))


def test_setting_a_value_that_the_subject_has_changes_nothing():
    latents = WORLD.sample(SEEDS)
    values = WORLD.read(latents)
    again = WORLD.set(latents, {name: values[name] for name in values.column_names})
    np.testing.assert_array_equal(WORLD.render(latents).pixels, WORLD.render(again).pixels)
