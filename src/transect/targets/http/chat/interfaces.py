"""The chat interfaces: the request about images; what a reply says: an answer, a refusal, or a fault; the tokens that a
call can take at most; and how questions are handed over in batches.

Sources: https://platform.openai.com/docs/api-reference/chat/create and .../responses/create,
https://platform.claude.com/docs/en/api/messages, https://ai.google.dev/api/generate-content,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. Reasons are categories with few
words behind them, the same for equal faults, so that tables can count them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import Any, Final, final
from urllib.parse import quote, urlsplit

from transect.runs.pictures import packed, png
from transect.spoken_answers import Ask, End, Pixels, Spoken
from transect.targets.http.answers import NoAnswer, outline, parse, provider_words
from transect.targets.http.asking import TOO_LONG, CallFailed, Message
from transect.targets.http.chat.settings import (
    AROUND_FORM,
    DESCRIPTION,
    NAME,
    OPENAI,
    ChatRequest,
    ChatSettings,
    form_of,
    limit,
    named_form,
    said_by_tool,
)
from transect.targets.http.ledger import NO_TOKENS, Reply, Tokens
from transect.targets.http.messages import encode_as
from transect.targets.http.settings import BEDROCK, merged
from transect.targets.python_objects import array_digest
from transect.texts import encodable, one_line, words_of

AROUND: Final = 100
"""Tokens of roles, templates and marks around texts and images."""
LEAST_OF_RESPONSES: Final = 16
"""The least limit that OpenAI's Responses interface takes."""


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """One encoded image: its file, its media type ("image/png" or "image/jpeg"), its width and height in pixels."""

    content: bytes
    media_type: str
    width: int
    height: int
    base64: str

    @property
    def data_url(self) -> str:
        """The file within an address."""
        return f"data:{self.media_type};base64,{self.base64}"

    @property
    def format(self) -> str:
        """Its name without the kind: "png" or "jpeg"."""
        return self.media_type.removeprefix("image/")


def picture(pixels: Pixels, request: ChatRequest) -> Picture:
    """An image as the request states it."""
    # A tenth of the time of Pillow's PNG, and as many bytes.
    png_of = request.image_format == "png"
    content = packed(png(pixels)) if png_of else encode_as(pixels, request.image_format, request.jpeg_quality)
    height, width = pixels.shape[:2]
    return Picture(content, f"image/{request.image_format}", width, height, base64.b64encode(content).decode())


@final
class Shown:
    """The images that are shown together, in order: named at once, and encoded when the first question needs it."""

    def __init__(self, pixels: Sequence[Pixels], request: ChatRequest) -> None:
        self.pixels, self._request = tuple(pixels), request

    @cached_property
    def key(self) -> str:
        """What names the images and their order: of one image its own key, of several a digest of theirs."""
        keys = [array_digest(one) for one in self.pixels]
        return keys[0] if len(keys) == 1 else hashlib.sha256(" ".join(keys).encode()).hexdigest()

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Width and height of each image in pixels."""
        return [(one.shape[1], one.shape[0]) for one in self.pixels]

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The images, encoded; two threads may both do it, and get the same."""
        return tuple(picture(one, self._request) for one in self.pixels)


