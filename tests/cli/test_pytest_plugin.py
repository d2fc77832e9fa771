"""The plugin as a user's pytest sees it: in a process of its own, on a file of bias tests."""

import os
import subprocess
import sys

import pytest
from places import ROOT

from transect import AuditRequest, WorldSettings
from transect.cli.pytest_plugin import BiasTests
from transect.runs.folder import read_spec

TESTS = """
import numpy as np
import transect as library
from transect import AuditRequest, WorldSettings

SMALL = AuditRequest(world=WorldSettings(image_size=32), control=False, model=library.ModelSettings(isolate=False))

def blind(pixels):
    return np.mod(pixels.reshape(len(pixels), -1).astype(np.int64).sum(axis=1) * 0.6180339887, 1.0)

def bright(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255

def test_met(transect):
    (row,) = transect.require(blind, "earrings", outcome="answer", margin=0.6, subjects=30, request=SMALL)
    assert row.status == "met"

def test_violated(transect):
    transect.require(bright, "skin_tone", outcome="score", margin=0.001, subjects=30, request=SMALL)

def test_not_shown(transect):
    transect.require(blind, "earrings", outcome="answer", margin=0.01, subjects=10, request=SMALL)

def test_skipped(transect):
    transect.require(
        blind, by=["earrings"], outcome="miss", max_rate=0.6, truth="face", subjects=5, not_shown="skip", request=SMALL
    )

def test_wrong(transect):
    transect.require(blind, "earrings", outcome="answer", request=SMALL)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "test_bias.py").write_text(TESTS)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-W", "error", "--transect-runs", "runs", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return folder, done.stdout


@pytest.mark.integration
def test_the_fixture_passes_fails_and_skips(printed):
    _, text = printed
    assert "3 failed, 1 passed, 1 skipped" in text
    assert "skin_tone: no difference in score above 0.001 (bright) is violated: skin_tone, " in text
    assert "earrings: no difference in answer above 0.01 (blind) is not shown: earrings, off against on" in text
    assert "rate of miss at most 0.6 by earrings (blind) is not shown" in text
    assert "no limit (margin, no_worse_than" in text


@pytest.mark.integration
def test_runs_are_kept_by_the_name_of_their_test(printed):
    folder, _ = printed
    runs = {path.parent.parent.name for path in (folder / "runs").glob("*/audit-0/report.html")}
    assert runs == {f"test_bias.py-test_{name}" for name in ("met", "violated", "not_shown", "skipped")}


@pytest.mark.integration
def test_levels_are_stated_with_the_attribute_once(tmp_path):
    request = AuditRequest(world=WorldSettings(image_size=32), control=False)
    wanted = {"outcome": "answer", "margin": 0.9, "subjects": 10}
    (row,) = BiasTests(tmp_path).require("audited:brightness", "skin_tone=1,10", **wanted, request=request)
    assert row.status == "met"
    assert read_spec(tmp_path / "audit-0").design.levels == {"skin_tone": (1.0, 10.0)}
    both = AuditRequest(vary=["skin_tone=1,5"])
    with pytest.raises(pytest.fail.Exception, match="skin_tone=1,10: expected levels here or in the request's vary"):
        BiasTests(tmp_path).require("audited:brightness", "skin_tone=1,10", **wanted, request=both)


@pytest.mark.integration
def test_a_kept_run_resumes_and_a_second_requirement_has_a_run_of_its_own(tmp_path):
    request = AuditRequest(world=WorldSettings(image_size=32), control=False)
    wanted = {"outcome": "answer", "margin": 0.9, "subjects": 10, "request": request}
    BiasTests(tmp_path).require("audited:brightness", "earrings", **wanted)
    (part,) = (tmp_path / "audit-0" / "images").iterdir()
    before = part.stat().st_mtime_ns
    tests = BiasTests(tmp_path)
    tests.require("audited:brightness", "earrings", **wanted)
    tests.require("audited:brightness", "hat", **wanted)
    assert part.stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit-0", "audit-1"]
