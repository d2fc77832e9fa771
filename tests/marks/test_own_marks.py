"""The record of marks, and the marks that come with a data set."""

import json

import numpy as np
import pytest
import replicas
from PIL import Image

from transect.datasets import open_dataset
from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.world import FaceWorld, own_marks
from transect.marks import MASKS, Marks, open_marks


def test_five_points_come_from_68_and_rows_are_chosen():
    points = np.arange(3 * 68 * 2, dtype=float).reshape(3, 68, 2)
    points[1] = np.nan
    marks = Marks.of_points(points, "hand", confidence=np.array([0.4, 0.9, 0.8]))
    assert marks.confidence.tolist() == [0.4, 0.0, 0.8]
    assert marks.reasons == ("", "no points are known", "")
    assert marks.five[0].tolist() == [[77.0, 78.0], [89.0, 90.0], [60.0, 61.0], [96.0, 97.0], [108.0, 109.0]]
    assert marks.kept(0.5).tolist() == [False, False, True]
    assert marks.take([2, 0]).confidence.tolist() == [0.8, 0.4]
    assert len(marks.take(slice(1, None))) == 2


def test_faceworld_marks_its_own_pictures():
    world = FaceWorld(image_size=32, threads=1)
    latents = world.set(world.sample([7, 8]), {"hat": [0.0, 2.0]})
    marks = own_marks(world, latents)
    assert tuple(marks.masks) == MASKS
    assert marks.mask("hat").any(axis=(1, 2)).tolist() == [False, True]
    assert not (marks.mask("hat") & marks.mask("hair")).any()
    np.testing.assert_array_equal(marks.points, world.landmarks(latents))
    with pytest.raises(UnknownName, match="unknown mask 'beard'"):
        world.masks(latents, further=("beard",))


def test_names_of_finders(tmp_path):
    for text, message in (
        ("nobody", "unknown finder of marks 'nobody'"),
        ("dlib:", "expected dlib:FILE, got 'dlib:'"),
        (f"dlib:{tmp_path / 'none.dat'}", "no such file"),
        ("dataset", "a data set's own marks need a data set"),
    ):
        with pytest.raises(BadInput, match=message):
            open_marks(text)


def test_the_68_points_of_ffhq_on_thumbnails(tmp_path):
    root = replicas.ffhq(tmp_path, labelled=False)
    points = (np.arange(136.0).reshape(68, 2) * 7).tolist()
    listed = {"0": {"category": "training", "image": {"face_landmarks": points}}, "2": {"category": "validation"}}
    (root / "ffhq-dataset-v2.json").write_text(json.dumps(listed))
    made = open_dataset(f"ffhq:{root}", labelled=False)
    np.testing.assert_allclose(made.points[0], np.array(points) / 8)
    assert np.isfinite(made.points).all(axis=(1, 2)).tolist() == [True, False, False, False]


def test_the_masks_of_celebamask_hq(tmp_path):
    """Skin over the left half, an eye in it, hair over the upper quarter; the photograph has a quarter of the size."""
    root = replicas.celeba_hq(tmp_path)
    folder = root / "CelebAMask-HQ-mask-anno" / "0"
    folder.mkdir(parents=True)
    for part, area in (("skin", np.s_[:, :32]), ("l_eye", np.s_[32:48, 0:16]), ("hair", np.s_[:16, :])):
        mask = np.zeros((64, 64, 3), np.uint8)
        mask[area] = 255
        Image.fromarray(mask).save(folder / f"00001_{part}.png")
    made = open_dataset(f"celeba-hq:{root}", image_size=16)
    rows = np.arange(2)
    marks = open_marks("dataset", made).find(made.pixels(rows), rows)
    assert tuple(marks.masks) == MASKS
    assert marks.confidence.tolist() == [0.0, 1.0]
    assert marks.reasons == ("no masks are known", "")
    assert {name: int(marks.mask(name)[1].sum()) for name in MASKS} == {
        "skin": 8 * 12 - 16, "hair": 4 * 16, "face": 8 * 12, "eyes": 16, "mouth": 0, "glasses": 0,
        "person": 8 * 16 + 4 * 8, "hat": 0,
    }  # fmt: skip
    assert marks.mask("eyes")[1, 8:12, 0:4].all()
