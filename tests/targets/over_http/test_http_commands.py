"""From the command line: a check, a price, an audit, and what a kill leaves behind."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from hostile_server import SECRET, asking, pictures, serving, write
from PIL import Image
from places import SUPPORT
from typer.testing import CliRunner

from transect.cli.app import app
from transect.records import Images

AUDIT = ("--vary", "glasses=0,1", "--subjects", "3", "--size", "32")


def invoke(*arguments):
    """What a command prints, and the error that ended it."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.stdout, done.exception


def test_a_check_explains_one_image_and_pays_once(tmp_path):
    face = tmp_path / "face.png"
    Image.fromarray(pictures(2, size=16)[1]).save(face)
    with serving(lambda number, body: {"body": {"score": 0.75, "key": SECRET}}) as server:
        file = write(tmp_path, server.url, more="[budget]\ncalls = 9\n[price]\nper_call = 0.002")
        first, again = (invoke("targets", "check", file, "--image", face, "--json")[0] for _ in range(2))
    explained = json.loads(first)
    assert explained["prediction"] == {"scores": [0.75]}
    assert explained["found"] == {"score": 0.75}
    assert (explained["calls"], explained["cost"], explained["kept"]) == (1, 0.002, False)
    assert explained["budget"]["calls_left"] == 8
    assert explained["sent"]["headers"] == {"Authorization": "Bearer ${ACME_KEY}"}
    assert (json.loads(again)["calls"], json.loads(again)["kept"]) == (0, True)
    assert len(server.requests) == 1
    assert SECRET not in first + again


@pytest.mark.integration
def test_an_audit_asks_once_per_image_and_says_the_price(tmp_path):
    """3 subjects with and without glasses are 6 images: 6 calls, none of them to measure time or as a control."""
    out = tmp_path / "run"
    with serving() as server:
        file = write(tmp_path, server.url, more="[budget]\ncalls = 20\n[price]\nper_call = 0.5")
        before, _ = invoke("audit", file, *AUDIT, "--dry-run", "--json")
        assert server.requests == []
        assert not out.exists()
        printed, error = invoke("audit", file, *AUDIT, "--out", out, "--json")
        assert error is None
        again, _ = invoke("audit", file, *AUDIT, "--out", tmp_path / "again", "--json")
    assert [json.loads(before)[key] for key in ("images", "calls", "cost", "currency")] == [6, 6, 3.0, "USD"]
    assert (json.loads(printed)["calls"], json.loads(printed)["cost"]) == (6, 3.0)
    assert (json.loads(again)["calls"], json.loads(again)["cost"]) == (0, 0.0)
    assert sorted(server.seen.values()) == [1] * 6
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


ASK = """
import sys
import numpy as np
from hostile_server import pictures
from transect.records import Images
from transect.targets.http.target import load
load(sys.argv[1]).predict(Images(pictures(40)))
"""


@pytest.mark.integration
def test_a_kill_in_mid_run_pays_for_nothing_twice(tmp_path):
    """From the tenth call until the kill the server is slow, so that the kill comes in mid-run on a busy machine too."""
    killed = threading.Event()
    with serving(lambda number, body: {"wait": 0.05 if number < 10 or killed.is_set() else 3}) as server:
        file = write(tmp_path, server.url, more="[budget]\ncalls = 40")
        path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
        running = subprocess.Popen([sys.executable, "-c", ASK, str(file)], env={**os.environ, "PYTHONPATH": path})
        end = time.monotonic() + 60
        while len(server.requests) < 10 and time.monotonic() < end:
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
        killed.set()
        before = len(server.requests)
        with asking(tmp_path, server.url, more="[budget]\ncalls = 40") as target:
            answers = target.predict(Images(pictures(40)))
            asked = len(server.requests)
            assert max(server.seen.values()) == 1
            spent = target.ledger.spent().calls
        with asking(tmp_path, server.url, more='[budget]\ncalls = 80\n[answers]\nunconfirmed = "ask"') as target:
            assert not target.predict(Images(pictures(40))).failed.any()
    assert 10 <= before < 40
    lost = [reason for reason in answers.failures if reason]
    assert len(lost) <= 4, "no more than were under way"
    assert all(reason.startswith("unconfirmed: ") for reason in lost)
    assert sum(server.seen.values()) <= 40 + len(lost), "twice only what may have been lost, and where that is wanted"
    # What was entered but did not leave before the kill is counted too.
    assert asked <= spent <= 40


def test_an_audit_counts_what_had_no_answer_by_group(tmp_path):
    """The server finds no face on every second image it sees, and refuses none: 3 of 6."""
    odd = set()

    def first_seen(number, body):
        if len(odd) < 3:
            odd.add(body)
        return {"body": {"error": "NO_FACE"} if body in odd else {"score": 0.5}}

    response = 'score = "score"\nno_face = "error == \'NO_FACE\'"'
    with serving(first_seen) as server:
        file = write(tmp_path, server.url, response=response, more="[budget]\ncalls = 20")
        _, error = invoke("audit", file, *AUDIT, "--no-control", "--out", tmp_path / "run", "--json")
    assert error is None, "half of the images without a face are a finding, not a fault that stops the run"
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    (section,) = [one for one in results["sections"] if one["key"] == "unanswered"]
    (table,) = [one for one in section["tables"] if one["title"] == "Outcome: no face"]
    assert table["rows"][0][0::5] == ["all images", 6]
    assert table["rows"][0][1] == 0.5
    assert [row[0] for row in table["rows"]] == ["all images", "glasses: none", "glasses: thin frame"]
