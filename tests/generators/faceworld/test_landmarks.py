"""The 68 points lie where the face is drawn."""

from __future__ import annotations

import numpy as np

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld

SIZE = 192
WORLD = FaceWorld(image_size=SIZE, threads=1)
UPRIGHT = {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "glasses": 0.0, "hat": 0.0, "facial_hair": 0.0, "bangs": 0.0,
           "smile": 0.0, "mouth_open": 0.0, "age": 25.0, "distance": 1.0, "mouth_slant": 0.0, "gaze": 0.0}  # fmt: skip
SEEDS = list(range(8))
MIRROR = [*range(16, -1, -1), *range(26, 16, -1), *range(27, 31), *range(35, 30, -1), 45, 44, 43, 42, 47, 46, 39, 38, 37,
          36, 41, 40, *range(54, 47, -1), *range(59, 54, -1), *range(64, 59, -1), 67, 66, 65]  # fmt: skip


def points(**settings):
    latents = WORLD.set(WORLD.sample(SEEDS), UPRIGHT | settings)
    return latents, WORLD.landmarks(latents)


def test_an_upright_face_is_its_own_mirror_image_but_for_its_own_shape():
    latents, own = points()
    own_shape = [IDENTITY.index(name) for name in ("asymmetry", *(f"shape_{number}" for number in range(1, 8)))]
    latents.values[:, IDENTITY_COLUMNS[own_shape]] = 0.0
    landmarks = WORLD.landmarks(latents)
    assert not np.allclose(own, landmarks, atol=0.1)
    mirrored = landmarks[:, MIRROR] * np.array([-1, 1]) + np.array([SIZE, 0])
    # Points on the middle lie within .01 of the eyes' distance of it, 40 pixels.
    np.testing.assert_allclose(mirrored, landmarks, atol=0.5)


def test_irises_lie_within_the_eyes_points():
    # Blue and brown irises differ only where an iris is seen; the centroid of the difference is the eye's middle.
    latents, landmarks = points(skin_tone=5.0)
    images = [
        WORLD.render(WORLD.set(latents, {"eye_color": c, "noise": 0.0}, hold=["exposure"])).pixels.astype(int)
        for c in (0.0, 1.0)
    ]
    changed = np.abs(images[0] - images[1]).sum(axis=-1)
    for difference, these in zip(changed, landmarks, strict=True):
        y, x = np.nonzero(difference)
        for eye, side in ((slice(36, 42), x < SIZE / 2), (slice(42, 48), x >= SIZE / 2)):
            center = np.array([np.average(v[side] + 0.5, weights=difference[y[side], x[side]]) for v in (x, y)])
            width = np.ptp(these[eye, 0])
            assert np.abs(center - these[eye].mean(axis=0)).max() < 0.2 * width


def test_lipstick_colors_the_hull_of_the_lips():
    latents, landmarks = points(skin_tone=4.0)
    images = [
        WORLD.render(WORLD.set(latents, {"lipstick": c, "noise": 0.0, "blur": 0.0}, hold=["exposure"])).pixels.astype(
            int
        )
        for c in (0.0, 1.0)
    ]
    changed = np.abs(images[0] - images[1]).sum(axis=-1) > 12
    for mask, these in zip(changed, landmarks, strict=True):
        y, x = np.nonzero(mask)
        lips = these[48:60]
        # The row of lipstick runs from corner to corner, from upper lip to lower lip, to within three pixels.
        box = np.array([lips[:, 0].min(), lips[:, 0].max(), lips[:, 1].min(), lips[:, 1].max()])
        assert np.abs(np.array([x.min(), x.max() + 1, y.min(), y.max() + 1]) - box).max() < 4


def test_points_turn_with_the_roll():
    _, straight = points()
    _, rolled = points(roll=20.0)
    for landmarks, degrees in ((straight, 0.0), (rolled, 20.0)):
        across = landmarks[:, 42:48].mean(axis=1) - landmarks[:, 36:42].mean(axis=1)
        np.testing.assert_allclose(np.degrees(np.arctan2(across[:, 1], across[:, 0])), degrees, atol=0.5)
