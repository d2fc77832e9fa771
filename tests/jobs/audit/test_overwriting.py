"""A run that is in the way of an audit: refused, resumed or deleted, and what is never deleted."""

import auditing
import pyarrow as pa
import pytest

import transect
from transect.errors import FolderInUse, FolderOfAnotherSpec, RunFolderError, TooManyFailures, TransectError
from transect.runs.folder import FinishedRun, RunFolder
from transect.runs.locks import lock_folder

SMALL = {"vary": {"glasses": (0, 1)}, "subjects": 2, "image_size": 32, "control": False}


def audit(out, **settings):
    return auditing.audit("audited:brightness", out=out, **(SMALL | settings))


def test_a_run_with_other_settings_is_refused_with_the_way_out(without_page, tmp_path):
    audit(tmp_path / "run")
    with pytest.raises(FolderOfAnotherSpec, match=r"`seed` was 0 and is 1.*; `overwrite` deletes that run") as caught:
        audit(tmp_path / "run", seed=1)
    assert "\n" not in str(caught.value)
    assert FinishedRun(tmp_path / "run").spec.design.seed == 0


def no_license(pixels):
    raise ValueError("no license")


def test_a_run_without_an_answer_does_not_block_the_corrected_command(without_page, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(TooManyFailures, match="run the command again"):
        auditing.audit(no_license, out=run, **SMALL)
    assert FinishedRun(run).record["design"]["subjects"] == 2
    audit(run, seed=1)
    assert FinishedRun(run).spec.design.seed == 1
    with pytest.raises(FolderOfAnotherSpec):  # now there are answers
        audit(run)


def test_a_record_alone_gives_way_and_a_changed_one_does_not(tmp_path):
    with RunFolder(tmp_path, {"a": 1}):
        pass
    with RunFolder(tmp_path, {"a": 2}) as folder:
        assert FinishedRun(tmp_path).record == {"a": 2}
        folder.write_part("rows", 0, pa.table({"x": [1]}))
    with pytest.raises(FolderOfAnotherSpec), RunFolder(tmp_path, {"a": 3}):
        pass
    assert FinishedRun(tmp_path).record == {"a": 2}


@pytest.mark.integration
def test_overwriting_deletes_the_run_and_leaves_other_files(tmp_path):
    audit(tmp_path / "run", margin="score=0.1")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    result = audit(tmp_path / "run", seed=1, overwrite=True)
    assert transect.open_run(tmp_path / "run").spec.design.seed == 1
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "run" / "settings.json").exists()
    fresh = audit(tmp_path / "fresh", seed=1)
    assert result.page.read_bytes() == fresh.page.read_bytes()


@pytest.mark.integration
def test_other_studies_in_the_folder_are_in_the_way(tmp_path):
    """Without this the report would be about the studies of before."""
    audit(tmp_path / "run", observe=6)
    with pytest.raises(FolderOfAnotherSpec, match="holds the study .*, which this audit does not have"):
        audit(tmp_path / "run")
    audit(tmp_path / "run", overwrite=True)
    assert len(transect.open_run(tmp_path / "run").studies) == 1
    with pytest.raises(FolderOfAnotherSpec, match="holds a run of one study, which this audit does not have"):
        audit(tmp_path / "run", observe=6)
    audit(tmp_path / "run", observe=6, overwrite=True)
    assert len(transect.open_run(tmp_path / "run").studies) == 2


def test_what_people_rated_is_never_deleted(without_page, tmp_path):
    audit(tmp_path / "run")
    (tmp_path / "run" / "ratings.parquet").write_bytes(b"of people")
    with pytest.raises(RunFolderError, match="`overwrite` would delete the images that people rated"):
        audit(tmp_path / "run", seed=1, overwrite=True)
    assert (tmp_path / "run" / "run.json").is_file()


def test_a_link_in_the_run_is_not_followed(without_page, tmp_path):
    audit(tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    (tmp_path / "run" / "edits").symlink_to(tmp_path / "mine")
    with pytest.raises(RunFolderError, match="got a link"):
        audit(tmp_path / "run", seed=1, overwrite=True)
    assert (tmp_path / "mine" / "file").read_text() == "mine"


def test_a_study_that_is_a_link_is_not_followed(without_page, tmp_path):
    audit(tmp_path / "victim")
    (tmp_path / "run" / "studies").mkdir(parents=True)
    (tmp_path / "run" / "studies" / "v").symlink_to(tmp_path / "victim")
    with pytest.raises(RunFolderError, match="got a link"):
        audit(tmp_path / "run", overwrite=True)
    assert (tmp_path / "victim" / "run.json").is_file()
    assert any((tmp_path / "victim" / "images").iterdir())


def test_a_folder_of_another_program_is_not_deleted(without_page, tmp_path):
    (tmp_path / "run" / "images").mkdir(parents=True)
    (tmp_path / "run" / "images" / "mine.jpg").write_bytes(b"mine")
    (tmp_path / "run" / "run.json").write_text('{"lr": 0.1}')
    with pytest.raises(TransectError):
        audit(tmp_path / "run", observe=6, overwrite=True)
    assert (tmp_path / "run" / "images" / "mine.jpg").is_file()


def test_nothing_is_deleted_where_a_part_of_the_run_is_in_use(without_page, tmp_path):
    run, place = tmp_path / "run", "studies/experiment/negative-control"
    audit(run, observe=6, vary={"glasses": (0, 1), "smile": (0, 1)}, control=True)
    before = _files(run)
    lock = lock_folder(run / place)
    with pytest.raises(FolderInUse, match=f"{place} is in use by a live run"):
        audit(run, overwrite=True)
    lock.release()
    assert _files(run) == before


def _files(run):
    return {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file() and path.name != "run.lock"}


def test_a_data_set_in_the_way_stays(tmp_path):
    """It has no answers either, and its images are what was wanted."""
    transect.render(tmp_path / "data", subjects=2, image_size=32, data_set=True, quiet=True)
    kept = sorted(path.read_bytes() for path in (tmp_path / "data").rglob("*.parquet"))
    with pytest.raises(TransectError):
        audit(tmp_path / "data")
    assert sorted(path.read_bytes() for path in (tmp_path / "data").rglob("*.parquet")) == kept
