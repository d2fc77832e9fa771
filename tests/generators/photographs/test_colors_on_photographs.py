"""Colors of skin and hair on photographs: hues, roots, what is no hair, and how far hair may be colored."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from rendered_marks import rendered, sitters

from transect import generators
from transect.errors import BadInput
from transect.generators.faceworld.world import own_marks
from transect.generators.photographs.appearance.colors import front_of, lips_of, own_hair
from transect.generators.photographs.appearance.faces import Face, face_of, scene_of
from transect.generators.photographs.appearance.sitters import Sitting
from transect.generators.photographs.attributes import Edits
from transect.marks import Marks


def faces_of(count, size, **values):
    """Rendered faces with their exact marks."""
    world, latents = rendered(count, size, **values)
    marks, pictures = own_marks(world, latents), world.render(latents).pixels
    return [(face_of(marks.take(np.array([row])), 0.5, picture), picture) for row, picture in enumerate(pictures)]


def hues(picture, mask):
    """Red and blue over green of the median scene light."""
    red, green, blue = np.median(scene_of(picture[mask]), axis=0)
    return red / green, blue / green


def test_darker_skin_is_browner_and_lighter_skin_is_paler():
    for face, picture in faces_of(3, 128, skin_tone=np.array([4.0, 5.0, 6.0])):
        sitting, front = Sitting(picture, face, 0), front_of(face)
        shown = {step: sitting.dressed(Edits(skin_tone=sitting.skin.tone + step)) for step in (-1.5, 1.5)}
        (red, blue), (paler, bluer), (browner, yellower) = (hues(each, front) for each in (picture, *shown.values()))
        assert browner > red > paler
        assert yellower < blue < bluer


def test_shine_darkens_less_than_the_skin_around_it():
    ((face, picture),) = faces_of(1, 192, skin_tone=4.0)
    x, y = np.rint(face.points[[41, 3]].mean(axis=0)).astype(int)
    shining = cv2.circle(picture.copy(), (x, y), 4, (250, 244, 240), -1)
    sitting = Sitting(shining, face, 0)
    light = [scene_of(each).mean(axis=2) for each in (shining, sitting.dressed(Edits(skin_tone=sitting.skin.tone + 2)))]
    kept = light[1] / light[0]
    assert kept[y, x] > 1.15 * np.median(kept[front_of(face)])


def test_hair_is_as_light_as_its_level_says_and_roots_are_darker():
    for face, picture in faces_of(2, 192, age=30.0, skin_tone=5.0, hair_color=0.1, hair_style=5.0, hair_length=0.5):
        sitting = Sitting(picture, face, 0)
        level = sitting.hair_level + 0.3
        shown = sitting.dressed(Edits(hair_color=level))
        assert own_hair(shown, face) == pytest.approx(level, abs=0.08)
        weight, roots = np.zeros(picture.shape[:2]), np.zeros(picture.shape[:2])
        weight[sitting.hair.rows, sitting.hair.columns] = sitting.hair.weight
        roots[sitting.hair.rows, sitting.hair.columns] = sitting.hair.roots
        grown = scene_of(shown).mean(axis=2) / np.maximum(scene_of(picture).mean(axis=2), 1e-3)
        near, far = (weight > 0.95) & (roots > 0.5), (weight > 0.95) & (roots < 0.05)
        assert np.median(grown[near]) < np.median(grown[far])


def test_darker_hair_has_no_black_outline_and_no_light_islands():
    """A mask that holds background beside the hair and lacks a spot within it."""
    values = {"skin_tone": 5.0, "hair_color": 0.8, "hair_style": 5.0, "background": 0.0, "background_lightness": 0.4}
    ((face, picture),) = faces_of(1, 192, **values)
    own = face.masks["hair"]
    sure = cv2.erode((own > 0.95).astype(np.uint8), np.ones((9, 9), np.uint8)) > 0
    y, x = np.argwhere(sure)[sure.sum() // 2]
    masks = dict(face.masks)
    masks["hair"] = cv2.dilate(own, np.ones((7, 7), np.uint8)) * (1 - masks["skin"])
    masks["hair"][y - 1 : y + 2, x - 1 : x + 2] = 0
    sitting = Sitting(picture, Face(face.points, masks), 0)
    shown = sitting.dressed(Edits(hair_color=max(sitting.hair_level - 0.3, 0.0)))
    kept = scene_of(shown).mean(axis=2) / np.maximum(scene_of(picture).mean(axis=2), 1e-3)
    assert kept[y, x] < 1.2 * np.median(kept[sure])
    dilated = cv2.dilate(own, np.ones((5, 5), np.uint8))
    outside = (masks["hair"] > 0.95) & (dilated < 0.05) & (cv2.dilate(masks["skin"], np.ones((9, 9), np.uint8)) == 0)
    assert np.median(kept[outside]) > 0.82


def test_lipstick_is_told_by_the_red_of_lips_where_landmarks_are_off():
    for face, picture in faces_of(3, 192, smile=0.0, lipstick=0.6, skin_tone=np.array([2.0, 5.0, 7.0])):
        right, moved = face.lips(), face.points.copy()
        moved[48:68, 1] += 0.04 * face.width
        off = Face(moved, {**face.masks, "mouth": cv2.dilate(face.masks["mouth"], np.ones((7, 7), np.uint8))})
        found, lips = np.zeros_like(right), lips_of(picture, off)
        found[lips.rows, lips.columns] = lips.weight
        wrong = [np.abs(each - right).sum() / right.sum() for each in (found, off.lips())]
        assert wrong[0] < 0.75 * wrong[1]


def test_a_tie_and_an_even_background_of_the_hairs_color_are_no_hair():
    """A finder that doubts its outlines, and takes a tie and the upper corner of the picture for hair."""
    ((face, picture),) = faces_of(1, 192, hair_color=0.1)
    marks = {name: mask.copy() for name, mask in face.masks.items()}
    low, x = int(face.points[8, 1]) + 14, int(face.points[8, 0])
    shown = picture.copy()
    shown[low : low + 30, x - 6 : x + 6] = (60, 40, 30)
    shown[:40, :40] = (60, 40, 30)
    marks["hair"][low : low + 30, x - 6 : x + 6] = 1
    marks["hair"][:40, :40] = 1
    vague = {name: cv2.GaussianBlur(mask, (0, 0), 4)[None] for name, mask in marks.items()}
    found = face_of(Marks(face.points[None], np.zeros((1, 5, 2)), vague, np.ones(1), ("",), "vague"), 0.5, shown)
    hair = found.masks["hair"]
    assert hair[low + 4 : low + 26, x - 4 : x + 4].max() < 0.1
    assert hair[4:30, 4:30].mean() < 0.1
    assert (hair[face.masks["hair"] > 0.95] > 0.5).mean() > 0.55


def test_hair_is_colored_by_small_steps_more_on_request_and_no_more(tmp_path):
    colors = np.array([0.0, 0.3, 0.7, 0.95])
    world, _ = sitters(tmp_path / "faces", 4, skin_tone=5.0, age=22.0, hair_color=colors, hair_style=5.0)
    own = np.array([own_hair(world.subjects.picture(row), world.sitters.face(row)) for row in range(4)])
    assert own.tolist() == [world.sitters.sitting(row).hair_level for row in range(4)]
    level = float(own.min())
    kept = world.for_attributes({"hair_color": (level,)})
    far = np.abs(own - level) > 0.3
    assert 0 < far.sum() < 4
    assert kept.subjects.left_out == {"photographs whose hair is more than 0.3 from a level of hair_color": far.sum()}
    assert kept.describe()["composited"]["hair_steps"] == 0.3
    with pytest.raises(
        BadInput, match=r"hair_color: expected levels at most 0.6 apart, got 0.9 apart: .*hair_steps=0.5"
    ):
        world.for_attributes({"hair_color": (0.1, 1.0)})
    row = int(np.argmin(own))
    latents = next(world.sample([seed]) for seed in range(4) if world.sample([seed]).values[0, 0] == row)
    with pytest.raises(BadInput, match=r"expected a hair_color near its own, got 1 of .*black to blond; up to 0.5"):
        world.render(world.set(latents, {"hair_color": 1.0}))
    folder = f"photographs:folder:{tmp_path / 'faces'}"
    assert generators.load(f"{folder}?hair_steps=0.5").sitters.steps["hair_color"] == 0.5
    for wrong, said in (("0.7", "at most 0.5, got 0.7: a larger edit looks"), ("x", "expected a number, got 'x'")):
        with pytest.raises(BadInput, match=said):
            generators.load(f"{folder}?hair_steps={wrong}")
