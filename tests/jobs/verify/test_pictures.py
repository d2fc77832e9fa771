"""Kept pictures are the world's own, part by part, and what is said of them is what the world says."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify import pictures as module
from transect.jobs.verify.cache import Cache
from transect.jobs.verify.identity import same_code
from transect.jobs.verify.pictures import Pictures, face_boxes, landmarks, plain


@pytest.fixture(scope="module")
def world():
    return FaceWorld(image_size=64, threads=1)


@pytest.fixture(scope="module")
def made(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch, Cache(folder) as cache:
        patch.setattr(module, "PER_PART", 4)
        yield folder, Pictures(cache, world, "some", 10, plain(70), key={"first": 70}, masks=True, quiet=True)


def test_pictures_and_truth_are_the_worlds(made, world, monkeypatch):
    monkeypatch.setattr(module, "PER_PART", 4)
    folder, some = made
    latents = world.sample(np.arange(70, 80))
    rows = np.array([9, 0, 5, 5])
    assert len(some) == 10
    assert len(list(folder.glob("some-*.npy"))) == 3, "parts of four, the last of two"
    np.testing.assert_array_equal(some.pixels(rows), world.render(latents).pixels[rows])
    np.testing.assert_array_equal(some.column("skin_tone"), world.read(latents)["skin_tone"].to_numpy())
    np.testing.assert_array_equal(face_boxes(some), world.render(latents).face_boxes)
    np.testing.assert_allclose(landmarks(some), world.landmarks(latents), rtol=0, atol=0)
    np.testing.assert_array_equal(some.column("area.hair"), world.masks(latents)["hair"].mean((1, 2)))
    np.testing.assert_array_equal(some.column("identity.nose_tip"), latents.values[:, 3])


def test_a_lost_part_is_made_again_and_others_are_not(made, world, monkeypatch):
    monkeypatch.setattr(module, "PER_PART", 4)
    folder, some = made
    before = {path.name: path.read_bytes() for path in folder.glob("some-*")}
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("some-0000*")}
    for path in folder.glob("some-0001*.parquet"):  # killed between pixels and table
        path.unlink()
    cache = Cache(folder)
    again = Pictures(cache, world, "some", 10, plain(70), key={"first": 70}, masks=True, quiet=True)
    assert {path.name: path.read_bytes() for path in folder.glob("some-*")} == before
    assert {path.name: path.stat().st_mtime_ns for path in folder.glob("some-0000*")} == kept
    np.testing.assert_array_equal(again.pixels(np.arange(10)), some.pixels(np.arange(10)))


def test_earrings_are_seen_where_the_ears_are_bare(world, tmp_path):
    """A bun leaves the ears free; long straight hair does not for every subject."""

    def buns(world, rows):
        styled = {"hair_style": 7.0, "hat": 0.0, "earrings": (rows % 2).astype(float), "yaw": 0.0}
        return world.set(world.sample(200 + rows), styled)

    def curtains(world, rows):
        styled = {"hair_style": 5.0, "hair_length": 1.0, "hair_volume": 1.0, "baldness": 0.0, "hat": 0.0}
        return world.set(world.sample(200 + rows), styled)

    with Cache(tmp_path) as cache:
        free, hung = (
            Pictures(cache, world, name, 6, draw, key={}, masks=True, quiet=True).column("seen.earrings")
            for name, draw in (("free", buns), ("hung", curtains))
        )
    assert (free >= 0.0002).all(), "worn or not: it is what would change"
    assert (hung < free).mean() > 0.5


def test_a_sample_without_masks_has_no_areas(world, tmp_path):
    with Cache(tmp_path) as cache:
        some = Pictures(cache, world, "codes", 2, same_code(5, 2), key={}, quiet=True)
    assert "area.hair" not in some.names
    np.testing.assert_array_equal(some.latents(np.arange(2)).values[0, :30], some.latents(np.arange(2)).values[1, :30])
