"""Canaries: asked about again at intervals, kept, paid for, and telling when the model behind the address changes."""

import json

import numpy as np
import pytest
from hostile_server import asking, pictures, serving, write
from typer.testing import CliRunner

from transect.analysis.sections import canary_drift
from transect.cli.app import app
from transect.experiment import canaries
from transect.experiment.canaries import CanaryRecord
from transect.records import Images, Predictions, Task
from transect.runs.json_records import plain
from transect.targets.http.canaries import apart

CANARY = "[canary]\nimages = 4\nevery = 10\n"


def ask(target, n, batch=5):
    images = pictures(n)
    for start in range(0, n, batch):
        target.predict(Images(images[start : start + batch]))


def test_they_are_asked_again_at_intervals_and_counted(tmp_path):
    """30 images, four of them again after 10, 20 and 30: 42 calls, each image of the run once, canaries four times."""
    with serving() as server, asking(tmp_path, server.url, more=CANARY) as target:
        assert target.quote(30).calls == 42
        ask(target, 30)
        record = target.asked_again()
        assert target.ledger.spent().calls == 42
    assert sorted(server.seen.values()) == [1] * 26 + [4] * 4
    assert (record["every"], record["images"], record["rounds"]) == (10, 4, [0, 1, 2, 3])
    assert np.array(record["distances"]).tolist() == np.zeros((4, 4, 4)).tolist()


def test_canary_answers_are_stored_and_paid_for_once(tmp_path):
    with serving() as server:
        with asking(tmp_path, server.url, more=CANARY) as target:
            ask(target, 20)
        with asking(tmp_path, server.url, more=CANARY) as target:
            ask(target, 20)
            assert target.calls_made() == (0, 0.0)
            ask(target, 30)
            assert target.asked_again()["rounds"] == [0, 1, 2, 3]
    assert len(server.requests) == 42


def test_a_round_is_another_request_to_a_server_that_knows_its_keys(tmp_path):
    with serving() as server:
        file = write(tmp_path, server.url, more=CANARY)
        text = file.read_text().replace("headers = {", 'headers = { Idempotency-Key = "{idempotency_key}",')
        file.write_text(text)
        from transect.targets.http.target import load

        target = load(file)
        ask(target, 20)
        target.close()
    keys = [headers["Idempotency-Key"] for _, headers, _ in server.requests]
    assert len(set(keys)) == len(keys) == 28


def test_a_spent_budget_stops_the_audit_and_not_its_canaries(tmp_path):
    """12 calls are for ten images and two of the four canaries; the run is whole."""
    more = CANARY + "[budget]\ncalls = 12\n"
    with serving() as server, asking(tmp_path, server.url, more=more) as target:
        assert not target.predict(Images(pictures(10))).failed.any()
        record = target.asked_again()
    assert len(server.requests) == 12
    assert sum(one[1][1] is None for one in record["distances"]) == 2, "two canaries have no second answer"


def test_an_audit_says_when_the_model_changed(tmp_path):
    """Twelve images, a round of eight, eight images: from request 28, the first of round 2, on scores are lower."""

    def answer(number, body):
        return {"body": {"score": 0.6 if number < 28 else 0.5}}

    with serving(answer) as server:
        file = write(tmp_path, server.url, more=CANARY.replace("4", "8") + "[budget]\ncalls = 200\n")
        arguments = ["audit", str(file), "--vary", "glasses=0,1", "--subjects", "24", "--size", "32", "--no-control",
                     "--batch", "4", "--out", str(tmp_path / "run"), "--json"]  # fmt: skip
        done = CliRunner().invoke(app, arguments)
    assert done.exception is None
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    (section,) = [one for one in results["sections"] if one["key"] == "steady"]
    said = "acme changed its behaviour between its answers number 10 and 20 (p = 0.0005): "
    assert section["warnings"][0].startswith(said)
    assert done.stderr.count(said) == 1
    test, rounds = section["tables"]
    assert dict(test["rows"])["rounds before that point"] == 2
    assert rounds["rows"][2][:3] == [20, 8, 8]
    assert [row[0] for row in rounds["rows"]] == [0, 10, 20, 30, 40]


def test_answers_that_never_differ_raise_no_alarm():
    kept = CanaryRecord("acme", 9, 4, (0, 1, 2), np.zeros((4, 3, 3)).tolist())
    made = plain(canary_drift.canary_section(kept))
    assert made["warnings"] == []
    assert dict(made["tables"][0]["rows"])["p of a change at the likeliest point"] == 1.0
    assert canaries.warnings(kept) == []


def predictions(score=0.5, reason="", boxes=None):
    task = Task.BINARY if boxes is None else Task.DETECTION
    scores = np.array([[np.nan if reason else score]])
    return Predictions(task, scores, (reason,), None if boxes is None else (np.array(boxes, float).reshape(-1, 5),))


class TestApart:
    def test_scores_and_reasons(self):
        assert apart(predictions(0.5), predictions(0.75)) == 0.25
        assert apart(predictions(0.5), predictions(reason="no face: x")) == 1.0
        assert apart(predictions(reason="no face: x"), predictions(reason="refused: HTTP 422")) == 1.0
        assert apart(predictions(reason="no face: x"), predictions(reason="no face: x")) == 0.0
        assert np.isnan(apart(None, predictions()))

    def test_boxes(self):
        """Half of a box of 10 x 10 in common with one moved by 5: 50 of 150."""
        one, moved = [[0, 0, 10, 10, 0.9]], [[5, 0, 15, 10, 0.9]]
        assert apart(predictions(0.9, boxes=one), predictions(0.9, boxes=one)) == 0.0
        assert apart(predictions(0.9, boxes=one), predictions(0.9, boxes=moved)) == pytest.approx(1 - 50 / 150)
        assert apart(predictions(0.9, boxes=one), predictions(0.9, boxes=one + moved)) == 1.0
        assert apart(predictions(0.0, boxes=[]), predictions(0.0, boxes=[])) == 0.0
