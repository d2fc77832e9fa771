"""Reference images that are equally hard as a network, or the pixels, see their pictures (Eq. 5)."""

import io
import math

import numpy as np
import pytest
from PIL import Image

import transect
from transect.analysis.matched.request import MatchOptions

FEATURES = np.array([0.0, 10.0, 30.0, 1.0, 11.0, 41.0])[:, None]
TABLE = {"g": [1, 1, 1, 0, 0, 0], "person": list("xxxyyy")}


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(file, "PNG")
    return file.getvalue()


def grey(value, height=2, width=2):
    return png(np.full((height, width, 3), value))


def references(pictures, **options):
    options = MatchOptions(references=True, pictures="picture", **{"difficulty": "pixels", **options})
    table = {**TABLE, "picture": pictures}
    return transect.match(FEATURES, "g", table, identity="person", caliper=2.0, options=options).table.to_pylist()


def test_the_difficulty_of_pixels_by_hand():
    """x: 0 by itself, others at 51 and 255, so .2 and 1. y: 102, others at 0 and 51, so .4 and .2: .2 and .2 are equal.

    Sizes differ, and of the picture of 2 x 6 only the middle square counts: its margins are white.
    """
    wide = np.full((2, 6, 3), 51)
    wide[:, [0, 1, 4, 5]] = 255
    pair = references([grey(0), png(wide), grey(255, 3, 3), grey(102), grey(0), grey(51, 5, 4)])[0]
    assert (pair["a_reference"], pair["b_reference"]) == (1, 5)
    assert (pair["a_difficulty"], pair["b_difficulty"]) == (pytest.approx(0.2), pytest.approx(0.2))


def test_large_pictures_are_averaged_over_areas():
    """Of 512 pixels every other one white, in both directions or in one quarter: 127.5 and 63.75, rounded."""
    board, quarter = np.indices((512, 512)).sum(axis=0) % 2 * 255, np.zeros((512, 512))
    quarter[::2, ::2] = 255
    fine = [png(np.repeat(pixels[..., None], 3, axis=2)) for pixels in (board, quarter)]
    table = {"g": [1, 1, 0, 0], "person": list("xxyy"), "picture": [grey(0), fine[0], grey(0), fine[1]]}
    options = MatchOptions(references=True, pictures="picture", difficulty="pixels")
    pair = transect.match(FEATURES[[0, 1, 3, 4]], "g", table, identity="person", caliper=2.0, options=options)
    difficulties = [pair.table[name][0].as_py() for name in ("a_difficulty", "b_difficulty")]
    assert difficulties == [pytest.approx(128 / 255), pytest.approx(64 / 255)]


def test_it_is_the_distance_of_features_that_are_the_pixels():
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (6, 256, 256, 3)).astype(np.uint8)
    features = pixels.reshape(6, -1) / 255 / math.sqrt(pixels[0].size)
    pictures = [png(image) for image in pixels]
    by_pixels, by_features = references(pictures), references(pictures, difficulty=features)
    assert by_pixels[0].keys() == by_features[0].keys()
    for name, value in by_features[0].items():
        assert by_pixels[0][name] == pytest.approx(value, rel=1e-5), name
    assert references(pictures) == by_pixels


def test_a_network_sees_pictures_too():
    pictures = [grey(value) for value in (0, 40, 200, 90, 120, 10)]
    pair = references(pictures, difficulty="features")[0]
    assert pair["a_difficulty"] > 0
    assert pair == references(pictures, difficulty="features")[0]
