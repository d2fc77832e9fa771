"""Masks, landmarks and boxes: what they hold, that they agree with each other and with the picture."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.renderer import MASKS
from transect.generators.faceworld.world import FaceWorld

SIZE = 96
WORLD = FaceWorld(image_size=SIZE, threads=1)
SUBJECTS = WORLD.sample(range(20, 28))
MADE = WORLD.masks(SUBJECTS)
POINTS = WORLD.landmarks(SUBJECTS)


def test_names_shapes_and_types():
    assert tuple(MADE) == tuple(MASKS) == (
        "skin", "hair", "face", "eyes", "mouth", "glasses", "background", "person"
    )  # fmt: skip
    assert all(mask.shape == (8, SIZE, SIZE) and mask.dtype == np.bool_ for mask in MADE.values())
    assert POINTS.shape == (8, 68, 2)
    assert POINTS.dtype == np.float64


def test_person_and_background_share_the_picture():
    np.testing.assert_array_equal(MADE["background"], ~MADE["person"])
    for name in ("skin", "hair", "face", "eyes", "mouth", "glasses"):
        assert not (MADE[name] & MADE["background"]).any(), name


def test_skin_hair_and_openings_do_not_overlap_but_at_edges():
    assert not (MADE["skin"] & MADE["hair"]).any()
    assert (MADE["skin"] & (MADE["eyes"] | MADE["mouth"])).mean() < 0.01


def test_no_mask_depends_on_the_batch_or_on_threads():
    two = FaceWorld(SIZE, threads=2)
    again = two.masks(SUBJECTS.take(np.array([5, 2])))
    points = two.landmarks(SUBJECTS.take(np.array([5, 2])))
    for name, mask in again.items():
        np.testing.assert_array_equal(mask, MADE[name][[5, 2]])
    np.testing.assert_array_equal(points, POINTS[[5, 2]])


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


def test_a_hat_and_bangs_take_away_from_the_face():
    plain = {"hat": 0.0, "bangs": 0.0, "hair_style": 5.0, "hair_length": 0.6, "baldness": 0.0}
    area = [
        WORLD.masks(WORLD.set(SUBJECTS, plain | more))["face"].sum((1, 2))
        for more in ({}, {"hat": 2.0}, {"bangs": 1.0})
    ]
    assert (area[1] <= area[0]).all()
    assert (area[2] < area[0]).all()


def test_no_rows():
    empty = WORLD.sample([])
    assert WORLD.masks(empty)["hair"].shape == (0, SIZE, SIZE)
    assert WORLD.landmarks(empty).shape == (0, 68, 2)
