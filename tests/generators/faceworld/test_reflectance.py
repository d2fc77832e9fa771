"""Skin, hair and iris in linear light."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ImageColor

from transect.generators.faceworld.camera import encode_srgb
from transect.generators.faceworld.reflectance import (
    decode_srgb,
    luminance,
    skin_reflectance,
)

MONK_SWATCHES = (
    *("f6ede4", "f3e7db", "f7ead0", "eadaba", "d7bd96"),
    *("a07e56", "825c43", "604134", "3a312a", "292420"),
)
"""sRGB hex codes of the tones 1 to 10 (Monk 2022, https://skintone.google)."""


def lab(linear):
    """CIE L*a*b* of linear sRGB, D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratio = (to_xyz @ linear) / to_xyz.sum(axis=1)
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def ciede2000(first, other):
    """Sharma, Wu & Dalal 2005, doi:10.1002/col.20070, equations 2 to 22."""
    (l1, a1, b1), (l2, a2, b2) = first, other
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(chroma**7 / (chroma**7 + 25.0**7)))
    c1, c2 = np.hypot(a1 * (1 + g), b1), np.hypot(a2 * (1 + g), b2)
    h1, h2 = (np.degrees(np.arctan2(b, a * (1 + g))) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, c = (l1 + l2) / 2, (c1 + c2) / 2
    if c1 * c2 == 0:
        h = h1 + h2
    elif abs(h1 - h2) <= 180:
        h = (h1 + h2) / 2
    else:
        h = (h1 + h2 + 360) / 2 if h1 + h2 < 360 else (h1 + h2 - 360) / 2
    cosine = lambda k, shift: np.cos(np.radians(k * h + shift))  # noqa: E731
    t = 1 - 0.17 * cosine(1, -30) + 0.24 * cosine(2, 0) + 0.32 * cosine(3, 6) - 0.20 * cosine(4, -63)
    sl, sc, sh = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2), 1 + 0.045 * c, 1 + 0.015 * c * t
    rotation = -np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))) * 2 * np.sqrt(c**7 / (c**7 + 25.0**7))
    return np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * (dc / sc) * (dh / sh))


@pytest.mark.parametrize(
    ("first", "other", "published"),
    [  # Sharma et al. 2005, table 1, pairs 1, 13, 17, 30, 34
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, -0.001, 2.49), (50.0, 0.0011, -2.49), 4.7461),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_ciede2000_gives_the_published_differences(first, other, published):
    assert ciede2000(first, other) == pytest.approx(published, abs=1e-4)
    assert ciede2000(other, first) == pytest.approx(published, abs=1e-4)


@pytest.mark.parametrize("tone", range(1, 11))
def test_a_whole_tone_under_neutral_light_is_near_its_published_swatch(tone):
    linear = skin_reflectance(np.array([float(tone)]))[0]
    patch = np.round(encode_srgb(np.array(linear)) * 255) / 255
    swatch = np.array(ImageColor.getrgb("#" + MONK_SWATCHES[tone - 1])) / 255
    assert ciede2000(lab(decode_srgb(swatch)), lab(decode_srgb(patch))) <= 6


def test_skin_darkens_with_tone_from_the_third_on_and_spans_what_living_skin_spans():
    # The published swatches 1 to 3 are not in order of luminance; from the lightest to the darkest they span 47 times,
    # living skin about 20 times.
    y = luminance(skin_reflectance(np.linspace(3, 10, 71)))
    assert (np.diff(y) < 0).all()
    lightest, darkest = luminance(skin_reflectance(np.array([1.0, 10.0])))
    assert 15 < lightest / darkest < 30


def test_between_two_tones_absorbances_are_averaged():
    # Beer-Lambert: -log of reflectance adds up, so that halfway is the geometric mean.
    four, half, five = skin_reflectance(np.array([4.0, 4.5, 5.0]))
    np.testing.assert_allclose(half, np.sqrt(four * five), rtol=1e-12)


@given(st.integers(0, 255))
def test_srgb_decodes_and_encodes_to_the_same_byte(value):
    linear = decode_srgb(np.array([value / 255]))
    assert round(float(encode_srgb(linear)[0]) * 255) == value


def test_srgb_by_the_standard():
    # IEC 61966-2-1: .04045 / 12.92 = .0031308; .5 -> ((.5 + .055) / 1.055) ** 2.4 = .21404.
    np.testing.assert_allclose(decode_srgb(np.array([0.0, 0.04045, 0.5, 1.0])), [0, 0.0031308, 0.21404, 1], atol=1e-5)
