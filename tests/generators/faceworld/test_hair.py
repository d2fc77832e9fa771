"""Hair and facial hair: what each style shows and hides, by the renderer's own masks and layers."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from transect.generators.faceworld.attributes import FACIAL_HAIR_STYLES, HAIR_STYLES
from transect.generators.faceworld.canvas import CENTER_Y, HALF_EXTENT
from transect.generators.faceworld.facial_hair import facial_hair_traits
from transect.generators.faceworld.hair import STYLES, hair_traits
from transect.generators.faceworld.reflectance import hair_reflectance, luminance
from transect.generators.faceworld.world import FaceWorld

SIZE = 96
WORLD = FaceWorld(image_size=SIZE, threads=1)
PLAIN = {"hat": 0.0, "baldness": 0.0, "bangs": 0.0, "facial_hair": 0.0, "glasses": 0.0, "yaw": 0.0, "pitch": 0.0,
         "roll": 0.0, "distance": 1.2, "face_shape": 0.5, "age": 30.0, "hair_volume": 0.0}  # fmt: skip
SUBJECTS = WORLD.set(WORLD.sample(range(6)), PLAIN)
# From farther off, so that all hair is in the picture.
HALF = 1.2 * HALF_EXTENT
AXIS = (np.arange(SIZE) + 0.5) * (2 * HALF / SIZE) - HALF
X, Y = np.meshgrid(AXIS, AXIS + CENTER_Y)


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


def test_every_level_has_a_style():
    assert tuple(STYLES) == HAIR_STYLES
    assert len(HAIR_STYLES) >= 8


def test_traits_run_from_one_end_to_the_other():
    rows = {
        "hair_style": np.full(3, float(HAIR_STYLES.index("wavy"))),
        "hair_length": np.array([0, 0.5, 1]),
        "baldness": np.zeros(3),
        "hair_volume": np.zeros(3),
    }
    low, high = STYLES["wavy"].hang
    np.testing.assert_allclose(hair_traits(rows)["hang"], [low, (low + high) / 2, high])


@pytest.mark.parametrize("style", ["curly", "wavy", "straight"])
def test_long_hair_reaches_below_the_chin_and_short_hair_does_not(style):
    beside_the_neck = (Y > 0.80) & (Y < 1.0) & (np.abs(X) > 0.35)
    assert (hair(style=style, hair_length=1.0) & beside_the_neck).any((1, 2)).all()
    assert not (hair(style=style, hair_length=0.0) & beside_the_neck).any()


def test_hair_grows_with_its_length():
    for style in ("coily", "curly", "wavy", "straight", "ponytail"):
        areas = [hair(style=style, hair_length=length).sum((1, 2)) for length in (0.05, 0.5, 1.0)]
        assert (areas[0] < areas[1]).all(), style
        assert (areas[1] < areas[2]).all(), style


def test_bald_shows_no_hair_and_cropped_hair_stays_on_the_skull():
    assert not hair(style="bald").any()
    cropped = hair(style="cropped", hair_length=0.3)
    assert cropped.any((1, 2)).all()
    # The skull: half width .62 * (1 + .055 + some) + .03 of hair; the crown at -1 * 1.07, less .07 of hair.
    assert not (cropped & ((np.abs(X) > 0.80) | (Y > 0.35) | (Y < -1.22))).any()


def test_coily_hair_is_the_widest_and_tied_hair_shows_the_ears():
    width = {s: hair(style=s, hair_length=0.8).any(1).sum(1) for s in ("coily", "straight", "bun", "cropped")}
    assert (width["coily"] > width["straight"]).all()
    assert (width["straight"] > width["bun"]).all()
    ear = (np.abs(np.abs(X) - 0.57) < 0.09) & (np.abs(Y - 0.05) < 0.08)
    tied, loose = (
        WORLD.masks(WORLD.set(SUBJECTS, {"hair_style": float(HAIR_STYLES.index(style)), "hair_length": 0.8}))["skin"]
        & ear
        for style in ("bun", "straight")
    )
    assert tied.any((1, 2)).all()
    # Some tuck their hair behind an ear.
    assert tied.sum() > 1.5 * loose.sum()


def test_a_bun_stands_above_the_crown_and_a_ponytail_hangs_at_one_side():
    # The crown is at -1, the knot .17 around -1.03; the longest head is 1.07 times as long.
    above = (Y < -1.12) & (np.abs(X) < 0.15)
    assert (hair(style="bun", hair_length=0.5) & above).any((1, 2)).all()
    tail = hair(style="ponytail", hair_length=0.8) & (Y > 0.5) & (Y < 0.85)
    left, right = (tail & (X < 0)).any((1, 2)), (tail & (X > 0)).any((1, 2))
    assert (left ^ right).all()


def test_bangs_cover_the_forehead():
    forehead = (np.abs(X) < 0.2) & (np.abs(Y + 0.50) < 0.06)
    bare, covered = (hair(style="straight", bangs=amount) & forehead for amount in (0.0, 1.0))
    assert covered.sum() > 0.9 * 6 * forehead.sum()
    assert bare.sum() < 0.1 * 6 * forehead.sum()


def _edges(mask):
    """How often rows and columns of masks [n, h, w] pass from one side to the other, per image."""
    return (mask[:, 1:] != mask[:, :-1]).sum((1, 2)) + (mask[:, :, 1:] != mask[:, :, :-1]).sum((1, 2))


def test_bangs_end_in_single_tresses():
    """A straight edge crosses each of the 30 columns once; teeth of one width and length crossed 1.8 times as often."""
    forehead = (np.abs(X) < 0.40) & (Y > -0.62) & (Y < -0.20)
    rows, columns = np.flatnonzero(forehead.any(1)), np.flatnonzero(forehead.any(0))
    part = np.ix_(range(6), rows, columns)
    for style in ("cropped", "straight", "ponytail"):
        ends = _edges(hair(style=style, bangs=0.7, hair_length=0.5)[part])
        assert ends.mean() > 2.2 * len(columns), style
        assert (ends > 1.9 * len(columns)).all(), style


def test_temples_are_soft_and_sideburns_fade():
    """Dark hair on light skin. A cut edge, a pixel wide on both sides, is 2 of the 46 pixels from ear to ear: .04."""
    dark = {"hair_color": 0.0, "skin_tone": 2.0, "light_azimuth": 0.0, "noise": 0.0}
    bare = pixels(hair_style=0.0, **dark)
    taken = {length: ((bare - pixels(hair_style=1.0, hair_length=length, **dark)) / bare.clip(1)).mean(-1)
             for length in (0.25, 0.9)}  # fmt: skip
    across = taken[0.9][:, (np.abs(Y + 0.30) < 0.06) & (np.abs(X) < 0.62)]
    share = across / across.max(1, keepdims=True)
    assert ((share > 0.2) & (share < 0.8)).mean() > 0.06
    heads = hair(style="cropped", hair_length=1.0) | WORLD.masks(SUBJECTS)["skin"]
    for head, share in zip(heads, taken[0.25], strict=True):  # heads differ in width
        strip = np.abs(np.abs(X) - 0.9 * np.abs(X[head & (np.abs(Y + 0.35) < 0.05)]).max()) < 0.03
        temple, sideburn = strip & (np.abs(Y + 0.35) < 0.05), strip & (np.abs(Y - 0.06) < 0.05)
        assert share[sideburn].mean() < 0.6 * share[temple].mean()


def test_only_cropped_hair_is_short_all_over():
    n = len(HAIR_STYLES)
    rows = {"hair_style": np.arange(n) * 1.0, "hair_length": np.full(n, 0.2), "baldness": np.zeros(n)}
    short = hair_traits(rows | {"hair_volume": np.zeros(n)})["short"]
    # Lift .002 + .2 * .228 = .0476: 1 - .0476 / .09 = .471; a shaven head has no hair, and any number does.
    assert short[HAIR_STYLES.index("cropped")] == pytest.approx(0.471, abs=1e-3)
    assert (short[2:] == 0).all()


def test_baldness_bares_the_scalp_step_by_step():
    areas = [hair(style="cropped", baldness=amount).sum((1, 2)) for amount in (0.0, 0.4, 0.7, 1.0)]
    assert all((more > less).all() for more, less in itertools.pairwise(areas))
    assert (areas[-1] == 0).all()


def test_facial_hair_grows_where_its_style_says():
    lip, chin, jaw = ((np.abs(X) < 0.05) & (np.abs(Y - 0.40) < 0.03), (np.abs(X) < 0.08) & (np.abs(Y - 0.72) < 0.05),
                      (np.abs(np.abs(X) - 0.42) < 0.05) & (np.abs(Y - 0.45) < 0.06))  # fmt: skip
    fixed = {"hair_style": 1.0, "hair_color": 0.0, "skin_tone": 3.0, "light_azimuth": 0.0}
    bare = pixels(facial_hair=0.0, **fixed)
    for style, grows in {"mustache": (1, 0, 0), "goatee": (1, 1, 0), "full": (1, 1, 1)}.items():
        shown = pixels(facial_hair=1.0, facial_hair_style=float(FACIAL_HAIR_STYLES.index(style)), **fixed)
        for region, here in zip((lip, chin, jaw), grows, strict=True):
            darker = (bare - shown)[:, region].mean()
            assert (darker > 25) if here else (abs(darker) < 6), (style, grows)


def test_a_beard_hangs_from_the_chin_wherever_that_lies():
    """A goatee hangs .14 down and ends in a point: most of 2 by 3 pixels below the chin's lowest point."""
    fixed = {"hair_color": 0.0, "skin_tone": 2.0, "light_azimuth": 0.0, "facial_hair_style": 2.0, "noise": 0.0,
             "mouth_open": 0.6, "distance": 1.5}  # fmt: skip
    bare, bearded = (pixels(facial_hair=amount, **fixed).mean(-1) for amount in (0.0, 1.0))
    chins = WORLD.landmarks(WORLD.set(SUBJECTS, fixed))[:, 8].round().astype(int)
    for without, hidden, (x, y) in zip(bare, bearded, chins, strict=True):
        below = np.s_[y + 1 : y + 3, x - 1 : x + 2]
        assert hidden[below].mean() < 0.5 * without[below].mean()


def test_stubble_is_a_shade_and_not_a_beard():
    rows = {"facial_hair": np.ones(2), "facial_hair_style": np.array([0.0, 3.0])}
    traits = facial_hair_traits(rows)
    assert traits["beard"].tolist() == [0, 1]
    # Under a beard the skin is shaded by .6 at the most; stubble at its fullest shades it whole.
    np.testing.assert_allclose(traits["stubble"], [1.0, 0.6])


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


def test_hair_lightens_reddens_and_greys():
    scale = np.linspace(0, 1, 21)
    zero = np.zeros(21)
    assert (np.diff(luminance(hair_reflectance(scale, zero, zero))) > 0).all()
    brown = hair_reflectance(np.full(21, 0.5), scale, zero)
    assert (np.diff(brown[:, 0] / brown[:, 2]) > 0).all()
    grey = hair_reflectance(np.array([0.3]), np.array([0.5]), np.array([1.0]))[0]
    assert grey.max() / grey.min() < 1.1
