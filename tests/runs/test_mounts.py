"""A folder of this machine stands for one on object storage, which has all that is written there."""

import hashlib

import pyarrow as pa
import pytest

from transect.errors import BadInput, CorruptedPart, RunFolderError
from transect.runs import object_storage, working_folders
from transect.runs.folder import FinishedRun, RunFolder, clear_run, write_json

SPEC = {"design": {"seed": 1, "levels": {"glasses": [0.0, 1.0]}}, "targets": ["opencv"]}
ROWS = pa.table({"id": ["a", "b"], "score": [0.25, None]})


@pytest.fixture
def store(address):
    return object_storage.Store(address)


def names(store):
    return {name for name, _ in store.listed()}


def test_a_run_lies_on_the_storage_as_it_would_on_a_disk(address, store, tmp_path):
    for place in (working_folders.opened(address), tmp_path):
        with RunFolder(place, SPEC) as run:
            run.write_part("answers", 0, ROWS)
            run.write_part("answers", 1, ROWS)
            write_json(run.path / "studies" / "a" / "more.json", [1])
            run.log("done")
    local = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names(store) == local - {"run.lock"}
    for name in names(store) - {"log.jsonl"}:
        assert store.read(name, 1 << 20) == (tmp_path / name).read_bytes()


def test_parts_are_fetched_when_they_are_read(address):
    folder = working_folders.opened(address)
    with RunFolder(folder, SPEC) as run:
        assert not run.has_part("answers", 0)
        run.write_part("answers", 0, ROWS)
        assert run.has_part("answers", 0)
        assert run.read_part("answers", 0).equals(ROWS)
    working_folders.close_all()
    assert not folder.exists()
    folder = working_folders.opened(address)
    finished = FinishedRun(folder)
    assert finished.record == SPEC
    assert finished.finished_parts("answers", 3) == 1
    assert not list(folder.rglob("*.parquet"))
    assert finished.read_columns("answers", 0, ["score"]).column_names == ["id"]
    assert finished.read_table("answers", 1).equals(ROWS)
    with pytest.raises(BadInput, match=rf"{address} is not finished \(1 of 3 parts of answers\)"):
        finished.read_table("answers", 3)


@pytest.mark.parametrize("fetched", [False, True])
def test_a_part_that_was_changed_is_named_by_its_address(address, store, fetched):
    with RunFolder(working_folders.opened(address), SPEC) as run:
        run.write_part("answers", 0, ROWS)
    assert run.path == working_folders.opened(address)
    if not fetched:
        working_folders.close_all()
        working_folders.opened(address)
    store.put(PART, b"PAR1")
    with pytest.raises(CorruptedPart, match=rf"{address}/answers/part-00000.parquet is damaged: delete that file"):
        FinishedRun(working_folders.opened(address)).read_part("answers", 0)
    store.delete(PART)
    assert not FinishedRun(working_folders.opened(address)).has_all("answers", 1)


PART, DIGEST = "answers/part-00000.parquet", ".digests/answers/part-00000.sha256"


@pytest.mark.parametrize("moment", ["looked", "put"])
def test_a_part_that_another_ends_while_its_digest_is_replaced_keeps_its_digest(address, store, monkeypatch, moment):
    """Both found no part; the other's appears after this run has looked, or has replaced the digest."""
    theirs = {}
    plain_look, plain_put = working_folders.Mount._is_stored, type(store).put

    def ended():
        if not theirs:
            theirs[PART], theirs[DIGEST] = b"rows of another machine", digest
            store.create(PART, theirs[PART])

    def look(self, name):
        found = plain_look(self, name)
        if moment == "looked":
            ended()
        return found

    def put(self, name, content):
        mark = plain_put(self, name, content)
        if name == DIGEST and moment == "put":
            ended()
        return mark

    digest = hashlib.sha256(b"rows of another machine").hexdigest().encode()
    with RunFolder(working_folders.opened(address), SPEC) as run:
        store.create(DIGEST, digest)
        monkeypatch.setattr(working_folders.Mount, "_is_stored", look)
        monkeypatch.setattr(type(store), "put", put)
        with pytest.raises(RunFolderError, match="another run writes here"):
            run.write_part("answers", 0, ROWS)
    assert theirs
    assert {name: store.read(name, 100) for name in theirs} == theirs


def test_a_run_that_was_taken_for_dead_looks_before_it_replaces_a_digest(address, store):
    with RunFolder(working_folders.opened(address), SPEC) as run:
        store.put(DIGEST, b"of the run that took over, which is about to write the part")
        store.put(".claims/00001.json", b"{}")
        with pytest.raises(RunFolderError, match="another run may have taken over"):
            run.write_part("answers", 0, ROWS)
    assert store.read(DIGEST, 100) == b"of the run that took over, which is about to write the part"
    assert PART not in names(store)


