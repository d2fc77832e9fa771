"""An audit of a target that crashes, moves or hangs: a run that ends as it should, with each fault on its image."""

import json
import signal
import subprocess
import sys
import time

import pytest
from commands import run_here

from transect.runs.folder import FinishedRun

ROUGH = """
import os, signal, time
import numpy as np

def smile(pixels):
    os.chdir("/")
    for image in pixels:
        if int(image.sum()) % 2 == 0:
            os._exit(0)
    return pixels.mean(axis=(1, 2, 3)) / 255

def endless(pixels):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    open("asked", "w").close()
    while True:
        pass
"""


SMALL = ("--vary", "smile=0,1", "--size", "32")


def command(*words):
    return [sys.executable, "-m", "transect", *words, *SMALL]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rough.py").write_text(ROUGH)
    return tmp_path


@pytest.mark.integration
@pytest.mark.isolated
def test_a_target_that_leaves_and_moves_is_audited_to_the_end(folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = ["audit", "rough:smile", "--subjects", "3", "--max-failures", "1", "--out", "run", "--json", *SMALL]
    done = run_here(*words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["effects"]
    run = FinishedRun(folder / "run")
    (table,) = {path.name for path in (folder / "run" / "predictions").iterdir()}
    rows = run.read_table(f"predictions/{table}", 1).to_pylist()
    assert {row["reason"] for row in rows} == {"", "its process ended with exit code 0"}
    assert len(rows) == 6
    again = run_here(*words)
    assert (again.returncode, again.stdout) == (0, done.stdout)


@pytest.fixture
def heard():
    """Ctrl-C as a terminal sends it; a shell's background job, where tests may run, passes on that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("heard")
def test_ctrl_c_ends_a_run_whose_target_ignores_it(folder):
    words = ["audit", "rough:endless", "--subjects", "4", "--timeout", "500", "--out", "run"]
    with subprocess.Popen(
        command(*words), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        while not (folder / "asked").exists():
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "rerun the command to resume" in said.lower()
    assert "Traceback" not in said
