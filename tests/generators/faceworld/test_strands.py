"""How hair lies: single strands, curls, tails and knots, and hair around a bare crown. Ears, which hair leaves free."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from scipy import ndimage

from transect.generators.faceworld.attributes import HAIR_STYLES
from transect.generators.faceworld.canvas import CENTER_Y, HALF_EXTENT
from transect.generators.faceworld.facial_hair import facial_hair_traits
from transect.generators.faceworld.hair import hair_traits
from transect.generators.faceworld.strands import Strands, _highlights, scatter
from transect.generators.faceworld.world import FaceWorld

SIZE = 96
WORLD = FaceWorld(image_size=SIZE, threads=1)
PLAIN = {"hat": 0.0, "baldness": 0.0, "bangs": 0.0, "facial_hair": 0.0, "glasses": 0.0, "yaw": 0.0, "pitch": 0.0,
         "roll": 0.0, "distance": 1.2, "face_shape": 0.5, "age": 30.0, "hair_volume": 0.0, "earrings": 0.0,
         "light_azimuth": 0.0, "noise": 0.0, "blur": 0.0}  # fmt: skip
SUBJECTS = WORLD.set(WORLD.sample(range(4)), PLAIN)
HALF = 1.2 * HALF_EXTENT
AXIS = (np.arange(SIZE) + 0.5) * (2 * HALF / SIZE) - HALF
X, Y = np.meshgrid(AXIS, AXIS + CENTER_Y)


@cache
def all_masks(style, **settings):
    return WORLD.masks(WORLD.set(SUBJECTS, {"hair_style": float(HAIR_STYLES.index(style))} | settings))


def masks(name, style, **settings):
    """[n, h, w]: a mask of the plain subjects with that style of hair."""
    return all_masks(style, **settings)[name]


def test_a_tail_hangs_together_with_the_head_and_grows_downwards():
    ends = []
    for length in (0.0, 0.5, 1.0):
        person = masks("person", "ponytail", hair_length=length)
        parts = [np.bincount(ndimage.label(each)[0].ravel())[1:] for each in person]
        # Single hairs may stand off by a pixel.
        assert all(each.max() > 0.998 * each.sum() for each in parts)
        added = masks("hair", "ponytail", hair_length=length) & ~masks("person", "bald")
        ends.append([Y[each & (np.abs(X) > 0.5)].max() for each in added])
    assert (np.diff(ends, axis=0) > 0.3).all()


def test_a_hat_leaves_of_a_tail_what_hangs_below_it_and_a_hood_nothing():
    beside = (np.abs(X) > 0.80) & (Y < -0.35)
    assert not (masks("hair", "ponytail", hair_length=1.0, hat=1.0) & beside).any()
    assert not (masks("hair", "ponytail", hair_length=1.0, hat=4.0) & (np.abs(X) > 0.72)).any()


def test_hair_around_a_bare_crown_lies_on_the_skull():
    """Loose hair stands off a full head of hair by .08 and more; beside a bare crown it begins on the skin."""
    bald = masks("person", "bald")
    above = (Y > -0.95) & (Y < -0.45)
    for style in ("cropped", "straight", "coily"):
        full, thin = (
            (masks("hair", style, baldness=amount, hair_length=0.8) & ~bald & above).sum((1, 2)) for amount in (0, 0.7)
        )
        assert (thin < 0.2 * full).all(), style


def test_hair_that_is_left_around_a_bare_crown_hangs_less_far():
    rows = {"hair_style": np.full(3, 5.0), "hair_length": np.ones(3), "hair_volume": np.zeros(3)}
    traits = hair_traits(rows | {"baldness": np.array([0.3, 0.55, 0.8])})
    # .90; half and all of the way from .35 to .75, by which it loses up to .15.
    np.testing.assert_allclose(traits["hang"], [0.90, 0.90 * 0.925, 0.90 * 0.85])
    np.testing.assert_allclose(traits["thinning"], [0, 0.5, 1])


def test_scattered_numbers_are_even_and_without_order():
    numbers = torch.arange(400.0)
    values = scatter(numbers, torch.tensor(0.4)).numpy()
    assert values.min() >= 0
    assert values.max() < 1
    # Of 400 even numbers 40 lie in each tenth, with a standard deviation of 6.
    assert (np.abs(np.histogram(values, 10, (0, 1))[0] - 40) < 24).all()
    assert all(abs(np.corrcoef(values[lag:], values[:-lag])[0, 1]) < 0.15 for lag in (1, 2, 3))
    assert not np.array_equal(values, scatter(numbers, torch.tensor(0.9)).numpy())


def test_the_white_highlight_lies_nearer_to_the_roots():
    """Light from above: from the crown down, a mass of hair faces upwards ever less; roots are above."""
    up = torch.linspace(0, 0.99, 200).view(1, 1, -1)
    zero = torch.zeros_like(up)
    light = {"light_x": 0.0, "light_y": -0.64, "light_z": 0.77, "curl": 0.0, "coil": 0.0, "density": 1.0}
    p = {name: torch.full((1, 1, 1), value) for name, value in light.items()}
    normal = (zero, -up, (1 - 0.8 * up * up).sqrt())
    white, colored = _highlights(p, Strands(zero, zero, zero), normal, zero + 1)
    assert up.flatten()[white.argmax()] > up.flatten()[colored.argmax()] + 0.1


def test_hairlines_of_strands_differ_from_column_to_column():
    """Ends of a straight fringe: columns of pixels end at heights that spread by some pixels, and evenly to both sides."""
    covered = masks("hair", "straight", bangs=0.7, hair_length=0.6)
    columns = np.abs(AXIS) < 0.25
    rows = (AXIS + CENTER_Y > -0.75) & (AXIS + CENTER_Y < 0.0)
    ends = covered[:, rows][:, :, columns].sum(1)
    assert (ends.std(1) > 1.0).all()


def test_an_ear_has_a_rim_a_dark_hollow_and_a_lobe():
    lit = WORLD.render(WORLD.set(SUBJECTS, {"hair_style": 0.0, "skin_tone": 3.0, "light_azimuth": 0.0})).pixels / 255.0
    skin = masks("skin", "bald") & ~masks("face", "bald") & (np.abs(Y - 0.02) < 0.20) & (np.abs(X) > 0.40)
    for picture, ear in zip(lit, skin, strict=True):
        values = picture[ear].mean(-1)
        assert np.quantile(values, 0.1) < 0.85 * np.quantile(values, 0.9)


def test_a_beard_fades_at_its_border():
    """Dark hair on light skin: between bare cheek and beard lie pixels that are covered in part."""
    fixed = {"hair_color": 0.0, "skin_tone": 2.0, "facial_hair_style": 3.0, "hair_style": 0.0}
    bare, bearded = (
        WORLD.render(WORLD.set(SUBJECTS, fixed | {"facial_hair": amount})).pixels.astype(float).mean(-1)
        for amount in (0.0, 1.0)
    )
    cheeks = (np.abs(np.abs(X) - 0.36) < 0.05) & (Y > 0.10) & (Y < 0.55)
    share = ((bare - bearded) / bare.clip(1))[:, cheeks]
    assert ((share > 0.1) & (share < 0.6)).mean() > 0.10
    assert facial_hair_traits({"facial_hair": np.ones(1), "facial_hair_style": np.full(1, 3.0)})["beard"] == 1
