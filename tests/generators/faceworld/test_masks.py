"""Masks, landmarks and boxes: what they hold, that they agree with each other and with the picture."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.world import FaceWorld

SIZE = 96
WORLD = FaceWorld(image_size=SIZE, threads=1)
SUBJECTS = WORLD.sample(range(20, 28))
MADE = WORLD.masks(SUBJECTS)
POINTS = WORLD.landmarks(SUBJECTS)


def test_person_and_background_share_the_picture():
    np.testing.assert_array_equal(MADE["background"], ~MADE["person"])
    for name in ("skin", "hair", "face", "eyes", "mouth", "glasses"):
        assert not (MADE[name] & MADE["background"]).any(), name


def test_skin_hair_and_openings_do_not_overlap_but_at_edges():
    assert not (MADE["skin"] & MADE["hair"]).any()
    assert (MADE["skin"] & (MADE["eyes"] | MADE["mouth"])).mean() < 0.01


def test_clothes_are_what_their_lightness_changes():
    # A turtleneck has one cloth. The shirt under a jacket has another color.
    far = WORLD.set(SUBJECTS, {"distance": 1.2, "blur": 0.0, "clothing": 3.0})
    dark, light = (WORLD.set(far, {"clothing_lightness": value}) for value in (0.0, 1.0))
    clothes = WORLD.masks(light, further=("clothes",))["clothes"]
    reached = (WORLD.render(dark).pixels != WORLD.render(light).pixels).any(-1)
    assert clothes.any((1, 2)).all()
    assert reached[clothes].all()
    # A pixel of which less than half is clothes changes too, at their border.
    assert (reached & ~clothes).sum() < 0.05 * clothes.sum()


def test_a_headscarf_hides_hair_ears_and_neck():
    levels = {"hat": 5.0, "facial_hair": 0.0, "blur": 0.0, "earrings": 1.0, "mouth_open": 0.0, "yaw": 0.0}
    worn = WORLD.set(SUBJECTS, levels)
    masks, points = WORLD.masks(worn), WORLD.landmarks(worn)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    for row, jaw in enumerate(points[:, :17]):
        assert masks["hair"][row].sum() < 0.002 * SIZE**2
        below = rows > jaw[8, 1] + 3
        beside = (columns < jaw[:, 0].min() - 3) | (columns > jaw[:, 0].max() + 3)
        assert not (masks["skin"][row] & (below | beside)).any(), row


def test_no_mask_depends_on_light_tone_or_noise():
    other = WORLD.set(SUBJECTS, {"skin_tone": 9.0, "light_azimuth": 40.0, "noise": 3.0, "exposure": 1.0, "blur": 1.0})
    for name, mask in WORLD.masks(other).items():
        np.testing.assert_array_equal(mask, MADE[name])


def test_features_lie_where_the_landmarks_say():
    for row in range(len(SUBJECTS)):
        x0, y0, x1, y1 = WORLD.render(SUBJECTS.take(slice(row, row + 1))).face_boxes[0]
        inner = POINTS[row, 17:]
        assert ((inner > [x0 - 1, y0 - 1]) & (inner < [x1 + 1, y1 + 1])).all()
        for name, points in (("mouth", slice(48, 60)), ("eyes", slice(36, 48))):
            mask = MADE[name][row]
            if mask.sum() < 8:  # hidden by hair or hat
                continue
            rows, columns = np.nonzero(mask)
            extent = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            limits = [*POINTS[row, points].min(0), *POINTS[row, points].max(0)]
            # A pixel and a half for soft edges on either side.
            assert extent == pytest.approx(limits, abs=2.5), name


def test_glasses_are_nothing_unless_worn_and_hold_the_eyes():
    bare, worn = (WORLD.masks(WORLD.set(SUBJECTS, {"glasses": value, "yaw": 0.0})) for value in (0.0, 1.0))
    assert not bare["glasses"].any()
    assert (worn["glasses"] & worn["eyes"]).sum() > 0.95 * worn["eyes"].sum()


def test_the_box_holds_the_face_that_is_drawn():
    """The mask of the face is what was drawn of the half of the head before the ears, hair and hat taken away."""
    latents = WORLD.set(
        WORLD.sample([8, 9, 10]),
        {"yaw": [0.0, 15.0, -20.0], "pitch": 0.0, "roll": 0.0, "hair_style": 0.0, "hat": 0.0, "glasses": 0.0},
    )
    boxes, masks = WORLD.render(latents).face_boxes, WORLD.masks(latents)["face"]
    for (x0, y0, x1, y1), mask in zip(boxes, masks, strict=True):
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        assert [columns[0], columns[-1] + 1] == pytest.approx([x0, x1], abs=2.5)
        assert [rows[0], rows[-1] + 1] == pytest.approx([y0, y1], abs=2.5)
