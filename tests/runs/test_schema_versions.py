"""Each schema version of a run folder opens with the numbers that it was written with; a later one is one line."""

import json
import shutil
from unittest.mock import Mock

import pytest
from small_folders import FOLDERS, NUMBERS, brightness, numbers_of

import transect
from transect.errors import RunFolderError
from transect.experiment.study import Study
from transect.jobs.audit.run import resume_or_clear
from transect.runs import spec_changes
from transect.runs.folder import FinishedRun, RunFolder, read_record, spec_hash
from transect.targets import as_target
from transect.targets.capabilities import describe


def test_a_folder_of_every_version_is_kept():
    kept = sorted(int(folder.name.removeprefix("version-")) for folder in FOLDERS.iterdir())
    assert (
        kept == [*spec_changes.MIGRATIONS, spec_changes.SCHEMA_VERSION] == list(range(spec_changes.SCHEMA_VERSION + 1))
    )
    assert sum(path.stat().st_size for path in FOLDERS.rglob("*") if path.is_file()) < 70_000 * len(kept)


@pytest.mark.parametrize("folder", sorted(FOLDERS.iterdir()), ids=lambda folder: folder.name)
def test_a_folder_of_a_version_opens_with_the_same_numbers(folder, tmp_path):
    expected = json.loads((folder / NUMBERS).read_text())
    run = shutil.copytree(folder, tmp_path / "run")
    transect.report(run, quiet=True)
    opened = transect.open_run(run)
    found = numbers_of(opened)
    assert found["images"] == expected["images"] == opened.images.num_rows == 8
    for effect, stated in zip(found["effects"], expected["effects"], strict=True):
        numbers = {name: value for name, value in stated.items() if not isinstance(value, str)}
        assert effect == {**stated, **{name: pytest.approx(value, rel=1e-9) for name, value in numbers.items()}}
    scores = [score for (score,) in opened.predictions["scores"].to_pylist()]
    low, high = scores[0::2], scores[1::2]
    assert expected["effects"][1]["estimate"] == pytest.approx(sum(high) / 4 - sum(low) / 4)


def test_a_step_between_versions_is_taken(monkeypatch, tmp_path):
    """With a version 2 that renames a key, folders of both versions before become the same record."""

    def renamed(record):
        return {("title" if key == "name" else key): value for key, value in record.items()}

    monkeypatch.setattr(spec_changes, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(spec_changes, "MIGRATIONS", {**spec_changes.MIGRATIONS, 1: renamed})
    zero, one = (read_record(FOLDERS / f"version-{n}") for n in (0, 1))
    assert zero == one
    assert zero["title"] == "audit"
    assert "name" not in zero


def test_the_hash_of_a_run_is_the_stored_one_whatever_its_version(monkeypatch):
    """Ratings and results name it: it must not change with the Transect that reads the run."""
    stated = {n: json.loads((FOLDERS / f"version-{n}" / "run.json").read_text())["spec_hash"] for n in (0, 1)}
    monkeypatch.setattr(spec_changes, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(spec_changes, "MIGRATIONS", {**spec_changes.MIGRATIONS, 1: lambda record: {**record, "new": 1}})
    assert {n: FinishedRun(FOLDERS / f"version-{n}").spec_hash for n in (0, 1)} == stated


def test_no_run_goes_on_in_a_folder_of_an_earlier_version(tmp_path):
    run = shutil.copytree(FOLDERS / "version-0", tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for _ in range(2):  # the refusal leaves no lock behind
        with (
            pytest.raises(RunFolderError, match="expected a run of schema version 1 to resume, got one of version 0"),
            RunFolder(run, read_record(run)),
        ):
            pass
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("version", [0, 1])
def test_an_audit_finds_room_in_a_folder_of_an_earlier_version_where_it_may_overwrite(version, tmp_path):
    run = shutil.copytree(FOLDERS / f"version-{version}", tmp_path / "run")
    spec = FinishedRun(run).spec
    same = {run: Mock(spec=Study, **{"spec.return_value": spec})}
    if version < spec_changes.SCHEMA_VERSION:
        with pytest.raises(RunFolderError, match="one of version 0; choose another .*; --overwrite deletes that run"):
            resume_or_clear(run, same, overwrite=False)
        assert (run / "run.json").exists()
    resume_or_clear(run, same, overwrite=True)
    assert (run / "run.json").exists() == (version == spec_changes.SCHEMA_VERSION)


def with_todays_model(run):
    """The function that was asked lies in another module now; all else stays as that version wrote it."""
    body = json.loads((run / "run.json").read_text())
    stated = {key: body.pop(key) for key in ("schema_version", "spec_hash") if key in body}
    body["targets"][0]["description"] = dict(describe(as_target(brightness)))
    (run / "run.json").write_text(json.dumps({**stated, "spec_hash": spec_hash(body), **body}))


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(
            folder, marks=() if folder.name == f"version-{spec_changes.SCHEMA_VERSION}" else pytest.mark.integration
        )
        for folder in sorted(FOLDERS.iterdir())
    ],
    ids=lambda folder: folder.name,
)
def test_a_folder_of_a_version_is_made_again_and_its_files_are_checked(folder, tmp_path):
    """By this Transect: the same subjects at the same levels. What its faces look like may be otherwise than then."""
    run = shutil.copytree(folder, tmp_path / "run")
    with_todays_model(run)
    again = transect.reproduce(run, targets={"brightness": brightness}, quiet=True).numbers
    differing = {column.column for table in again.tables for column in table.columns}
    assert differing <= {"image", "face_box", "scores"}
    assert [table.name for table in again.tables] == ["images", "predictions/brightness"]
    assert [table.rows for table in again.tables] == [8, 8]
    assert read_record(tmp_path / "run-again").keys() == read_record(run).keys()
    transect.report(run, quiet=True)
    assert transect.verify("run", run=run).numbers.run.holds