def test_a_digest_of_a_part_that_never_came_is_replaced(address, store):
    with RunFolder(working_folders.opened(address), SPEC) as run:
        store.put(DIGEST, b"of a part that never came")
        run.write_part("answers", 0, ROWS)
        assert run.read_part("answers", 0).equals(ROWS)


def test_what_another_machine_wrote_is_seen_when_the_folder_is_taken(address, store):
    folder = working_folders.opened(address)
    with RunFolder(folder, SPEC) as run:
        run.write_part("answers", 0, ROWS)
    part, digest = "answers/part-00000.parquet", ".digests/answers/part-00000.sha256"
    store.put(part.replace("00000", "00001"), store.read(part, 1 << 20))
    store.put(digest.replace("00000", "00001"), store.read(digest, 100))
    store.put("bins.json", b"{}")
    store.delete(part)
    with RunFolder(folder, SPEC) as run:
        assert [run.has_part("answers", index) for index in range(2)] == [False, True]
        assert (folder / "bins.json").read_bytes() == b"{}"
    store.delete("bins.json")
    working_folders.opened(address)
    assert not (folder / "bins.json").exists()


def failing(store, deed, name):
    """The storage fails where this is done to this object, until `undo` of what is returned."""
    patched, plain = pytest.MonkeyPatch(), getattr(type(store), deed)

    def fails(self, called, *rest):
        if called == name:
            raise RunFolderError("the storage did not answer")
        return plain(self, called, *rest)

    patched.setattr(type(store), deed, fails)
    return patched


def test_what_could_not_be_stored_is_not_here_and_is_stored_by_the_next_call_of_this_process(address, store):
    failed = failing(store, "put", "run.json")
    with pytest.raises(RunFolderError, match="did not answer"), RunFolder(working_folders.opened(address), SPEC):
        pass
    failed.undo()
    assert not list(working_folders.opened(address).iterdir())
    with RunFolder(working_folders.opened(address), SPEC) as run:
        run.write_part("answers", 0, ROWS)
    assert "run.json" in names(store)
    failed = failing(store, "put", "bins.json")
    folder = working_folders.opened(address)
    with pytest.raises(RunFolderError, match="did not answer"):
        write_json(folder / "bins.json", [1])
    failed.undo()
    assert not (folder / "bins.json").exists()


def test_opening_a_folder_again_leaves_what_a_live_run_of_this_process_has_not_stored_yet(address, store):
    with RunFolder(working_folders.opened(address), SPEC) as run:
        run.log("begun")
        half = run.path / ".results.json.partial"
        half.write_bytes(b"half")
        assert working_folders.opened(address) == run.path
        assert half.exists()
        run.log("done")
    assert store.read("log.jsonl", 1000).count(b"\n") == 2


def test_overwriting_deletes_what_the_run_wrote(address, store, monkeypatch):
    folder = working_folders.opened(address)
    with RunFolder(folder, SPEC) as run:
        run.write_part("images", 0, ROWS)
        run.write_part("predictions/one", 0, ROWS)
    store.put("mine.txt", b"kept")
    monkeypatch.setattr("transect.runs.folder.read_spec", lambda _place: None)
    clear_run(folder)
    assert names(store) == {"mine.txt"}


def test_names_that_lead_elsewhere_are_no_files_of_a_run(address, store, tmp_path, monkeypatch):
    hostile = [
        "../out.json",
        "../../part-00000.parquet",
        "a/../../out.json",
        "a//b.json",
        "/etc/x",
        "a\nb",
        "a\\b",
        "/".join("abcdefghijklmno"),
    ]
    listed = [(name, object_storage.Listed(1, store_time(store), "")) for name in [*hostile, "run.json"]]
    monkeypatch.setattr(type(store), "listed", lambda self, below="": iter(listed))
    monkeypatch.setattr(type(store), "read", lambda self, name, most: b"{")
    folder = working_folders.opened(address)
    assert [path.relative_to(folder.parent).as_posix() for path in folder.parent.rglob("*") if path.is_file()] == [
        "run/run.json"
    ]
    working_folders.fetch_parts_below(folder)
    assert not list(folder.parent.rglob("*.parquet"))


def store_time(store):
    store.put("clock", b"")
    try:
        return store.changed("clock")
    finally:
        store.delete("clock")


def test_more_than_a_run_holds_is_refused(address, store, monkeypatch):
    for name in ("a", "b", "c"):
        store.put(name, b"12345")
    monkeypatch.setattr(working_folders, "MOST_FILES", 1)
    with pytest.raises(BadInput, match="at most 1 small files, found more"):
        working_folders.opened(address)
    monkeypatch.setattr(working_folders, "MOST_FILES", 10)
    monkeypatch.setattr(working_folders, "LARGEST", 14)
    with pytest.raises(BadInput, match=f"{address}: expected at most 14 bytes, got more"):
        working_folders.opened(address)
