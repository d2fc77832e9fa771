"""Eyes have human sizes, round irises, the key light in them, and lids and brows that make-up reaches.

Lengths are in millimeters where the eyes' centers are 63 apart.
"""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.reflectance import LUMINANCE, decode_srgb
from transect.generators.faceworld.world import FaceWorld

SIZE = 256
WORLD = FaceWorld(image_size=SIZE, threads=1)
STILL = {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "gaze": 0.0, "smile": 0.0, "brow_raise": 0.0, "age": 25.0}
BARE = {"glasses": 0.0, "bangs": 0.0, "hat": 0.0, "blur": 0.0, "noise": 0.0, "distance": 0.8, "jpeg_quality": 100.0}


def faces(n, **settings):
    latents = WORLD.sample(np.arange(300, 300 + n))
    return WORLD.set(latents, {**STILL, **BARE, **settings})


def eyes_of(points):
    """The points of the eyes of each face, [n, 2, 6, 2], and how many pixels a millimeter has."""
    both = np.stack([points[:, 36:42], points[:, 42:48]], axis=1)
    centers = both.mean(2)
    return both, np.linalg.norm(centers[:, 0] - centers[:, 1], axis=1) / 63


def light(latents):
    return decode_srgb(WORLD.render(latents).pixels / 255) @ LUMINANCE


def openings(**settings):
    """Mean width, and mean height of the lids' points, which lie .38 of half the width from the middle."""
    both, mm = eyes_of(WORLD.landmarks(faces(60, **settings)))
    width = np.linalg.norm(both[:, :, 0] - both[:, :, 3], axis=2).mean(1) / mm
    high = [np.linalg.norm(both[:, :, above] - both[:, :, below], axis=2) for above, below in ((1, 5), (2, 4))]
    return width.mean(), (np.mean(high, axis=(0, 2)) / mm).mean()


def test_openings_have_the_size_of_adults():
    width, height = openings()
    assert 28 < width < 31.5
    # At .38 of half the width, 1 - t² is .856 and its root .925: both lids are .88 as far from the line as at most.
    assert 9 < height / 0.88 < 11


def test_a_smile_narrows_the_eyes_by_less_than_a_millimeter():
    assert 0.3 < openings()[1] - openings(smile=1.0)[1] < 1.0


@pytest.mark.parametrize("yaw", [0.0, 20.0])
def test_irises_are_12_mm_wide_in_every_pose(yaw):
    # A disc of 11.8 mm, whose edge is dark; a turned head shows the distance of its eyes shorter by 1 / .94.
    brown, blue = (light(faces(8, yaw=yaw, eye_color=value)) for value in (0.0, 1.0))
    (both, mm), found = eyes_of(WORLD.landmarks(faces(8, yaw=yaw))), []
    for row in range(8):
        for eye in both[row]:
            left, right = np.floor(eye[:, 0].min()), np.ceil(eye[:, 0].max())
            colored = (blue[row] - brown[row])[:, int(left) : int(right)]
            widths = (colored > 0.1 * colored.max()).sum(1)
            found.append(widths.max() / mm[row] * np.cos(np.radians(yaw)))
    assert np.median(found) == pytest.approx(11.8, abs=0.7)
    assert max(found) - min(found) < 4


def glint(azimuth, elevation):
    """Mean place of the brightest pixel of each eye, in millimeters from the middle of the iris."""
    latents = faces(8, light_azimuth=azimuth, light_elevation=elevation, eye_color=0.0, skin_tone=4.0)
    pixels, (both, mm) = light(latents), eyes_of(WORLD.landmarks(latents))
    colored = np.abs(pixels - light(WORLD.set(latents, {"eye_color": 1.0}))) > 0.002
    y, x = np.mgrid[:SIZE, :SIZE] + 0.5
    opening = WORLD.masks(latents)["eyes"]
    found = []
    for row in range(8):
        for eye in both[row]:
            near = opening[row] & (np.abs(x - eye[:, 0].mean()) < 7 * mm[row])
            iris, at = colored[row] & near, np.argmax(np.where(near, pixels[row], -1))
            found.append([x.flat[at] - x[iris].mean(), y.flat[at] - y[iris].mean()] / mm[row])
    return np.mean(found, axis=0)


def test_eyes_mirror_the_key_light_on_its_side():
    # The cornea's normal points halfway to the light: 7.8 mm * sin 20 degrees = 2.7 mm aside.
    left, right, above = glint(-40.0, 10.0), glint(40.0, 10.0), glint(0.0, 35.0)
    assert left[0] == pytest.approx(-2.7, abs=0.8)
    assert right[0] == pytest.approx(2.7, abs=0.8)
    assert abs(above[0]) < 0.8
    assert above[1] < left[1] - 0.5


def test_makeup_darkens_lids_lashes_and_brows_alike_on_both_sides():
    plain, made = (faces(12, makeup=value, lipstick=0.0, skin_tone=4.0) for value in (0.0, 1.0))
    points = WORLD.landmarks(plain)
    _, mm = eyes_of(points)
    before, after = light(plain), light(made)
    for at, down, most in (
        (slice(37, 39), -3.0, 0.9),
        (slice(43, 45), -3.0, 0.9),
        (slice(18, 21), 0.0, 0.95),
        (slice(23, 26), 0.0, 0.95),
    ):
        share = []
        for row in range(12):
            x, y = points[row, at].mean(0)
            y += down * mm[row]
            window = np.s_[row, int(y) - 2 : int(y) + 3, int(x) - 4 : int(x) + 5]
            share.append(after[window].mean() / before[window].mean())
        assert np.median(share) < most