def post(
    request: ChatRequest, url: str, body: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> Message:
    """A message with that body and the file's own members of it, headers and query, which go before the interface's."""
    named = {name.lower() for name in request.headers}
    own = {name: value for name, value in (headers or {}).items() if name.lower() not in named}
    return Message("POST", url, {**own, **request.headers}, request.query, json=merged(body, request.body, whole=""))


def stated(**members: object) -> dict[str, Any]:
    """The members that are not None or ""."""
    return {key: value for key, value in members.items() if value is not None and value != ""}


def at(content: object, *path: str | int) -> Any:
    """What is there in an answer; None where the path leads nowhere."""
    for step in path:
        if isinstance(step, int) and isinstance(content, list) and step < len(content):
            content = content[step]
        elif isinstance(step, str) and isinstance(content, Mapping):
            content = content.get(step)
        else:
            return None
    return content


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def texts(parts: Sequence[Mapping[str, Any]], key: str = "text") -> str:
    """The texts of parts, joined."""
    return "".join(part[key] for part in parts if isinstance(part.get(key), str))


def count(usage: object, *keys: str) -> int | None:
    """The sum of an answer's counts of tokens; None where the first of them is none, others count 0 then.

    >>> count({"input_tokens": 9, "cache_read_input_tokens": 3}, "input_tokens", "cache_read_input_tokens", "other")
    12
    """
    values = [at(usage, key) for key in keys]
    sound = [value if type(value) is int and value >= 0 else None for value in values]  # True is no count
    return None if sound[0] is None else sum(value or 0 for value in sound)


def no_answer(content: object, where: str) -> Spoken:
    """What is made of an answer without the part that holds the text. where: its name in the interface."""
    return Spoken(failure=f"invalid answer: no {where}: it has {outline(content)}")


_ENDS: Final[Mapping[str, End]] = {
    **dict.fromkeys(("stop", "STOP", "end_turn", "stop_sequence"), "end"),
    **dict.fromkeys(
        ("length", "MAX_TOKENS", "max_tokens", "max_output_tokens", "model_context_window_exceeded"), "length"
    ),
    **dict.fromkeys(("content_filter", "refusal", "guardrail_intervened", "content_filtered"), "filter"),
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"), "filter"
    ),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use", "malformed_tool_use"), "tool"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "tool"),
}
"""Why an answer ended, in the words of any of the interfaces; another word is "other"."""


def _end(reason: object) -> End:
    return _ENDS.get(str(reason), "other")


def openai_chat_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request: images before the question, in order."""
    images = [{"type": "image_url", "image_url": stated(url=one.data_url, detail=request.detail)} for one in shown]
    asked = {"role": "user", "content": [*images, {"type": "text", "text": ask.prompt}]}
    system = [{"role": "system", "content": ask.system}] if ask.system else []
    # Newer models there refuse max_tokens, others know no other name.
    official = urlsplit(request.url).hostname == OPENAI
    name = request.max_tokens_name or ("max_completion_tokens" if official else "max_tokens")
    form = named_form(request, ask)
    body = stated(
        model=request.model,
        messages=[*system, asked],
        temperature=ask.temperature if request.send_temperature else None,
        seed=ask.repeat if request.send_seed else None,
        response_format=form and {"type": "json_schema", "json_schema": form},
    )
    return post(request, request.url, {**body, name: limit(request, ask)})


def openai_chat_spoken(content: Mapping[str, object]) -> Spoken:
    """The first choice. A refusal stands in a member of its own, or the filter has cut the text."""
    choice = at(content, "choices", 0)
    said = at(choice, "message")
    if not isinstance(said, Mapping):
        return no_answer(content, "choices[0].message")
    text, declined = _text(said.get("content")), said.get("refusal")
    refusal = declined if isinstance(declined, str) else ""
    end: End = "tool" if said.get("tool_calls") and not text else _end(at(choice, "finish_reason"))
    return Spoken(
        text=text or refusal,
        end=end,
        refusal=bool(refusal) or end == "filter",
        tokens_sent=count(at(content, "usage"), "prompt_tokens"),
        tokens_received=count(at(content, "usage"), "completion_tokens"),
    )


def _text(content: object) -> str:
    """A text, or the texts of parts."""
    return content if isinstance(content, str) else texts(items(content))


def openai_responses_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request, which the provider is asked not to store. Its least limit of tokens is 16."""
    images = [stated(type="input_image", image_url=one.data_url, detail=request.detail or "auto") for one in shown]
    asked = {"role": "user", "content": [*images, {"type": "input_text", "text": ask.prompt}]}
    form = named_form(request, ask)
    body = stated(
        model=request.model,
        instructions=ask.system,
        input=[asked],
        max_output_tokens=max(limit(request, ask), LEAST_OF_RESPONSES),
        temperature=ask.temperature if request.send_temperature else None,
        text=form and {"format": {"type": "json_schema", **form}},
        store=False,
    )
    return post(request, request.url, body)


