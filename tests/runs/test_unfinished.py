"""An audit that was stopped before its end says so, in its report and to who checks its files."""

import json
import re
import shutil

import pytest
from auditing import request
from commands import run_here
from small_folders import FOLDERS

import transect
from transect.runs.folder import FinishedRun, mark_unfinished, unfinished_sentences

SETTINGS = {"vary": ["smile=0,1"], "subjects": 6, "image_size": 32, "task": "binary"}


class Killed(BaseException):
    """What ends the process in the middle."""


def bright(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255


@pytest.fixture
def run(tmp_path):
    folder = shutil.copytree(FOLDERS / "version-1", tmp_path / "run")
    (folder / "numbers.json").unlink()
    return folder


def audit(folder):
    return transect.audit(bright, request(**SETTINGS), out=folder, quiet=True)


@pytest.mark.integration
@pytest.mark.parametrize("begun", [False, True], ids=["before the control", "in the control"])
def test_a_killed_audit_is_told_until_it_is_finished(begun, tmp_path, monkeypatch):
    folder = tmp_path / "run"

    def kill(*given, **_):
        if begun:
            (folder / "negative-control").mkdir()
            shutil.copy(folder / "run.json", folder / "negative-control" / "run.json")
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("transect.jobs.audit.run.study.run_control", kill)
        with pytest.raises(Killed):
            audit(folder)
    part = "negative-control has 0 of 1 part" if begun else ""
    line = f"The audit was stopped before its end{f' ({part})' if begun else ''}: rerun its command to finish it."

    done = run_here("report", str(folder), "--json")
    assert f"warning: {line}" in done.stderr.splitlines()
    assert json.loads((folder / "results.json").read_text())["warnings"][0] == line
    page = (folder / "report.html").read_text()
    assert line in re.sub("<[^>]*>", "", page[page.index("Check first") :])[:1000]
    checked = run_here("verify", "run", str(folder))
    assert (checked.returncode, checked.stderr.strip()) == (0, f"warning: {line}")

    if begun:
        shutil.rmtree(folder / "negative-control")
    audit(folder)
    assert list(unfinished_sentences(folder)) == []
    assert not (folder / "unfinished.txt").exists()
    assert run_here("verify", "run", str(folder)).stderr == ""
    assert not [text for text in json.loads((folder / "results.json").read_text())["warnings"] if "stopped" in text]


def test_a_control_that_lacks_parts_is_told_without_the_note(run):
    control = shutil.copytree(run, run / "negative-control")
    assert list(unfinished_sentences(run)) == []
    parts = FinishedRun(control).spec.parts
    (last,) = control.glob(f"predictions/*/part-{parts - 1:05}.parquet")
    last.unlink()
    (told,) = unfinished_sentences(run)
    assert f"negative-control has {parts - 1} of {parts} part" in told
    (control / "run.json").write_text("{}")  # the report says that it cannot be read
    assert list(unfinished_sentences(run)) == []


def test_a_finished_run_that_is_given_again_and_stopped_stays_finished(run):
    transect.report(run, quiet=True)
    mark_unfinished(run)
    assert list(unfinished_sentences(run)) == []
