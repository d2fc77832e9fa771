"""Skin, hair and iris in linear light."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import ImageColor

from transect.generators.faceworld.camera import encode_srgb
from transect.generators.faceworld.reflectance import (
    MONK_SWATCHES,
    decode_srgb,
    hair_reflectance,
    iris_reflectance,
    luminance,
    skin_reflectance,
)


@pytest.mark.parametrize("tone", range(1, 11))
def test_a_whole_tone_encodes_back_to_its_published_swatch(tone):
    linear = skin_reflectance(np.array([float(tone)]))[0]
    encoded = encode_srgb(torch.tensor(linear)).numpy() * 255
    np.testing.assert_allclose(encoded, ImageColor.getrgb("#" + MONK_SWATCHES[tone - 1]), atol=1e-3)


def test_skin_darkens_with_tone_from_the_fourth_on_and_spans_about_47_times():
    # The published swatches 1 to 3 are not in order of luminance (f7ead0 is lighter than f3e7db in red and green).
    y = luminance(skin_reflectance(np.linspace(3, 10, 71)))
    assert (np.diff(y) < 0).all()
    lightest, darkest = luminance(skin_reflectance(np.array([1.0, 10.0])))
    assert lightest / darkest == pytest.approx(47, abs=2)


def test_between_two_tones_absorbances_are_averaged():
    # Beer-Lambert: -log of reflectance adds up, so that halfway is the geometric mean.
    four, half, five = skin_reflectance(np.array([4.0, 4.5, 5.0]))
    np.testing.assert_allclose(half, np.sqrt(four * five), rtol=1e-12)


def test_grey_takes_the_pigment_away():
    full = hair_reflectance(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    np.testing.assert_allclose(full[0], full[1])
    assert np.ptp(full[0]) < 0.02


def test_iris_from_brown_to_blue():
    brown, blue = iris_reflectance(np.array([0.0, 1.0]))
    assert brown[0] > brown[2]
    assert blue[2] > blue[0]


@given(st.integers(0, 255))
def test_srgb_decodes_and_encodes_to_the_same_byte(value):
    linear = decode_srgb(np.array([value / 255]))
    assert round(float(encode_srgb(torch.from_numpy(linear))[0]) * 255) == value


def test_srgb_by_the_standard():
    # IEC 61966-2-1: .04045 / 12.92 = .0031308; .5 -> ((.5 + .055) / 1.055) ** 2.4 = .21404.
    np.testing.assert_allclose(decode_srgb(np.array([0.0, 0.04045, 0.5, 1.0])), [0, 0.0031308, 0.21404, 1], atol=1e-5)
