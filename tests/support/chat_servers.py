"""Files of chat interfaces, servers that speak them, and the shapes of answers that their documentation shows."""

import json
from contextlib import contextmanager

from places import ROOT

from transect.spoken_answers import Ask
from transect.targets.http.chat.speaker import load_chat

FOLDER = ROOT / "tests" / "targets" / "over_http" / "chat_replies"
PRESETS = ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse")
YES = Ask("You look at portraits.", "Does the person smile? Answer yes or no.", max_tokens=8)
PLACES = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
    "gemini": "/v1beta",
    "bedrock-converse": "",
}
"""The path of the address in the file, by interface."""
HEADERS = {
    "anthropic-messages": '{ x-api-key = "${ACME_KEY}" }',
    "gemini": '{ x-goog-api-key = "${ACME_KEY}" }',
}
TOML = """
preset = "{preset}"
[request]
url = "{url}"
model = "model-1"
{request}
[limits]
first_wait = 0.01
longest_wait = 2.0
timeout = {timeout}
{limits}
{more}
"""


def recorded(preset):
    """The cases of one interface: its answers, by hand after the documentation, and what they say."""
    return json.loads((FOLDER / f"{preset}.json").read_text(encoding="utf-8"))


def answer_of(preset, text="Yes.", sent=50, received=2):
    """An answer of an interface with that text, and those counts of tokens."""
    counts = {"prompt_tokens": sent, "completion_tokens": received}
    other = {"input_tokens": sent, "output_tokens": received}
    said = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    return {
        "openai-chat": {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": counts},
        "openai-responses": {"status": "completed", "output": [said], "usage": other},
        "anthropic-messages": {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": other},
        "gemini": {
            "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": sent, "candidatesTokenCount": received},
        },
        "bedrock-converse": {
            "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": sent, "outputTokens": received, "totalTokens": sent + received},
            "metrics": {"latencyMs": 1},
        },
    }[preset]


def write_chat(
    folder, server_url, preset="openai-chat", *, request="", limits="", more="", timeout=20.0, name="vlm.toml"
):
    """The file of a model behind a server; its secret is in the headers, where the interface has headers."""
    root = server_url.removesuffix("/detect")
    headers = HEADERS.get(preset, '{ Authorization = "Bearer ${ACME_KEY}" }')
    own = 'region = "eu-west-1"' if preset == "bedrock-converse" else f"headers = {headers}"
    path = folder / name
    whole = {"preset": preset, "url": root + PLACES[preset], "request": f"{own}\n{request}", "timeout": timeout}
    text = TOML.format(**whole, limits=limits, more=more)
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def speaking(folder, server_url, preset="openai-chat", **settings):
    """The speaker of such a file, closed in the end."""
    speaker = load_chat(write_chat(folder, server_url, preset, **settings))
    try:
        yield speaker
    finally:
        speaker.close()
