"""Files of chat interfaces that say something wrong: one line each, with the place and what to do."""

import re

import pytest
from chat_servers import PRESETS, write_chat
from hostile_server import SECRET
from places import ROOT

from transect.errors import BadInput
from transect.targets import resolve
from transect.targets.http.chat.settings import is_chat_file, read_chat_settings
from transect.targets.http.chat.speaker import load_chat

LOCAL = "http://127.0.0.1:1"
FAR = "https://example.org"


@pytest.mark.parametrize(
    ("url", "changes", "message"),
    [
        (LOCAL, ('preset = "openai-chat"', 'preset = "openai"'), "expected preset = one of openai-chat, openai-responses, .*, got 'openai'"),
        (LOCAL, ('model = "model-1"', ""), "request.model: expected it"),
        (LOCAL, ("[limits]", "[limits]\nthreads = 3"), "line 9: limits.threads: "),
        (LOCAL, ("${ACME_KEY}", SECRET), "request.headers.Authorization: expected a secret from the environment, got one written"),
        (LOCAL, ("[limits]", "temperature = 1\n[limits]"), "request.temperature: "),
        (LOCAL, ("[limits]", 'json = { stream = true }\n[limits]'), "request.json: expected no stream here: it is made for each question, and nothing is streamed"),
        (LOCAL, ("[limits]", 'json = { messages = [] }\n[limits]'), "request.json: expected no messages here"),
        (LOCAL, ("[limits]", 'region = "eu-west-1"\n[limits]'), "request.region: expected it with bedrock-converse alone, got it with openai-chat: drop it"),
        (LOCAL, (f"{LOCAL}/v1", "http://x y/v1"), "request.url: expected an address such as"),
        ("http://example.org", ("", ""), "request.url: expected https:// where secrets are sent, got http://: use https://"),
        (FAR, ("", ""), "budget: expected calls = N, money = X or tokens = N for a model elsewhere, or one that costs: add"),
        (LOCAL, ("[limits]", "[price]\nper_million_sent = 1\n[limits]"), "budget: expected calls = N, money = X or tokens = N for a model elsewhere, or one"),
        (FAR, ("[limits]", "[budget]\nmoney = 1\n[limits]"), "price: expected per_million_sent and per_million_received, since there is a budget"),
        (FAR, ("[limits]", "[budget]\ntokens = 0\n[limits]"), "budget.tokens: "),
        (FAR, ("[limits]", "[price]\nper_million_sent = -1\n[limits]"), "price.per_million_sent: "),
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
    ("preset", "request_", "message"),
    [
        ("gemini", 'detail = "low"', "request.detail: expected it with openai-chat or openai-responses alone, got it with gemini"),
        ("anthropic-messages", "send_seed = true", "request.send_seed: expected it with openai-chat or gemini alone"),
        ("openai-responses", 'max_tokens_name = "max_tokens"', "request.max_tokens_name: expected it with openai-chat alone"),
        ("bedrock-converse", "headers = { a = 'b' }", "request.headers: expected it with openai-chat or .* alone, got it with bedrock"),
    ],
)  # fmt: skip
def test_keys_that_an_interface_lacks(tmp_path, preset, request_, message):
    with pytest.raises(BadInput, match=message):
        read_chat_settings(write_chat(tmp_path, LOCAL, preset, request=request_))


def test_where_an_interface_is_unless_the_file_says_so(tmp_path):
    file = write_chat(tmp_path, LOCAL, "anthropic-messages", more="[budget]\ncalls = 1")
    file.write_text(file.read_text().replace(f'url = "{LOCAL}/v1/messages"', ""))
    settings = read_chat_settings(file)
    assert settings.request.url == "https://api.anthropic.com/v1/messages"
    assert (settings.limits.timeout, settings.limits.concurrency) == (1.0, 16)


@pytest.mark.parametrize(
    ("preset", "url", "request_", "structured"),
    [
        ("openai-chat", "http://127.0.0.1:1", "", False),
        ("openai-chat", "http://127.0.0.1:1", "structured = true", True),
        ("openai-chat", "https://api.openai.com", "", True),
        ("gemini", "http://127.0.0.1:1", "", True),
        ("gemini", "http://127.0.0.1:1", "structured = false", False),
        ("anthropic-messages", "http://127.0.0.1:1", "json = { thinking = { type = 'enabled' } }", False),
        ("bedrock-converse", "http://127.0.0.1:1", "", False),
    ],
)
def test_where_answers_are_structured_unless_the_file_says_so(tmp_path, preset, url, request_, structured):
    file = write_chat(tmp_path, url, preset, request=request_, more="[budget]\ncalls = 1")
    assert read_chat_settings(file).request.structured is structured


def test_a_secret_that_is_not_set(tmp_path, monkeypatch):
    monkeypatch.delenv("ACME_KEY")
    with pytest.raises(BadInput, match="environment variable ACME_KEY: expected a secret, found it unset or empty"):
        load_chat(write_chat(tmp_path, LOCAL))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_model_that_answers_in_words_needs_questions(tmp_path, preset):
    file = write_chat(tmp_path, LOCAL, preset)
    assert is_chat_file(file)
    with pytest.raises(
        BadInput, match="answers in words: expected questions to ask it, got none; add --questions FILE"
    ):
        resolve(str(file))


def test_other_files_are_no_chat_files(tmp_path):
    (tmp_path / "a.toml").write_text('preset = "json"\n')
    (tmp_path / "b.toml").write_text("no [toml")
    assert [is_chat_file(tmp_path / f"{name}.toml") for name in "abc"] == [False, False, False]


def test_every_file_of_the_guide_is_read(tmp_path):
    """The guide has a file for each interface."""
    page = (ROOT / "docs" / "how-to" / "ask-a-model-behind-a-chat-interface.md").read_text(encoding="utf-8")
    files = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    for number, text in enumerate(files):
        path = tmp_path / f"{number}.toml"
        path.write_text(text, encoding="utf-8")
        assert read_chat_settings(path).request.model
    assert {read_chat_settings(path).preset for path in tmp_path.glob("*.toml")} == set(PRESETS)
