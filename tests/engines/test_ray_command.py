"""`--engine ray` as it is typed: Ray starts with the command, makes the parts, and ends with it."""

import os
import subprocess
import sys

import pytest
from worker_runs import content

pytest.importorskip("ray", reason="needs Ray: pip install 'transect[ray]'")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

AUDIT = "audit opencv:haarcascade_frontalface_default --vary glasses=0,1 --truth face --subjects 6 --size 32 --seed 5 --json"

# Ray's workers are nice: on a machine that does other work they might not get a core within the test's time.
ENVIRONMENT = {**os.environ, "RAY_worker_niceness": "0"}


def audited(out, *options):
    """Every file that the command wrote."""
    command = [sys.executable, "-m", "transect", *AUDIT.split(), "--out", str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return {name: written for name, written in content(out).items() if name != "manifest.json"}


def test_the_command_on_ray_writes_the_files_of_the_command_alone(tmp_path):
    """All of them, page and results too; the manifest has the digest of the log, which holds times."""
    here, on_ray = audited(tmp_path / "here"), audited(tmp_path / "ray", "--engine", "ray", "--workers", "1")
    assert {"report.html", "results.json", "images/part-00000.parquet"} <= here.keys()
    assert on_ray == here
