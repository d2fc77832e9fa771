"""Masks over nose and mouth: what they cover on everybody, and that they change nothing but that and their shade."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import binary_erosion, binary_fill_holes, binary_opening

from transect.generators.faceworld.mesh.asset import asset
from transect.generators.faceworld.mesh.shape import CENTER, VIEW
from transect.generators.faceworld.mesh.worn import MASK_POINTS, face_mask
from transect.generators.faceworld.world import FaceWorld

SIZE, DISTANCE = 96, 1.0
WORLD = FaceWorld(image_size=SIZE, threads=1)
UPRIGHT = {
    "yaw": 0.0,
    "pitch": 0.0,
    "roll": 0.0,
    "distance": DISTANCE,
    "blur": 0.0,
    "light_elevation": 30.0,
    "glasses": 0.0,
}
SUBJECTS = WORLD.set(WORLD.sample(range(60, 66)), UPRIGHT)
# Distances between the eyes below them, as in test_locality.py.
DOWN = (((np.arange(SIZE) + 0.5) / SIZE - 0.5) * DISTANCE * VIEW - CENTER)[:, None]
LEVELS = (1.0, 2.0)


def worn(level, **values):
    return WORLD.set(SUBJECTS, {"face_mask": level, **values})


def covered(latents):
    return WORLD.masks(latents, further=("face_mask",))["face_mask"]


@pytest.mark.parametrize("level", LEVELS)
def test_it_changes_only_what_it_covers_and_the_skin_and_clothes_below_the_eyes(level):
    bare, masked = worn(0.0), worn(level)
    reached = (WORLD.render(bare).pixels != WORLD.render(masked).pixels).any(-1)
    cover, before = covered(masked), WORLD.masks(bare)
    assert not covered(bare).any()
    # Its top lies .2 below the eyes. Loops go to the ears' tops, .05 above the eyes; under the skin their shade spreads
    # over four vertices, about .5.
    shade = before["person"] & ~before["eyes"] & (DOWN > -0.60)
    # Hair over a loop lets it through, and is hair.
    hidden = covered(WORLD.set(masked, {"hair_style": 0.0, "hat": 0.0})) & before["hair"]
    assert not (reached & ~cover & ~hidden & ~shade).any()
    assert not (cover & (DOWN < -0.25)).any()
    assert (reached & cover).sum() > 0.95 * cover.sum()
    assert (reached & shade & ~cover).any((1, 2)).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "values",
    [
        {"smile": 1.0, "mouth_open": 1.0},
        {"nose_length": 2.5, "nose_width": 2.5, "chin": 2.5, "face_width": -2.5},
        {"chin": -2.5, "jaw_width": -2.5, "face_width": 2.5, "lip_fullness": 2.5},
        {"face_width": -2.5, "cheekbones": 2.5},
        {"yaw": -45.0},
        {"yaw": 45.0, "pitch": 20.0},
    ],
)
def test_it_hides_the_tip_of_the_nose_the_mouth_and_the_chin_of_everybody(level, values):
    latents = worn(level, bangs=0.0, hair_length=0.0, hair_style=1.0, **values)
    drawn, points = WORLD.masks(latents, further=("face_mask",)), WORLD.landmarks(latents).astype(int)
    assert not drawn["mouth"].any()
    for row, face in enumerate(points):
        x, y = face[[*range(30, 36), *range(48, 68)]].T
        assert drawn["face_mask"][row, y, x].all()
        cloth = binary_opening(drawn["face_mask"][row], iterations=2)  # without its loops
        np.testing.assert_array_equal(binary_fill_holes(cloth), cloth)
        x, y = face[8]  # the lowest point of the chin lies at its edge
        assert "yaw" in values or drawn["face_mask"][row, y - 2 : y + 1, x].any()
        assert not (drawn["face"] & drawn["face_mask"] & ~edge(drawn["face_mask"])).any()


def edge(mask):
    """Pixels that it covers in part, and those beside them."""
    return mask & ~binary_erosion(mask, np.ones((1, 3, 3)), iterations=2)


def test_points_and_boxes_stay():
    bare, masked = worn(0.0), worn(1.0)
    np.testing.assert_array_equal(WORLD.landmarks(bare), WORLD.landmarks(masked))
    np.testing.assert_array_equal(WORLD.render(bare).face_boxes, WORLD.render(masked).face_boxes)


def test_a_beard_under_it_is_hidden_and_goes_on_below_it():
    shaven, bearded = (worn(1.0, facial_hair=amount, facial_hair_style=3.0, glasses=0.0) for amount in (0.0, 1.0))
    reached = (WORLD.render(shaven).pixels != WORLD.render(bearded).pixels).any(-1)
    cover = covered(bearded)
    assert not (reached & cover & ~edge(cover)).any()
    assert (reached & ~cover).any((1, 2)).all()


def test_hair_of_the_head_lies_over_its_loops():
    shaven, long = (covered(worn(1.0, hair_style=style, hair_length=1.0, hat=0.0)) for style in (0.0, 5.0))
    assert (shaven & ~long).sum() > 20
    assert not (long & ~shaven).any()


def test_colors_are_the_persons_own():
    surgical, cloth = (
        np.array([face_mask(asset().mean, kind, seed).albedo[:MASK_POINTS].max(0) for seed in range(30)])
        for kind in (1, 2)
    )
    assert (surgical[:, 2] > surgical[:, 0]).all()  # blue
    assert 0 < surgical.std(0).max() < 0.05
    assert len({tuple(color.round(3)) for color in cloth}) == 30
    assert cloth.std(0).min() > 0.1
    np.testing.assert_array_equal(face_mask(asset().mean, 2, 7).albedo, face_mask(asset().mean, 2, 7).albedo)


@pytest.mark.parametrize("population", ["balanced", "celebrity-like", "parliament-like", "scene-metered"])
def test_nobody_of_a_population_wears_one_and_heads_turn_as_far_as_before(population):
    values = FaceWorld(32, population=population).read(WORLD.sample(range(4_000)))
    assert not values["face_mask"].to_numpy().any()
    assert np.abs(values["yaw"].to_numpy()).max() <= 35
