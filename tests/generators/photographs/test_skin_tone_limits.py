"""How far skin of photographs may be moved, who is left out for it, and which parts of the picture move."""

from __future__ import annotations

from collections import Counter

import cv2
import numpy as np
import pytest
from rendered_marks import sitters

from transect import generators
from transect.errors import BadInput
from transect.generators.photographs.appearance.colors import own_tone
from transect.generators.photographs.appearance.faces import Face, hairy_region, pixels_of, scene_of
from transect.generators.photographs.appearance.sitters import Sitting
from transect.generators.photographs.attributes import Edits
from transect.generators.photographs.world import Photographs

TONES = np.array([1.0, 2.0, 4.0, 6.0, 8.0, 10.0])
REASON = "photographs whose skin is more than {} tones from a level of skin_tone"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return sitters(tmp_path_factory.mktemp("tones") / "faces", len(TONES), skin_tone=TONES)[0]


@pytest.fixture(scope="module")
def own(world):
    return np.array([world.sitters.sitting(row).skin.tone for row in range(len(TONES))])


def narrowed(world, *levels):
    return world.for_attributes({"skin_tone": levels, "exposure": (0.0, 1.0)})


def test_photographs_too_far_from_a_level_are_left_out_counted_by_group_and_the_page_says_why(world, own):
    levels = np.sort(own)[3] + np.array([-1.0, 1.0])
    far = np.abs(own[:, None] - levels).max(axis=1) > 2
    assert 0 < far.sum() < len(own)
    kept = narrowed(world, *levels)
    assert kept.subjects.left_out == {REASON.format(2): far.sum()}
    assert kept.subjects.rows.tolist() == np.flatnonzero(~far).tolist()
    stated = kept.validity()["statement"]
    no, yes = (f"{far[group::2].sum()} of 3" for group in (0, 1))
    assert f"Left out by smile, {REASON.format(2)}: no {no}, yes {yes}." in stated
    assert "A photograph's skin is moved by at most 2 of the ten tones" in stated
    assert "a larger edit paints a face: it shows no person with that skin, misleads, and offends." in stated
    assert kept.describe()["composited"]["tone_steps"] == 2


def test_a_photograph_as_it_is_is_no_level_that_is_too_far(world, own):
    level = float(own[2])
    kept = narrowed(world, 0.0, level)
    assert len(kept.subjects) == (np.abs(own - level) <= 2).sum()


def test_levels_that_no_photograph_is_near_are_refused_with_the_reason_before_a_face_is_found(world):
    asked = world.sitters.finder.asked
    with pytest.raises(BadInput, match=r"levels at most 4 apart, got 6 apart: .*paints a face.*; choose levels nearer"):
        narrowed(world, 2.0, 8.0)
    assert world.sitters.finder.asked == asked


def test_three_tones_are_given_on_request_and_no_more(world, own, tmp_path):
    folder = f"folder:{world.subjects.labelled.path}"
    wider = Photographs(folder, threads=1, marks=world.sitters.finder, tone_steps=3)
    level = float(np.sort(own)[3])
    assert len(narrowed(wider, level - 2.5, level + 2.5).subjects) == (np.abs(own - level) <= 0.5).sum()
    # The photograph at the level itself is 2.4 tones away: within 3, beyond 2.
    assert len(narrowed(wider, level - 2.4).subjects) > len(narrowed(world, level - 2.4).subjects)
    opened = generators.load(f"photographs:{folder}?marks=network&tone_steps=3&limit=4")
    assert (opened.sitters.steps["skin_tone"], opened.photographs) == (3.0, 4)
    for wrong, said in (
        ("4", "at most 3 tones, got 4: a larger edit"),
        ("far", "expected a number of tones, got 'far'"),
    ):
        with pytest.raises(BadInput, match=said):
            generators.load(f"photographs:{folder}?tone_steps={wrong}")


def test_a_picture_of_a_far_tone_is_refused_by_name(world, own):
    row = int(np.argmin(np.abs(own - 3)))
    latents = next(world.sample([seed]) for seed in range(6) if world.sample([seed]).values[0, 0] == row)
    near = world.set(latents, {"skin_tone": own[row] + 2})
    assert (world.render(near).pixels != world.photograph(latents)).any()
    far = world.set(latents, {"skin_tone": own[row] + 2.2})
    with pytest.raises(
        BadInput, match=rf"p{row:03d}.png: expected a skin_tone near its own, got .*; up to 3 on request"
    ):
        world.render(far)


def test_the_tone_by_which_photographs_are_left_out_is_that_from_which_they_are_edited(world, own):
    assert [own_tone(world.subjects.picture(row), world.sitters.face(row)) for row in range(len(own))] == own.tolist()


def moved(sitting, tone, part):
    """By how many times the light of a part grows, as a logarithm, where the skin is given that tone."""
    before, after = (
        np.median(scene_of(picture)[part].mean(axis=1))
        for picture in (sitting.picture, sitting.dressed(Edits(skin_tone=tone)))
    )
    return float(np.log(after / before))


