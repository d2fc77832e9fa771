"""The run folder keeps what it was given, or says in one line why it cannot."""

import errno
import json
import multiprocessing
import os

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from transect.errors import BadInput, CorruptedPart, FolderInUse, FolderOfAnotherSpec, RunFolderError
from transect.runs import folder as store
from transect.runs.folder import FinishedRun, RunFolder, read_record, spec_hash
from transect.runs.layout import runs_of

SPEC = {"design": {"seed": 1, "levels": {"glasses": [0.0, 1.0]}}, "targets": ["opencv"]}
ROWS = pa.table({"id": ["a", "b"], "score": [0.25, None]})


def test_a_part_reads_back_and_is_the_same_bytes_each_time(tmp_path):
    for name in ("one", "two"):
        with RunFolder(tmp_path / name, SPEC) as folder:
            folder.write_part("answers", 0, ROWS)
            assert folder.has_part("answers", 0)
            assert not folder.has_part("answers", 1)
            assert folder.read_part("answers", 0).equals(ROWS)
    parts = [tmp_path / name / "answers" / "part-00000.parquet" for name in ("one", "two")]
    assert parts[0].read_bytes() == parts[1].read_bytes()


def test_a_folder_of_another_spec_names_the_keys(tmp_path):
    with RunFolder(tmp_path, SPEC) as folder:
        folder.write_part("rows", 0, pa.table({"x": [1]}))
    other = {**SPEC, "design": {"seed": 2, "levels": {"glasses": [0.0]}}}
    with pytest.raises(FolderOfAnotherSpec, match="; --seed was 1 and is 2: choose"), RunFolder(tmp_path, other):
        pass
    with RunFolder(tmp_path, SPEC):  # the refusal leaves no lock behind
        pass


def _hold(path, ready, leave):
    with RunFolder(path, SPEC):
        ready.set()
        leave.wait(30)


@pytest.mark.integration
def test_a_folder_in_use_is_refused_and_a_killed_holder_frees_it(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, ready, leave))
    holder.start()
    assert ready.wait(60)
    with pytest.raises(FolderInUse, match="is in use by a live run"), RunFolder(tmp_path, SPEC):
        pass
    holder.kill()
    holder.join()
    with RunFolder(tmp_path, SPEC):
        pass


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 0.9999), flip=st.integers(1, 255))
def test_a_flipped_byte_anywhere_is_found_and_the_part_named(tmp_path, where, flip):
    with RunFolder(tmp_path, SPEC) as folder:
        folder.write_part("answers", 3, ROWS)
        path = tmp_path / "answers" / "part-00003.parquet"
        content = bytearray(path.read_bytes())
        content[int(where * len(content))] ^= flip
        path.write_bytes(content)
        with pytest.raises(CorruptedPart, match=r"answers/part-00003.parquet is damaged: delete that file"):
            folder.read_part("answers", 3)


def test_a_full_disk_is_one_line_and_keeps_what_is_there(tmp_path, monkeypatch):
    with RunFolder(tmp_path, SPEC) as folder:
        folder.write_part("answers", 0, ROWS)

        def full(_handle):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(store.os, "fsync", full)
        with pytest.raises(RunFolderError, match=r"no space left on the disk to write .*part-00001.* are kept"):
            folder.write_part("answers", 1, ROWS)
        monkeypatch.undo()
        assert not folder.has_part("answers", 1)
        assert folder.read_part("answers", 0).equals(ROWS)
        assert [p.name for p in (tmp_path / "answers").iterdir()] == ["part-00000.parquet"]


def test_temporary_files_of_a_killed_run_are_removed(tmp_path):
    with RunFolder(tmp_path, SPEC):
        pass
    ours = [tmp_path / "images" / ".part-00000.parquet.partial", tmp_path / ".report.html.partial"]
    theirs = tmp_path / "docs" / ".thesis.partial"
    for path in (*ours, theirs):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    with RunFolder(tmp_path, SPEC):
        assert not any(path.exists() for path in ours)
        assert theirs.exists(), "other people's files stay"


def test_a_finished_run_reads_whole_tables_and_an_unfinished_one_says_so(tmp_path):
    with RunFolder(tmp_path, SPEC) as folder:
        folder.write_part("answers", 0, ROWS)
        folder.write_part("answers", 1, ROWS)
    run = FinishedRun(tmp_path)
    assert run.spec_hash == spec_hash(SPEC)
    assert run.read_table("answers", 2, without=("score",)).to_pydict() == {"id": ["a", "b", "a", "b"]}
    with pytest.raises(BadInput, match=r"is not finished \(2 of 3 parts of answers\): run its command again first"):
        run.read_table("answers", 3)


def test_text_that_utf8_cannot_hold_is_written_and_reads_back(tmp_path):
    """Half a surrogate pair, as a server's JSON or a file's name may hold it."""
    spec = {"name": "half \ud800", "\udcff": ["\udfff"]}
    for _ in range(2):  # the second run finds the first one's folder
        with RunFolder(tmp_path / "run", spec) as run:
            run.log("failed", reason="\ud800\x9b")
    assert read_record(tmp_path / "run") == {"name": "half �", "�": ["�"]}
    store.write_json(tmp_path / "any.json", {"\ud800": "\ud800"})
    assert json.loads((tmp_path / "any.json").read_text()) == {"�": "�"}
    store.write_atomically(tmp_path / "page.html", "<p>\ud800</p>")
    assert (tmp_path / "page.html").read_text() == "<p>�</p>"


@pytest.mark.parametrize(
    "place", ["negative-control", "interpolation", "studies/smile", "studies/face/negative-control"]
)
def test_parts_whose_run_json_was_lost_are_noticed(tmp_path, place):
    assert runs_of(tmp_path) == [tmp_path]
    (tmp_path / place / "images").mkdir(parents=True)
    with pytest.raises(RunFolderError, match=f"{place} holds parts of a run, but no run.json"):
        runs_of(tmp_path)
