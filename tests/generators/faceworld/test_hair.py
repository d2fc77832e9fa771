"""Hair and facial hair: what each style shows and hides, by the renderer's own masks and layers."""

from __future__ import annotations

from functools import cache

import numpy as np

from transect.generators.faceworld.attributes import FACIAL_HAIR_STYLES, HAIR_STYLES
from transect.generators.faceworld.mesh.shape import CENTER, VIEW
from transect.generators.faceworld.reflectance import hair_reflectance
from transect.generators.faceworld.world import FaceWorld

SIZE = 96
WORLD = FaceWorld(image_size=SIZE, threads=1)
PLAIN = {"hat": 0.0, "baldness": 0.0, "bangs": 0.0, "facial_hair": 0.0, "glasses": 0.0, "yaw": 0.0, "pitch": 0.0,
         "roll": 0.0, "distance": 1.2, "face_shape": 0.5, "age": 30.0, "hair_volume": 0.0}  # fmt: skip
SUBJECTS = WORLD.set(WORLD.sample(range(6)), PLAIN)
# From farther off, so that all hair is in the picture.
AXIS = ((np.arange(SIZE) + 0.5) / SIZE - 0.5) * 1.2 * VIEW
X, Y = np.meshgrid(AXIS, AXIS - CENTER)


@cache
def hair(**settings):
    """[n, h, w]: the mask of hair of the plain subjects under these settings."""
    style = settings.pop("style", None)
    if style is not None:
        settings["hair_style"] = float(HAIR_STYLES.index(style))
    return WORLD.masks(WORLD.set(SUBJECTS, settings))["hair"]


@cache
def pixels(**settings):
    return WORLD.render(WORLD.set(SUBJECTS, settings)).pixels.astype(float)


def test_facial_hair_grows_where_its_style_says():
    lip, chin, jaw = ((np.abs(X) < 0.12) & (np.abs(Y - 0.93) < 0.06), (np.abs(X) < 0.15) & (np.abs(Y - 1.58) < 0.10),
                      (np.abs(np.abs(X) - 0.85) < 0.10) & (np.abs(Y - 1.35) < 0.12))  # fmt: skip
    fixed = {"hair_style": 1.0, "hair_color": 0.0, "skin_tone": 3.0, "light_azimuth": 0.0}
    bare = pixels(facial_hair=0.0, **fixed)
    for style, grows in {"mustache": (1, 0, 0), "goatee": (1, 1, 0), "full": (1, 1, 1)}.items():
        shown = pixels(facial_hair=1.0, facial_hair_style=float(FACIAL_HAIR_STYLES.index(style)), **fixed)
        for region, here in zip((lip, chin, jaw), grows, strict=True):
            darker = (bare - shown)[:, region].mean()
            assert (darker > 15) if here else (abs(darker) < 6), (style, grows, darker)


def test_shaven_faces_do_not_depend_on_the_style_of_beard():
    shaven = [pixels(facial_hair=0.0, facial_hair_style=float(i)) for i in range(len(FACIAL_HAIR_STYLES))]
    for other in shaven[1:]:
        np.testing.assert_array_equal(shaven[0], other)


def test_melanin_by_hand():
    # hair_color .5, redness 1: no brown melanin, .9 exp(-.8) = .4044 of the red: absorption (.0756, .2426, .6349),
    # exp(-5.89 sqrt) = (.1980, .0549, .0092); .004 + .52 * that = (.1070, .0326, .0088).
    reflectance = hair_reflectance(np.array([0.5]), np.array([1.0]), np.array([0.0]))[0]
    np.testing.assert_allclose(reflectance, [0.1070, 0.0326, 0.0088], atol=5e-4)
    # redness .5 leaves half of the brown, 1.9 exp(-2.05) / 2 = .1223, an eighth of it red as blond is (.0153), and takes
    # half of the red, .2022: .1070 * (.419, .697, 1.37) + .0153 * (.187, .4, 1.05) + .2022 * (.187, .6, 1.57).
    half = hair_reflectance(np.array([0.5]), np.array([0.5]), np.array([0.0]))[0]
    np.testing.assert_allclose(half, 0.004 + 0.52 * np.exp(-5.89 * np.sqrt([0.0855, 0.2020, 0.4801])), atol=5e-4)