def openai_responses_spoken(content: Mapping[str, object]) -> Spoken:
    """The texts of all messages of the output; reasoning is none of them."""
    output = content.get("output")
    if not isinstance(output, list):
        return no_answer(content, "output")
    parts = [part for item in items(output) if item.get("type") == "message" for part in items(item.get("content"))]
    text = texts([part for part in parts if part.get("type") == "output_text"])
    refusal = texts([part for part in parts if part.get("type") == "refusal"], "refusal")
    calls = any(str(item.get("type")).endswith("_call") for item in items(output))
    end = _end(at(content, "incomplete_details", "reason"))
    if content.get("status") == "completed":
        end = "tool" if calls and not text and not refusal else "end"
    return Spoken(
        text=text or refusal,
        end=end,
        refusal=bool(refusal) or end == "filter",
        tokens_sent=count(at(content, "usage"), "input_tokens"),
        tokens_received=count(at(content, "usage"), "output_tokens"),
    )


VERSION: Final = {"anthropic-version": "2023-06-01"}


def anthropic_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request: images before the question, as the provider advises."""
    images = [
        {"type": "image", "source": {"type": "base64", "media_type": one.media_type, "data": one.base64}}
        for one in shown
    ]
    form = form_of(request, ask)
    body = stated(
        model=request.model,
        max_tokens=limit(request, ask),
        system=ask.system,
        messages=[{"role": "user", "content": [*images, {"type": "text", "text": ask.prompt}]}],
        temperature=ask.temperature if request.send_temperature else None,
        tools=form and [{"name": NAME, "description": DESCRIPTION, "input_schema": form}],
        tool_choice=form and {"type": "tool", "name": NAME},
    )
    return post(request, request.url, body, VERSION)


def anthropic_spoken(content: Mapping[str, object]) -> Spoken:
    """The texts of the content; thinking is none of them. Its stop reason says where the provider declines."""
    if not isinstance(content.get("content"), list):
        return no_answer(content, "content")
    parts = items(content["content"])
    usage = at(content, "usage")
    return replace(
        _by_tool(parts, texts([part for part in parts if part.get("type") == "text"]), content.get("stop_reason")),
        tokens_sent=count(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        tokens_received=count(usage, "output_tokens"),
    )


def _by_tool(calls: Sequence[object], text: str, reason: object) -> Spoken:
    """What the tool was called with, which stands for an answer after a schema; else the text."""
    answered = next((said_by_tool(at(call, "input")) for call in calls if at(call, "name") == NAME), "")
    end = _end(reason)
    return Spoken(answered or text, "end" if answered and end == "tool" else end, end == "filter")


def gemini_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request: images before the question, in order."""
    images = [{"inlineData": {"mimeType": one.media_type, "data": one.base64}} for one in shown]
    body = stated(
        systemInstruction={"parts": [{"text": ask.system}]} if ask.system else None,
        contents=[{"role": "user", "parts": [*images, {"text": ask.prompt}]}],
        generationConfig=stated(
            maxOutputTokens=limit(request, ask),
            temperature=ask.temperature if request.send_temperature else None,
            seed=ask.repeat if request.send_seed else None,
            **_gemini_form(request, ask),
        ),
    )
    return post(request, gemini_address(request, "generateContent"), body)


def _gemini_form(request: ChatRequest, ask: Ask) -> dict[str, Any]:
    """The form of the answer in the dialect of the interface, which is OpenAPI's."""
    if form_of(request, ask) is None:
        return {}
    kept = {"type": "STRING", "enum": [*ask.options]} if ask.options else {"type": "NUMBER"}
    member = {**kept, "nullable": True, "description": DESCRIPTION}
    schema = {"type": "OBJECT", "properties": {NAME: member}, "required": [NAME]}
    return {"responseMimeType": "application/json", "responseSchema": schema}


def gemini_address(request: ChatRequest, method: str) -> str:
    """The address of a method of the model, which may be stated with its folder or without."""
    model = request.model if "/" in request.model else f"models/{request.model}"
    return f"{request.url.rstrip('/')}/{quote(model)}:{method}"


def gemini_spoken(content: Mapping[str, object]) -> Spoken:
    """The first candidate; thoughts are none of its texts. A blocked question has no candidate and says why."""
    usage = at(content, "usageMetadata")
    sent = count(usage, "promptTokenCount")
    candidate = at(content, "candidates", 0)
    if not isinstance(candidate, Mapping):
        if not at(content, "promptFeedback", "blockReason"):
            return no_answer(content, "candidates[0]")
        received = None if sent is None else count(usage, "candidatesTokenCount") or 0
        return Spoken(end="filter", refusal=True, tokens_sent=sent, tokens_received=received)
    parts = items(at(candidate, "content", "parts"))
    text = texts([part for part in parts if not part.get("thought")])
    calls = any("functionCall" in part for part in parts)
    end: End = "tool" if calls and not text else _end(candidate.get("finishReason"))
    return Spoken(text, end, end == "filter", tokens_sent=sent, tokens_received=_received(usage))


