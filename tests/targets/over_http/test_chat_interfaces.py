"""Five chat interfaces: what is sent, and what the answers that their documentation shows say."""

import base64
import io
import json

import numpy as np
import pytest
from chat_servers import PRESETS, YES, answer_of, recorded, speaking
from hostile_server import SECRET, picture, serving
from PIL import Image

from transect.spoken_answers import Ask, Speaker, Spoken
from transect.targets.http.answers import provider_words
from transect.targets.http.chat.interfaces import INTERFACES, passing, spoken, used
from transect.targets.http.chat.interfaces import picture as encoded
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.ledger import Reply, Tokens

CASES = [(preset, case) for preset in PRESETS for case in recorded(preset)]
URLS = {
    "openai-chat": "http://127.0.0.1:1/v1/chat/completions",
    "openai-responses": "http://127.0.0.1:1/v1/responses",
    "anthropic-messages": "http://127.0.0.1:1/v1/messages",
    "gemini": "http://127.0.0.1:1/v1beta",
    "bedrock-converse": "",
}


def reply_of(content, status=200, kind="application/json"):
    return Reply(status, kind, content if isinstance(content, bytes) else json.dumps(content).encode())


class TestWhatAnswersSay:
    @pytest.mark.parametrize(("preset", "case"), CASES, ids=[f"{preset}: {case['case']}" for preset, case in CASES])
    def test_as_documented(self, preset, case):
        reply = reply_of(case["reply"], case.get("status", 200))
        assert spoken(reply, INTERFACES[preset]) == Spoken(**case["said"])

    @pytest.mark.parametrize(
        ("body", "kind", "failure"),
        [
            (b'data: {"choices": []}\n\ndata: [DONE]\n\n', "text/event-stream", "invalid answer: streamed, which nothing asked for"),
            (b"event: message_start\ndata: {}\n", "text/plain", "invalid answer: streamed, which nothing asked for"),
            (b'{"choices": [{"message": {"content": "Ye', "application/json", "invalid answer: no JSON"),
            (b"", "application/json", "invalid answer: empty"),
            (b"[1, 2]", "application/json", "invalid answer: expected an object, got list of 2: number"),
            (b'"yes"', "application/json", "invalid answer: expected an object, got text"),
            (b'{"usage": NaN}', "application/json", "invalid answer: JSON with NaN or infinity"),
        ],
    )  # fmt: skip
    def test_streamed_cut_off_and_of_another_shape(self, body, kind, failure):
        assert spoken(reply_of(body, kind=kind), INTERFACES["openai-chat"]) == Spoken(failure=failure)

    @pytest.mark.parametrize("preset", PRESETS)
    def test_anything_is_read_without_an_exception(self, preset):
        """Every value of every recorded answer is replaced by each of several others, one at a time."""
        for case in recorded(preset):
            for damaged in damages(case["reply"]):
                said = spoken(reply_of(damaged, case.get("status", 200)), INTERFACES[preset])
                assert isinstance(said.text, str)
                assert said.tokens_sent is None or said.tokens_sent >= 0

    def test_the_call_of_the_answers_tool_is_the_answer(self):
        called = {"type": "tool_use", "name": "answer", "input": {"answer": "B"}}
        reply = reply_of({"content": [called], "stop_reason": "tool_use"})
        assert spoken(reply, INTERFACES["anthropic-messages"]) == Spoken('{"answer": "B"}')
        said = {"message": {"content": [{"toolUse": {"name": "answer", "input": {"answer": None}}}]}}
        reply = reply_of({"output": said, "stopReason": "tool_use"})
        assert spoken(reply, INTERFACES["bedrock-converse"]) == Spoken('{"answer": null}')


def damages(value):
    """The value with one of its parts replaced, each part by several."""
    yield from (None, "x", -1, True, [], [None], {"a": 1})
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {k: v for k, v in value.items() if k != key}
            for damaged in damages(inner):
                yield {**value, key: damaged}
    if isinstance(value, list):
        for k, inner in enumerate(value):
            for damaged in damages(inner):
                yield [*value[:k], damaged, *value[k + 1 :]]


