"""Hats: what each covers and shades, by the renderer's own masks and pictures. Geometry in face units, from farther off."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from transect.generators.faceworld.attributes import HAIR_STYLES, HATS, IDENTITY
from transect.generators.faceworld.canvas import CENTER_Y, HALF_EXTENT
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.hats import hat_traits
from transect.generators.faceworld.world import FaceWorld

SIZE, DISTANCE = 96, 1.2
WORLD = FaceWorld(image_size=SIZE, threads=1)
PLAIN = {"hat": 0.0, "baldness": 0.0, "bangs": 0.0, "facial_hair": 0.0, "glasses": 0.0, "earrings": 0.0, "yaw": 0.0,
         "pitch": 0.0, "roll": 0.0, "distance": DISTANCE, "face_shape": 0.5, "age": 30.0, "hair_volume": 0.0,
         "light_azimuth": 0.0, "light_elevation": 40.0, "hair_style": 5.0, "hair_length": 1.0, "blur": 0.0}  # fmt: skip
SUBJECTS = WORLD.set(WORLD.sample(range(4)), PLAIN)
# All wear their hats at the same height: the rim lies at -.42 on the middle of the forehead.
SUBJECTS.values[:, IDENTITY_COLUMNS[IDENTITY.index("hat_height")]] = 0.0
HALF = DISTANCE * HALF_EXTENT
AXIS = (np.arange(SIZE) + 0.5) * (2 * HALF / SIZE) - HALF
X, Y = np.meshgrid(AXIS, AXIS + CENTER_Y)
WORN = [float(level) for level in range(1, len(HATS))]


def worn(name, **settings):
    return WORLD.set(SUBJECTS, {"hat": float(HATS.index(name))} | settings)


@cache
def masks(name, **settings):
    """All masks of the plain subjects under that hat."""
    return WORLD.masks(worn(name, **settings))


def seen(name, mask, **settings):
    """[n, h, w]: a mask of the plain subjects under that hat."""
    return masks(name, **settings)[mask]


def shaded(name, region, **settings):
    """How bright the face is in a region under that hat, relative to the face without, for each subject."""
    face = region & seen(name, "face", **settings)
    with_hat, bare = (WORLD.render(worn(each, **settings)).pixels.astype(float) for each in (name, "none"))
    return np.array([a[mask].mean() / b[mask].mean() for a, b, mask in zip(with_hat, bare, face, strict=True)])


def test_every_level_is_one_trait():
    traits = hat_traits({"hat": np.arange(len(HATS)) * 1.0})
    assert (np.stack(list(traits.values())).sum(0) == [0, 1, 1, 1, 1, 1]).all()
    assert traits["scarfed"].tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("name", HATS[1:])
def test_a_hat_hides_the_hair_of_the_crown(name):
    crown = (Y < -0.88) & (np.abs(X) < 0.8)
    for style in ("coily", "bun", "straight"):
        assert not (seen(name, "hair", hair_style=float(HAIR_STYLES.index(style))) & crown).any(), style


@pytest.mark.parametrize("name", HATS[1:])
def test_a_hat_adds_to_the_person_and_leaves_the_middle_of_the_face(name):
    # A peak ends at -.45 + .17 = -.28.
    middle = (np.abs(X) < 0.24) & (Y > -0.02) & (Y < 0.48)
    face = seen(name, "face")
    assert face[:, middle].all()
    bare = seen("none", "person", hair_style=0.0)
    assert (seen(name, "person", hair_style=0.0) & ~bare).any((1, 2)).all()


def test_cap_beanie_and_brim_cover_the_hairline_and_leave_the_brows_of_most():
    # Hair begins at -.76.
    for name in ("cap", "beanie", "brimmed hat"):
        covered = ~seen(name, "face")
        assert covered[:, (np.abs(X) < 0.2) & (np.abs(Y + 0.66) < 0.05)].all(), name


def test_hood_and_headscarf_cover_the_ears_and_the_sides_of_the_neck():
    ears = (np.abs(np.abs(X) - 0.68) < 0.04) & (np.abs(Y - 0.05) < 0.1)
    neck = (np.abs(np.abs(X) - 0.50) < 0.04) & (np.abs(Y - 0.86) < 0.04)
    for name in ("hood", "headscarf"):
        # Tied hair would show them.
        skin = seen(name, "skin", hair_style=float(HAIR_STYLES.index("bun")))
        assert not skin[:, ears | neck].any(), name


def test_a_headscarf_hides_all_hair_and_a_hood_shows_some_at_the_forehead():
    for style in HAIR_STYLES:
        assert not seen("headscarf", "hair", hair_style=float(HAIR_STYLES.index(style)), bangs=1.0).any(), style
    assert seen("hood", "hair", bangs=1.0)[:, (np.abs(X) < 0.2) & (np.abs(Y + 0.55) < 0.05)].mean() > 0.8


def test_a_headscarf_closes_below_the_chin():
    # The longest chin ends at .89 * 1.07 = .95, and the scarf's opening at .88 * 1.07.
    below = (np.abs(X) < 0.3) & (Y > 0.99) & (Y < 1.1)
    assert not seen("headscarf", "skin")[:, below].any()
    assert seen("none", "skin")[:, below].mean() > 0.3


def test_a_brim_shades_what_lies_below_it_where_light_comes_from_above():
    """From .42 before the forehead, light at 40 degrees reaches down to the rim + .42 tan 40 = .35: to -.07."""
    brow = (np.abs(X) < 0.3) & (np.abs(Y + 0.20) < 0.06)
    cheek = (np.abs(np.abs(X) - 0.3) < 0.06) & (np.abs(Y - 0.30) < 0.06)
    below_rim = (np.abs(X) < 0.2) & (np.abs(Y + 0.05) < 0.03)
    for name in ("cap", "brimmed hat"):
        assert (shaded(name, brow) < 0.9).all(), name
        np.testing.assert_allclose(shaded(name, cheek), 1, atol=0.03)
        np.testing.assert_allclose(shaded(name, below_rim, light_elevation=-10.0), 1, atol=0.03)


def test_a_hats_opening_turns_with_the_head():
    """Of a head turned to the viewer's right the face lies farther right: so does what hood and scarf leave free."""
    for name in ("hood", "headscarf"):
        left, right = (seen(name, "face", yaw=yaw) for yaw in (-25.0, 25.0))
        centers = [(face * X).sum((1, 2)) / face.sum((1, 2)) for face in (left, right)]
        assert (centers[1] - centers[0] > 0.1).all(), name


def test_hats_change_neither_boxes_nor_landmarks():
    bare = WORLD.landmarks(SUBJECTS)
    boxes = WORLD.render(SUBJECTS).face_boxes
    for name in HATS[1:]:
        np.testing.assert_array_equal(WORLD.landmarks(worn(name)), bare)
        np.testing.assert_array_equal(WORLD.render(worn(name)).face_boxes, boxes)


def test_cloth_lies_over_the_arms_of_glasses_and_not_over_their_front():
    """Arms run at -.13 from the frame, at .27 + .19 = .46, to the ears; the scarf begins at .545 or before it."""
    arms = (np.abs(X) > 0.60) & (np.abs(Y + 0.13) < 0.12)
    front = (np.abs(X) < 0.45) & (np.abs(Y + 0.07) < 0.18)
    without, with_glasses = (WORLD.render(worn("headscarf", glasses=value)).pixels for value in (0.0, 1.0))
    changed = (without != with_glasses).any(-1)
    assert not changed[:, arms].any()
    assert changed[:, front].any(1).all()
