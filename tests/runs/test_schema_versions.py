"""A kept run folder opens with the numbers that it was written with; one of another schema version is one line."""

import json
import shutil

import pytest
from small_folders import FOLDERS, NUMBERS, brightness, numbers_of

import transect
from transect.errors import RunFolderError
from transect.generators.faceworld.world import FaceWorld
from transect.runs import spec_changes
from transect.runs.folder import read_record, spec_hash
from transect.targets import as_target
from transect.targets.capabilities import describe


@pytest.mark.integration
@pytest.mark.parametrize("folder", sorted(FOLDERS.iterdir()), ids=lambda folder: folder.name)
def test_a_folder_of_a_version_opens_with_the_same_numbers(folder, tmp_path):
    expected = json.loads((folder / NUMBERS).read_text())
    run = shutil.copytree(folder, tmp_path / "run")
    transect.report(run, quiet=True)
    opened = transect.open_run(run)
    found = numbers_of(opened)
    assert found["images"] == expected["images"] == opened.images.num_rows == 8
    for effect, stated in zip(found["effects"], expected["effects"], strict=True):
        numbers = {name: value for name, value in stated.items() if isinstance(value, float)}
        assert effect == {**stated, **{name: pytest.approx(value, rel=1e-9) for name, value in numbers.items()}}
    scores = [score for (score,) in opened.predictions["scores"].to_pylist()]
    low, high = scores[0::2], scores[1::2]
    assert expected["effects"][1]["estimate"] == pytest.approx(sum(high) / 4 - sum(low) / 4)


def test_a_folder_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(spec_changes, "SCHEMA_VERSION", 2)
    with pytest.raises(
        RunFolderError, match="expected schema version 2, got 1: open it with the Transect that wrote it"
    ):
        read_record(FOLDERS / "version-1")


def with_todays_model(run):
    """The function that was asked lies in another module now, people are drawn otherwise, on no device; all else stays."""
    body = json.loads((run / "run.json").read_text())
    stated = {key: body.pop(key) for key in ("schema_version", "spec_hash") if key in body}
    body["targets"][0]["description"] = dict(describe(as_target(brightness)))
    del body["generator"]["device"]
    body["generator"]["population_sha256"] = FaceWorld(image_size=32).model.population.sha256
    (run / "run.json").write_text(json.dumps({**stated, "spec_hash": spec_hash(body), **body}))


@pytest.mark.parametrize("folder", sorted(FOLDERS.iterdir()), ids=lambda folder: folder.name)
def test_a_folder_of_a_version_is_made_again_and_its_files_are_checked(folder, tmp_path):
    """By this Transect: the same subjects at the same levels. What its people look like, and the camera, may be otherwise than then."""
    run = shutil.copytree(folder, tmp_path / "run")
    with_todays_model(run)
    again = transect.reproduce(run, targets={"brightness": brightness}, quiet=True).numbers
    differing = {column.column for table in again.tables for column in table.columns}
    of_the_camera = {f"true.{name}" for name in ("exposure", "blur", "pitch", "distance")}
    assert differing <= {"image", "face_box", "scores", *of_the_camera}
    assert [table.name for table in again.tables] == ["images", "predictions/brightness"]
    assert [table.rows for table in again.tables] == [8, 8]
    assert read_record(tmp_path / "run-again").keys() == read_record(run).keys()
    transect.report(run, quiet=True)
    assert transect.verify("run", run=run).numbers.run.holds