def _received(usage: object) -> int | None:
    """Tokens of the answer and of thoughts; the answer's are left out where it is empty."""
    answered = count(usage, "candidatesTokenCount", "thoughtsTokenCount")
    if answered is None and count(usage, "promptTokenCount") is not None:
        return count(usage, "thoughtsTokenCount") or 0
    return answered


def bedrock_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """What boto3's `converse` takes, as the body; images are bytes, which boto3 encodes."""
    images = [{"image": {"format": one.format, "source": {"bytes": one.content}}} for one in shown]
    form = form_of(request, ask)
    tool = {"name": NAME, "description": DESCRIPTION, "inputSchema": {"json": form}}
    body = stated(
        modelId=request.model,
        system=[{"text": ask.system}] if ask.system else None,
        messages=[{"role": "user", "content": [*images, {"text": ask.prompt}]}],
        inferenceConfig=stated(
            maxTokens=limit(request, ask), temperature=ask.temperature if request.send_temperature else None
        ),
        toolConfig=form and {"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": NAME}}},
    )
    return post(request, request.url, body)


def bedrock_spoken(content: Mapping[str, object]) -> Spoken:
    """The texts of the message; where a guardrail intervened they are the guardrail's."""
    said = at(content, "output", "message", "content")
    if not isinstance(said, list):
        return no_answer(content, "output.message.content")
    usage = at(content, "usage")
    return replace(
        _by_tool([at(part, "toolUse") for part in items(said)], texts(items(said)), content.get("stopReason")),
        tokens_sent=count(usage, "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
        tokens_received=count(usage, "outputTokens"),
    )


_MEGABYTE: Final = 1_000_000
Send = Callable[[Message], bytes]
"""Sends a message and gives the body of a good reply; raises CallFailed for any other."""
Outcome = tuple[str, Reply | str]
"""The number of a question, and its reply; or why there is none, where it was not worked on."""


class BatchInterface:
    """How batches are handed over and collected; each call may raise CallFailed. most_bytes: of all bodies."""

    most_bytes: int
    headers: Mapping[str, str] = {}

    def __init__(self, request: ChatRequest) -> None:
        self.request, self.url = request, request.url.rstrip("/")

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """Hand over requests with their numbers; returns the name of the batch."""
        raise NotImplementedError

    def is_done(self, name: str, send: Send) -> bool:
        """Whether nothing more will be answered."""
        raise NotImplementedError

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """What became of each request, in any order."""
        raise NotImplementedError

    def message(self, method: str, url: str, body: object = None) -> Message:
        """A request with that body."""
        return Message(method, url, {**self.headers, **self.request.headers}, self.request.query, json=body)


@final
class OpenAIBatches(BatchInterface):
    """A file of lines that is uploaded, a batch of it, and two files of lines: of answers and of faults."""

    most_bytes = 90 * _MEGABYTE

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request)
        self._root = self.url.removesuffix("/chat/completions").removesuffix("/responses")
        self._endpoint = urlsplit(self.url).path

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """As every interface has it."""
        lines = [
            json.dumps({"custom_id": number, "method": "POST", "url": self._endpoint, "body": message.json})
            for number, message in numbered
        ]
        file = ("questions.jsonl", "\n".join(lines).encode(), "application/jsonl")
        upload = replace(self.message("POST", f"{self._root}/files"), files={"file": file}, data={"purpose": "batch"})
        stored = _named(send(upload), "id")
        body = {"input_file_id": stored, "endpoint": self._endpoint, "completion_window": "24h"}
        return _named(send(self.message("POST", f"{self._root}/batches", body)), "id")

    def is_done(self, name: str, send: Send) -> bool:
        """As every interface has it."""
        return self._state(name, send).get("status") in ("completed", "failed", "expired", "cancelled")

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """As every interface has it."""
        state = self._state(name, send)
        for key in ("output_file_id", "error_file_id"):
            if isinstance(file := state.get(key), str) and file:
                url = f"{self._root}/files/{quote(file, safe='')}/content"
                for line in _lines(send(self.message("GET", url))):
                    yield str(line.get("custom_id")), _openai_outcome(line)

    def _state(self, name: str, send: Send) -> Mapping[str, object]:
        return _object(send(self.message("GET", f"{self._root}/batches/{quote(name, safe='')}")))


