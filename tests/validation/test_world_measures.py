"""The whole check at the smallest size: its contract, its tables, what it publishes, and the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.validity import validity_of
from transect.generators.faceworld.world import FaceWorld
from validation.__main__ import main
from validation.photometry import STATISTICS
from validation.pictures import Pictures, population
from validation.world import Settings, facts, publish_facts, validate_world
from validation.world_tables import tables_of

SMALL = Settings(subjects=10, image_size=32, epochs=1, resamples=20)


@pytest.fixture(scope="module")
def checked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("validation.world.SHIPPED", ("celebrity-like",))
        return validate_world(SMALL, quiet=True)


@pytest.mark.integration
def test_the_contract(checked):
    assert {(row["fifth"], row["statistic"]) for row in checked["photometry"]} == {
        (fifth, name) for fifth in range(5) for name in STATISTICS
    }
    assert len(checked["photometry"]) == 90
    assert {row["target"] for row in checked["targets"]} == {"opencv:haarcascade_frontalface_default", "dlib:hog-face"}
    assert sum(row["gate"] is not None for row in checked["attributes"]) == 34
    assert len(checked["null_auc"]) == 3
    assert checked["control_auc"]["attribute"] == "smile"
    assert checked["identity"]["met"] in (True, False)
    assert checked["renderer_version"] == RENDERER_VERSION
    assert checked["photometry_passes"] is False, "ten subjects are not enough"
    assert len(checked["by_attribute"]) == 24 * 11
    assert (checked["share_within"], {row["reason"] for row in checked["by_attribute"]}) == (None, {"too few faces"})
    assert {(row["population"], row["pixels"]) for row in checked["sharpness"]} >= {("celebrity-like", "128")}
    json.dumps(checked, allow_nan=False)


@pytest.mark.integration
def test_what_ships_is_read_by_the_world_rounded(checked, tmp_path):
    found = {**checked, "image_size": 128, "share_inside": 0.123456}
    publish_facts(found, tmp_path / "validity.json")
    written = json.loads((tmp_path / "validity.json").read_text())
    assert written == json.loads(json.dumps(facts(found)))
    assert written["photometry"]["share_inside"] == 0.1235
    said = validity_of(written, RENDERER_VERSION)
    assert said["photometry_validated"] is False
    assert said["photometry"]["subjects"] == 10
    assert said["readings"]["skin_tone"]["figure"] == "r2"
    assert not any("/" in str(value) for value in written.values() if isinstance(value, str)), "no path of a machine"
    assert not {"versions", "first_seeds", "epochs"} & written.keys()


@pytest.mark.integration
def test_the_command_measures_the_parts_that_are_asked_for_and_keeps_what_readers_read(tmp_path, capsys):
    words = ["world", "--subjects", "10", "--size", "64", "--out", str(tmp_path), "--reader", "smile=dlib:hog-face"]
    assert main([*words, "--only", "photometry,readers", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert len(figures["photometry"]) == 90
    assert not {"attributes", "sharpness"} & figures.keys()
    assert sum(figures["faces_per_fifth"]) + figures["unmeasured"] == 10
    assert json.loads((tmp_path / "readers.json").read_text())["readers"] == figures["readers"]
    (table,) = [rows for title, _, rows in tables_of(figures) if title.startswith("Read by models from outside")]
    assert table[0][:3] == ["smile", "dlib:hog-face", "FaceWorld"]


def test_pictures_and_truth_are_the_worlds(monkeypatch):
    monkeypatch.setattr("validation.pictures._AT_ONCE", 4)
    world = FaceWorld(image_size=64, threads=1)
    some = Pictures(world, "some", 10, population(70), masks=True, quiet=True)
    latents, rows = world.sample(np.arange(70, 80)), np.array([9, 0, 5, 5])
    assert len(some) == 10
    np.testing.assert_array_equal(some.pixels(rows), world.render(latents).pixels[rows])
    np.testing.assert_array_equal(some.column("skin_tone"), world.read(latents)["skin_tone"].to_numpy())
    np.testing.assert_array_equal(some.face_boxes(), world.render(latents).face_boxes)
    np.testing.assert_array_equal(some.landmarks(), world.landmarks(latents))
    np.testing.assert_array_equal(some.column("area.hair"), world.masks(latents)["hair"].mean((1, 2)))
    np.testing.assert_array_equal(some.column("identity.nose_tip"), latents.values[:, 3])


@pytest.mark.integration
def test_earrings_are_seen_where_the_ears_are_bare():
    """A bun leaves the ears free; long straight hair does not for every subject."""
    world = FaceWorld(image_size=64, threads=1)
    buns = {"hair_style": 7.0, "hat": 0.0, "yaw": 0.0}
    curtains = {"hair_style": 5.0, "hair_length": 1.0, "hair_volume": 1.0, "baldness": 0.0, "hat": 0.0}

    def seen(styled):
        def draw(of, rows):
            return of.set(of.sample(200 + rows), styled)

        return Pictures(world, "some", 6, draw, masks=True, quiet=True).column("seen.earrings")

    free, hung = seen(buns), seen(curtains)
    assert (free >= 0.0002).all(), "worn or not: it is what would change"
    assert (hung < free).mean() > 0.5
