"""The network that ships: what it says of faces, of no face and of several, and that each picture counts alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from transect.errors import BadInput
from transect.generators.faceworld.world import FaceWorld, own_marks
from transect.marks import MASKS, open_marks, shipped
from transect.marks.records import MIRRORED, errors, overlaps


@pytest.fixture(scope="module")
def finder():
    return open_marks("network")


@pytest.fixture(scope="module")
def faces():
    """Six plain portraits, and their exact marks."""
    world = FaceWorld(image_size=96, threads=1)
    plain = {"hat": 0.0, "glasses": 0.0, "yaw": 0.0, "pitch": 0.0, "roll": 0.0, "blur": 0.0, "noise": 0.0}
    latents = world.set(world.sample(range(800_000_000, 800_000_006)), plain)
    return world.render(latents).pixels, own_marks(world, latents)


def test_faces_are_found_where_they_are(finder, faces):
    pixels, truth = faces
    found = finder.find(pixels)
    assert found.kept(finder.threshold).sum() >= 5
    assert np.nanmedian(errors(found, truth)["all points"]) < 0.12
    shares = overlaps(found, truth)
    assert tuple(found.masks) == MASKS
    assert np.median(shares["face"]) > 0.75
    assert np.median(shares["person"]) > 0.75
    for mask in found.masks.values():
        assert mask.dtype == np.float32
        assert mask.shape == (6, 96, 96)
        assert 0 <= mask.min() <= mask.max() <= 1


def test_pictures_do_not_depend_on_each_other(finder, faces):
    pixels, _ = faces
    whole, one = finder.find(pixels[:3]), finder.find(pixels[2:3])
    np.testing.assert_array_equal(whole.points[2], one.points[0])
    np.testing.assert_array_equal(whole.confidence[2], one.confidence[0])
    np.testing.assert_array_equal(whole.masks["hair"][2], one.masks["hair"][0])


def test_no_face_has_no_marks(finder):
    """Grey, black, noise, and stripes: nothing is kept."""
    draws = np.random.default_rng(0)
    noise = draws.integers(0, 256, (64, 64, 3))
    stripes = np.zeros((64, 64, 3)) + 200 * (np.arange(64)[:, None, None] // 8 % 2)
    pictures = np.array([np.full((64, 64, 3), 128), np.zeros((64, 64, 3)), noise, stripes]).astype(np.uint8)
    found = finder.find(pictures)
    assert not found.kept(finder.threshold).any()
    assert np.isnan(found.points[[bool(reason) for reason in found.reasons]]).all()


def test_several_faces_are_told(finder, faces):
    pixels, _ = faces
    pairs = np.concatenate([pixels[:3], pixels[3:]], axis=2)
    found = finder.find(pairs)
    assert (found.kept(finder.threshold)).sum() <= 1


def test_grey_pictures_and_those_of_any_size(finder, faces):
    pixels, truth = faces
    grey = np.repeat(pixels.mean(axis=3, keepdims=True).astype(np.uint8), 3, axis=3)
    assert np.nanmedian(errors(finder.find(grey), truth)["all points"]) < 0.15
    for shape in ((1, 1), (3, 50), (40, 9)):
        found = finder.find(np.full((1, *shape, 3), 90, np.uint8))
        assert found.masks["skin"].shape == (1, *shape)
        assert not found.kept(finder.threshold).any()
    none = finder.find(np.zeros((0, 32, 32, 3), np.uint8))
    assert len(none) == 0
    assert none.masks["skin"].shape == (0, 32, 32)
    with pytest.raises(BadInput, match="not images"):
        finder.find(np.zeros((1, 32, 32), np.uint8))


def test_answers_do_not_depend_on_threads(finder, faces, monkeypatch):
    """PyTorch splits an operation among threads, which changes last bits: no thread of a pool may let it."""
    pixels, seen = faces[0], []
    own = shipped.look

    def look(network, picture):
        seen.append(torch.get_num_threads())
        return own(network, picture)

    def found(threads):
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda picture: finder.find(picture[None]), pixels))

    monkeypatch.setattr(shipped, "look", look)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        alone, together = found(1), found(4)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1] * 2 * len(pixels)
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.points, other.points, equal_nan=True)
        assert all(np.array_equal(one.mask(name), other.mask(name)) for name in MASKS)


@pytest.mark.parametrize(("bias", "empty"), [(-50.0, True), (50.0, False)])
def test_the_mask_of_what_is_not_worn_is_empty(bias, empty):
    """An untrained network is in doubt about every pixel; whether a thing is worn at all is another answer."""
    torch.manual_seed(0)
    network = shipped.MarksNetwork().eval()
    with torch.no_grad():
        network.worn.bias[:] = torch.tensor([bias, -bias])
    found = shipped.look(network, np.random.default_rng(0).integers(0, 256, (40, 30, 3)).astype(np.uint8))
    masks = dict(zip(MASKS, found.masks, strict=True))
    assert bool((masks["glasses"] == 0).all()) is empty
    assert bool((masks["hat"] == 0).all()) is not empty
    assert (masks["hair"] > 0).any()


def test_a_face_and_its_mirror_image_are_asked_together(finder, faces):
    """Answers to a mirrored picture are those to the picture, mirrored: glasses, points and their errors, and masks."""
    network = shipped.load().network
    for picture, points in zip(faces[0], faces[1].points, strict=True):
        near = shipped.Square.about(points, shipped.CLOSE)
        mirrored = shipped.Square(picture.shape[1] - near.left - near.side, near.top, near.side)
        own, errors, masks, _, worn = shipped._answers(network, picture, near)
        other, other_errors, other_masks, _, other_worn = shipped._answers(network, picture[:, ::-1], mirrored)
        assert worn[0] == pytest.approx(other_worn[0], abs=0.02)
        np.testing.assert_allclose(own[MIRRORED], other * [-1, 1] + [1, 0], atol=0.002)
        np.testing.assert_allclose(errors[MIRRORED], other_errors, rtol=0.1)
        assert np.abs(masks - other_masks[..., ::-1]).mean() < 0.01