def _openai_outcome(line: Mapping[str, object]) -> Reply | str:
    status, body = at(line, "response", "status_code"), at(line, "response", "body")
    if isinstance(status, int) and isinstance(body, Mapping):
        return _reply(status, body)
    return f"batch: {at(line, 'error', 'code') or 'not answered'}"


@final
class AnthropicBatches(BatchInterface):
    """A list of requests, and a file of lines with their results."""

    most_bytes = 200 * _MEGABYTE
    headers = VERSION

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """As every interface has it."""
        requests = [{"custom_id": number, "params": message.json} for number, message in numbered]
        return _named(send(self.message("POST", f"{self.url}/batches", {"requests": requests})), "id")

    def is_done(self, name: str, send: Send) -> bool:
        """As every interface has it."""
        state = _object(send(self.message("GET", f"{self.url}/batches/{quote(name, safe='')}")))
        return state.get("processing_status") == "ended"

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """From the batch's own address, whatever a reply names, so that secrets go nowhere else."""
        url = f"{self.url}/batches/{quote(name, safe='')}/results"
        for line in _lines(send(self.message("GET", url))):
            yield str(line.get("custom_id")), _anthropic_outcome(line.get("result"))


def _anthropic_outcome(result: object) -> Reply | str:
    kind, message, error = (at(result, key) for key in ("type", "message", "error"))
    if kind == "succeeded" and isinstance(message, Mapping):
        return _reply(200, message)
    if kind == "errored" and isinstance(error, Mapping):
        named = at(error, "error", "type") or error.get("type")
        return _reply(400 if named == "invalid_request_error" else 500, error)
    return f"batch: {kind or 'not answered'}"


@final
class GeminiBatches(BatchInterface):
    """A list of requests within the call, and a list of answers in the state of the batch."""

    most_bytes = 18 * _MEGABYTE

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """As every interface has it."""
        requests = [{"request": message.json, "metadata": {"key": number}} for number, message in numbered]
        body = {"batch": {"displayName": "transect", "inputConfig": {"requests": {"requests": requests}}}}
        url = gemini_address(self.request, "batchGenerateContent")
        return _named(send(self.message("POST", url, body)), "name")

    def is_done(self, name: str, send: Send) -> bool:
        """As every interface has it."""
        return self._state(name, send).get("done") is True

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """As every interface has it."""
        state = self._state(name, send)
        answers = at(state, "response", "inlinedResponses", "inlinedResponses")
        for line in items(answers):
            response, error = line.get("response"), line.get("error")
            number = str(at(line, "metadata", "key"))
            if isinstance(response, Mapping):
                yield number, _reply(200, response)
            else:
                yield number, _reply(400 if at(error, "code") in (3, 9, 400) else 500, {"error": error or {}})

    def _state(self, name: str, send: Send) -> Mapping[str, Any]:
        return _object(send(self.message("GET", f"{self.url}/{quote(name)}")))


def _reply(status: int, content: Mapping[str, object]) -> Reply:
    return Reply(status, "application/json", json.dumps(content).encode())


def _object(body: bytes) -> Mapping[str, object]:
    try:
        content = parse(body)
    except NoAnswer as error:
        raise CallFailed(str(error), retryable=False, sent=True) from None
    return content if isinstance(content, Mapping) else {}


def _named(body: bytes, key: str) -> str:
    value = _object(body).get(key)
    if not isinstance(value, str) or not value:
        raise CallFailed(f"invalid answer: no {key} of a batch", retryable=False, sent=True)
    return value


