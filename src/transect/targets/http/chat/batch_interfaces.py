"""How OpenAI, Anthropic and Google take batches of questions, and give back their answers.

Sources: https://platform.openai.com/docs/guides/batch,
https://platform.claude.com/docs/en/build-with-claude/batch-processing and https://ai.google.dev/api/batch-api.
Amazon Bedrock's batches go through S3, and are not used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, final, runtime_checkable
from urllib.parse import quote, urlsplit

from transect.targets.http.answers import NoAnswer, parse
from transect.targets.http.chat.anthropic_messages import VERSION
from transect.targets.http.chat.gemini import gemini_address
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.chat.shapes import at, items
from transect.targets.http.ledger import Reply
from transect.targets.http.transport import CallFailed, Message

_MEGABYTE: Final = 1_000_000
Send = Callable[[Message], bytes]
"""Sends a message and gives the body of a good reply; raises CallFailed for any other."""
Outcome = tuple[str, Reply | str]
"""The number of a question, and its reply; or why there is none, where it was not worked on."""


@runtime_checkable
class BatchInterface(Protocol):
    """How batches are handed over and collected. most_bytes: of the bodies of one batch."""

    most_bytes: int

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """Hand over requests with their numbers; returns the name of the batch. Raises CallFailed."""
        ...

    def is_done(self, name: str, send: Send) -> bool:
        """Whether nothing more will be answered. Raises CallFailed."""
        ...

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """What became of each request, in any order. Raises CallFailed."""
        ...


@final
class OpenAIBatches:
    """A file of lines that is uploaded, a batch of it, and two files of lines: of answers and of faults."""

    most_bytes = 90 * _MEGABYTE

    def __init__(self, request: ChatRequest) -> None:
        url = request.url.rstrip("/")
        self._root = url.removesuffix("/chat/completions").removesuffix("/responses")
        self._endpoint = urlsplit(url).path
        self._request = request

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """As the protocol has it."""
        lines = [
            json.dumps({"custom_id": number, "method": "POST", "url": self._endpoint, "body": message.json})
            for number, message in numbered
        ]
        file = ("questions.jsonl", "\n".join(lines).encode(), "application/jsonl")
        upload = Message(
            "POST", f"{self._root}/files", self._request.headers, self._request.query,
            files={"file": file}, data={"purpose": "batch"},
        )  # fmt: skip
        stored = _text(send(upload), "id")
        body = {"input_file_id": stored, "endpoint": self._endpoint, "completion_window": "24h"}
        return _text(send(_with_json(self._request, "POST", f"{self._root}/batches", body)), "id")

    def is_done(self, name: str, send: Send) -> bool:
        """As the protocol has it."""
        return self._state(name, send).get("status") in ("completed", "failed", "expired", "cancelled")

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """As the protocol has it."""
        state = self._state(name, send)
        for key in ("output_file_id", "error_file_id"):
            if isinstance(file := state.get(key), str) and file:
                url = f"{self._root}/files/{quote(file, safe='')}/content"
                for line in _lines(send(_with_json(self._request, "GET", url))):
                    yield str(line.get("custom_id")), _openai_outcome(line)

    def _state(self, name: str, send: Send) -> Mapping[str, Any]:
        return _object(send(_with_json(self._request, "GET", f"{self._root}/batches/{quote(name, safe='')}")))


def _openai_outcome(line: Mapping[str, Any]) -> Reply | str:
    status, body = at(line, "response", "status_code"), at(line, "response", "body")
    if isinstance(status, int) and isinstance(body, Mapping):
        return _reply(status, body)
    return f"batch: {at(line, 'error', 'code') or 'not answered'}"


@final
class AnthropicBatches:
    """A list of requests, and a file of lines with their results."""

    most_bytes = 200 * _MEGABYTE

    def __init__(self, request: ChatRequest) -> None:
        self._request, self._root = request, f"{request.url.rstrip('/')}/batches"

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """As the protocol has it."""
        requests = [{"custom_id": number, "params": message.json} for number, message in numbered]
        return _text(send(self._message("POST", self._root, {"requests": requests})), "id")

    def is_done(self, name: str, send: Send) -> bool:
        """As the protocol has it."""
        state = _object(send(self._message("GET", f"{self._root}/{quote(name, safe='')}")))
        return state.get("processing_status") == "ended"

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """As the protocol has it; from the batch's own address, so that secrets go nowhere else."""
        url = f"{self._root}/{quote(name, safe='')}/results"
        for line in _lines(send(self._message("GET", url))):
            yield str(line.get("custom_id")), _anthropic_outcome(line.get("result"))

    def _message(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> Message:
        return _with_json(self._request, method, url, body, VERSION)


def _anthropic_outcome(result: object) -> Reply | str:
    kind, message, error = (at(result, key) for key in ("type", "message", "error"))
    if kind == "succeeded" and isinstance(message, Mapping):
        return _reply(200, message)
    if kind == "errored" and isinstance(error, Mapping):
        named = at(error, "error", "type") or error.get("type")
        return _reply(400 if named == "invalid_request_error" else 500, error)
    return f"batch: {kind or 'not answered'}"


@final
class GeminiBatches:
    """A list of requests within the call, and a list of answers in the state of the batch."""

    most_bytes = 18 * _MEGABYTE

    def __init__(self, request: ChatRequest) -> None:
        self._request = request

    def start(self, numbered: Sequence[tuple[str, Message]], send: Send) -> str:
        """As the protocol has it."""
        requests = [{"request": message.json, "metadata": {"key": number}} for number, message in numbered]
        body = {"batch": {"displayName": "transect", "inputConfig": {"requests": {"requests": requests}}}}
        url = gemini_address(self._request, "batchGenerateContent")
        return _text(send(_with_json(self._request, "POST", url, body)), "name")

    def is_done(self, name: str, send: Send) -> bool:
        """As the protocol has it."""
        return self._state(name, send).get("done") is True

    def outcomes(self, name: str, send: Send) -> Iterator[Outcome]:
        """As the protocol has it."""
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
        return _object(send(_with_json(self._request, "GET", f"{self._request.url.rstrip('/')}/{quote(name)}")))


def _with_json(
    request: ChatRequest, method: str, url: str, body: object = None, headers: Mapping[str, str] | None = None
) -> Message:
    return Message(method, url, {**(headers or {}), **request.headers}, request.query, json=body)


def _reply(status: int, content: Mapping[str, Any]) -> Reply:
    return Reply(status, "application/json", json.dumps(content).encode())


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        content = parse(body)
    except NoAnswer as error:
        raise CallFailed(str(error), retryable=False, sent=True) from None
    return content if isinstance(content, Mapping) else {}


def _text(body: bytes, key: str) -> str:
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
