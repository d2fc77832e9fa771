"""A model behind a chat interface, as a speaker: each question is asked once, paid for once, and accounted for; its
canaries; a check of its file.

Questions may be handed over in batches: answered within hours, at the provider's price for batches. Each is entered in
the file of answers before its batch is handed over, and holds its part of the budget until its answer is collected. A
run that was stopped collects the batches that it left when it is started again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, final

from transect.errors import AnswersUnusable, BadInput, BudgetSpent, Interrupted
from transect.records import Quote
from transect.runs.folder import canonical_json, spec_hash
from transect.runs.json_records import plain
from transect.runs.pictures import pixels_of_png
from transect.spoken_answers import Ask, Pixels, Spoken
from transect.targets.http.asking import (
    UNCONFIRMED,
    Asker,
    AwsTransport,
    CallFailed,
    HttpTransport,
    Message,
    Transport,
    is_stopping,
)
from transect.targets.http.canaries import Canaries, Kind, Repeated, round_key
from transect.targets.http.chat.interfaces import INTERFACES, BatchInterface, Shown, bound, passing, spoken, used
from transect.targets.http.chat.settings import ChatBatch, ChatRequest, ChatSettings, form_of, read_chat_settings
from transect.targets.http.ledger import Call, Reply, Tokens, Unconfirmed, UnderWay
from transect.targets.http.messages import encode_as
from transect.targets.http.settings import BEDROCK, Limits, Secrets
from transect.targets.http.target import shown_reply
from transect.texts import whole_number


@final
@dataclass(frozen=True, slots=True)
class Question:
    """One text about images that are shown together."""

    shown: Shown
    ask: Ask


def of_questions(
    key: Callable[[Question], str], read: Callable[[Reply], Spoken], request: ChatRequest
) -> Kind[Question, Spoken]:
    """Questions whose answers are texts, which are 0 or 1 apart: equal, or not."""

    def unpack(packed: bytes) -> Question:
        content = json.loads(packed)
        pixels: list[Pixels] = [pixels_of_png(base64.b64decode(one)) for one in content["images"]]
        asked = {**content["ask"], "options": tuple(content["ask"]["options"])}
        return Question(Shown(pixels, request), Ask(**asked))

    return Kind(key, _pack, unpack, lambda reply, _: read(reply), apart)


def _pack(question: Question) -> bytes:
    images = [base64.b64encode(encode_as(pixels, "png")).decode() for pixels in question.shown.pixels]
    return canonical_json({"ask": asdict(question.ask), "images": images}).encode()


def apart(first: Spoken | None, other: Spoken | None) -> float:
    """0 for the same text, end and reason for none, 1 for others, NaN where one is missing."""
    if first is None or other is None:
        return float("nan")
    compared = attrgetter("text", "end", "refusal", "failure")
    return float(compared(first) != compared(other))


QUOTED_SIZE: Final = (1024, 1024)
"""Width and height in pixels of the images that a quote is for, unless it is told another size."""


def load_chat(path: str | Path) -> ChatSpeaker:
    """The speaker that a TOML file describes. Raises BadInput for what is wrong with it, MissingExtra."""
    return ChatSpeaker(read_chat_settings(Path(path)), Path(path))


def request_key(settings: ChatSettings) -> str:
    """SHA-256 of what is sent with every question; limits, budget and prices have no part in it."""
    request = settings.request.model_dump(by_alias=True, exclude={"image_tokens", "structured"})
    sent = {"version": settings.version, "preset": settings.preset, **request}
    return spec_hash(sent)


def ask_key(ask: Ask, request: ChatRequest) -> str:
    """SHA-256 of a question's texts, temperature, limit of tokens and repeat, and of the form of its answer, if any.

    Where the temperature is sent, all repeats at 0 are the same answer, and one call.

    >>> request = ChatRequest(model="m")
    >>> ask_key(Ask("", "a", repeat=1), request) == ask_key(Ask("", "a"), request)
    True
    """
    repeat = 0 if request.send_temperature and ask.temperature == 0 else ask.repeat
    form = form_of(request, ask)
    sent = [ask.system, ask.prompt, float(ask.temperature), ask.max_tokens, repeat, *([form] if form else [])]
    return spec_hash(sent)


@final
class ChatSpeaker(Repeated):
    """A Speaker that asks over HTTP. It counts its calls and tokens (`metered`), so that no trial calls are made."""

    def __init__(self, settings: ChatSettings, path: Path) -> None:
        self.settings, self._interface = settings, INTERFACES[settings.preset]
        request = settings.request
        self.secrets = Secrets({"headers": request.headers, "query": request.query, "json": request.body})
        filled = {key: self.secrets.fill(getattr(request, key)) for key in ("headers", "query", "body")}
        self._filled = request.model_copy(update=filled)
        super().__init__(
            settings,
            path,
            request_key(settings),
            _transport(settings),
            self.secrets,
            used=lambda reply: used(reply, self._interface),
            passing=passing,
        )
        kind = of_questions(self.key, self.read, request)
        self.canaries = Canaries(settings.canary, self.request, self.ask, kind)

    @property
    def patience(self) -> float:
        """Seconds that one question may take at the longest; in a batch hours."""
        batch = self.settings.batch
        return super().patience + (3600 * batch.hours if batch else 0.0)

    def describe(self) -> dict[str, object]:
        """What is sent with every question, without secrets; limits, budget and price are no part of it."""
        shown = self.settings.model_dump(mode="json", by_alias=True, include={"version", "preset", "request"})
        return {"kind": "chat", "request_sha256": self.request, **shown}

    def quote(
        self, images: int, asks: Sequence[Ask] = (), *, shown: int = 1, size: tuple[int, int] | None = None
    ) -> Quote:
        """The maximum cost of asking N new times all of the questions about `shown` images, without further tries."""
        asked = {ask_key(ask, self.settings.request): ask for ask in asks or (Ask("", ""),)}
        each = [bound(self.settings, [size or QUOTED_SIZE] * shown, ask) for ask in asked.values()]
        canary = self.settings.canary
        calls = images * len(each)
        again = calls // canary.every * canary.images if canary.every else 0
        most = max(each, key=lambda tokens: tokens.total)
        sent = images * sum(tokens.sent for tokens in each) + again * most.sent
        received = images * sum(tokens.received for tokens in each) + again * most.received
        named = hashlib.sha256(" ".join([self.request, *sorted(asked)]).encode()).hexdigest()
        return self.asker.quote(
            self.name, images, self.request, calls=calls + again, tokens=Tokens(sent, received), asked=named
        )

    def speak(self, shown: Sequence[tuple[Pixels, ...]], asks: Sequence[Sequence[Ask]]) -> list[list[Spoken]]:
        """What the model says: row i answers asks[i] about shown[i]. What was answered before an error is kept."""
        if len(shown) != len(asks):
            raise BadInput(f"expected questions for each of {len(shown)} images, got {len(asks)} rows: give each a row")
        pictures = [Shown(pixels, self.settings.request) for pixels in shown]
        rows = [[Question(one, ask) for ask in row] for one, row in zip(pictures, asks, strict=True)]
        questions = [question for row in rows for question in row]
        if not questions:
            return [[] for _ in rows]
        threads = self.settings.limits.concurrency
        self.canaries.choose(self.ledger, (row[0] for row in rows if row))
        if self.settings.batch and self._interface.batches:
            said = iter(self._in_batches(questions, self._interface.batches(self._filled)))
        else:
            with ThreadPoolExecutor(min(threads, len(questions))) as pool:
                said = iter(list(pool.map(self._one, questions)))
        self.ask_canaries(threads)
        return [list(islice(said, len(row))) for row in rows]

    def key(self, question: Question) -> str:
        """What names a question about images in the file of answers: images, then the question."""
        return f"{question.shown.key}:{ask_key(question.ask, self.settings.request)}"

    def ask(self, question: Question, again: int = 0) -> Reply:
        """The final reply to a question, from the file of answers or by calls. again: the round of a canary."""
        return self.asker.ask(
            round_key(self.request, again),
            self.key(question),
            lambda: self.message(question),
            tokens=self.bound(question),
        )

    def bound(self, question: Question) -> Tokens:
        """The most tokens that a call with this question takes."""
        return bound(self.settings, question.shown.sizes, question.ask)

    def message(self, question: Question) -> Message:
        """The request, secrets and all."""
        return self._interface.message(self._filled, question.shown.pictures, question.ask)

    def read(self, reply: Reply) -> Spoken:
        """What a reply says."""
        return spoken(reply, self._interface)

    def _one(self, question: Question) -> Spoken:
        try:
            return self.read(self.ask(question))
        except CallFailed as error:
            return Spoken(failure=error.reason)

    def _in_batches(self, questions: Sequence[Question], interface: BatchInterface) -> list[Spoken]:
        asked = [Asked(self.key(one), self.bound(one), partial(self.message, one)) for one in questions]
        settings = self.settings
        batcher = Batcher(self.asker, interface, settings, self.request, self.secrets)
        try:
            answers = batcher.ask(asked)
        finally:
            batcher.close()
        return [Spoken(failure=found) if isinstance(found, str) else self.read(found) for found in answers]


def _transport(settings: ChatSettings) -> Transport:
    request, limits = settings.request, settings.limits
    if settings.preset == BEDROCK:
        return AwsTransport(
            "bedrock-runtime", BEDROCK, _converse, region=request.region, endpoint=request.url, limits=limits
        )
    return HttpTransport(request.url, limits)


def _converse(client: Any, message: Message) -> Mapping[str, Any]:
    answer: Mapping[str, object] = client.converse(**message.json)
    return answer


QUESTION: Final = Ask("", "What does this picture show? Answer in one sentence.", max_tokens=100)


def check(speaker: ChatSpeaker, pixels: Pixels, ask: Ask = QUESTION) -> dict[str, object]:
    """What one question about one image shows, as JSON values, without secrets.

    sent: address, headers as written, the image. reply: None where nothing came back. tokens_held: at most, as the
    budget held them. kept: the answer was there already and cost nothing. calls, cost: of this check.
    """
    before = speaker.calls_made()
    question = Question(Shown((pixels,), speaker.settings.request), ask)
    reply, said = _asked(speaker, question)
    calls, cost = (now - then for now, then in zip(speaker.calls_made(), before, strict=True))
    if reply is None and calls:
        reply = speaker.ledger.latest(round_key(speaker.request, 0), speaker.key(question))
    return {
        "target": speaker.name,
        "interface": speaker.settings.preset,
        "model": speaker.settings.request.model,
        "asked": {"system": ask.system, "prompt": ask.prompt, "max_tokens": ask.max_tokens},
        "sent": _sent(speaker, question),
        "reply": reply and shown_reply(reply),
        **{key: value for key, value in asdict(said).items() if key != "likelihoods"},
        "tokens_held": plain(asdict(speaker.bound(question))),
        "kept": not said.failure and calls == 0,
        "calls": calls,
        "cost": round(cost, 9),
        "budget": plain(speaker.quote(1, [ask], size=question.shown.sizes[0])),
    }


def advice(explained: Mapping[str, object]) -> str:
    """What to do about a check without an answer; "" where there is one."""
    failure = explained["failure"]
    if not failure:
        return ""
    return f"{explained['target']}: expected an answer, got {failure}: fix [request] or [limits], and check again"


def _asked(speaker: ChatSpeaker, question: Question) -> tuple[Reply | None, Spoken]:
    try:
        reply = speaker.ask(question)
    except CallFailed as error:
        return None, Spoken(failure=error.reason)
    return reply, speaker.read(reply)


def _sent(speaker: ChatSpeaker, question: Question) -> dict[str, object]:
    request, picture = speaker.settings.request, question.shown.pictures[0]
    size = f"{picture.width}x{picture.height}"
    return {
        "url": speaker.message(question).url or f"Amazon Bedrock in {request.region}",
        "headers": dict(request.headers),
        "query": dict(request.query),
        "image": f"{picture.media_type}, {size} pixels, {len(picture.content)} bytes",
    }


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
                    end = time.monotonic() + self._batch.poll
                    while time.monotonic() < end:
                        if is_stopping():
                            raise Interrupted(
                                "interrupted while a batch is under way: run the same command again to collect it"
                            )
                        time.sleep(min(0.2, self._batch.poll))
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
                reply, final = self._asker.keep(call, outcome)
                if not final:
                    self._say(call, f"batch: {passing(reply) or f'HTTP {reply.status}'}")
            else:
                self._drop(call, outcome, sent=False)
        for call in calls.values():
            self._drop(call, "batch: no answer came back", sent=True)
        self._asker.ledger.drop_batch(name)

    def _drop(self, call: Call, reason: str, *, sent: bool) -> None:
        self._asker.ledger.fail(call, reason, sent=sent)
        self._say(call, reason)

    def _say(self, call: Call, reason: str) -> None:
        if key := self._keys.get(call.id):
            self._failed[key] = reason

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
