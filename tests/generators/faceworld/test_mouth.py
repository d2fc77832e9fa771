"""Lips and teeth: a level mouth, teeth one by one, darker to the sides, and only between parted lips."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.faceworld.world import FaceWorld

SIZE = 384
WORLD = FaceWorld(image_size=SIZE, threads=1)
FRONTAL = {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "facial_hair": 0.0, "hat": 0.0, "glasses": 0.0, "blur": 0.0,
           "noise": 0.0, "jpeg_quality": 100.0, "light_azimuth": 0.0, "light_elevation": 20.0, "skin_tone": 4.0,
           "mouth_slant": 0.0, "age": 25.0, "lipstick": 0.0, "distance": 1.0}  # fmt: skip
SEEDS = [3, 4, 6]


def drawn(**settings):
    """Luminances [n, SIZE, SIZE] and landmarks of frontal faces."""
    latents = WORLD.set(WORLD.sample(SEEDS), FRONTAL | settings)
    return decode_srgb(WORLD.render(latents).pixels / 255) @ LUMINANCE, WORLD.landmarks(latents)


def test_mouths_are_level_with_the_eyes():
    latents = WORLD.set(WORLD.sample(range(40)), FRONTAL | {"yaw": 15.0, "pitch": 6.0, "smile": 0.8})
    latents.values[:, IDENTITY_COLUMNS[IDENTITY.index("shape_3")]] = 2.0
    points = WORLD.landmarks(latents)
    slopes = [
        (right - left)[:, 1] / (right - left)[:, 0]
        for left, right in (
            (points[:, 48], points[:, 54]),
            (points[:, 36:42].mean(axis=1), points[:, 42:48].mean(axis=1)),
        )
    ]
    assert np.degrees(np.abs(slopes[0] - slopes[1])).max() < 0.6


def test_a_broad_smile_shows_teeth_with_lines_between_them():
    images, points = drawn(smile=1.0, mouth_open=0.3)
    for image, marks in zip(images, points, strict=True):
        left, right = marks[60, 0], marks[64, 0]
        row = round(float(marks[62, 1] + 0.35 * (marks[66, 1] - marks[62, 1])))
        inner = image[row, round(left + 0.2 * (right - left)) : round(right - 0.2 * (right - left))]
        dips = (inner[1:-1] < inner[:-2]) & (inner[1:-1] <= inner[2:]) & (inner[1:-1] < 0.97 * np.percentile(inner, 80))
        assert 3 <= dips.sum() <= 16


def test_teeth_darken_to_the_corners():
    images, points = drawn(smile=1.0, mouth_open=0.3)
    for image, marks in zip(images, points, strict=True):
        row = round(float(marks[62, 1] + 0.3 * (marks[66, 1] - marks[62, 1])))
        at = [
            np.percentile(image[row - 1 : row + 2, round(x) - 5 : round(x) + 6], 80)
            for x in (marks[62, 0], marks[60, 0] + 0.10 * (marks[64, 0] - marks[60, 0]))
        ]
        assert at[0] > 1.3 * at[1]


@pytest.mark.parametrize(("smile", "mouth_open"), [(0.0, 0.0), (0.3, 0.0)])
def test_closed_lips_show_no_teeth(smile, mouth_open):
    images, points = drawn(smile=smile, mouth_open=mouth_open)
    for image, marks in zip(images, points, strict=True):
        x, y = (round(float(v)) for v in marks[62])
        lips = image[y - 3 : y + 4, x - 20 : x + 21]
        assert lips.max() < np.median(image[round(float(marks[33, 1])) - 60 :, x - 60 : x + 60]) * 1.1
