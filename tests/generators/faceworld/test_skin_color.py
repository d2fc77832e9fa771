"""The color of finished faces, and the neck below them."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.reflectance import decode_srgb
from transect.generators.faceworld.world import FaceWorld

SIZE = 96
STILL = {
    **dict.fromkeys(("yaw", "pitch", "roll", "facial_hair", "noise", "blur", "light_azimuth", "white_balance"), 0.0),
    **dict.fromkeys(("hat", "glasses", "makeup", "smile", "mouth_open", "bangs", "hair_style", "clothing"), 0.0),
    "light_elevation": 32.0,
    "distance": 1.0,
    "age": 30.0,
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


@pytest.fixture(scope="module")
def world():
    return FaceWorld(image_size=SIZE, threads=1)


def lab(linear):
    """CIE L*a*b* of linear sRGB, D65."""
    ratio = (linear @ TO_XYZ.T) / TO_XYZ.sum(axis=1)
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def light(world, latents):
    return decode_srgb(world.render(latents).pixels / 255)


def patch(image, center, radius):
    x, y = (int(c) for c in center)
    return np.median(image[y - radius : y + radius + 1, x - radius : x + radius + 1].reshape(-1, 3), axis=0)


def cheeks_and_foreheads(world, tone):
    latents = world.set(world.sample(np.arange(300, 308)), STILL | {"skin_tone": tone})
    found = []
    for image, points in zip(light(world, latents), world.landmarks(latents), strict=True):
        io = np.linalg.norm(points[36:42].mean(0) - points[42:48].mean(0))
        cheek = np.mean(
            [
                patch(image, points[eyes].mean(0) + np.array([0, 0.48 * io]), 2)
                for eyes in (slice(36, 42), slice(42, 48))
            ],
            0,
        )
        found.append((lab(cheek), lab(patch(image, points[21:23].mean(0) - [0, 0.35 * io], 2))))
    return np.median(found, axis=0)


@pytest.mark.parametrize("tone", [1.0, 5.0, 10.0])
def test_cheeks_have_the_chroma_and_the_hue_of_skin(world, tone):
    """In vivo chroma is 19 to 23 at L* of 42 to 64 (Xiao et al. 2017); exposed k times as light, times the root of k."""
    (lightness, a, b), _ = cheeks_and_foreheads(world, tone)
    at_sixty = np.hypot(a, b) * (60 + 16) / (lightness + 16)
    assert 13 < at_sixty < 29.5
    assert 43 < np.degrees(np.arctan2(b, a)) < 62
