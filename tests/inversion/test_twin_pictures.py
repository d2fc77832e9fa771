"""Which photographs can have a twin, both in one frame, and what is left between, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from transect.generators.photographs.subjects import COLORLESS
from transect.inversion.pictures import Pictures
from transect.inversion.twins import CUT_OFF, FEW_POINTS, difference, face_fault, in_frame, lightness, opened, residuals

RNG = np.random.default_rng(0)


def face(eyes=20.0):
    """68 points in a picture of 100 x 100: eyes 20 apart about the middle, all else below them."""
    points = np.full((68, 2), 50.0)
    points[:, 1] += np.linspace(0, 20, 68)
    points[36:42], points[42:48] = (50 - eyes / 2, 45.0), (50 + eyes / 2, 45.0)
    points[48], points[54] = (45.0, 65.0), (55.0, 65.0)
    return points


def test_what_cannot_have_a_twin_says_why(tmp_path):
    color = RNG.integers(0, 256, (48, 48, 3), dtype=np.uint8)
    Image.fromarray(color).save(tmp_path / "a.png")
    Image.fromarray(color).convert("L").save(tmp_path / "b.jpg")
    Image.fromarray(color[:31]).save(tmp_path / "c.png")
    (tmp_path / "d.png").write_bytes(b"no picture")
    Image.fromarray(np.tile(color, (44, 1, 1))).save(tmp_path / "e.png")
    pictures = Pictures.open(tmp_path, 64)
    found = [opened(pictures, row) for row in range(5)]
    assert [reason for _, reason in found] == [
        "", COLORLESS, "photographs with a side below 32 pixels", "unreadable image files", "",
    ]  # fmt: skip
    assert found[0][0].tolist() == color.tolist()
    assert found[4][0].shape == (1024, round(48 * 1024 / 2112), 3)


def test_points_that_are_no_face_say_why():
    pixels = np.full((100, 100, 3), 120, np.uint8)
    assert face_fault(pixels, face()) == ""
    assert face_fault(pixels, np.full((68, 2), np.nan)) == FEW_POINTS
    assert face_fault(pixels, face(eyes=3.0)) == FEW_POINTS
    assert face_fault(pixels, face() + np.array([90.0, 0.0])) == CUT_OFF


@settings(max_examples=40)
@given(st.integers(-12, 12), st.integers(-12, 12))
def test_a_frame_of_the_same_size_moves_pixels_and_changes_none(across, down):
    """Oracle: the photograph in the middle of a large grey picture."""
    pixels = np.random.default_rng(1).integers(0, 256, (8, 9, 3), dtype=np.uint8)
    framed, seen = in_frame(pixels, 1.0, (across + 0.2, down - 0.2), 10)
    around = ((24, 24), (24, 24), (0, 0))
    large, there = np.pad(pixels, around, constant_values=128), np.pad(np.ones_like(pixels), around)
    cut = (slice(24 + down, 34 + down), slice(24 + across, 34 + across))
    assert framed.tolist() == large[cut].tolist()
    assert seen.tolist() == there[cut][:, :, 0].astype(bool).tolist()


def test_a_smaller_frame_has_area_means():
    pixels = RNG.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    framed, seen = in_frame(pixels, 2.0, (0.0, 0.0), 4)
    means = pixels.reshape(4, 2, 4, 2, 3).mean(axis=(1, 3))
    assert seen.all()
    assert np.abs(framed - means).max() <= 1.0  # rounded across, then down


def test_the_difference_by_hand():
    photograph, twin = np.zeros((1, 2, 3), np.uint8), np.zeros((1, 2, 3), np.uint8)
    photograph[0, 1], twin[0, 1] = 255, (0, 255, 155)
    assert difference(photograph, twin)[0].tolist() == [[128] * 3, [0, 128, 78]]


def test_residuals_by_hand():
    """Points 3 pixels to the right of eyes 20 apart; a photograph of one grey, a twin of one darker with a dark left."""
    photograph, twin = np.full((100, 100, 3), 188, np.uint8), np.full((100, 100, 3), 118, np.uint8)
    twin[:, :48] = 0
    points, turned = face(), face()
    turned[42:48, 1] += 20.0  # the line between the eyes falls by as much as it is long
    left = residuals(photograph, points, twin, points, points + np.array([3.0, 0.0]))
    assert left.points == pytest.approx(0.15)
    assert (left.jaw, left.mouth) == (pytest.approx(0.15), pytest.approx(0.15))
    assert left.tilt == 0
    assert left.lightness < lightness(np.full(3, 0.1812)) - lightness(np.full(3, 0.5029)) < -25
    assert left.side_light == pytest.approx(lightness(np.full(3, 0.1812)), abs=0.1)
    assert left.color > 70 / 255
    assert residuals(photograph, points, twin, turned, points).tilt == pytest.approx(45.0)