def parts_of(face):
    """Cheeks, neck and ears without their edges, and what is between lids and lips."""
    whole = face.masks["skin"] > 0.95
    inner = cv2.erode(whole.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    rows, columns = np.mgrid[: len(whole), : whole.shape[1]]
    between = (rows > face.points[28, 1]) & (rows < face.points[33, 1])
    left, right = face.points[0, 0] - 1, face.points[16, 0] + 1
    return {
        "cheeks": inner & between & (face.masks["face"] > 0.95),
        "neck": inner & (rows > face.points[8, 1] + 4),
        "ears": inner
        & (rows > face.points[19, 1])
        & (rows < face.points[33, 1])
        & ((columns < left) | (columns > right)),
        "eyes": face.eyes() > 0.99,
        "teeth": face.inner_mouth() > 0.99,
    }


@pytest.mark.integration
def test_ears_and_neck_move_with_the_face_and_eyes_teeth_and_brows_stay(tmp_path):
    """On rendered people who show their teeth; the neck is in the chin's shadow; brows are black."""
    world, _ = sitters(tmp_path / "faces", 6, 192, skin_tone=5.0, smile=1.0, mouth_open=0.8, yaw=20.0, hair_color=0.0)
    compared = Counter()
    for row in range(6):
        sitting, face = world.sitters.sitting(row), world.sitters.face(row)
        parts = parts_of(face)
        lighter, darker = np.clip([sitting.skin.tone - 2, sitting.skin.tone + 2], 1, 10).tolist()
        for tone in (lighter, darker):
            shown, cheeks = sitting.dressed(Edits(skin_tone=tone)), moved(sitting, tone, parts["cheeks"])
            for name in ("eyes", "teeth"):
                assert np.array_equal(shown[parts[name]], sitting.picture[parts[name]])
            for name in ("neck", "ears"):
                if parts[name].sum() > 30:
                    assert moved(sitting, tone, parts[name]) == pytest.approx(cheeks, abs=0.15), (row, name)
                    compared[name] += 1
        light = scene_of(sitting.picture).mean(axis=2)
        hairs = (hairy_region(face) > 0.9) & (np.arange(192)[:, None] < face.points[27, 1])
        hairs &= (face.masks["skin"] > 0.5) & (light < 0.2 * np.median(light[parts["cheeks"]]))
        if hairs.sum() > 10 and moved(sitting, lighter, parts["cheeks"]) > 0.2:
            assert moved(sitting, lighter, hairs) < 0.5 * moved(sitting, lighter, parts["cheeks"]), row
            compared["brows"] += 1
    assert min(compared[name] for name in ("neck", "ears", "brows")) > 0, compared


def with_a_hand(sitting):
    """The same with a hand beside the chin, half in shade: skin of the cheeks' color, which the finder sees as skin."""
    face, picture = sitting.face, sitting.picture.copy()
    hand = np.zeros(picture.shape[:2], np.uint8)
    x, y = (round(float(each)) for each in face.points[16] + (0.35 * face.width, 0.9 * face.width))
    cv2.ellipse(hand, (x, y), (round(0.22 * face.width), round(0.4 * face.width)), 0, 0, 360, (1,), -1)
    hand &= face.masks["skin"] < 0.05
    light = np.median(scene_of(picture)[parts_of(face)["cheeks"]], axis=0)
    shade = np.where(np.arange(picture.shape[1]) < x, 1.0, 0.5).astype(np.float32)
    lit = np.broadcast_to((light * shade[:, None])[None], picture.shape)
    picture[hand > 0] = pixels_of(lit[hand > 0])
    skin = np.maximum(face.masks["skin"], hand.astype(np.float32))
    masks = {**face.masks, "skin": skin, "hair": face.masks["hair"] * (1 - hand)}
    inner = cv2.erode(hand, np.ones((3, 3), np.uint8)) > 0
    halves = [inner & (np.arange(picture.shape[1]) < x - 2), inner & (np.arange(picture.shape[1]) > x + 2)]
    return Sitting(picture, Face(face.points, masks), 1), halves, hand > 0


@pytest.mark.integration
def test_a_hand_moves_with_the_face_in_light_and_in_shade(tmp_path):
    world, _ = sitters(tmp_path / "faces", 3, 192, skin_tone=5.0, hat=0.0)
    for row in range(3):
        sitting, halves, hand = with_a_hand(world.sitters.sitting(row))
        cheeks, tone = parts_of(world.sitters.face(row))["cheeks"], sitting.skin.tone
        assert min(half.sum() for half in halves) > 30
        for level in (max(1.0, tone - 2), min(10.0, tone + 2)):
            face = moved(sitting, level, cheeks)
            assert abs(face) > 0.1
            for half in halves:
                assert moved(sitting, level, half) == pytest.approx(face, abs=0.08), (row, level)
            shown = sitting.dressed(Edits(skin_tone=level))
            skin = (sitting.face.masks["skin"] > 0).astype(np.uint8)
            away = cv2.dilate(hand.astype(np.uint8), np.ones((15, 15), np.uint8)) > 0
            away &= cv2.dilate(skin, np.ones((9, 9), np.uint8)) == 0
            assert away.sum() > 30
            assert np.array_equal(shown[away], sitting.picture[away])
