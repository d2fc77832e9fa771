"""The example's server around face-api, started as its users do, and sixty images through it."""

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from places import ROOT

EXAMPLE = ROOT / "examples" / "face_api"
GRID = ["--vary", "skin_tone=1:10:3", "--vary", "light_level=-4:0:2", "--subjects", "10", "--size", "128", "--json"]


@contextmanager
def server():
    """The address of a running server, on a port that is free."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: apt-get install nodejs npm")
    if not (EXAMPLE / "node_modules").is_dir():
        pytest.skip("face-api is not installed: npm ci --prefix examples/face_api")
    running = subprocess.Popen(
        ["node", "server.js"], cwd=EXAMPLE, env={**os.environ, "PORT": "0"}, stdout=subprocess.PIPE, text=True
    )
    stop = threading.Timer(300, running.kill)  # a server that never says its address would hang the test
    stop.start()
    try:
        line = running.stdout.readline()
        stop.cancel()
        assert "http://127.0.0.1:" in line, line
        yield line.split()[-1]
    finally:
        stop.cancel()
        running.kill()
        running.wait()
        running.stdout.close()


def audit(file, out, *more):
    """What the audit of a target's file prints as JSON."""
    command = [sys.executable, "-m", "transect", "audit", str(file), *GRID, *more, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_sixty_images_through_face_api(tmp_path):
    with server() as address:
        for path in EXAMPLE.glob("*.toml"):
            (tmp_path / path.name).write_text(path.read_text().replace("http://127.0.0.1:8422/analyze", address))
        found = audit(tmp_path / "detection.toml", tmp_path / "detection", "--truth", "face", "--max-failures", "0")
        # The three files share one file of answers: what happy and gender say of the same images is known by now.
        happy = audit(tmp_path / "happy.toml", tmp_path / "happy")
    assert 60 <= found["calls"] <= 66, "a call for each image; a dropped connection is tried again, and counted"
    assert happy["calls"] == 0
    results = json.loads(Path(found["results"]).read_text())
    (target,) = results["studies"][0]["targets"]
    assert (target["n_images"], target["n_failed"]) == (60, 0)
    (miss,) = [rate for rate in results["rates"] if rate["order"] == 0 and rate["outcome"] == "miss"]
    assert miss["n_images"] == 60
    assert miss["rate"] < 0.6, "it finds most faces in most light"
    results = json.loads(Path(happy["results"]).read_text())
    (target,) = results["studies"][0]["targets"]
    misses = round(60 * miss["rate"])
    assert target["failure_reasons"] == ({"no face": misses} if misses else {}), "no face is counted, and no fault"
