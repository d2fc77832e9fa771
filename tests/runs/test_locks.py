"""Nothing is written through links in a run folder, and one process at a time works in it."""

import json
import subprocess
import sys

import pytest

from transect.errors import FolderInUse, RunFolderError
from transect.runs.folder import RunFolder, write_atomically, write_json
from transect.runs.locks import lock_folder, refuse_links


@pytest.fixture
def run(tmp_path):
    with RunFolder(tmp_path / "run", {"seed": 1}):
        pass
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("mine")
    return tmp_path / "run"


def test_a_file_that_is_a_link_is_not_written_through(run, tmp_path):
    (run / "report.html").symlink_to(tmp_path / "elsewhere" / "file")
    with pytest.raises(RunFolderError, match=r"report\.html: expected a file or folder of the run, got a link"):
        write_atomically(run / "report.html", "ours")
    assert (tmp_path / "elsewhere" / "file").read_text() == "mine"


def test_the_log_and_the_lock_are_no_links(run, tmp_path):
    (run / "log.jsonl").unlink(missing_ok=True)
    (run / "log.jsonl").symlink_to(tmp_path / "elsewhere" / "file")
    with RunFolder(run, {"seed": 1}) as folder, pytest.raises(RunFolderError, match=r"log\.jsonl"):
        folder.log("event")
    (run / "run.lock").unlink(missing_ok=True)
    (run / "run.lock").symlink_to(tmp_path / "elsewhere" / "file")
    with (
        pytest.raises(RunFolderError, match=r"run\.lock: expected a run's lock, got a link"),
        RunFolder(run, {"seed": 1}),
    ):
        pass
    assert (tmp_path / "elsewhere" / "file").read_text() == "mine"


def test_your_own_links_outside_a_run_work(run, tmp_path):
    (tmp_path / "latest").symlink_to(run)
    write_json(tmp_path / "latest" / "x.json", {"a": 1})
    assert json.loads((run / "x.json").read_text()) == {"a": 1}
    (tmp_path / "out.json").symlink_to(tmp_path / "elsewhere" / "file")
    write_atomically(tmp_path / "out.json", "new")
    assert (tmp_path / "elsewhere" / "file").read_text() == "new"
    refuse_links(tmp_path / "latest" / "x.json")


def test_another_process_keeps_the_lock(tmp_path):
    lock = lock_folder(tmp_path / "x")
    asks = "import sys; from pathlib import Path; from transect.runs.locks import lock_folder; lock_folder(Path(sys.argv[1]))"
    child = subprocess.run(
        [sys.executable, "-c", asks, str(tmp_path / "x")], capture_output=True, text=True, check=False
    )
    assert FolderInUse.__name__ in child.stderr
    lock.release()
    lock_folder(tmp_path / "x").release()


def test_a_link_in_the_place_of_a_temporary_file_is_not_written_through(run, tmp_path):
    victim = tmp_path / "elsewhere" / "file"
    for name in (".report.html.partial", "report.html"):
        (run / name).unlink(missing_ok=True)
    (run / ".report.html.partial").symlink_to(victim)
    write_atomically(run / "report.html", "ours")
    assert victim.read_text() == "mine"
    assert not (run / "report.html").is_symlink()
    assert (run / "report.html").read_text() == "ours"
