"""Questions handed over in batches: answered within hours, at the provider's price for batches.

Each question is entered in the file of answers before its batch is handed over, and holds its part of the budget
until its answer is collected. A run that was stopped collects the batches that it left when it is started again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final
from urllib.parse import quote, urlsplit

from transect.errors import AnswersUnusable, BudgetSpent, Interrupted
from transect.targets.http.answers import NoAnswer, parse
from transect.targets.http.asking import UNCONFIRMED, Asker, CallFailed, HttpTransport, Message, is_stopping
from transect.targets.http.chat.interfaces import VERSION, at, gemini_address, items, passing
from transect.targets.http.chat.settings import ChatBatch, ChatRequest, ChatSettings
from transect.targets.http.ledger import Call, Reply, Tokens, Unconfirmed, UnderWay
from transect.targets.http.settings import Limits, Secrets
from transect.texts import whole_number

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
        stored = _text(send(upload), "id")
        body = {"input_file_id": stored, "endpoint": self._endpoint, "completion_window": "24h"}
        return _text(send(self.message("POST", f"{self._root}/batches", body)), "id")

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

    def _state(self, name: str, send: Send) -> Mapping[str, Any]:
        return _object(send(self.message("GET", f"{self._root}/batches/{quote(name, safe='')}")))


def _openai_outcome(line: Mapping[str, Any]) -> Reply | str:
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
        return _text(send(self.message("POST", f"{self.url}/batches", {"requests": requests})), "id")

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
        return _text(send(self.message("POST", url, body)), "name")

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


_LARGEST: Final = 2000.0
"""Megabytes of a file of answers."""
_HOUR: Final = 3600.0
_FAULT, _BUSY, _SERVER_FAULT = 400, 429, 500

Answer = Reply | str
"""The final reply to a question, or why there is none."""


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """One question: what names it in the file of answers, the most tokens that it takes, and its request."""

    key: str
    tokens: Tokens
    make: Callable[[], Message]


def batch_interface(settings: ChatSettings, filled: ChatRequest) -> BatchInterface:
    """How batches of an interface are handed over. filled: the request with its secrets."""
    if settings.preset == "anthropic-messages":
        return AnthropicBatches(filled)
    return GeminiBatches(filled) if settings.preset == "gemini" else OpenAIBatches(filled)


@final
class Batcher:
    """Asks one model in batches. Raises BudgetSpent, AnswersUnusable and Interrupted, and keeps what was collected."""

    def __init__(
        self, asker: Asker, interface: BatchInterface, settings: ChatSettings, request: str, secrets: Secrets
    ) -> None:
        self._asker, self._interface, self._batch = asker, interface, settings.batch or ChatBatch()
        self._request, self._secrets, self._limits = request, secrets, settings.limits
        limits = Limits(timeout=settings.limits.timeout, largest_answer=_LARGEST)
        self._transport = HttpTransport(settings.request.url, limits)
        self._failed: dict[str, str] = {}
        self._keys: dict[int, str] = {}

    def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """The answers, in order; for a question without one the reason."""
        self._collect()
        waiting = list({one.key: one for one in asked if self._find(one) is None}.values())
        while waiting:
            waiting = self._hand_over(waiting)
            self._collect()
        return [self._find(one) or self._failed.get(one.key, "batch: no answer came back") for one in asked]

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _find(self, asked: Asked) -> Reply | None:
        return self._asker.ledger.find(self._request, asked.key)

    def _hand_over(self, waiting: list[Asked]) -> list[Asked]:
        """Hand over as many batches as the budget allows; returns the questions that are left."""
        while waiting:
            entered, taken, is_spent = self._enter(waiting)
            waiting = waiting[taken:]
            if entered:
                self._start(entered)
            if is_spent:  # what the batches hold must come back first
                break
        return waiting

    def _enter(self, waiting: Sequence[Asked]) -> tuple[list[tuple[Asked, Call, Message]], int, bool]:
        """Enter the calls of one batch; how many questions were dealt with, and whether the budget ended it."""
        entered: list[tuple[Asked, Call, Message]] = []
        size = taken = 0
        for one in waiting[: self._batch.size]:
            message = one.make()
            size += len(json.dumps(message.json))
            if entered and size > self._interface.most_bytes:
                break
            try:
                claimed = self._asker.claim(self._request, one.key, self._batch.hours * _HOUR, one.tokens)
            except BudgetSpent:
                if not entered and not self._asker.ledger.batches(self._request):
                    raise
                return entered, taken, True
            taken += 1
            if isinstance(claimed, Call):
                entered.append((one, claimed, message))
            elif isinstance(claimed, Unconfirmed):
                self._failed[one.key] = UNCONFIRMED
            elif isinstance(claimed, UnderWay):
                self._failed[one.key] = "batch: asked by another program just now"
        return entered, taken, False

    def _start(self, entered: Sequence[tuple[Asked, Call, Message]]) -> None:
        self._keys |= {call.id: one.key for one, call, _ in entered}
        try:
            name = self._interface.start([(str(call.id), message) for _, call, message in entered], self._send)
        except CallFailed as error:
            for _, call, _ in entered:
                self._drop(call, f"batch: {error.reason}", sent=error.sent)
            return
        calls = [call for _, call, _ in entered]
        self._asker.ledger.add_batch(self._request, name, calls, seconds=self._batch.hours * _HOUR)

    def _collect(self) -> None:
        """Wait for all batches that were handed over, by this program or one before it, and keep their answers."""
        for name in self._asker.ledger.batches(self._request):
            until = time.monotonic() + self._batch.hours * _HOUR
            try:
                while not self._interface.is_done(name, self._send_again) and time.monotonic() < until:
                    self._pause()
                self._keep(name)
            except CallFailed as error:
                advice = "run the same command again to collect it"
                raise AnswersUnusable(f"batch {name}: cannot be collected ({error.reason}): {advice}") from None

    def _keep(self, name: str) -> None:
        calls = self._asker.ledger.calls_of(name)
        for number, outcome in self._interface.outcomes(name, self._send_again):
            place = whole_number(number)
            call = None if place is None else calls.pop(place, None)
            if call is None:
                continue
            if isinstance(outcome, Reply):
                self._keep_reply(call, outcome)
            else:
                self._drop(call, outcome, sent=False)
        for call in calls.values():
            self._drop(call, "batch: no answer came back", sent=True)
        self._asker.ledger.drop_batch(name)

    def _keep_reply(self, call: Call, reply: Reply) -> None:
        reply, final = self._asker.keep(call, reply)
        if not final:
            self._say(call, f"batch: {passing(reply) or f'HTTP {reply.status}'}")

    def _drop(self, call: Call, reason: str, *, sent: bool) -> None:
        self._asker.ledger.fail(call, reason, sent=sent)
        self._say(call, reason)

    def _say(self, call: Call, reason: str) -> None:
        if key := self._keys.get(call.id):
            self._failed[key] = reason

    def _pause(self) -> None:
        end = time.monotonic() + self._batch.poll
        while time.monotonic() < end:
            if is_stopping():
                raise Interrupted("interrupted while a batch is under way: run the same command again to collect it")
            time.sleep(min(0.2, self._batch.poll))

    def _send(self, message: Message) -> bytes:
        """The body of a good reply. Raises CallFailed for any other."""
        reply = self._transport.send(message)
        if reply.reason:
            raise CallFailed(reply.reason, retryable=False, sent=True)
        if reply.status >= _FAULT:
            server = reply.status >= _SERVER_FAULT
            raise CallFailed(f"HTTP {reply.status}", retryable=server or reply.status == _BUSY, sent=server)
        return self._secrets.redact(reply.body)

    def _send_again(self, message: Message) -> bytes:
        """The same of a request that changes nothing, tried again while it passes."""
        for attempt in range(self._limits.attempts - 1):
            try:
                return self._send(message)
            except CallFailed as error:
                if not error.retryable:
                    raise
                time.sleep(min(self._limits.longest_wait, self._limits.first_wait * 2**attempt))
        return self._send(message)
