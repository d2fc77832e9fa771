"""Where photographs may change, and how what is changed there is put into them: shapes, files, parts, feathering."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from transect.errors import BadInput, UnknownName
from transect.generators.photographs.masks import Parts, Shown, composite, feathered, open_mask
from transect.marks import Marks


def shown(width=20, height=10, name="faces/a.jpg", frame=lambda whole: whole):
    picture = np.zeros((height, width, 3), np.uint8)
    return Shown(name, 0, width, height, picture, frame)


def test_a_rectangle_and_an_ellipse_hold_the_pixels_whose_middle_is_inside(tmp_path):
    """Of 20 x 10 pixels: columns 5 to 9 and rows 0 to 4; the ellipse point by point."""
    mask = open_mask("rectangle:0.25,0,0.5,0.5", tmp_path).of(shown())
    assert np.argwhere(mask).min(axis=0).tolist() == [0, 5]
    assert np.argwhere(mask).max(axis=0).tolist() == [4, 9]
    assert mask.sum() == 25
    ellipse = open_mask("ellipse:0.5,0.5,0.3,0.4", tmp_path).of(shown())
    for y in range(10):
        for x in range(20):
            inside = (((x + 0.5) / 20 - 0.5) / 0.3) ** 2 + (((y + 0.5) / 10 - 0.5) / 0.4) ** 2 <= 1
            assert ellipse[y, x] == inside


def test_a_folder_has_a_mask_of_each_photograph(tmp_path):
    drawn = np.zeros((10, 20), np.uint8)
    drawn[2:4, 3:6] = 255
    Image.fromarray(drawn).save(tmp_path / "a.png")
    mask = open_mask(f"folder:{tmp_path.name}", tmp_path.parent)
    np.testing.assert_array_equal(mask.of(shown()), drawn > 0)
    # cut as the photograph is: here to its right half
    half = Shown("a", 0, 20, 10, np.zeros((10, 10, 3), np.uint8), lambda whole: whole[:, 10:])
    assert not mask.of(half).any()
    with pytest.raises(BadInput, match=r"b\.jpg: no mask faces/b\.png; add it"):
        mask.of(shown(name="faces/b.jpg"))
    with pytest.raises(BadInput, match="expected a mask of its photograph's 30 x 10 pixels, got 20 x 10"):
        mask.of(shown(width=30))
    described = mask.describe()
    assert (described["kind"], described["masks"], len(described["sha256"])) == ("folder", 1, 64)
    assert str(tmp_path) not in json.dumps(described)


def test_photographs_of_one_name_have_their_masks_in_folders_of_their_own(tmp_path):
    """anna/1.jpg and ben/1.jpg are two photographs: neither takes the mask of the other, nor both one by the name."""
    names = ["anna/1.jpg", "ben/1.jpg", "ben/2.jpg"]
    for place, value in (("anna/1", 255), ("1", 255), ("2", 255)):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((10, 20), value, np.uint8)).save(tmp_path / f"{place}.png")
    mask = open_mask(f"folder:{tmp_path}", tmp_path, photographs=names)
    assert mask.of(shown(name="anna/1.jpg")).all()
    assert mask.of(shown(name="ben/2.jpg")).all()
    with pytest.raises(BadInput, match=r"ben/1\.jpg: no mask ben/1\.png, and .* called 1 too"):
        mask.of(shown(name="ben/1.jpg"))
    (tmp_path / "ben").mkdir()
    Image.fromarray(np.zeros((10, 20), np.uint8)).save(tmp_path / "ben" / "1.png")
    mask = open_mask(f"folder:{tmp_path}", tmp_path, photographs=names)
    assert not mask.of(shown(name="ben/1.jpg")).any()


class LeftHalf:
    """A finder that marks the left half as face, the rest as hair; unsure of rows from 5 on."""

    name, threshold = "halves", 0.5

    def find(self, pixels, rows=None):
        n, size = len(pixels), pixels.shape[1]
        left = np.tile(np.arange(size) < size // 2, (n, size, 1)).astype(np.float32)
        nothing = np.full((n, 68, 2), np.nan)
        sure = np.where(np.asarray(rows) < 5, 1.0, 0.2)
        return Marks(nothing, nothing[:, :5], {"face": left, "hair": 1 - left}, sure, ("",) * n, "halves")

    def describe(self):
        return {"name": self.name}


def test_parts_of_a_face_are_those_of_the_finder_without_margins():
    face = Parts(LeftHalf(), ("face",)).of(shown())
    assert face.shape == (10, 20)
    assert face[:, :10].all()
    assert not face[:, 10:].any()
    assert Parts(LeftHalf(), ("face", "hair")).of(shown()).all()
    unsure = Shown("x", 7, 20, 10, np.zeros((10, 20, 3), np.uint8), lambda whole: whole)
    assert not Parts(LeftHalf(), ("face",)).of(unsure).any()


def test_parts_without_a_finder_are_those_of_the_network_that_ships(tmp_path):
    """A rendered face fills most of its own mask; the corner of the background is none of it."""
    from transect.generators.faceworld.world import FaceWorld

    world = FaceWorld(image_size=128)
    latents = world.set(world.sample([3]), {"hat": 0.0, "yaw": 0.0, "distance": 1.0})
    picture, drawn = world.render(latents).pixels[0], world.masks(latents)["face"][0]
    found = open_mask("face", tmp_path).of(Shown("x", 0, 128, 128, picture, lambda whole: whole))
    assert (found & drawn).sum() / (found | drawn).sum() > 0.7
    assert not found[:8, :8].any()
    assert open_mask("face@network", tmp_path).describe() == open_mask("face", tmp_path).describe()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("circle:1,2,3", UnknownName, "unknown mask 'circle'"),
        ("rectangle:0.5,0,0.4,1", BadInput, "in shares of the sides, with an area"),
        ("ellipse:0.5,0.5,0,1", BadInput, "expected ellipse:X,Y,HALF_WIDTH,HALF_HEIGHT"),
        ("rectangle:0,0,1,1?feather=2", BadInput, r"share of the shorter side from 0 to 0\.5"),
        ("folder:nowhere", BadInput, "no folder with a PNG for each photograph"),
        ("people:mask", BadInput, "applies to photographs of coco:PATH"),
        ("nose@dataset", UnknownName, "unknown part of a face 'nose'"),
        ("face@dataset", BadInput, "a data set's own marks need a data set"),
    ],
)
def test_texts_that_name_no_mask(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        open_mask(text, tmp_path)


@given(
    seed=st.integers(0, 2**32 - 1), feather=st.floats(0, 0.5), shape=st.tuples(st.integers(2, 24), st.integers(2, 24))
)
def test_outside_the_mask_the_photograph_is_put_back_bitwise(seed, feather, shape):
    rng = np.random.default_rng(seed)
    photograph, changed = rng.integers(0, 256, (2, *shape, 3), dtype=np.uint8)
    mask = rng.random(shape) < rng.random()
    shares = feathered(mask, feather)
    made = composite(photograph, changed, shares)
    assert ((shares > 0) == mask).all()
    assert np.array_equal(made[~mask], photograph[~mask])
    assert np.array_equal(made[shares >= 1], changed[shares >= 1])
    # between: no brighter and no darker than both, but for the rounding of light
    low, high = np.minimum(photograph, changed).astype(int), np.maximum(photograph, changed).astype(int)
    assert ((made >= low - 1) & (made <= high + 1)).all()


def test_feathering_is_the_distance_to_the_nearest_pixel_outside():
    """A square of 9 pixels in 21; the rim of 0.1 x 21 = 2.1 pixels: 1 / 3.1, 2 / 3.1, then all."""
    mask = np.zeros((21, 21), bool)
    mask[6:15, 6:15] = True
    shares = feathered(mask, 0.1)
    np.testing.assert_allclose(shares[10, 5:10], [0, 1 / 3.1, 2 / 3.1, 3 / 3.1, 1], rtol=1e-6)
    assert feathered(np.ones((4, 4), bool), 0.3).tolist() == np.ones((4, 4)).tolist()
    assert not feathered(np.zeros((4, 4), bool), 0.3).any()


def test_half_of_the_light_is_mixed_not_half_of_the_value():
    """Black and white in equal parts reflect half of the light, which sRGB writes as 188."""
    black, white = np.zeros((1, 1, 3), np.uint8), np.full((1, 1, 3), 255, np.uint8)
    assert composite(black, white, np.full((1, 1), 0.5, np.float32)).ravel().tolist() == [188] * 3
