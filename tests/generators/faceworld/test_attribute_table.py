"""The table of attributes is complete and consistent."""

from __future__ import annotations

import pytest

from transect.errors import UnknownName
from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY, NAMES, attribute

NUISANCES = {
    "hair_volume", "yaw", "pitch", "roll", "light_azimuth", "light_elevation", "light_level", "exposure", "noise",
    "white_balance", "blur", "jpeg_quality", "distance", "brow_raise", "mouth_slant", "gaze", "metering", "fill_light", "background", "clothing", "clothing_pattern", "background_hue", "background_lightness", "clothing_hue", "clothing_lightness",
}  # fmt: skip


def test_names_are_unique_and_meanings_given():
    assert len(set(NAMES)) == len(NAMES)
    assert not set(NAMES) & set(IDENTITY)
    assert all(a.meaning and a.source for a in ATTRIBUTES)


def test_roles():
    assert {a.name for a in ATTRIBUTES if a.role == "nuisance"} == NUISANCES


def test_identity_code_has_at_least_sixteen_dimensions():
    assert len(set(IDENTITY)) == len(IDENTITY) >= 16


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("skin_tone", (1, 10)),
        ("age", (18, 85)),
        ("light_level", (-6, 1)),
        ("face_width", (-1, 1)),
        ("glasses", (0, 4)),
        ("hat", (0, 5)),
    ],
)
def test_bounds(name, bounds):
    assert attribute(name).bounds == bounds


def test_unknown_attribute_offers_the_nearest():
    with pytest.raises(UnknownName, match="unknown attribute 'hairlength': did you mean hair_length"):
        attribute("hairlength")
