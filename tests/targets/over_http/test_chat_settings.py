"""Files of chat interfaces that say something wrong: one line each, with the place and what to do."""

import re

import pytest
from chat_servers import PRESETS, write_chat
from hostile_server import SECRET
from places import ROOT

from transect.errors import BadInput
from transect.targets.http.chat.settings import read_chat_settings

LOCAL = "http://127.0.0.1:1"
FAR = "https://example.org"


@pytest.mark.parametrize(
    ("url", "changes", "message"),
    [
        (LOCAL, ("${ACME_KEY}", SECRET), "request.headers.Authorization: expected a secret from the environment, got one written"),
        (LOCAL, ("[limits]", 'json = { stream = true }\n[limits]'), "request.json: expected no stream here: it is made for each question, and nothing is streamed"),
        ("http://example.org", ("", ""), "request.url: expected https:// where secrets are sent, got http://: use https://"),
        (FAR, ("", ""), "budget: expected calls = N, money = X or tokens = N for a remote or paid model: add"),
        (FAR, ("[limits]", "[budget]\nmoney = 1\n[limits]"), "price: expected per_million_sent and per_million_received, since the budget"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(tmp_path, url, changes, message):
    file = write_chat(tmp_path, url)
    text = file.read_text()
    assert changes[0] in text
    file.write_text(text.replace(*changes))
    with pytest.raises(BadInput, match=message) as error:
        read_chat_settings(file)
    assert "\n" not in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("preset", "url", "request_", "structured"),
    [
        ("openai-chat", "http://127.0.0.1:1", "", False),
        ("openai-chat", "https://api.openai.com", "", True),
        ("gemini", "http://127.0.0.1:1", "structured = false", False),
        ("anthropic-messages", "http://127.0.0.1:1", "json = { thinking = { type = 'enabled' } }", False),
    ],
)
def test_where_answers_are_structured_unless_the_file_says_so(tmp_path, preset, url, request_, structured):
    file = write_chat(tmp_path, url, preset, request=request_, more="[budget]\ncalls = 1")
    assert read_chat_settings(file).request.structured is structured


def test_every_file_of_the_reference_is_read(tmp_path):
    """The reference has a file for each interface."""
    page = (ROOT / "docs" / "reference" / "question-and-chat-files.md").read_text(encoding="utf-8")
    files = re.findall(r"```toml\n(.*?)```", page.partition("## Chat files")[2], re.DOTALL)
    for number, text in enumerate(files):
        path = tmp_path / f"{number}.toml"
        path.write_text(text, encoding="utf-8")
        assert read_chat_settings(path).request.model
    assert {read_chat_settings(path).preset for path in tmp_path.glob("*.toml")} == set(PRESETS)
