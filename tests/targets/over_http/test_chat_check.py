"""`transect targets check` of a model that answers in words: the text, the tokens, the cost, and what to do."""

import json

import pytest
from chat_servers import answer_of, write_chat
from hostile_server import SECRET, pictures, serving
from PIL import Image
from typer.testing import CliRunner

from transect.cli.app import app
from transect.errors import BadInput

PRICED = "[budget]\nmoney = 9\n[price]\nper_million_sent = 1000\nper_million_received = 10000\n"


def invoke(*arguments):
    """What a command prints, and the error that ended it."""
    done = CliRunner().invoke(app, ["targets", "check", *map(str, arguments)])
    return done.stdout, done.exception


@pytest.fixture
def face(tmp_path):
    Image.fromarray(pictures(2, size=16)[1]).save(tmp_path / "face.png")
    return tmp_path / "face.png"


def test_asks_one_question_about_one_image_once(tmp_path, face):
    with serving(lambda number, body: {"body": answer_of("openai-chat", "A square.", 50, 2)}) as server:
        file = write_chat(tmp_path, server.url, more=PRICED)
        first, _ = invoke(file, "--image", face, "--json")
        again, _ = invoke(file, "--image", face, "--json")
        shown, error = invoke(file, "--image", face)
    explained = json.loads(first)
    assert error is None
    assert (explained["text"], explained["end"], explained["refusal"], explained["failure"]) == (
        "A square.",
        "end",
        False,
        "",
    )
    assert (explained["tokens_sent"], explained["tokens_received"]) == (50, 2)
    assert explained["tokens_held"] == {"sent": 765 + 52 + 100, "received": 100}
    assert (explained["calls"], explained["cost"], explained["kept"]) == (1, 0.07, False)
    assert explained["sent"]["headers"] == {"Authorization": "Bearer ${ACME_KEY}"}
    assert explained["sent"]["image"].startswith("image/png, 16x16 pixels, ")
    assert (json.loads(again)["calls"], json.loads(again)["kept"]) == (0, True)
    for words in (
        "A square.",
        "50 sent, 2 received; at most 917 and 100",
        "0 calls, 0 USD",
        "What does this picture show?",
    ):
        assert words in shown
    assert len(server.requests) == 1
    assert SECRET not in first + again + shown


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"status": 401, "body": {"error": {"code": "invalid_api_key"}}}, "vlm: expected an answer, got not allowed: HTTP 401: check address and credentials: fix"),
        ({"status": 400, "body": {"error": {"code": "unsupported_value"}}}, "vlm: expected an answer, got refused: HTTP 400: unsupported_value: fix"),
        ({"body": b"data: {}\n\n"}, "vlm: expected an answer, got invalid answer: streamed, which nothing asked for: fix"),
    ],
)  # fmt: skip
def test_says_what_to_do(tmp_path, face, plan, message):
    with serving(lambda number, body: plan) as server:
        shown, error = invoke(write_chat(tmp_path, server.url), "--image", face, "--json")
    with pytest.raises(BadInput, match=message):
        raise error
    assert json.loads(shown)["reply"]["status"] == plan.get("status", 200)


def test_a_refusal_is_an_answer(tmp_path, face):
    answer = answer_of("anthropic-messages", "", 50, 2) | {"stop_reason": "refusal", "content": []}
    with serving(lambda number, body: {"body": answer}) as server:
        shown, error = invoke(write_chat(tmp_path, server.url, "anthropic-messages"), "--image", face)
    assert error is None
    assert "filter (the interface declines)" in shown