class TestTokensOfAReply:
    def test_are_those_that_it_counts(self):
        assert used(reply_of(answer_of("gemini", sent=7, received=3)), INTERFACES["gemini"]) == Tokens(7, 3)

    def test_are_not_known_where_it_counts_none(self):
        answer = {"choices": [{"message": {"content": "no"}, "finish_reason": "stop"}]}
        assert used(reply_of(answer), INTERFACES["openai-chat"]) is None
        assert used(reply_of(b"{", 500), INTERFACES["openai-chat"]) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"status": "failed", "error": {"code": "server_error"}}, "server_error within an answer"),
        ({"error": {"code": "image_parse_error"}}, ""),
        ({"error": "busy"}, ""),
    ],
)
def test_a_passing_fault_within_an_answer(content, reason):
    assert passing(reply_of(content)) == reason


class TestWhatIsSent:
    def test_by_each_interface(self):
        """Two images in order before the question; the system text, the limit and the temperature in their places."""
        shown = [encoded(picture(k), ChatRequest(model="m")) for k in (1, 2)]
        texts = [base64.b64encode(one.content).decode() for one in shown]
        urls = [f"data:image/png;base64,{text}" for text in texts]
        sources = [{"type": "base64", "media_type": "image/png", "data": text} for text in texts]
        images = {
            "openai-chat": [{"type": "image_url", "image_url": {"url": url}} for url in urls],
            "openai-responses": [{"type": "input_image", "image_url": url, "detail": "auto"} for url in urls],
            "anthropic-messages": [{"type": "image", "source": source} for source in sources],
            "gemini": [{"inlineData": {"mimeType": "image/png", "data": text}} for text in texts],
            "bedrock-converse": [{"image": {"format": "png", "source": {"bytes": one.content}}} for one in shown],
        }

        def user(preset, question, name="content"):
            return {"role": "user", name: [*images[preset], question]}

        text = {"type": "text", "text": "Q"}
        expected = {
            "openai-chat": {
                "model": "m",
                "messages": [{"role": "system", "content": "S"}, user("openai-chat", text)],
                "temperature": 0.5,
                "max_tokens": 20,
            },
            "openai-responses": {
                "model": "m",
                "instructions": "S",
                "input": [user("openai-responses", {"type": "input_text", "text": "Q"})],
                "max_output_tokens": 20,
                "temperature": 0.5,
                "store": False,
            },
            "anthropic-messages": {
                "model": "m",
                "max_tokens": 20,
                "system": "S",
                "messages": [user("anthropic-messages", text)],
                "temperature": 0.5,
            },
            "gemini": {
                "systemInstruction": {"parts": [{"text": "S"}]},
                "contents": [user("gemini", {"text": "Q"}, "parts")],
                "generationConfig": {"maxOutputTokens": 20, "temperature": 0.5},
            },
            "bedrock-converse": {
                "modelId": "m",
                "system": [{"text": "S"}],
                "messages": [user("bedrock-converse", {"text": "Q"})],
                "inferenceConfig": {"maxTokens": 20, "temperature": 0.5},
            },
        }
        for preset, body in expected.items():
            request = ChatRequest(model="m", url=URLS[preset])
            message = INTERFACES[preset].message(request, shown, Ask("S", "Q", 3, 0.5, 20))
            assert message.json == body, preset
            assert message.method == "POST"

    def test_without_a_system_text_and_with_what_the_file_adds(self):
        added = {
            "openai-chat": {"reasoning_effort": "low"},
            "openai-responses": {"reasoning": {"effort": "low"}},
            "anthropic-messages": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            "gemini": {"generationConfig": {"topP": 0.5}},
            "bedrock-converse": {"inferenceConfig": {"topP": 0.5}, "guardrailConfig": {"guardrailIdentifier": "g"}},
        }
        for preset, extra in added.items():
            request = ChatRequest(model="m", url=URLS[preset], json=extra, send_temperature=False, reasoning_tokens=100)
            body = INTERFACES[preset].message(request, [], Ask("", "Q", max_tokens=8)).json
            text = json.dumps(body)
            assert "temperature" not in text
            assert '"system' not in text and "instructions" not in text  # noqa: PT018
            assert " 108" in text
            for key, value in extra.items():
                assert body[key] == (value if not isinstance(body[key], dict) else {**body[key], **value})

    def test_the_form_of_an_answer(self):
        """A question with options, or for a number, asks for JSON after a schema; a free text never does."""

        def sent(preset, ask, structured=True):
            request = ChatRequest(model="m", url=URLS[preset], structured=structured)
            return INTERFACES[preset].message(request, [], ask).json

        choice, number = Ask("", "Q", options=("A", "B")), Ask("", "Q", number=True)
        schema = sent("openai-chat", choice)["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["answer"]["enum"] == ["A", "B", None]
        assert schema["required"] == ["answer"]
        assert sent("openai-responses", choice)["text"]["format"]["schema"] == schema
        tool = sent("anthropic-messages", choice)
        assert tool["tools"][0]["input_schema"] == schema
        assert tool["tool_choice"] == {"type": "tool", "name": tool["tools"][0]["name"]}
        assert sent("bedrock-converse", choice)["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"] == schema
        form = sent("gemini", number)["generationConfig"]["responseSchema"]["properties"]["answer"]
        assert (form["type"], form["nullable"]) == ("NUMBER", True)
        assert sent("openai-chat", choice)["max_tokens"] == choice.max_tokens + 32
        for preset in PRESETS:
            assert sent(preset, Ask("", "Q")) == sent(preset, Ask("", "Q"), structured=False)
            assert sent(preset, choice, structured=False) == sent(preset, Ask("", "Q"))

    def test_what_the_limit_is_called(self):
        """OpenAI's newer models refuse max_tokens; other servers may not know max_completion_tokens."""
        ask = INTERFACES["openai-chat"].message
        official, other = (f"https://{host}/v1/chat/completions" for host in ("api.openai.com", "example.org"))
        assert ask(ChatRequest(model="m", url=official), [], YES).json["max_completion_tokens"] == 8
        assert ask(ChatRequest(model="m", url=other), [], YES).json["max_tokens"] == 8
        named = ChatRequest(model="m", url=other, max_tokens_name="max_completion_tokens")
        assert "max_tokens" not in ask(named, [], YES).json


PATHS = {
    "openai-chat": ("/v1/chat/completions", "Authorization", f"Bearer {SECRET}"),
    "openai-responses": ("/v1/responses", "Authorization", f"Bearer {SECRET}"),
    "anthropic-messages": ("/v1/messages", "x-api-key", SECRET),
    "gemini": ("/v1beta/models/model-1:generateContent", "x-goog-api-key", SECRET),
    "bedrock-converse": ("/model/model-1/converse", "Authorization", "AWS4-HMAC-SHA256 Credential=AKIA"),
}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_server_of_each_interface_is_asked_and_understood(tmp_path, monkeypatch, preset):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA" + "X" * 16)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s" * 40)
    path, header, value = PATHS[preset]
    with (
        serving(lambda number, body: {"body": answer_of(preset, f"Yes {number}.", 50, 2)}) as server,
        speaking(tmp_path, server.url, preset, limits="concurrency = 1") as speaker,
    ):
        assert isinstance(speaker, Speaker)
        pixels = picture(9)
        (said,) = speaker.speak([(pixels,)], [[YES, Ask("", "How old?")]])
        again = speaker.speak([(pixels,)], [[YES]])
    assert said == [
        Spoken("Yes 0.", tokens_sent=50, tokens_received=2),
        Spoken("Yes 1.", tokens_sent=50, tokens_received=2),
    ]
    assert again == [[said[0]]]
    assert len(server.requests) == 2
    asked, headers, body = server.requests[0]
    assert asked == path
    assert headers[header].startswith(value)
    assert np.array_equal(image_in(json.loads(body)), pixels)


def image_in(body):
    """The first image of a body, wherever it stands: the longest text is its base64."""

    def strings(value):
        if isinstance(value, str):
            yield value
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from strings(inner)

    text = max(strings(body), key=len).partition("base64,")
    with Image.open(io.BytesIO(base64.b64decode(text[2] or text[0]))) as opened:
        return np.asarray(opened)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "No endpoints found that support image input", "code": 404}}, ": No endpoints found"),
        ({"error": "model requires more system memory"}, ": model requires more system memory"),
        ({"detail": "image exceeds 5 MB maximum"}, ": image exceeds 5 MB maximum"),
        (
            {"error": {"message": "see https://a.example/x?key=1, request req_0123456789abcdef"}},
            ": see <url> request …",
        ),
        ({"error": {"message": "two\nlines\x1b[31m"}}, ": two"),
        ({"error": {"code": 7}}, ""),
        ({"error": {"message": ["no text"]}}, ""),
        ([], ""),
    ],
)
def test_what_a_provider_says_of_a_fault_is_one_short_line(body, words):
    said = provider_words(reply_of(body, 400))
    assert said.startswith(words)
    assert bool(said) is bool(words)
    assert len(said) <= 122
    assert not {"\n", "\x1b"} & set(said)
