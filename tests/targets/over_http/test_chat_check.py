"""`transect targets check` of a model that answers in words: the text, the tokens, the cost, and what to do."""

import json

from chat_servers import answer_of, write_chat
from hostile_server import SECRET, pictures, serving
from PIL import Image
from typer.testing import CliRunner

from transect.cli.app import app

PRICED = "[budget]\nmoney = 9\n[price]\nper_million_sent = 1000\nper_million_received = 10000\n"


def test_asks_one_question_about_one_image_once(tmp_path):
    Image.fromarray(pictures(2, size=16)[1]).save(tmp_path / "face.png")
    with serving(lambda number, body: {"body": answer_of("openai-chat", "A square.", 50, 2)}) as server:
        file = write_chat(tmp_path, server.url, more=PRICED)
        command = ["targets", "check", str(file), "--image", str(tmp_path / "face.png"), "--json"]
        first, again = (CliRunner().invoke(app, command).stdout for _ in range(2))
    explained = json.loads(first)
    assert (explained["text"], explained["end"], explained["refusal"]) == ("A square.", "end", False)
    assert (explained["tokens_sent"], explained["tokens_received"]) == (50, 2)
    assert explained["tokens_held"] == {"sent": 765 + 52 + 100, "received": 100}
    assert (explained["calls"], explained["cost"], explained["kept"]) == (1, 0.07, False)
    assert explained["sent"]["headers"] == {"Authorization": "Bearer ${ACME_KEY}"}
    assert (json.loads(again)["calls"], json.loads(again)["kept"]) == (0, True)
    assert len(server.requests) == 1
    assert SECRET not in first + again