def _lines(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of lines; a line that is none is left out, and its question counts as not answered."""
    for line in body.splitlines():
        try:
            content = parse(line)
        except NoAnswer:
            continue
        if isinstance(content, Mapping):
            yield content


def _openai_tokens(width: int, height: int) -> int:
    """Patches of 32 pixels, 2.46 tokens each, or 85 and 170 for each tile of 512 once the short side is 768.

    Source: https://platform.openai.com/docs/guides/images-vision
    """
    patches = ceil(width / 32) * ceil(height / 32) * 2.46
    scale = 768 / min(width, height)
    tiles = ceil(width * scale / 512) * ceil(height * scale / 512)
    return ceil(max(patches, 85 + 170 * tiles))


def _anthropic_tokens(width: int, height: int) -> int:
    """A token for each patch of 28 pixels, or for each 750 pixels.

    Source: https://platform.claude.com/docs/en/build-with-claude/vision
    """
    return max(ceil(width / 28) * ceil(height / 28), ceil(width * height / 750))


def _gemini_tokens(width: int, height: int) -> int:
    """258 for each tile of two thirds of the short side, from 256 to 768 pixels; 1,120 at least, as of Gemini 3.

    Source: https://ai.google.dev/gemini-api/docs/image-understanding and .../media-resolution
    """
    side = min(max(min(width, height) // 1.5, 256), 768)
    return max(1120, 258 * ceil(width / side) * ceil(height / side))


def _bedrock_tokens(width: int, height: int) -> int:
    """A token for each patch of 16 pixels, and 1,601 at least: models of several makers are behind it."""
    return max(1601, ceil(width / 16) * ceil(height / 16))


@final
@dataclass(frozen=True, slots=True)
class Interface:
    """How one interface is spoken.

    message: the request about the images shown. spoken: what an answer without a fault says. tokens: the most that an
    image of that width and height in pixels takes. url: where it is unless the file says so; "" where that is stated.
    keys: what its [request] may hold beside what all have. least: the least limit of tokens that it takes. batches: how
    questions are handed over together; None where that cannot be done by calls alone.
    """

    message: Callable[[ChatRequest, Sequence[Picture], Ask], Message]
    spoken: Callable[[Mapping[str, object]], Spoken]
    tokens: Callable[[int, int], int]
    url: str = ""
    keys: frozenset[str] = frozenset({"headers", "query"})
    least: int = 0
    batches: type[BatchInterface] | None = None


_OVER_HTTP: Final = frozenset({"headers", "query"})
INTERFACES: Final[Mapping[str, Interface]] = MappingProxyType(
    {
        "openai-chat": Interface(
            openai_chat_message,
            openai_chat_spoken,
            _openai_tokens,
            keys=_OVER_HTTP | {"detail", "max_tokens_name", "send_seed"},
            batches=OpenAIBatches,
        ),
        "openai-responses": Interface(
            openai_responses_message,
            openai_responses_spoken,
            _openai_tokens,
            url="https://api.openai.com/v1/responses",
            keys=_OVER_HTTP | {"detail"},
            least=LEAST_OF_RESPONSES,
            batches=OpenAIBatches,
        ),
        "anthropic-messages": Interface(
            anthropic_message,
            anthropic_spoken,
            _anthropic_tokens,
            url="https://api.anthropic.com/v1/messages",
            batches=AnthropicBatches,
        ),
        "gemini": Interface(
            gemini_message,
            gemini_spoken,
            _gemini_tokens,
            url="https://generativelanguage.googleapis.com/v1beta",
            keys=_OVER_HTTP | {"send_seed"},
            batches=GeminiBatches,
        ),
        BEDROCK: Interface(bedrock_message, bedrock_spoken, _bedrock_tokens, keys=frozenset({"region"})),
    }
)
"""By the preset of a target's TOML file."""


def bound(settings: ChatSettings, sizes: Iterable[tuple[int, int]], ask: Ask) -> Tokens:
    """The most that one call can take. sizes: width and height of each image in pixels.

    Text: one token for each byte of UTF-8, since no tokenizer in use makes more of it, and 100 for what the interface
    puts around it. Images: the provider's documented rule, of several the one that gives most.
    """
    interface, request = INTERFACES[settings.preset], settings.request
    images = sum(request.image_tokens or interface.tokens(width, height) for width, height in sizes)
    form = form_of(request, ask)
    text = len(ask.system.encode()) + len(ask.prompt.encode()) + (len(json.dumps(form)) + AROUND_FORM if form else 0)
    return Tokens(images + text + AROUND, max(limit(request, ask), interface.least))


_LONGEST_REASON: Final = 200
_FAULT: Final = 400
_SERVER_FAULT: Final = 500
_STREAM: Final = re.compile(rb"\s*(?:data|event|id|retry):")
_DECLINES: Final = {
    "content_filter", "content_policy_violation", "image_content_policy_violation", "invalid_prompt",
    "moderation_blocked", "responsibleaipolicyviolation",
}  # fmt: skip
"""Codes of faults by which OpenAI and Azure say that they decline what was asked."""
_SAYS_DECLINED: Final = re.compile(
    r"content filtering policy|content management policy|safety system|usage polic", re.IGNORECASE
)
_SAYS_TOO_LONG: Final = re.compile(
    r"context (?:length|window|size)|prompt is too long|input is too long|token count.{0,40}exceeds|too many tokens"
    r"|exceeds the (?:available|maximum|model)",
    re.IGNORECASE,
)
_PASSING: Final = {"server_error", "rate_limit_exceeded", "overloaded_error", "429", "500", "502", "503", "529"}
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z_.-]{0,59}")


