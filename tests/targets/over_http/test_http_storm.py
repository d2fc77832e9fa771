"""Ten thousand images through a server that does everything wrong, and answers of a hundred megabytes."""

import base64
import logging
import sqlite3
from collections import Counter

import numpy as np
import pytest
from hostile_server import SECRET, asking, serving

from transect.errors import BudgetSpent
from transect.records import Images

IMAGES = 10_000
ECHO = {"score": 0.5, "you": f"Bearer {SECRET}", "b": base64.b64encode(SECRET.encode()).decode()}
PLANS = [
    {"status": 429}, {"status": 429, "headers": {"Retry-After": "0"}}, {"status": 500, "body": {"at": SECRET}},
    {"status": 503, "body": b"<html>"}, {"deed": "reset"}, {"deed": "truncate"}, {"body": b"{"}, {"body": b""},
    {"body": {"score": "high"}}, {"body": {"score": [1, 2]}}, {"body": b'{"score": 1, "score": 0}'},
    {"body": b'{"score": NaN}'}, {"status": 422, "body": {"why": SECRET}}, {"body": b"\xff\xfe"},
    {"status": 302, "headers": {"Location": f"http://127.0.0.1:9/?k={SECRET}"}}, {"body": b"[" * 5000},
    {"body": b'"' + b"x" * 60_000 + b'"'}, {"body": {"other": SECRET}},
]  # fmt: skip


def answer(number, body):
    """A storm of 429 now and then; every third call goes wrong in one of eighteen ways; a few hang."""
    if number % 2000 < 60:
        return {"status": 429}
    if number % 1500 == 700:
        return {"wait": 1.5}
    return PLANS[number // 3 % len(PLANS)] if number % 3 == 0 else {"body": ECHO}


def different(n):
    """n different images of 4 x 4 pixels: their number in the first row's colors."""
    pixels = np.zeros((n, 4, 4, 3), np.uint8)
    pixels[:, 0, 0] = np.stack([np.arange(n) // 256, np.arange(n) % 256, np.zeros(n)], axis=1)
    return pixels


LIMITS = "concurrency = 16\nattempts = 6\nlargest_answer = 0.05"


@pytest.mark.slow
def test_ten_thousand_images_are_accounted_for_within_the_budget(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    images, texts = Images(different(IMAGES)), []
    with serving(answer) as server:
        limits = LIMITS.replace("attempts", "# attempts")
        with asking(tmp_path, server.url, limits=limits, timeout=1.0, more="[budget]\ncalls = 4000") as target:
            with pytest.raises(BudgetSpent, match="budget spent: 4000 of 4000 calls are made") as stop:
                target.predict(images)
            texts.append(str(stop.value))
        assert len(server.requests) == 4000
        with asking(tmp_path, server.url, limits=LIMITS, timeout=1.0, more="[budget]\ncalls = 30000") as target:
            answers = target.predict(images)
            store, spent = target.ledger.path, target.ledger.spent().calls
    assert len(answers) == IMAGES
    assert (np.isnan(answers.scores[:, 0]) == answers.failed).all(), "a score or a reason, never both or none"
    assert spent == len(server.requests) <= 30_000
    kinds = Counter(reason.partition(":")[0] for reason in answers.failures)
    assert kinds[""] > 0.6 * IMAGES
    assert {"refused", "HTTP 302", "timed out after 1 s", "invalid answer"} <= kinds.keys()
    database = sqlite3.connect(store)
    states = dict(database.execute("SELECT state, count(*) FROM calls GROUP BY state").fetchall())
    twice = database.execute(
        "SELECT count(*) FROM calls c JOIN calls f ON f.image = c.image AND f.final = 1 WHERE c.id > f.id"
    ).fetchone()[0]
    database.close()
    assert sum(states.values()) - states.get("not sent", 0) == spent
    assert states.keys() <= {"answered", "lost", "not sent"}, "every call is settled"
    assert twice == 0, "no image was asked about again after its final answer"
    texts += [*answers.failures, caplog.text]
    for content in [*(text.encode() for text in texts), *(path.read_bytes() for path in tmp_path.iterdir())]:
        assert SECRET.encode() not in content
        assert base64.b64encode(SECRET.encode()) not in content


def test_an_answer_of_a_hundred_megabytes_is_cut_off(tmp_path):
    """The client takes 1 MB and hangs up: what the server got rid of is what fits into the socket beside it."""
    huge = {"body": b'"' + b"x" * 100_000_000 + b'"', "chunk": 1_000_000}
    with (
        serving(lambda number, body: huge) as server,
        asking(tmp_path, server.url, limits="largest_answer = 1") as target,
    ):
        reasons = target.predict(Images(different(1))).failures
        kept = target.ledger.path.stat().st_size
    assert reasons == ("invalid answer: an answer larger than 1 MB",)
    assert len(server.requests) == 1, "it is final, and not asked for again"
    assert server.sent < 20_000_000
    assert kept < 5_000_000
