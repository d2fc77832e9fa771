"""Controls fitted in w on codes of w+: read by the mean, moved in every layer, and what stays."""

import numpy as np
import pytest

from transect.controls.directions import fit_direction
from transect.controls.learned import LearnedControls
from transect.errors import BadInput
from transect.records import Latents
from transect.testing import check_controls

DRAWS = np.random.default_rng(3)
Z = DRAWS.standard_normal((400, 3))
LABELS = {"age": 40 + 10 * Z[:, 0] + Z[:, 1], "smile": Z[:, 1]}
CODES = DRAWS.standard_normal((5, 4, 3)) / 3
EXPANDED = Latents(np.arange(5), CODES.reshape(5, 12), "w+")
MEAN = Latents(np.arange(5), CODES.mean(axis=1), "w")


@pytest.fixture(scope="module")
def controls():
    return LearnedControls([fit_direction(name, Z, y, "continuous") for name, y in LABELS.items()], "w")


def test_codes_of_w_plus_are_read_by_their_mean(controls):
    for name in LABELS:
        np.testing.assert_allclose(controls.read(EXPANDED)[name], controls.read(MEAN)[name])


def test_every_layer_moves_as_the_mean_does(controls):
    """The change of w, in every layer; so that what layers have of their own stays, and the mean says the new value."""
    change = controls.set(MEAN, {"age": 45.0}).values - MEAN.values
    assert np.abs(change).max() > 0.05
    moved = controls.set(EXPANDED, {"age": 45.0})
    assert moved.space == "w+"
    np.testing.assert_allclose(moved.values.reshape(5, 4, 3) - CODES, np.repeat(change[:, None], 4, axis=1), atol=1e-9)
    np.testing.assert_allclose(controls.read(moved)["age"], 45.0, atol=1e-2)
    np.testing.assert_allclose(controls.read(moved)["smile"], controls.read(EXPANDED)["smile"], atol=1e-2)


def test_they_keep_the_contract(controls):
    check_controls(controls, EXPANDED)


def test_other_widths_and_spaces_are_refused(controls):
    with pytest.raises(BadInput, match=r"expected space w with 3 coordinates, got w\+ with 7; map them first"):
        controls.read(Latents(np.arange(1), np.zeros((1, 7)), "w+"))
