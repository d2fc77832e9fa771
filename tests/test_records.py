"""The nouns refuse what they cannot hold."""

import numpy as np
import pytest

from transect.errors import BadInput
from transect.records import Attribute, Design, Images, Latents


@pytest.mark.parametrize(
    ("pixels", "found"),
    [
        (np.zeros((1, 8, 8, 3), dtype=np.float32), "float32 [1, 8, 8, 3]"),
        (np.zeros((8, 8, 3), dtype=np.uint8), "uint8 [8, 8, 3]"),
    ],
)
def test_not_an_image(pixels, found):
    with pytest.raises(BadInput) as error:
        Images(pixels)
    assert str(error.value) == f"not images: expected uint8 [n, h, w, 3], got {found}; convert to 8-bit sRGB"


def test_attributes_are_checked():
    with pytest.raises(BadInput, match="a binary attribute needs at least two levels"):
        Attribute("glasses", "binary", "wears glasses")
    with pytest.raises(BadInput, match="expected low < high, got 3 and 3"):
        Attribute("age", "continuous", "age", low=3, high=3)
    glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    with pytest.raises(BadInput, match="glasses: expected one of off, on, got 0.5"):
        glasses.check(0.5)
    assert glasses.label(1.0) == "on"


def test_levels_that_begin_with_none_are_worn_or_not():
    assert Attribute("hat", "categorical", "hat", levels=("none", "cap", "hood")).optional
    assert not Attribute("hair", "categorical", "hair", levels=("bald", "bun", "none")).optional
    assert not Attribute("hat", "binary", "hat", levels=("none", "cap")).optional


def test_cells_run_with_the_last_attribute_fastest():
    cells = Design({"a": (0.0, 1.0), "b": (5.0, 6.0, 7.0)}, subjects=2).cells()
    assert [(cell["a"], cell["b"]) for cell in cells] == [(0, 5), (0, 6), (0, 7), (1, 5), (1, 6), (1, 7)]


def test_latents_keep_their_settings_when_rows_are_taken():
    latents = Latents(np.array([4, 9]), np.eye(2), settings={"age": np.array([30.0, 60.0])})
    twice = latents.repeat(2)
    assert twice.seeds.tolist() == [4, 4, 9, 9]
    assert twice.settings["age"].tolist() == [30, 30, 60, 60]
    assert twice.take(slice(3, 4)).values.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("levels", "subjects"),
    [({}, 10**12), ({"a": (0.0, 1.0)}, 10**8 + 1), ({name: tuple(range(400)) for name in "abc"}, 1)],
)
def test_a_design_that_no_machine_can_hold_is_refused_before_it_is_laid_out(levels, subjects):
    with pytest.raises(BadInput, match="expected at most"):
        Design(levels, subjects)
    assert Design({"a": (0.0, 1.0)}, 10**8).n_images == 2 * 10**8
