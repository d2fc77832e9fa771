"""SIGTERM, by which clusters and clouds end a program, is Ctrl-C with its own exit code."""

import os
import signal
import subprocess
import sys
import time

import pytest
from commands import refused
from places import SUPPORT

from transect.cli.app import Termination

AUDIT = ("audit", "audited:brightness", "--vary", "glasses=0,1", "--size", "32")


def _ended_by(end, monkeypatch):
    monkeypatch.setattr("transect.jobs.audit.run.audit", lambda *_, **__: end())
    return refused(*AUDIT, code=143)


@pytest.mark.parametrize(
    "end",
    [
        lambda: os.kill(os.getpid(), signal.SIGTERM) or time.sleep(5),
        lambda: sys.exit(signal.SIGTERM),  # the handler that Ray sets in its place
    ],
    ids=["ours", "Ray's"],
)
def test_it_says_what_is_kept(end, monkeypatch):
    assert _ended_by(end, monkeypatch) == "interrupted; finished parts are kept: rerun the command to resume"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_where_it_is_ignored_it_stays_so():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        heard = Termination()
        heard.heard()
        heard.unheard()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_run_on_object_storage_gives_its_claim_back(bucket):
    path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    start = [sys.executable, "-m", "transect", "audit", "audited:slow", "--vary", "background_lightness=0,1"]
    small = ["--vary", "glasses=0,1", "--subjects", "240", "--size", "32", "--out", bucket.address("run"), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*start, *small], env={**os.environ, "PYTHONPATH": path}, **pipes) as run:
        while not bucket.names("run/images/") and run.poll() is None:
            time.sleep(0.1)
        assert [name for name in bucket.names() if ".claims" in name]
        run.send_signal(signal.SIGTERM)
        _, errors = run.communicate(timeout=120)
    assert run.returncode == 143, errors
    message = f"transect: interrupted; finished parts are kept in {bucket.address('run')}: rerun the command to resume"
    assert errors.strip().splitlines()[-1] == message
    assert not [name for name in bucket.names() if ".claims" in name]
