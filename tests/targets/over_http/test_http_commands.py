"""From the command line: a check, a price, an audit, and what a kill leaves behind."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from chat_servers import write_chat
from hostile_server import SECRET, asking, pictures, serving, write
from PIL import Image
from places import SUPPORT
from typer.testing import CliRunner

from transect.cli.app import app
from transect.errors import BadInput
from transect.records import Images

AUDIT = ("--vary", "glasses=0,1", "--subjects", "3", "--size", "32")


def invoke(*arguments):
    """What a command prints, and the error that ended it."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.stdout, done.exception


@pytest.fixture
def face(tmp_path):
    Image.fromarray(pictures(2, size=16)[1]).save(tmp_path / "face.png")
    return tmp_path / "face.png"


class TestCheck:
    def test_explains_one_image_and_pays_once(self, tmp_path, face):
        with serving(lambda number, body: {"body": {"score": 0.75, "key": SECRET}}) as server:
            file = write(tmp_path, server.url, more="[budget]\ncalls = 9\n[price]\nper_call = 0.002")
            first, _ = invoke("targets", "check", file, "--image", face, "--json")
            again, _ = invoke("targets", "check", file, "--image", face, "--json")
            shown, _ = invoke("targets", "check", file, "--image", face)
        explained = json.loads(first)
        assert explained["prediction"] == {"scores": [0.75]}
        assert explained["found"] == {"score": 0.75}
        assert explained["answer"] == "score (number), key (text)"
        assert (explained["calls"], explained["cost"], explained["kept"]) == (1, 0.002, False)
        assert explained["budget"]["calls_left"] == 8
        assert explained["sent"]["headers"] == {"Authorization": "Bearer ${ACME_KEY}"}
        assert (json.loads(again)["calls"], json.loads(again)["kept"]) == (0, True)
        assert "kept from before, nothing paid" in shown
        assert "Bearer ${ACME_KEY}" in shown
        assert '"scores": [0.75]' in shown.replace("\n", "")  # brackets as they are
        assert len(server.requests) == 1
        assert SECRET not in first + again + shown

    @pytest.mark.parametrize(
        ("plan", "message"),
        [
            ({"body": {"faces": [{"p": 1}]}}, r"acme: response.score matches nothing: the answer has faces \(list of 1: object with p\); fix the path"),
            ({"status": 401}, r"acme: expected an answer, got not allowed: HTTP 401: check address and credentials: fix"),
            ({"status": 200, "body": b"<html>"}, r"acme: expected a binary answer, got invalid answer: no JSON; fix"),
        ],
    )  # fmt: skip
    def test_says_what_to_do(self, tmp_path, face, plan, message):
        with serving(lambda number, body: plan) as server:
            _, error = invoke("targets", "check", write(tmp_path, server.url), "--image", face)
        with pytest.raises(BadInput, match=message):
            raise error

    def test_shows_what_came_back_with_a_refusal(self, tmp_path, face):
        """The reply to a wrong key is no answer about the image, and says what is wrong all the same."""
        plan = {"status": 401, "body": {"error": "unknown key"}}
        with serving(lambda number, body: plan) as server:
            file = write(tmp_path, server.url)
            out, error = invoke("targets", "check", file, "--image", face, "--json")
            again, _ = invoke("targets", "check", file, "--image", face, "--json")
        explained = json.loads(out)
        assert (explained["reply"]["status"], explained["final"], explained["kept"]) == (401, False, False)
        assert "unknown key" in explained["reply"]["starts"]
        assert explained["answer"] == "error (text)"
        assert "expected an answer, got not allowed: HTTP 401" in str(error)
        assert json.loads(again)["calls"] == 1, "no answer was kept"


def test_an_audit_asks_once_per_image_and_says_the_price(tmp_path):
    """3 subjects with and without glasses are 6 images: 6 calls, none of them to measure time or as a control."""
    out = tmp_path / "run"
    with serving() as server:
        file = write(tmp_path, server.url, more="[budget]\ncalls = 20\n[price]\nper_call = 0.5")
        before, _ = invoke("audit", file, *AUDIT, "--dry-run", "--json")
        line, _ = invoke("audit", file, *AUDIT, "--dry-run")
        assert server.requests == []
        assert not out.exists()
        printed, error = invoke("audit", file, *AUDIT, "--out", out, "--json")
        assert error is None
        again, _ = invoke("audit", file, *AUDIT, "--out", tmp_path / "again", "--json")
    assert {key: json.loads(before)[key] for key in ("images", "calls", "cost", "currency")} == {
        "images": 6,
        "calls": 6,
        "cost": 3.0,
        "currency": "USD",
    }
    assert (
        line.strip()
        == "acme: at most 6 calls and 3 USD without retries; 0 answers are on disk and free; left: 20 calls"
    )
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
            spent = target.ledger.spent().calls
    assert 10 <= before < 40
    lost = [reason for reason in answers.failures if reason]
    assert len(lost) <= 4, "no more than were under way"
    assert all(reason.startswith("unconfirmed: ") for reason in lost)
    assert max(server.seen.values()) == 1
    # What was entered but did not leave before the kill is counted too.
    assert len(server.requests) <= spent <= 40


def test_an_audit_counts_what_had_no_answer_by_group(tmp_path):
    """The server finds no face on every second image it sees, and refuses none: 3 of 6."""

    def answer(number, body):
        return {"body": {"error": "NO_FACE"} if body in odd else {"score": 0.5}}

    odd = set()

    def first_seen(number, body):
        if len(odd) < 3:
            odd.add(body)
        return answer(number, body)

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
    assert "Images without an answer" in (tmp_path / "run" / "report.html").read_text()


def test_an_audit_in_words_says_the_price_of_images_of_its_size(tmp_path):
    """6 images with one text each; by Anthropic's rule 512 pixels a side are 19 x 19 patches of 28, and 64 are 3 x 3."""
    questions = tmp_path / "smile.toml"
    questions.write_text('[[question]]\nname = "smile"\nkind = "yes-no"\nprompt = "Smiling? Yes or no."\n')
    file = write_chat(tmp_path, "http://127.0.0.1:1", "anthropic-messages")
    asked = ("audit", file, "--questions", questions, "--vary", "glasses=0,1", "--subjects", "3", "--dry-run", "--json")
    tokens = [json.loads(invoke(*asked, "--size", size)[0])["targets"][0]["tokens"] for size in (64, 512)]
    assert tokens[1] - tokens[0] == 6 * (361 - 9)