def spoken(reply: Reply, interface: Interface) -> Spoken:
    """What a reply says; never raises. A provider that declines, also by a fault, has `refusal`, else a failure."""
    said = _read(reply, interface)
    return replace(said, text=encodable(said.text), failure=one_line(said.failure, _LONGEST_REASON))


def _read(reply: Reply, interface: Interface) -> Spoken:
    if reply.reason:
        return Spoken(failure=f"invalid answer: {reply.reason}")
    if reply.content_type.startswith("text/event-stream") or _STREAM.match(reply.body):
        return Spoken(failure="invalid answer: streamed, which nothing asked for")
    try:
        content = parse(reply.body)
    except NoAnswer as error:
        refused = f"refused: HTTP {reply.status}{provider_words(reply)}"
        return Spoken(failure=refused if reply.status >= _FAULT else words_of(error))
    if reply.status >= _FAULT or _error(content):
        return _fault(reply, content)
    if not isinstance(content, Mapping):
        return Spoken(failure=f"invalid answer: expected an object, got {outline(content)}")
    return interface.spoken(content)


def used(reply: Reply, interface: Interface) -> Tokens | None:
    """The tokens that a reply counts; None where it counts none; none of a status of 4xx, which was not worked on."""
    if _FAULT <= reply.status < _SERVER_FAULT:
        return NO_TOKENS
    said = spoken(reply, interface)
    if said.tokens_sent is None or said.tokens_received is None:
        return None
    return Tokens(said.tokens_sent, said.tokens_received)


def passing(reply: Reply) -> str:
    """Why a reply with a good status says that another try has sense; "" where it does not."""
    if reply.reason or reply.status >= _FAULT or b'"error"' not in reply.body:
        return ""
    try:
        code = _code(_error(parse(reply.body)))
    except NoAnswer:
        return ""
    return f"{code} within an answer" if code in _PASSING else ""


def _error(content: object) -> Mapping[str, Any]:
    """The fault of an answer, which some servers give as a text; empty where there is none."""
    error = content.get("error") if isinstance(content, Mapping) else None
    if isinstance(error, str):
        return {"message": error} if error else {}
    return error if isinstance(error, Mapping) else {}


def _fault(reply: Reply, content: object) -> Spoken:
    error = _error(content) or (content if isinstance(content, Mapping) else {})
    code, text = _code(error), str(error.get("message") or error.get("detail") or "")
    inner = error.get("innererror")
    codes = {code.lower(), str(inner.get("code")).lower() if isinstance(inner, Mapping) else ""}
    if codes & _DECLINES or _SAYS_DECLINED.search(text):
        return Spoken(end="filter", refusal=True)
    if code in ("context_length_exceeded", TOO_LONG) or _SAYS_TOO_LONG.search(text):
        return Spoken(failure=f"context too long: HTTP {reply.status}")
    named = f": {code}" if _CODE.fullmatch(code) else ""
    return Spoken(failure=f"refused: HTTP {reply.status}{named}{provider_words(reply)}")


def _code(error: Mapping[str, object]) -> str:
    """The code of a fault, as one interface or another names it: a word before a number."""
    codes = [str(error[key]) for key in ("code", "status", "type") if error.get(key)]
    return next((code for code in codes if _CODE.fullmatch(code)), (codes or [""])[0])
